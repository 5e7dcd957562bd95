// The server's page: This server. Reads /metrics while its tab is shown, or if the
// port does not answer that, KServe's counts and times, which have less.

const EVERY = 2000;  // milliseconds
const POINTS = 90;   // of a chart at most: three minutes
const FEWEST = 30;   // for which a chart has room

// Calls of this page itself, which are no work of a model.
const OWN_CALLS = new Set(['ListModels', 'GetModel']);
const isWork = (labels) => !OWN_CALLS.has(labels.rpc);

// Each chart has lines of a name and a function of two pages of metrics and the
// seconds between them.
const rateOf = (name, takes) => (now, before, time) =>
    Math.max(0, sumOf(now, name, takes) - sumOf(before, name, takes)) / time;
const levelOf = (name) => (now) => sumOf(now, name);
const timeOf = (name, part, takes) => (now, before) => quantile(now, before, name, part, takes);
const perSecond = (value) => `${Number(value.toPrecision(3))}/s`;
const whole = (value) => count(Math.round(value));
const CHARTS = [
  {title: 'Calls', format: perSecond, lines: [
    ['answered', rateOf('trivium_requests_total', (labels) => labels.code === 'OK' && isWork(labels))],
    ['errors', rateOf('trivium_errors_total')],
    ['refused', rateOf('trivium_rejections_total')]]},
  {title: 'Tokens', format: perSecond, lines: [
    ['read', rateOf('trivium_tokens_total', (labels) => labels.kind === 'source')],
    ['written', rateOf('trivium_tokens_total', (labels) => labels.kind === 'generated')]]},
  {title: 'Requests', format: whole, lines: [
    ['running', levelOf('trivium_running_requests')],
    ['waiting', levelOf('trivium_queue_requests')]]},
  {title: 'Time of a call', format: seconds, lines: [
    ['half within', timeOf('trivium_request_duration_seconds', .5, isWork)],
    ['95 % within', timeOf('trivium_request_duration_seconds', .95, isWork)]]},
  {title: 'Time in the queue', format: seconds, lines: [
    ['half within', timeOf('trivium_queue_wait_seconds', .5)],
    ['95 % within', timeOf('trivium_queue_wait_seconds', .95)]]},
  {title: 'Time to the first token', format: seconds, lines: [
    ['half within', timeOf('trivium_time_to_first_token_seconds', .5)],
    ['95 % within', timeOf('trivium_time_to_first_token_seconds', .95)]]},
  {title: 'Time between tokens', format: seconds, lines: [
    ['half within', timeOf('trivium_time_between_tokens_seconds', .5)],
    ['95 % within', timeOf('trivium_time_between_tokens_seconds', .95)]]},
  {title: 'Memory', format: bytes, lines: [
    ['process', levelOf('trivium_memory_bytes')],
    ['limit', levelOf('trivium_memory_limit_bytes')]]},
];
// Those of KServe's statistics, whose times are means.
const meanOf = (name) => (now, before) => {
  const counted = sumOf(now, name + '_count') - sumOf(before, name + '_count');
  return counted > 0 ? (sumOf(now, name) - sumOf(before, name)) / counted : NaN;
};
const FEW_CHARTS = [
  {title: 'Calls', format: perSecond, lines: [
    ['answered', rateOf('success_count')], ['failed', rateOf('fail_count')]]},
  {title: 'Mean time of a call', format: seconds, lines: [['mean', meanOf('success')]]},
  {title: 'Mean time in the queue', format: seconds, lines: [['mean', meanOf('queue')]]},
];

// Returns KServe's statistics in the shape of parseMetrics.
function parseStatistics(json) {
  const samples = new Map();
  for (const model of json.model_stats || []) {
    for (const [name, {count, ns}] of Object.entries(model.inference_stats || {})) {
      for (const [key, value] of [[name + '_count', count], [name, ns / 1e9]]) {
        if (!samples.has(key)) samples.set(key, []);
        samples.get(key).push({labels: {model: model.name}, value: Number(value)});
      }
    }
  }
  return samples;
}

const CLASSES = ['one', 'two', 'three'];

const monitor = {timer: 0, last: null, shown: false, charts: null};

function makeCharts(charts) {
  if (monitor.charts === charts) return;
  monitor.charts = charts;
  $('charts').replaceChildren();
  for (const chart of charts) {
    chart.values = chart.lines.map(() => []);
    chart.svg = svg('svg', {viewBox: '0 0 100 50', preserveAspectRatio: 'none',
                            role: 'img', 'aria-label': chart.title});
    chart.legend = element('p');
    $('charts').append(element('section', 'panel chart', element('h2', '', chart.title),
                               chart.svg, chart.legend));
  }
}

function drawChart(chart) {
  const finite = chart.values.flat().filter(isFinite);
  const most = Math.max(...finite, 1e-9);
  chart.svg.replaceChildren(svg('line', {x1: 0, x2: 100, y1: 49, y2: 49}));
  const room = Math.max(FEWEST, chart.values[0].length);
  chart.values.forEach((values, i) => {
    // A line has gaps where nothing was counted.
    let run = [];
    const end = () => {
      if (run.length === 1) run.push([run[0][0] + .7, run[0][1]]);
      if (run.length) {
        chart.svg.append(svg('polyline', {
          class: CLASSES[i],
          points: run.map((place) => place.map((v) => v.toFixed(2)).join(',')).join(' '),
        }));
      }
      run = [];
    };
    values.forEach((value, at) => {
      if (!isFinite(value)) return end();
      run.push([100 * (at + room - values.length) / (room - 1), 49 - 46 * value / most]);
    });
    end();
  });
  const texts = chart.lines.map(([name], i) => {
    const value = chart.values[i].findLast(isFinite);
    return [name, value === undefined ? '–' : chart.format(value)];
  });
  chart.legend.replaceChildren(...texts.map(([name, text], i) => {
    const sign = element('i', CLASSES[i]);
    return element('span', '', sign, `${name} ${text}`);
  }));
  chart.svg.setAttribute('aria-label', `${chart.title}: ` +
      texts.map((one) => one.join(' ')).join(', '));
}

// Returns the samples of now.
async function readSamples() {
  if (monitor.charts !== FEW_CHARTS) {
    try {
      const text = await (await send('GET', 'metrics')).text();
      makeCharts(CHARTS);
      return parseMetrics(text);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }
  const samples = parseStatistics(await getJson('v2/models/stats'));
  makeCharts(FEW_CHARTS);
  $('no-metrics').hidden = false;
  return samples;
}

async function look() {
  clearTimeout(monitor.timer);
  if (!monitor.shown || document.hidden) return;
  try {
    const samples = await readSamples();
    const now = {at: performance.now(), samples};
    if (monitor.last) {
      const time = (now.at - monitor.last.at) / 1000;
      for (const chart of monitor.charts) {
        chart.lines.forEach(([, read], i) => {
          chart.values[i].push(read(now.samples, monitor.last.samples, time));
          if (chart.values[i].length > POINTS) chart.values[i].shift();
        });
        drawChart(chart);
      }
    }
    monitor.last = now;
    showError('server-error', null);
  } catch (error) {
    showError('server-error', error);
  }
  clearTimeout(monitor.timer);
  monitor.timer = setTimeout(look, EVERY);
}

// Called when the tab is shown or left.
function showServer(shown) {
  monitor.shown = shown;
  if (shown) look();
}

function startServer() {
  $('description').href = HERE + 'openapi.json';
  $('openai-base').textContent = addressOf('v1');
  $('ollama-base').textContent = addressOf('').slice(0, -1);
  document.addEventListener('visibilitychange', look);
}
