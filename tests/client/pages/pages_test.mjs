// Tests the pages of `trivium attention`, `beams`, `explain` and `trivium-load` in
// the browser of browser.mjs.
import assert from 'node:assert/strict';
import test from 'node:test';
import {Page} from './browser.mjs';

// Makes a map with weights [layers, heads, queries, keys] of 16 bits from a
// function.
function map(kind, queries, keys, weight, more = {}) {
  const layers = [0, 1], heads = [0, 1];
  const codes = [];
  for (const layer of layers) {
    for (const head of heads) {
      queries.forEach((_, q) => keys.forEach((_, k) => {
        codes.push(Math.round(65535 * weight(layer, head, q, k)));
      }));
    }
  }
  const bytes = Buffer.from(new Uint16Array(codes).buffer);
  return {
    kind, layers, heads, rows: queries.map((_, q) => q), queries, keys,
    boundary: null, seen_first: null, windows: [], prompt: false, heads_per_kv: 1,
    weights: bytes.toString('base64'), ...more,
  };
}

const SOURCE = ['▁I', '▁ate', '▁<b>&', '</s>'];
const TARGET = ['▁Ich', '▁aß', '</s>'];
const TEXT = 'I ate <b>&';

const encoder = map('encoder', SOURCE, SOURCE, () => .25);
// Later keys get larger weights; in head 1 smaller ones.
const cross = map('cross', TARGET, SOURCE, (layer, head, q, k) =>
    (head ? [.4, .3, .2, .1] : [.1, .2, .3, .4])[k]);
const decoder = map('decoder', TARGET, TARGET, (layer, head, q, k) =>
    k <= q ? 1 / (q + 1) : 0, {seen_first: 1});
const translation = {
  model: 'en-de', bits: 16, texts: [TEXT, 'Ich aß'], maps: [encoder, decoder, cross],
};
const encoding = {model: 'bert', bits: 16, texts: [TEXT], maps: [encoder]};

test('the title says the text, and no more of it than fits', () => {
  assert.equal(new Page('attention', translation).document.title,
               'Attention: I ate <b>&');
  const long = {...encoding, texts: ['so '.repeat(100)]};
  assert.equal(new Page('attention', long).document.title,
               'Attention: ' + 'so '.repeat(20) + '…');
});

test('a translation opens on cross-attention, another text on its own', () => {
  const page = new Page('attention', translation);
  assert.match(page.text('caption'), /^Cross-attention: layer 1, mean of 2 heads$/);
  assert.equal(page.pressed('kinds')[0].textContent, 'Cross-attention');
  assert.match(new Page('attention', encoding).text('caption'), /^Encoder/);
  const chosen = new Page('attention', translation, '#kind=decoder&layer=0&head=1');
  assert.equal(chosen.text('caption'), 'Decoder self-attention: layer 0, head 1');
});

test('the mean is the first column', () => {
  const grid = new Page('attention', translation).byId('grid').children;
  assert.deepEqual(grid.slice(0, 4).map((one) => one.textContent),
                   ['', 'mean', '0', '1']);
  assert.deepEqual(
      grid.slice(4, 8).map((one) => one.getAttribute('aria-label')),
      [null, 'layer 0, mean of 2 heads', 'layer 0, head 0', 'layer 0, head 1']);
});

test('arrow keys go through layers and heads', () => {
  const page = new Page('attention', translation);
  const after = (key) => {
    assert.ok(page.press(key));
    return page.text('caption').replace('Cross-attention: ', '');
  };
  assert.equal(after('ArrowUp'), 'layer 0, mean of 2 heads');
  assert.equal(after('ArrowUp'), 'layer 0, mean of 2 heads');
  assert.equal(after('ArrowRight'), 'layer 0, head 0');
  assert.equal(after('ArrowRight'), 'layer 0, head 1');
  assert.equal(after('ArrowRight'), 'layer 0, mean of 2 heads');
  assert.equal(after('ArrowLeft'), 'layer 0, head 1');
  assert.equal(after('ArrowDown'), 'layer 1, head 1');
  assert.equal(page.pressed('grid')[0].dataset.place, '1/1');
  assert.ok(page.place.includes('layer=1&head=1'));
  // Keys with modifiers, which have other uses, are ignored.
  assert.ok(!page.press('ArrowUp', page.byId('threshold')));
  assert.ok(!page.press('ArrowUp', page.document, {ctrlKey: true}));
  assert.ok(!page.press('Tab'));
});

