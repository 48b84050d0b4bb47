// Making elements. Every string becomes a text node or an attribute that cannot run: model answers are hostile.

const byId = (id) => document.getElementById(id);

/** An element with attributes, and children that are elements or text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, '');
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null && child !== ''));
  return element;
}

/** A button that does something. */
function button(text, attributes, onClick) {
  const made = make('button', { type: 'button', ...attributes }, text);
  made.addEventListener('click', onClick);
  return made;
}

/** A status in its colour, and in words for those who do not see it. */
function badge(status) {
  return make('span', { class: `badge ${status.replace(/[^a-z_]/g, '')}` }, worded(status));
}

const worded = (name) => name.replaceAll('_', ' ');
const counted = (n, noun) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;
const isTyping = (target) => target.closest?.('input, select, textarea') != null;
