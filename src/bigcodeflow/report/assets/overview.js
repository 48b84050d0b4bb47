// The overview: figures, warnings, and sections of charts with their tables.

function showOverview() {
  byId('title').append(summary.title);
  byId('subtitle').append(summary.runs.length === 1 ? runLine(summary.runs[0]) : manyRunsLine());
  byId('made').append(`Written ${summary.written_at.replace('T', ' ').replace('+00:00', ' UTC')} by bigcodeflow ${summary.version}. ${limitLine()}`);
  byId('tiles').append(...summary.tiles.map((tile) => make('div', { class: 'tile' },
    make('p', { class: 'name' }, tile.name), make('p', { class: 'value' }, tile.value), make('p', { class: 'quiet' }, tile.note))));
  byId('notes').append(...summary.sections.flatMap((section) => section.notes).map((note) => make('p', { class: 'notice' }, note)));
  const boards = [...new Set(summary.sections.map((section) => section.board))];
  byId('contents').append(...boards.map((board) => make('div', { class: 'chips' }, board ? make('span', { class: 'quiet' }, board) : null,
    ...summary.sections.filter((section) => section.board === board).map(chip))));
  byId('sections').append(...summary.sections.map(sectionElement));
}

function chip(section) {
  return button(section.title, { class: 'chip', 'aria-label': headingOf(section) }, () => {
    const heading = byId(`title-${section.name}`);
    heading.focus({ preventScroll: true });
    heading.scrollIntoView();
  });
}

const headingOf = (section) => [section.title, section.board].filter(Boolean).join(' · ');

function runLine(run) {
  return `record ${run.record} · ${run.started_at.slice(0, 10)}`;
}

function manyRunsLine() {
  const places = [...new Set(summary.runs.map((run) => `${run.subset} · ${run.split}`))];
  const days = summary.runs.map((run) => run.started_at.slice(0, 10)).sort();
  const from = days[0] === days.at(-1) ? days[0] : `${days[0]} to ${days.at(-1)}`;
  return `${places.join(' and ')} · ${from}`;
}

function limitLine() {
  const { failed, passed } = summary.limit;
  const extent = (n) => (n ? `at ${n.toLocaleString('en')} characters` : 'away whole');
  return `Texts of samples are cut ${extent(failed)}${passed === failed ? '' : `, of those that pass ${extent(passed)}`}; marks say where.`;
}

function sectionElement(section) {
  const title = `title-${section.name}`;
  const parts = [make('h2', { id: title, tabindex: '-1' }, headingOf(section)), make('p', { class: 'lead' }, section.lead)];
  const table = section.rows.length ? tableElement(section) : null;
  if (section.chart) {
    const place = make('div', { class: 'chart', id: `chart-${section.name}` });
    parts.push(make('div', { class: 'chart-box', role: 'group', tabindex: '0', 'aria-label': `Chart: ${headingOf(section)}` }, place));
    const folded = table && !section.name.startsWith('scores');
    parts.push(folded ? make('details', {}, make('summary', {}, `Table (${counted(section.rows.length, 'row')})`), table) : table);
  } else {
    parts.push(table);
  }
  return make('section', { 'aria-labelledby': title }, ...parts);
}

function tableElement(section) {
  const heads = section.columns.map(([name, kind]) => make('th', { scope: 'col', class: kind }, name));
  const rows = section.rows.map((cells) => make('tr', {}, ...cells.map((cell, place) => cellElement(cell, section.columns[place], place))));
  const table = make('table', {}, make('caption', { class: 'unseen' }, headingOf(section)), make('thead', {}, make('tr', {}, ...heads)), make('tbody', {}, ...rows));
  return make('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': `Table: ${headingOf(section)}` }, table);
}

function cellElement(cell, [, kind], place) {
  const { text, href, tone } = typeof cell === 'string' ? { text: cell } : cell;
  const content = href ? placeLink(text, href) : text;
  return make(place === 0 ? 'th' : 'td', { class: `${kind} ${tone ?? ''}`, scope: place === 0 ? 'row' : null }, content);
}

/** Draw every chart in the colours of the theme. */
function drawCharts() {
  return drawAll(summary.sections.filter((section) => section.chart).map((section) => [`#chart-${section.name}`, section.chart]));
}