test('letters go through the tokens of both sides', () => {
  const page = new Page('attention', translation);
  const after = (key) => {
    assert.ok(page.press(key));
    return page.text('details-title');
  };
  assert.equal(after('n'), '▁Ich 0 looks at');
  assert.equal(after('n'), '▁aß 1 looks at');
  assert.equal(after('p'), '▁Ich 0 looks at');
  assert.equal(after('p'), '</s> 2 looks at');
  assert.equal(after('N'), '▁I 0 is looked at by');
  assert.equal(after('P'), '</s> 3 is looked at by');
  assert.equal(after('Escape'), 'Weights of a token');
});

test('a token that is chosen by a key comes into sight', () => {
  const many = Array.from({length: 300}, (_, i) => `t${i}`);
  const page = new Page('attention', {
    ...encoding, maps: [map('encoder', many, ['▁a'], () => 1)]});
  page.press('p');
  assert.match(page.text('details-title'), /^t299/);
  assert.ok(page.byId('scroller').scrollTop > 300 * 16 - 400);
  page.press('n');
  assert.equal(page.byId('scroller').scrollTop, 0);
});

test('a token\'s list is sorted by weight and has nothing else', () => {
  const page = new Page('attention', translation, '#head=0&view=matrix');
  const list = () => page.byId('weights').children.map((one) => one.textContent);
  const sorted = ['</s>0.4000', '▁<b>&0.3000', '▁ate0.2000', '▁I0.1000'];
  page.press('n');
  assert.deepEqual(list(), sorted);
  // The cell under the pointer is above the list.
  page.byId('canvas').fire(
      'pointermove', {pointerType: 'mouse', clientX: 100, clientY: 70});
  assert.match(page.text('details-title'), /looks at▁\S+ 0\.\d{4}$/);
  assert.deepEqual(list(), sorted);
});

test('signs and words are explained once', () => {
  for (const name of ['attention', 'beams']) {
    const {html} = new Page(name, name === 'beams' ? beams : translation);
    assert.equal(html.match(/▁[^.]*stands for/g).length, 1, name);
  }
  const {html} = new Page('attention', translation);
  assert.equal(html.match(/layer after layer; in each layer several heads/g).length, 1);
});

// A decoder-only model: three tokens of a prompt and two of its answer. Layer 0
// has a window of two tokens.
const PROMPT = ['A', ' B', ' C', ' D', ' E'];
const prompt = map('decoder', PROMPT, PROMPT, (layer, head, q, k) =>
    k > q || (layer === 0 && k < q - 1) ? 0 : (k + 1) / 20,
    {seen_first: 1, boundary: 3, windows: [2, 0], prompt: true, heads_per_kv: 2});
const answer = {model: 'smollm2', bits: 16, texts: ['A B C', ' D E'], maps: [prompt]};

