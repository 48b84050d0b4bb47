// One sample, whole: why it did not pass, what was executed, what was asked.

const FAILING = new Set(['fail', 'error', 'missing', 'unexpected_success']);

async function showDetail(row) {
  const place = byId('detail');
  const sample = await sampleOf(explorer.index, row);
  if (explorer.opened !== row) return; // another sample was opened meanwhile
  place.replaceChildren(...detailParts(sample, row));
  place.scrollTop = 0;
  scrollTo(0, 0);
}

function detailParts(sample, row) {
  const run = summary.runs[sample.run_index];
  return [
    make('div', { class: 'bar' },
      button('← List', { class: 'button back' }, closeDetail),
      button('Previous', { class: 'button', title: 'Previous (p)' }, () => step(-1)),
      button('Next', { class: 'button', title: 'Next (n)' }, () => step(1)),
      copyButton(row)),
    make('h2', { tabindex: '-1', id: 'detail-title' }, sample.task_id, ' ', badge(sample.status)),
    make('p', { class: 'quiet' }, [run.label, `sample ${sample.sample_index}`, sample.variant, `sanitizer ${sample.sanitizer}`].join(' · ')),
    explorer.index.cause[row] && make('p', { class: 'cause' }, explorer.index.cause[row]),
    truthLine(sample),
    run.quarantined.includes(sample.task_id) && make('p', { class: 'notice' }, 'This task is in quarantine: its own solution does not always pass, so that this verdict may be chance.'),
    ...textParts(sample),
    fold('Facts', factsElement(sample)),
  ].filter(Boolean);
}

function textParts(sample) {
  const failed = sample.status !== 'pass';
  const answered = sample.answer || sample.error;
  return [
    sample.module_trace && fold('Module trace', textBlock('Module trace', sample.module_trace), true),
    sample.tests && fold(testsTitle(sample.tests), testsElement(sample.tests), failed),
    sample.stdout && fold(outputTitle('Standard output', sample.stdout_truncated), textBlock('Standard output', sample.stdout), failed),
    sample.stderr && fold(outputTitle('Standard error', sample.stderr_truncated), textBlock('Standard error', sample.stderr), failed),
    sample.solution && fold(sample.variant === 'calibrated' ? 'Solution (the setup below was put in front)' : 'Solution', pythonBlock(sample.solution), true),
    sample.variant === 'calibrated' && sample.code_prompt && fold('Setup that calibration puts in front', pythonBlock(`${sample.code_prompt}\n    pass`)),
    answered && fold('Answer', textBlock('Answer', sample.answer ?? sample.error)),
    sample.reasoning && fold('Reasoning', textBlock('Reasoning', sample.reasoning)),
    sample.prompt && fold('Prompt', textBlock('Prompt', sample.prompt)),
    sample.test && fold('Tests of the task', pythonBlock(sample.test)),
    sample.canonical_solution && fold('Ground truth', pythonBlock(sample.canonical_solution)),
  ].filter(Boolean);
}

function fold(title, content, open = false) {
  return make('details', { class: 'part', open }, make('summary', {}, title), content);
}

function testsTitle(tests) {
  const failing = tests.filter(([, outcome]) => FAILING.has(outcome)).length;
  return failing ? `Tests: ${failing} of ${tests.length} failing` : `Tests: all ${tests.length} pass`;
}

/** Failing tests with their traces, then the names of the others. */
function testsElement(tests) {
  const failing = tests.filter(([, outcome]) => FAILING.has(outcome));
  const others = tests.filter(([, outcome]) => !FAILING.has(outcome));
  return make('div', {},
    ...failing.map(([name, outcome, trace]) => make('div', { class: 'test' },
      make('h3', {}, name, ' ', make('span', { class: 'badge fail' }, worded(outcome))), trace ? textBlock(`Trace of ${name}`, trace) : null)),
    others.length ? make('p', { class: 'quiet' }, others.map(([name, outcome]) => `${name}: ${worded(outcome)}`).join(', ')) : null);
}

function truthLine({ truth }) {
  if (!truth || truth.status === 'pass') return null;
  return make('p', { class: 'notice' }, `The ground truth does not pass here either (${worded(truth.failure_kind || truth.status)}): ${truth.cause}. `
    + 'This verdict says nothing about the model.');
}

const outputTitle = (name, truncated) => (truncated ? `${name} (its end)` : name);

function factsElement(sample) {
  const number = (value, unit = '', digits = 2) => (value == null ? null : `${value.toLocaleString('en', { maximumFractionDigits: digits })}${unit}`);
  const facts = [
    ['libraries', sample.libs.join(', ')],
    ['cause', worded(sample.failure_kind ?? '')],
    ['sandbox ended', sample.exit],
    ['wall time', number(sample.wall_seconds, ' s')],
    ['CPU time', number(sample.cpu_seconds, ' s')],
    ['peak memory', number(sample.max_rss_mib, ' MiB', 0)],
    ['executions', number(sample.attempts)],
    ['flaky', sample.flaky == null ? null : sample.flaky ? 'yes' : 'no'],
    ['check of the pass', sample.integrity],
    ['tampering', sample.tampering?.join(', ')],
    ['safety findings', sample.findings?.map((found) => `${found.rule} (line ${found.line}: ${found.detail})`).join(', ')],
    ['syntax error', sample.syntax_error],
    ['backend', sample.backend],
    ['answer ended', sample.finish_reason],
    ['tokens sent', number(sample.prompt_tokens)],
    ['tokens received', number(sample.completion_tokens)],
    ['of these reasoning', number(sample.reasoning_tokens)],
    ['cost', number(sample.cost_usd, ' USD', 6)],
    ['answer took', number(sample.latency_seconds, ' s')],
    ['error of the provider', sample.error],
  ];
  return make('dl', { class: 'facts' }, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
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
