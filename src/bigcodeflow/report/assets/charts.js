// What charts have in common: colours of the theme, tooltips, and no markup.

// Vega empties its places with markup that is the empty string; no other markup is let through.
globalThis.trustedTypes?.createPolicy('default', {
  createHTML(text) {
    if (text !== '') throw new TypeError('this page writes no markup');
    return '';
  },
});

let drawn = [];

/** Draw charts, each a place and a specification, in the colours of the theme; those drawn before are gone. */
async function drawAll(charts) {
  drawn.forEach((result) => result.finalize());
  const config = chartConfig();
  const options = { ast: true, actions: false, defaultStyle: false, renderer: 'svg', mode: 'vega-lite', logLevel: 1, config, tooltip };
  const params = [{ name: 'nameLength', value: innerWidth < 640 ? 20 : 52 }];
  drawn = await Promise.all(charts.map(([place, spec]) => vegaEmbed(place, { ...spec, params }, options)));
}

/** Draw every chart of the page in the colours of the theme. */
function drawCharts() {
  const places = [...document.querySelectorAll('.chart[data-spec]')];
  return places.length ? drawAll(places.map((place) => [place, JSON.parse(place.dataset.spec)])) : null;
}

function chartConfig() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const [ink, quiet, line] = [colour('--ink'), colour('--quiet'), colour('--line')];
  return {
    background: null,
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: { labelColor: ink, titleColor: quiet, titleFontWeight: 500, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12 },
    axisY: { labelLimit: innerWidth < 640 ? 160 : 360 }, // names must leave a phone some room for the drawing
    legend: { labelColor: ink, labelFontSize: 12, labelLimit: 340, orient: 'top', symbolType: 'circle', columns: innerWidth < 640 ? 1 : 2 },
    text: { fill: ink },
    rule: { color: colour('--accent') },
    mark: { color: colour('--accent') },
    range: { category: Array.from({ length: 16 }, (_, n) => n + 1).map((n) => colour(`--series-${n}`)) },
  };
}

/** A tooltip beside the pointer; its texts are text. */
function tooltip(handler, event, item, value) {
  const box = byId('tooltip') ?? document.body.appendChild(make('div', { id: 'tooltip', role: 'tooltip', hidden: true }));
  box.hidden = value == null || value === '';
  if (box.hidden) return;
  box.replaceChildren(...Object.entries(value).map(([name, text]) => make('p', {}, make('span', {}, name), String(text))));
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
}