test('a prompt and its answer are told apart', () => {
  const page = new Page('attention', answer, '#view=matrix');
  assert.equal(page.text('caption'), 'Decoder self-attention: layer 1, mean of 2 heads');
  assert.match(page.text('meaning'), /prompt and of its answer/);
  assert.match(page.text('legend'), /Hatched: masked.* Dashed: the answer begins\.$/);
  assert.deepEqual(page.byId('texts').children.map((one) => one.getAttribute('class')),
                   ['given', 'given answer']);
  page.byId('save').click();
  const inks = [...page.saved[0].text.matchAll(/fill="(rgb[^"]*)"[^>]*>\u2068( ?[A-E])\u2069/g)];
  const inkOf = (piece) => [...new Set(
      inks.filter(([, , one]) => one === piece).map(([, ink]) => ink))];
  assert.deepEqual(inkOf(' C'), inkOf('A'));
  assert.deepEqual(inkOf(' D'), inkOf(' E'));
  assert.notDeepEqual(inkOf(' C'), inkOf(' D'));
  assert.equal(inkOf(' D').length, 1);
  // No token of a translation belongs to an answer.
  assert.doesNotMatch(new Page('attention', translation).text('legend'), /Dashed/);
});

test('a row sees itself and what came before, of a window the nearest', () => {
  const page = new Page('attention', answer, '#view=matrix&layer=0&head=0&token=3');
  const list = () => page.byId('weights').children.map((one) => one.textContent);
  assert.deepEqual(list(), [' D0.2000', ' C0.1500']);
  assert.match(page.text('legend'), /A window: this layer sees the last 2 tokens\./);
  // Cells that a row may not see have no number.
  const hatched = () => page.byId('canvas').calls.filter(
      ([name]) => name === 'fillRect').length;
  assert.equal(hatched(), 4 + 3);
  page.press('ArrowDown');
  assert.deepEqual(list(), [' D0.2000', ' C0.1500', ' B0.1000', 'A0.0500']);
  assert.doesNotMatch(page.text('legend'), /window/);
  assert.equal(hatched(), 4);
  // The tokens that look at the second token.
  page.press('N');
  page.press('N');
  assert.deepEqual(list(), [' B0.1000', ' C0.1000', ' D0.1000', ' E0.1000']);
  page.press('ArrowUp');
  assert.deepEqual(list(), [' B0.1000', ' C0.1000']);
});

test('heads that share keys and values are under one line', () => {
  const grid = (data) => new Page('attention', data).byId('grid').children;
  assert.deepEqual(grid(answer).slice(0, 7).map((one) => one.textContent),
                   ['', '', 'KV 0', '', 'mean', '0', '1']);
  assert.equal(grid(answer)[2].style.gridColumn, 'span 2');
  // A selection of heads, from the second and the third line.
  const some = {...answer, maps: [{...prompt, heads: [3, 4]}]};
  assert.deepEqual(grid(some).slice(2, 4).map((one) => one.textContent),
                   ['KV 1', 'KV 2']);
  assert.ok(new Page('attention', translation).byId('sharing').hidden);
  assert.ok(!new Page('attention', answer).byId('sharing').hidden);
});

test('whatever can be clicked is reached by keys', () => {
  for (const page of [new Page('attention', translation), new Page('beams', beams),
                      new Page('load', search)]) {
    for (const one of page.document.all()) {
      const clicks = 'click' in one.listeners || 'change' in one.listeners;
      // The canvas's tokens have keys of their own.
      if (!clicks || one.tag === 'canvas') continue;
      assert.ok(['button', 'input'].includes(one.tag) ||
                    (one.getAttribute('tabindex') === '0' && one.listeners.keydown),
                one.tag);
    }
    const scroller = page.byId('scroller');
    if (scroller) assert.equal(scroller.getAttribute('tabindex'), '0');
  }
});

