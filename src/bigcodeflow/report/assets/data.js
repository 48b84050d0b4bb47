// Reading what is in the page: the summary at once, the index of samples when first needed, a task's pack when it is opened.

const summary = JSON.parse(byId('summary').textContent);

/** The JSON inside one packed element. */
async function unpack(id) {
  const binary = atob(byId(id).textContent);
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

let indexPromise = null;

/** Columns of all samples: `task_index[i]`, …, and `first[task]`, the task's first row. */
function sampleIndex() {
  indexPromise ??= unpack('index').then((columns) => {
    const index = { length: columns.task_index.rows.length, first: [], values: {} };
    for (const [name, { values, rows }] of Object.entries(columns)) {
      index[name] = rows.map((place) => values[place]);
      index.values[name] = values;
    }
    index.task_index.forEach((task, row) => { index.first[task] ??= row; });
    return index;
  });
  return indexPromise;
}

/** All that is known of one row of the index; its parts name their places in `texts`. */
async function sampleOf(index, row) {
  const task = index.task_index[row];
  const { texts, samples } = await unpack(`task-${task}`);
  return { texts, ...samples[row - index.first[task]] };
}
