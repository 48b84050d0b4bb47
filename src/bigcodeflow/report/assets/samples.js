// The list of samples: filters, search, and only those rows in the document that can be seen.

const ROW_HEIGHT = 52;
const SPARE_ROWS = 6;
const FILTERS = ['run', 'status', 'kind', 'variant'];
const explorer = { index: null, haystacks: null, shown: [], selected: -1, opened: -1 };

async function loadSamples() {
  if (explorer.index) return;
  const index = await sampleIndex();
  explorer.index = index;
  byId('n-samples').textContent = index.length.toLocaleString('en');
  const kinds = index.values.failure_kind.filter(Boolean);
  options('filter-run', 'all runs', summary.runs.map((run) => [run.record, run.label]));
  options('filter-status', 'any', index.values.status.toSorted().map((status) => [status, worded(status)]), [['!pass', 'not passed']]);
  options('filter-kind', 'any', kinds.toSorted().map((kind) => [kind, worded(kind)]));
  options('filter-variant', 'raw where it differs', [...variantsOf(index), 'all'].map((variant) => [variant, variant]));
  index.repeats = repeatsOf(index);
  byId('variants').hidden = variantsOf(index).length < 2;
  byId('filter-run').closest('label').hidden = summary.runs.length < 2;
}

function options(id, all, entries, first = []) {
  byId(id).replaceChildren(...[['', all], ...first, ...entries].map(([value, text]) => make('option', { value }, text)));
}

const variantOf = (index, row) => `${index.variant[row]}, ${index.sanitizer[row]}`;
const variantsOf = (index) => [...new Set(index.variant.map((_, row) => variantOf(index, row)))];

/** Which rows are raw verdicts equal to the calibrated ones. */
function repeatsOf(index) {
  const columns = [index.task_index, index.run_index, index.sample_index, index.sanitizer, index.status, index.failure_kind];
  const outcome = (row) => columns.map((column) => column[row]).join('\n');
  const calibrated = new Set(index.variant.map((variant, row) => (variant === 'calibrated' ? outcome(row) : null)));
  return index.variant.map((variant, row) => variant !== 'calibrated' && calibrated.has(outcome(row)));
}

/** Apply the filters as they stand in the form. */
function applyFilters() {
  const { index } = explorer;
  const words = wanted(byId('q').value);
  const [run, status, kind, variant] = FILTERS.map((name) => byId(`filter-${name}`).value);
  const runIndex = summary.runs.findIndex((entry) => entry.record === run);
  const haystacks = words.length ? allHaystacks() : null;
  const fits = (row) => (!run || index.run_index[row] === runIndex)
    && (!status || (status === '!pass' ? index.status[row] !== 'pass' : index.status[row] === status))
    && (!kind || index.failure_kind[row] === kind)
    && (variant ? variant === 'all' || variantOf(index, row) === variant : !index.repeats[row])
    && words.every((word) => haystacks[row].includes(word));
  explorer.shown = Array.from(index.status.keys()).filter(fits);
  explorer.selected = explorer.shown.indexOf(explorer.opened);
  const { length } = explorer.shown;
  byId('found').textContent = length === index.length ? counted(length, 'sample') : `${length.toLocaleString('en')} of ${counted(index.length, 'sample')}`;
  byId('clear').hidden = !filtersInForce().size;
  byId('list').scrollTop = 0;
  drawRows();
}

/** Words, and phrases in double quotes. */
function wanted(text) {
  return (text.toLowerCase().match(/"[^"]+"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')).filter(Boolean);
}

function allHaystacks() {
  const { index } = explorer;
  explorer.haystacks ??= index.status.map((status, row) => {
    const task = index.task_index[row];
    const parts = [`${summary.tasks.task_id[task]} `, summary.runs[index.run_index[row]].label, worded(status), status, index.failure_kind[row],
      index.cause[row], summary.runs[index.run_index[row]].quarantined.includes(summary.tasks.task_id[task]) ? 'quarantine' : '', ...summary.tasks.libs[task], ...summary.tasks.domains[task]];
    return parts.join('\n').toLowerCase();
  });
  return explorer.haystacks;
}

/** The form as a part of an address; empty fields are left out. */
function filtersInForce() {
  const entries = [['q', byId('q').value.trim()], ...FILTERS.map((name) => [name, byId(`filter-${name}`).value])];
  return new URLSearchParams(entries.filter(([, value]) => value));
}

function setFilters(given) {
  byId('q').value = given.get('q') ?? '';
  for (const name of FILTERS) byId(`filter-${name}`).value = given.get(name) ?? '';
}

/** Put the rows into the document that can be seen now. */
function drawRows() {
  const list = byId('list');
  const { shown, selected } = explorer;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
  byId('rows').style.height = `${shown.length * ROW_HEIGHT}px`;
  byId('rows').replaceChildren(...shown.slice(first, last).map((row, offset) => rowElement(row, first + offset)));
  const seen = selected >= first && selected < last;
  if (seen) list.setAttribute('aria-activedescendant', `row-${selected}`);
  else list.removeAttribute('aria-activedescendant');
}

function rowElement(row, place) {
  const { index } = explorer;
  const what = make('span', { class: 'what' }, make('b', {}, summary.tasks.task_id[index.task_index[row]]), nameOf(row));
  const why = index.status[row] === 'pass' ? '' : index.cause[row] || worded(index.failure_kind[row]);
  const element = make('div', {
    class: 'row', role: 'option', id: `row-${place}`, 'aria-selected': String(place === explorer.selected),
    'aria-setsize': explorer.shown.length, 'aria-posinset': place + 1,
  }, what, badge(index.status[row]), make('span', { class: 'why' }, why));
  element.style.top = `${place * ROW_HEIGHT}px`;
  element.addEventListener('click', () => { select(place); go(linkOf(row)); });
  return element;
}

/** What tells a sample apart from the others of its task in this report. */
function nameOf(row) {
  const { index } = explorer;
  const parts = summary.runs.length > 1 ? [summary.runs[index.run_index[row]].label] : [];
  if (index.values.sample_index.length > 1) parts.push(`sample ${index.sample_index[row]}`);
  if (!byId('variants').hidden) parts.push(variantOf(index, row));
  return parts.join(' · ');
}

function select(place) {
  if (!explorer.shown.length) return;
  explorer.selected = Math.max(0, Math.min(explorer.shown.length - 1, place));
  const list = byId('list');
  const top = explorer.selected * ROW_HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
  drawRows();
}

/** The address of one sample: it holds in any report that has the run. */
function linkOf(row) {
  const { index } = explorer;
  const parts = { run: summary.runs[index.run_index[row]].record, task: summary.tasks.task_id[index.task_index[row]], sample: index.sample_index[row] };
  if (variantsOf(index).length > 1) Object.assign(parts, { variant: index.variant[row], sanitizer: index.sanitizer[row] });
  return `#${new URLSearchParams(parts)}`;
}

/** The row that an address names, or -1; a run may be given by its record, run, model or label. */
function rowOf(given) {
  const { index } = explorer;
  const task = summary.tasks.task_id.indexOf(given.get('task'));
  const run = summary.runs.findIndex((entry) => [entry.record, entry.run, entry.model, entry.label].includes(given.get('run')));
  for (let row = index.first[task]; row < index.length && index.task_index[row] === task; row += 1) {
    if ((run < 0 ? !given.has('run') : index.run_index[row] === run) && index.sample_index[row] === Number(given.get('sample') ?? 0)
      && ['variant', 'sanitizer'].every((name) => !given.has(name) || index[name][row] === given.get(name))) return row;
  }
  return -1;
}