test('attention is saved as a file of its own', () => {
  const page = new Page('attention', translation);
  for (const view of ['lines', 'matrix']) {
    page.byId('view-' + view).click();
    page.byId('save').click();
    const {name, type, text} = page.saved.pop();
    assert.equal(name, 'attention.svg');
    assert.equal(type, 'image/svg+xml');
    assert.match(text, /^<svg width="\d+" height="\d+" viewBox=/);
    assert.match(text, /<title>Cross-attention: layer 1, mean of 2 heads<\/title>/);
    // The pieces, of both sides.
    for (const piece of ['▁Ich', '▁aß', '▁I', '▁ate', '▁&lt;b>&amp;']) {
      assert.ok(text.includes(piece), piece);
    }
    // The file refers to nothing outside and has no undefined values.
    assert.doesNotMatch(text, /href|var\(|rgba|undefined|NaN/);
    assert.match(text, view === 'lines' ? /<path d="M[^>]* stroke-opacity="0\.[1-9]/ :
                                          /<path d="M/);
  }
  // The file has all of a long text, not only the visible part, and the masks.
  const many = Array.from({length: 300}, (_, i) => `t${i}`);
  const long = new Page('attention', {
    ...encoding,
    maps: [map('decoder', many, many, (layer, head, q, k) => k === q ? 1 : 0,
               {seen_first: 1})]});
  long.press('n');
  long.byId('save').click();
  assert.equal(long.saved[0].text.match(/<text/g).length, 600);
  assert.match(long.saved[0].text, /<pattern id="hatch".*fill="url\(#hatch\)"/s);
});

const step = (parent, token, logprob, sum, fate, why, more = {}) =>
    ({parent, token, logprob, sum, score: sum / 2, fate, why, ...more});
const beams = {
  model: 'en-de', text: TEXT, truncated: false,
  hypotheses: [{text: 'Ich aß', score: -.3, tokens: 2, reason: 'end'}],
  steps: [
    [step(0, '▁Ich', -.1, -.1, 'continued', 'goes on'),
     step(0, '▁Wir', -3, -3, 'pruned', 'others are better')],
    [step(0, '</s>', -.5, -.6, 'ended', 'ended', {hypothesis: 0}),
     step(0, '▁aß', -.7, -.8, 'pruned', 'others are better')],
  ],
};

test('a beam search shows its results first, then its tree', () => {
  const page = new Page('beams', beams);
  assert.equal(page.document.title, 'Beam search: I ate <b>&');
  assert.ok(page.html.indexOf('id="results"') < page.html.indexOf('id="tree"'));
  assert.equal(page.text('hypotheses'), '-0.3000Ich aßend');
});

const boxes = (page) => [...page.byId('tree').all()].filter(
    (one) => one.getAttribute('role') === 'button');

test('boxes show what they are sorted by', () => {
  const page = new Page('beams', beams);
  assert.deepEqual(
      boxes(page).map((one) => one.children.at(-1).textContent),
      ['-0.10', '-3.00', '-0.60', '-0.80']);
  assert.match(page.text('meaning'), /sum of their log-probabilities/);
});

test('a candidate tells its story to who comes by keys', () => {
  const page = new Page('beams', beams);
  const [, second] = boxes(page);
  assert.equal(second.getAttribute('tabindex'), '0');
  second.fire('focus');
  assert.equal(page.text('details-title'), 'others are better');
  assert.equal(page.text('story'), '▁Wir');
  assert.ok(second.fire('keydown', {key: 'Enter'}));
  second.fire('blur');
  assert.equal(second.getAttribute('class'), 'pruned selected');
  assert.ok(!second.fire('keydown', {key: 'Tab'}));
});

test('a beam tree is saved as a file of its own', () => {
  const page = new Page('beams', beams);
  page.byId('save').click();
  const [{name, text}] = page.saved;
  assert.equal(name, 'beams.svg');
  assert.match(text, /<title>Beam search: I ate &lt;b>&amp;<\/title>/);
  assert.match(text, /▁Ich/);
});

const times = (p50) => ({count: 4, mean: p50, p50, p90: p50, p95: p50, p99: 4 * p50,
                         'p99.9': 4 * p50, max: 4 * p50});
const none = {count: 0, mean: 0, p50: 0, p90: 0, p95: 0, p99: 0, 'p99.9': 0, max: 0};
const slice = (p50, more = {}) => ({
  p50, p95: p50 && 2 * p50, p99: p50 && 4 * p50, started: 40, done: 40, failed: 0,
  aborted: 0, ...more});
// A run of two seconds in slices of half a second. No call succeeded in the
// second slice.
const loadRun = (name, p50, more = {}) => ({
  name,
  report: {
    seconds: 2, succeeded: 60, failed: 20, aborted: 0,
    errors: {RESOURCE_EXHAUSTED: 20}, first_error: 'full <b>\u202e',
    requests_per_second: 30, texts_per_second: 60, source_tokens_per_second: 1234.5,
    new_tokens_per_second: 0, latency_seconds: times(p50), first_piece_seconds: none,
    piece_gap_seconds: none, outside_model_seconds: times(p50 / 2),
    refused_seconds: none, start_delay_seconds: times(1e-5),
    calls: {translate: {latency_seconds: times(p50)}, encode: {latency_seconds: none}},
    ...more},
  slices: {seconds: .5, calls: [slice(p50), slice(null, {done: 0, failed: 40}),
                                slice(2 * p50), slice(p50)]},
  latencies: {bounds: [.01, .02, .04, .08], counts: [30, 0, 30]},
  calls: [{name: 'translate', latencies: [30, 0, 20]},
          {name: 'encode', latencies: [0, 0, 10]}],
});
const setup = [['calls', 'translate 8, encode 2'], ['pace', '40/s']];
const load = {servers: ['127.0.0.1:1'], setup, runs: [loadRun('127.0.0.1:1', .02)]};
const search = {
  servers: ['127.0.0.1:1'], setup,
  runs: [loadRun('100/s', .2), loadRun('80/s', .02), loadRun('89/s', .03)],
  search: {limit: .5, highest: 80, points: [
    {rate: 100, passed: false}, {rate: 80, passed: true}, {rate: 89, passed: false}]},
};
const comparison = {
  servers: ['127.0.0.1:1', 'http://127.0.0.1:2'], setup,
  runs: [loadRun('127.0.0.1:1, round 1', .02),
         loadRun('http://127.0.0.1:2, round 1', .03)],
  comparison: {first: '127.0.0.1:1', second: 'http://127.0.0.1:2', ratios: [
    {name: 'requests/s', median: 1.25, rounds: [1.25]},
    {name: 'p99', median: .5, rounds: [.5]}]},
};
const shapesIn = (page, id, tag) => page.byId(id).querySelectorAll(tag);

test('a load says what it was and what came of it', () => {
  const page = new Page('load', load);
  assert.equal(page.document.title, 'Load: 127.0.0.1:1');
  assert.equal(page.text('setup'), 'callstranslate 8, encode 2pace40/s');
  assert.match(page.text('tiles'), /succeeded60failed20requests\/s30texts\/s60source tokens\/s1,235measured2 s/);
  assert.match(page.text('times'), /latency420 ms20 ms20 ms80 ms/);
  assert.match(page.text('times'), /— translate4/);
  // Figures that did not occur have no row. A single kind of call needs no
  // choice.
  assert.doesNotMatch(page.text('times'), /first piece|refused/);
  assert.ok(page.byId('runs').hidden && page.byId('search').hidden &&
            page.byId('comparison').hidden);
  assert.match(page.text('errors'), /20 × RESOURCE_EXHAUSTED.*full <b>⟨202e⟩/);
});

test('lines over time have gaps where nothing was measured', () => {
  const page = new Page('load', load);
  const lines = shapesIn(page, 'latency-plot', 'path');
  assert.deepEqual(lines.map((one) => one.getAttribute('class')),
                   ['line p50', 'line p95', 'line p99']);
  for (const one of lines) {
    assert.equal(one.getAttribute('d').match(/M/g).length, 2);
    assert.doesNotMatch(one.getAttribute('d'), /NaN|undefined|null/);
  }
  // Outcomes that never occurred have no line.
  assert.equal(page.text('rate-legend'), 'starteddonefailed');
  assert.equal(shapesIn(page, 'rate-plot', 'path').length, 3);
});

test('a time is told to who points at it and to who comes by keys', () => {
  const page = new Page('load', load);
  const plot = page.byId('latency-plot');
  assert.equal(page.text('slice'), 'Point at a time, or use the arrow keys.');
  plot.fire('pointermove', {clientX: 60});
  assert.equal(page.text('slice'),
               '0 to 0.5 s: p50 20 ms, p95 40 ms, p99 80 ms, 40/s started, 40/s done, 0/s failed');
  plot.fire('pointerleave');
  assert.ok(page.byId('rate-plot').fire('keydown', {key: 'ArrowRight'}));
  assert.ok(plot.fire('keydown', {key: 'ArrowRight'}));
  assert.equal(page.text('slice'), '0.5 to 1 s: 40/s started, 0/s done, 40/s failed');
  plot.fire('keydown', {key: 'ArrowLeft'});
  plot.fire('keydown', {key: 'ArrowLeft'});
  assert.match(page.text('slice'), /^0 to/);
  assert.ok(!plot.fire('keydown', {key: 'Tab'}));
  plot.fire('blur');
  assert.match(page.text('slice'), /^Point/);
});

test('latencies are counted, of each call too', () => {
  const page = new Page('load', load);
  const bars = shapesIn(page, 'latencies-plot', 'rect');
  assert.equal(bars.length, 3);
  const height = (bar) => +bar.getAttribute('height');
  assert.equal(height(bars[1]), 0);
  assert.equal(height(bars[0]), height(bars[2]));
  assert.equal(page.text('bucket'), 'Dashed: p50 20 ms, p95 20 ms, p99 80 ms.');
  page.byId('latencies-plot').fire('keydown', {key: 'ArrowRight'});
  assert.equal(page.text('bucket'), '10 ms to 20 ms: 30 calls; 50 % took no longer');
  assert.equal(page.byId('calls').querySelectorAll('h3').map((one) => one.textContent).join(),
               'translate,encode');
  const empty = {...load, runs: [{...load.runs[0], latencies: {bounds: [], counts: []}, calls: []}]};
  assert.equal(new Page('load', empty).text('bucket'), 'No call succeeded.');
});

test('a search opens on the rate that it found', () => {
  const page = new Page('load', search);
  assert.equal(page.text('search-title'), '80 calls a second, with p99 within 500 ms');
  assert.equal(page.text('run-title'), '80/s');
  assert.deepEqual(shapesIn(page, 'search-plot', 'circle').map((one) => one.getAttribute('class')),
                   ['dot failed', 'dot', 'dot failed']);
  page.byId('runs').children[2].click();
  assert.equal(page.text('run-title'), '89/s');
  assert.deepEqual(page.pressed('runs').map((one) => one.textContent), ['89/s']);
  const failed = {...search, search: {...search.search, highest: 0}};
  assert.match(new Page('load', failed).text('search-title'), /^No rate/);
});

test('a comparison has a dot for each round', () => {
  const page = new Page('load', comparison);
  assert.equal(page.text('comparison-title'), '127.0.0.1:1 over http://127.0.0.1:2');
  const dots = shapesIn(page, 'comparison-plot', 'circle').map((one) => +one.getAttribute('cx'));
  const one = +shapesIn(page, 'comparison-plot', 'line').find(
      (line) => line.getAttribute('class') === 'mark').getAttribute('x1');
  assert.ok(dots[0] > one && dots[1] < one);
  assert.match(page.text('comparison-plot'), /requests\/s 1\.250p99 0\.500/);
});

test('ticks are round numbers that hold what is drawn', () => {
  const page = new Page('load', load);
  const vmTicks = (most, count) => [...page.context.ticks(most, count)];
  assert.deepEqual(vmTicks(97), [0, 50, 100]);
  for (const most of [1e-5, .003, .97, 1, 42, 99.9, 12345]) {
    const all = vmTicks(most);
    assert.ok(all.at(-1) >= most * .999 && all.length <= 7, `${most}: ${all}`);
  }
});

// One head of a decoder that has read three tokens and written two.
function headData(more = {}) {
  const matrix = (rows, columns, value) => ({
    columns, values: Array.from({length: rows * columns},
                                (_, at) => value(Math.floor(at / columns), at % columns))});
  const wave = (row, column) => Math.sin(row + column);
  const best = ['▁c', '</s>', '▁<i>'].map((piece, i) => ({piece, logprob: -1 - i}));
  const rows = {};
  for (const name of ['token_embeddings', 'position_embeddings', 'embedded', 'input', 'joined',
                      'output', 'result']) {
    rows[name] = matrix(4, 8, wave);
  }
  for (const name of ['query', 'key', 'value', 'sum']) rows[name] = matrix(4, 4, wave);
  rows.scores = matrix(4, 4, (row, column) => row - column);
  rows.weights = matrix(4, 4, (row, column) => column <= row ? 1 / (row + 1) : 0);
  return {
    model: 'en-de', text: 'a <b>', answer: 'c', kind: 'decoder', layer: 1, head: 1,
    queries: ['<s>', '▁a', '▁<b>', '▁c'], keys: ['<s>', '▁a', '▁<b>', '▁c'], rows,
    positions: 'sinusoidal', frequencies: [], scale: .5, soft_cap: 0, sink: null, kv_head: 1,
    heads: 2, layers: 2, gated: false, parallel: false, norm_of_output: false,
    norm_of_sum: true, rms: false, factor: 1, seen_begin: [0, 0, 0, 0], seen_end: [1, 2, 3, 4],
    next: [{chosen: best[0], best}, {chosen: best[1], best}], ...more,
  };
}
const headings = (page) => page.document.querySelectorAll('h2').map((one) => one.textContent);
const workedLines = (page) => page.document.querySelectorAll('p').filter(
    (one) => one.getAttribute('class') === 'worked').map((one) => one.textContent);

test('a head is told in ten steps; two fall away without a mask and an answer', () => {
  assert.equal(headings(new Page('explain', headData())).length, 10);
  const all = headData({seen_end: [4, 4, 4, 4], next: []});
  const titles = headings(new Page('explain', all));
  assert.equal(titles.length, 8);
  assert.ok(!titles.some((one) => one.includes('mask')));
});

test('the steps follow the chosen pair', () => {
  const page = new Page('explain', headData(), '#query=2&key=1');
  assert.match(workedLines(page)[0], /^“▁<b>” and “▁a”: .* = 1.000$/);
  assert.match(workedLines(page)[1], /gives “▁a” 33.3 % of/);
  const key = page.byId('key');
  key.value = '3';
  key.fire('change');
  assert.match(workedLines(page)[1], /nothing: it does not see it/);
});

test('the next token is that of the query, and given tokens have none', () => {
  const bars = (page) => page.document.querySelectorAll('span').filter(
      (one) => (one.getAttribute('class') || '').startsWith('token')).map((one) => one.textContent);
  assert.deepEqual(bars(new Page('explain', headData(), '#query=3')), ['▁c', '</s>', '▁<i>']);
  const given = new Page('explain', headData(), '#query=1');
  assert.deepEqual(bars(given), []);
  assert.match(workedLines(given).at(-1), /that was given/);
});

test('arrow keys go through the cells of a map and tell their numbers', () => {
  const page = new Page('explain', headData(), '#query=0&key=0');
  const canvas = page.document.querySelectorAll('canvas').find(
      (one) => one.getAttribute('aria-label').startsWith('weights'));
  canvas.fire('keydown', {key: 'ArrowDown'});
  assert.equal(page.text('readout'), 'weights: ▁a, looks at <s>: 0.500');
  canvas.fire('keydown', {key: 'ArrowRight'});
  canvas.fire('keydown', {key: 'ArrowRight'});
  assert.equal(page.text('readout'), 'weights: ▁a, looks at ▁<b>: 0');
  assert.equal(page.byId('query').value, 1);
  assert.equal(page.byId('key').value, 2);
});
