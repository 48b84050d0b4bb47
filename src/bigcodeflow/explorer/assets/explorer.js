// The explorer's pages: coloured programs, the choice of runs, and pages that renew themselves.

const MOST_CHOSEN = 6;

function colourPrograms() {
  for (const code of document.querySelectorAll('code[data-language="python"]')) {
    const text = code.textContent;
    if (text.length <= MOST_COLOURED) code.replaceChildren(...coloured(text));
  }
}

/** Say how many runs are chosen, and let no more be chosen than a comparison shows. */
function countChosen() {
  const boxes = [...document.querySelectorAll('#choose input[name="run"]')];
  if (!boxes.length) return;
  const n = boxes.filter((box) => box.checked).length;
  for (const box of boxes) box.disabled = !box.checked && n >= MOST_CHOSEN;
  document.querySelector('#choose button').disabled = n < 2;
  byId('chosen').textContent = n < 2 ? 'choose two to six' : `${counted(n, 'run')} chosen`;
}

/** Fetch this page again now and then, and take over what has changed in a part of it. */
function renew(part) {
  const again = () => setTimeout(fetchPage, 1000 * Number(part.dataset.refresh));
  const fetchPage = () => {
    if (document.hidden) return again();
    const request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.timeout = 10000;
    request.onload = () => {
      const fresh = request.status === 200 && request.response?.getElementById(part.id);
      if (fresh) takeOver(part, fresh);
      if (fresh) document.title = request.response.title;
      part.classList.toggle('lost', !fresh);
      again();
    };
    request.onerror = request.ontimeout = () => { part.classList.add('lost'); again(); };
    request.send();
    return null;
  };
  again();
}

/** Make an element what another one is, keeping what is equal, so that focus and scrolling stay where they are. */
function takeOver(old, fresh) {
  if (old.nodeName !== fresh.nodeName) {
    old.replaceWith(document.importNode(fresh, true));
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  if (old.childNodes.length !== fresh.childNodes.length) old.replaceChildren(...document.importNode(fresh, true).childNodes);
  else [...old.childNodes].forEach((child, place) => takeOver(child, fresh.childNodes[place]));
}

/** A phone shows the search alone, and the filters when they are asked for or in force. */
function foldFilters() {
  for (const form of document.querySelectorAll('form.filters:not([data-given])')) {
    const fold = form.querySelector('.fold');
    if (!fold || !matchMedia('(max-width: 36rem)').matches) continue;
    form.classList.add('folded');
    fold.hidden = false;
    fold.addEventListener('click', () => fold.setAttribute('aria-expanded', String(!form.classList.toggle('folded'))));
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open || isTyping(event.target)) return;
  const turn = { n: 'next', p: 'prev' }[event.key];
  if (event.key === '/' && byId('q')) byId('q').select();
  else if (event.key === '/') location.assign('/samples');
  else if (event.key === 't') switchTheme();
  else if (event.key === '?') byId('help').showModal();
  else if (turn) document.querySelector(`a[rel="${turn}"]`)?.click();
  else return;
  event.preventDefault();
}

async function start() {
  document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  byId('theme').addEventListener('click', switchTheme);
  byId('help-open').addEventListener('click', () => byId('help').showModal());
  addEventListener('keydown', onKey);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawCharts);
  byId('choose')?.addEventListener('change', countChosen);
  addEventListener('pageshow', countChosen); // a browser that goes back keeps the ticks
  countChosen();
  foldFilters();
  colourPrograms();
  for (const part of document.querySelectorAll('[data-refresh]')) renew(part);
  await drawCharts();
  document.documentElement.dataset.ready = '';
}

addEventListener('DOMContentLoaded', start);
