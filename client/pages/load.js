// The load page. `data` (client/load/command.cc, experiments.h, page.h):
//   servers: [address], setup: [[name, value]],
//   runs: [{name, report, slices, latencies, calls}],
//   search: {limit, highest, points: [{rate, passed}]}, a point for each run,
//   comparison: {first, second, ratios: [{name, median, rounds}]}
'use strict';

const $ = (id) => document.getElementById(id);
const runs = data.runs || [];
const best = data.search ?
    data.search.points.findIndex(
        (point) => point.passed && point.rate === data.search.highest) :
    0;
// The run on the page, and the chosen slice of time and bucket of latencies.
const state = {run: Math.max(0, best), slice: null, bucket: null};
const shown = () => runs[state.run];

const SERIES = ['started', 'done', 'failed', 'aborted'];
const TIMES = [
  ['latency', 'latency_seconds'], ['first piece', 'first_piece_seconds'],
  ['piece gap', 'piece_gap_seconds'], ['outside', 'outside_model_seconds'],
  ['refused', 'refused_seconds'], ['start delay', 'start_delay_seconds'],
];

function tile(name, value) {
  return element('div', '', element('dt', '', name), element('dd', '', value));
}

function row(tag, cells) {
  return element('tr', '', ...cells.map((cell) => element(tag, '', cell)));
}

function timesOf(name, one) {
  return row('td', [
    name, String(one.count),
    ...['p50', 'p90', 'p95', 'p99', 'p99.9', 'max', 'mean'].map((p) => time(one[p]))]);
}

function drawReport() {
  const {name, report} = shown();
  $('run-title').textContent = marked(name);
  $('tiles').replaceChildren(
      tile('succeeded', short(report.succeeded)), tile('failed', short(report.failed)),
      ...report.aborted ? [tile('aborted on purpose', short(report.aborted))] : [],
      tile('requests/s', short(report.requests_per_second)),
      tile('texts/s', short(report.texts_per_second)),
      tile('source tokens/s', short(report.source_tokens_per_second)),
      ...report.new_tokens_per_second ?
          [tile('new tokens/s', short(report.new_tokens_per_second))] : [],
      tile('measured', time(report.seconds)));
  const rows = [row('th', ['', 'calls', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'max', 'mean'])];
  for (const [label, key] of TIMES) {
    if (report[key].count) rows.push(timesOf(label, report[key]));
    if (key !== 'latency_seconds') continue;
    for (const [call, part] of Object.entries(report.calls || {})) {
      rows.push(timesOf('— ' + call, part.latency_seconds));
    }
  }
  $('times').replaceChildren(...rows);
  const errors = Object.entries(report.errors).map(
      ([status, count]) => element('li', '', `${short(count)} × ${status}`));
  if (report.first_error) {
    errors.push(element('li', '', 'the first: ' + marked(report.first_error)));
  }
  $('errors').replaceChildren(...errors);
}

// Returns where a slice of time is in the plots.
let slicePlace = () => 0;

function drawSlices() {
  const {seconds, calls} = shown().slices;
  const end = shown().report.seconds;
  const middle = (i) => (i * seconds + Math.min(end, (i + 1) * seconds)) / 2;
  const xs = {low: 0, high: end || 1, ticks: ticks(end, 8).filter((at) => at <= end),
              label: (at) => at === 0 ? '0' : time(at)};
  const most = Math.max(0, ...calls.map((one) => one.p99 ?? 0));
  const latencyTicks = ticks(most);
  const latency = frame($('latency-plot'), 220, xs, {
    low: 0, high: latencyTicks.at(-1), ticks: latencyTicks,
    label: (at) => at === 0 ? '0' : time(at)});
  for (const p of ['p50', 'p95', 'p99']) {
    line(latency, p, calls.map((one, i) => [middle(i), one[p]]));
  }
  const used = SERIES.filter((name) => calls.some((one) => one[name] > 0));
  const rateTicks = ticks(Math.max(0, ...calls.flatMap((one) => used.map((name) => one[name]))));
  const rate = frame($('rate-plot'), 180, xs, {
    low: 0, high: rateTicks.at(-1), ticks: rateTicks, label: short});
  for (const name of used) line(rate, name, calls.map((one, i) => [middle(i), one[name]]));
  $('rate-legend').replaceChildren(
      ...used.map((name) => element('span', 'key ' + name, name)));
  slicePlace = (i) => latency.x(middle(i));

  const one = calls[state.slice];
  if (!one) {
    $('slice').textContent = 'Point at a time, or use the arrow keys.';
    return;
  }
  for (const plot of [latency, rate]) upright(plot, 'cursor', middle(state.slice));
  const from = state.slice * seconds, to = Math.min(end, from + seconds);
  $('slice').textContent = [
    `${short(from)} to ${short(to)} s:`,
    ...['p50', 'p95', 'p99'].filter((p) => one[p] !== null).map((p) => `${p} ${time(one[p])},`),
    used.map((name) => `${short(one[name])}/s ${name}`).join(', '),
  ].join(' ');
}

let bucketPlace = () => 0;

// Draws a histogram, over bounds that all histograms share.
function histogram(box, height, {bounds}, counts, chosen) {
  const countTicks = ticks(Math.max(...counts), 3);
  const plot = frame(box, height, {
    low: bounds[0], high: bounds.at(-1), log: true,
    ticks: logTicks(bounds[0], bounds.at(-1)), label: time,
  }, {low: 0, high: countTicks.at(-1), ticks: countTicks, label: short});
  bars(plot, bounds, counts, chosen);
  return plot;
}

