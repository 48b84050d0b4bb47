// One sample, whole: its stages, and the parts of which the explorer makes its page.

async function showDetail(row) {
  const place = byId('detail');
  const sample = await sampleOf(explorer.index, row);
  if (explorer.opened !== row) return; // another sample was opened meanwhile
  place.replaceChildren(...detailParts(sample, row));
  place.scrollTop = 0;
  scrollTo(0, 0);
}

function detailParts(sample, row) {
  const { index } = explorer;
  const task = index.task_index[row];
  const run = summary.runs[index.run_index[row]];
  return [
    make('div', { class: 'bar' },
      button('← List', { class: 'button back' }, closeDetail),
      button('Previous', { class: 'button', title: 'Previous (p)' }, () => step(-1)),
      button('Next', { class: 'button', title: 'Next (n)' }, () => step(1)),
      copyButton(row)),
    make('h2', { tabindex: '-1', id: 'detail-title' }, summary.tasks.task_id[task], ' ', badge(index.status[row])),
    make('p', { class: 'quiet' }, [run.label, `sample ${index.sample_index[row]}`, index.variant[row], `sanitizer ${index.sanitizer[row]}`, ...summary.tasks.libs[task]].join(' · ')),
    index.cause[row] && make('p', { class: 'cause' }, index.cause[row]),
    ...sample.notices.map((text) => make('p', { class: 'notice' }, text)),
    make('ol', { class: 'steps', 'aria-label': 'Stages of this sample' }, ...sample.steps.map(stepElement)),
    make('div', { class: 'parts' }, ...sample.parts.map(([title, form, open, firstLine, beside, text]) => make('details', { class: beside ? 'part beside' : 'part', open },
      make('summary', {}, title), form === 'sentence' ? make('p', {}, sample.texts[text]) : block(title, form, firstLine, sample.texts[text])))),
  ].filter(Boolean);
}

function stepElement([name, took, came]) {
  return make('li', {}, make('span', { class: 'name' }, name), ' ', took && make('span', { class: 'took' }, took), ' ', make('span', { class: 'quiet' }, came));
}

/** A text that scrolls sideways, and so is reachable by keyboard; the lines of a program may be numbered. */
function block(title, form, firstLine, text) {
  const code = make('code');
  code.append(...(form === 'python' && text.length <= MOST_COLOURED ? coloured(text) : [text]));
  const numbers = Array.from(text.split('\n'), (_, line) => firstLine + line).join('\n');
  return make('div', { class: 'block', tabindex: '0', role: 'group', 'aria-label': title },
    firstLine ? make('pre', { class: 'lines', 'aria-hidden': 'true' }, numbers) : null, make('pre', {}, code));
}

function copyButton(row) {
  const made = button('Copy link', { class: 'button' }, async () => {
    try {
      await navigator.clipboard.writeText(location.href.split('#')[0] + linkOf(row));
      made.textContent = 'Copied';
    } catch {
      made.textContent = 'It is in the address bar'; // a page opened as a file may not write the clipboard
    }
  });
  return made;
}
