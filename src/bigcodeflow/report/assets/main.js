// Where the reader is: addresses and keys.

/** Show what the address names: the overview, the samples that fit filters, or one sample. */
async function route() {
  const given = new URLSearchParams(location.hash.slice(1));
  const samples = given.has('task') || given.get('view') === 'samples';
  byId('overview').hidden = samples;
  byId('samples').hidden = !samples;
  document.body.classList.toggle('exploring', samples);
  for (const [id, current] of [['to-overview', !samples], ['to-samples', samples]]) {
    if (current) byId(id).setAttribute('aria-current', 'page');
    else byId(id).removeAttribute('aria-current');
  }
  if (!samples) return;
  await loadSamples();
  if (given.has('task')) openLinked(given);
  else showList(given);
}

function openLinked(given) {
  if (!explorer.shown.length) applyFilters();
  const row = rowOf(given);
  document.body.classList.add('reading');
  if (row < 0) {
    explorer.opened = -1;
    byId('detail').replaceChildren(make('p', { class: 'notice' }, 'This report has no such sample: its run, task or number is another.'), button('To the list', { class: 'button' }, closeDetail));
    return;
  }
  explorer.opened = row;
  if (!explorer.shown.includes(row)) {
    setFilters(new URLSearchParams(explorer.index.repeats[row] ? 'variant=all' : ''));
    applyFilters();
  }
  select(explorer.shown.indexOf(row));
  showDetail(row);
}

function showList(given) {
  document.body.classList.remove('reading');
  setFilters(given);
  applyFilters();
  if (explorer.opened < 0) byId('detail').replaceChildren(make('p', { class: 'empty' }, 'Choose a sample: its tests, traces, program and prompt are shown here.'));
}

function go(hash) {
  if (location.hash === hash) route();
  else location.hash = hash;
}

function replaceAddress(hash) {
  history.replaceState(null, '', hash);
  route();
}

function listAddress() {
  const filters = filtersInForce();
  return `#view=samples${filters.size ? `&${filters}` : ''}`;
}

function closeDetail() {
  go(listAddress());
  byId('list').focus();
}

function step(by) {
  if (!explorer.shown.length) return;
  select(explorer.selected + by);
  replaceAddress(linkOf(explorer.shown[explorer.selected]));
}

function openSelected() {
  if (explorer.selected < 0) select(0);
  if (!explorer.shown.length) return;
  go(linkOf(explorer.shown[explorer.selected]));
  byId('detail').focus();
}

const LIST_KEYS = {
  ArrowDown: () => select(explorer.selected + 1),
  ArrowUp: () => select(explorer.selected - 1),
  PageDown: () => select(explorer.selected + 10),
  PageUp: () => select(explorer.selected - 10),
  Home: () => select(0),
  End: () => select(explorer.shown.length - 1),
  Enter: openSelected,
};
const PAGE_KEYS = {
  '/': () => { if (byId('samples').hidden) go(listAddress()); setTimeout(() => byId('q').select()); },
  '?': () => byId('help').showModal(),
  t: switchTheme,
  o: () => go('#view=overview'),
  s: () => go(listAddress()),
  n: () => { if (!byId('samples').hidden) step(1); },
  p: () => { if (!byId('samples').hidden) step(-1); },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
  if (event.key === 'Escape' && !byId('samples').hidden) closeDetail();
  else if (event.target === byId('q') && ['ArrowDown', 'Enter'].includes(event.key)) { byId('list').focus(); select(Math.max(0, explorer.selected)); }
  else if (isTyping(event.target)) return;
  else if (event.target === byId('list') && LIST_KEYS[event.key]) LIST_KEYS[event.key]();
  else if (PAGE_KEYS[event.key]) PAGE_KEYS[event.key]();
  else return;
  event.preventDefault();
}

function showSection(id) {
  const heading = byId(id);
  heading.focus({ preventScroll: true });
  heading.scrollIntoView();
}

function start() {
  for (const chip of document.querySelectorAll('.chip[data-title]')) chip.addEventListener('click', () => showSection(chip.dataset.title));
  addEventListener('hashchange', route);
  addEventListener('keydown', onKey);
  addEventListener('resize', () => { if (explorer.index) drawRows(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawCharts);
  byId('list').addEventListener('scroll', drawRows, { passive: true });
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('filters').addEventListener('input', () => { applyFilters(); history.replaceState(null, '', listAddress()); document.body.classList.remove('reading'); });
  byId('clear').addEventListener('click', () => go('#view=samples'));
  byId('theme').addEventListener('click', switchTheme);
  byId('help-open').addEventListener('click', () => byId('help').showModal());
  byId('skip').addEventListener('click', () => byId(byId('samples').hidden ? 'overview' : 'samples').focus());
  return Promise.all([route(), drawCharts(), loadSamples()]);
}

start().then(() => { document.documentElement.dataset.ready = ''; });