function drawLatencies() {
  const {latencies, report, calls} = shown();
  const {bounds, counts} = latencies;
  $('calls').replaceChildren();
  if (!counts.length) {
    $('latencies-plot').replaceChildren();
    $('bucket').textContent = 'No call succeeded.';
    return;
  }
  const plot = histogram($('latencies-plot'), 200, latencies, counts, state.bucket);
  const names = [];
  for (const p of ['p50', 'p95', 'p99']) {
    upright(plot, 'mark', report.latency_seconds[p]);
    names.push(`${p} ${time(report.latency_seconds[p])}`);
  }
  bucketPlace = (i) => plot.x(Math.sqrt(bounds[i] * bounds[i + 1]));
  const total = counts.reduce((a, b) => a + b, 0);
  if (counts[state.bucket] === undefined) {
    $('bucket').textContent = `Dashed: ${names.join(', ')}.`;
  } else {
    const upTo = counts.slice(0, state.bucket + 1).reduce((a, b) => a + b, 0);
    $('bucket').textContent =
        `${time(bounds[state.bucket])} to ${time(bounds[state.bucket + 1])}: ` +
        `${short(counts[state.bucket])} calls; ${short(100 * upTo / total)} % took no longer`;
  }
  for (const call of calls) {
    const box = element('div', 'plot');
    $('calls').append(element('h3', '', call.name), box);
    histogram(box, 110, latencies, call.latencies, null);
  }
}

function drawRun() {
  $('runs').hidden = runs.length < 2;
  [...$('runs').children].forEach((button, i) => {
    button.setAttribute('aria-pressed', i === state.run);
  });
  drawReport();
  drawSlices();
  drawLatencies();
}

function drawSearch() {
  $('search').hidden = !data.search;
  if (!data.search) return;
  const {limit, highest, points} = data.search;
  $('search-title').textContent = highest > 0 ?
      `${short(highest)} calls a second, with p99 within ${time(limit)}` :
      `No rate that was tried has its p99 within ${time(limit)}`;
  const rates = points.map((point) => point.rate);
  const p99s = runs.map((run) => run.report.latency_seconds.p99 || limit);
  const xTicks = ticks(Math.max(...rates), 6);
  const least = Math.min(limit, ...p99s) / 1.5, most = Math.max(limit, ...p99s) * 1.5;
  const plot = frame($('search-plot'), 200, {
    low: 0, high: xTicks.at(-1), ticks: xTicks, label: (at) => short(at) + '/s',
  }, {low: least, high: most, log: true, ticks: logTicks(least, most), label: time});
  across(plot, 'mark', limit);
  points.forEach((point, i) => {
    plot.drawing.append(svg('circle', {
      class: point.passed ? 'dot' : 'dot failed', r: 5,
      cx: plot.x(point.rate), cy: plot.y(p99s[i])}));
  });
}

function drawComparison() {
  $('comparison').hidden = !data.comparison;
  if (!data.comparison) return;
  const {first, second, ratios} = data.comparison;
  $('comparison-title').textContent = `${first} over ${second}`;
  const all = [1, ...ratios.flatMap((ratio) => ratio.rounds)];
  const low = Math.min(...all) / 1.1, high = Math.max(...all) * 1.1;
  const rowHeight = 40;
  const plot = frame(
      $('comparison-plot'), TOP + BOTTOM + rowHeight * ratios.length,
      {low, high, log: true, label: (at) => String(Number(at.toPrecision(3))),
       ticks: high / low > 4 ? logTicks(low, high) :
                               [...new Set([low, 1, high].map((at) => Number(at.toFixed(2))))]},
      {low: 0, high: ratios.length || 1, ticks: [], label: String});
  upright(plot, 'mark', 1);
  ratios.forEach((ratio, i) => {
    const y = TOP + rowHeight * i;
    plot.drawing.append(
        svg('text', {class: 'name', x: 0, y: y + 10},
            `${ratio.name} ${ratio.median.toFixed(3)}`),
        svg('line', {class: 'median', x1: plot.x(ratio.median), x2: plot.x(ratio.median),
                     y1: y + 16, y2: y + 34}));
    for (const round of ratio.rounds) {
      plot.drawing.append(svg('circle', {class: 'dot', r: 4, cx: plot.x(round), cy: y + 25}));
    }
  });
}

function draw() {
  drawSearch();
  drawComparison();
  if (runs.length) drawRun();
}

function start() {
  const servers = data.servers.map(marked).join(' and ');
  $('servers').textContent = servers;
  document.title = titled('Load', servers);
  $('setup').append(...data.setup.map(([name, value]) => tile(name, marked(value))));
  runs.forEach((run, i) => {
    const button = element('button', '', marked(run.name));
    button.addEventListener('click', () => {
      Object.assign(state, {run: i, slice: null, bucket: null});
      drawRun();
    });
    $('runs').append(button);
  });
  for (const id of ['latency-plot', 'rate-plot']) {
    pointing($(id), () => shown().slices.calls.length, (i) => slicePlace(i),
             () => state.slice, (i) => {
               state.slice = i;
               drawSlices();
             });
  }
  pointing($('latencies-plot'), () => shown().latencies.counts.length,
           (i) => bucketPlace(i), () => state.bucket, (i) => {
             state.bucket = i;
             drawLatencies();
           });
  window.addEventListener('resize', onceAFrame(draw));
  draw();
}

start();
