// The page of one head. `data` (client/commands/head_page.cc): what the API's
// HeadTrace has, with numbers of five digits.
'use strict';

const state = {query: 0, key: 0};
const rows = data.rows;
const size = rows.query.columns;
const SELF = data.kind !== 'cross';
const seenBy = (i, j) => data.seen_begin[i] <= j && j < data.seen_end[i];
const updates = [];  // redraw what depends on the selection

const KINDS = {
  encoder: 'encoder self-attention: the tokens of a text look at each other',
  decoder: 'decoder self-attention: a token looks at itself and at what came before',
  cross: 'cross-attention: the text that is written looks at the source',
};
const norm = data.rms ? 'RMSNorm' : 'LayerNorm';

// Makes a paragraph of a formula: names between underscores are italic.
function formula(text) {
  const line = element('p', 'formula');
  text.split('_').forEach((part, i) => {
    line.append(i % 2 ? element('i', '', part) : part);
  });
  return line;
}

let steps = 0;
function step(title, text, line, ...parts) {
  const section = element('section', 'panel');
  section.append(element('h2', '', element('b', '', String(++steps)), title));
  if (line) section.append(formula(line));
  section.append(element('p', '', text), ...parts);
  $('steps').append(section);
  return section;
}

const maps = (...list) => element('div', 'maps', ...list.filter(Boolean).map((one) => one.figure));
const choose = (query, key) => {
  if (query !== null) state.query = query;
  if (key !== null) state.key = key;
  update();
};
const ofQueries = (title, matrix, more) => matrix && new Heat(title, matrix, {
  rows: data.queries, row: () => state.query, choose: (row) => choose(row, null), ...more});
const ofKeys = (title, matrix, more) => matrix && new Heat(title, matrix, {
  rows: data.keys, row: () => state.key, choose: (row) => choose(null, row), ...more});
const ofPairs = (title, matrix, more) => matrix && new Heat(title, matrix, {
  rows: data.queries, names: data.keys, row: () => state.query, column: () => state.key,
  choose: (row, column) => choose(row, column), ...more});

// A line of numbers that follows the selection.
function worked(write) {
  const line = element('p', 'worked');
  updates.push(() => line.replaceChildren(...write()));
  return line;
}
const strong = (text) => element('b', '', text);
const name = (list, i) => `“${visible(list[i])}”`;
const rowOf = (matrix, i) => matrix.values.slice(i * matrix.columns, (i + 1) * matrix.columns);
const scoreOf = (i, j) => rows.scores.values[i * data.keys.length + j];
const weightOf = (i, j) => rows.weights.values[i * data.keys.length + j];

function embeddings() {
  const waves = data.positions === 'sinusoidal';
  const sum = ['_E_[token]'];
  if (rows.segment_embeddings) sum.push('_S_[segment]');
  if (rows.position_embeddings) sum.push('_P_[position]');
  const how = {
    sinusoidal: 'Each position adds its waves: sines of many frequencies, then their cosines.',
    learned: 'Each position adds a row of a learned table.',
    rotary: 'Nothing is added for positions: queries and keys are turned later.',
    distance: 'Nothing is added for positions: scores get a bias for each distance later.',
    slope: 'Nothing is added for positions: far tokens lose score later (ALiBi).',
    none: 'Nothing tells the order of the tokens here.',
  }[data.positions];
  step('Tokens become vectors', `A token’s number picks a row of a table. ${how}` +
           (SELF ? '' : ' These are the tokens that are written; they look at the source.'),
       `_x_ = ${sum.join(' + ')}`,
       maps(ofQueries('token embeddings', rows.token_embeddings),
            ofQueries('segment embeddings', rows.segment_embeddings),
            ofQueries(waves ? 'positions: the waves' : 'position embeddings', rows.position_embeddings),
            ofQueries('their sum, as it enters the first layer', rows.embedded)));
}

function layerInput() {
  const first = data.layer === 0 && SELF;
  step(`Into layer ${data.layer}`,
       (first ? 'The first layer reads the sum above. ' :
                SELF && data.layer > 1 || !SELF ?
                'Everything before this step has changed each vector. ' :
                'The layer before this one has changed each vector. ') +
           (rows.normed ? `${norm} brings each vector to one size before attention reads it.` : ''),
       rows.normed ? `_x̂_ = ${norm}(_x_)` : '',
       maps(ofQueries('x, the layer’s input', rows.input),
            ofQueries(`x̂ = ${norm}(x)`, rows.normed)));
}

function projections() {
  const x = rows.normed ? 'x̂' : 'x';
  const shared = data.kv_head !== data.head ?
      ` This head reads the keys and values of head ${data.kv_head}, which several heads share.` : '';
  const parts = [maps(ofQueries('queries q', rows.query), ofKeys('keys k', rows.key),
                      ofKeys('values v', rows.value))];
  if (data.positions === 'rotary' && SELF) {
    const pairs = data.frequencies.length;
    const values = data.queries.flatMap(
        (_, i) => data.frequencies.map((f) => Math.cos(i * f)));
    parts.push(formula('pair _c_ of _q_ and _k_ at position _p_ is turned by the angle _p_ · _f_(_c_)'),
               maps(ofQueries('cosine of each pair’s angle', {columns: pairs, values})));
  }
  step('Query, key and value',
       `Three learned matrices make three vectors of ${size} numbers: what a token asks for (q), ` +
           `what it can be found by (k), and what it gives (v).${shared}`,
       `_q_ = _W_ (q) _${x}_,  _k_ = _W_ (k) _${SELF ? x : 'source'}_,  _v_ = _W_ (v) _${SELF ? x : 'source'}_`,
       ...parts);
}

function scoring() {
  const root = Math.abs(data.scale - 1 / Math.sqrt(size)) < 1e-6;
  const scale = root ? ` / √${size}` : ` · ${shown(data.scale)}`;
  step('Scores: who answers whose question',
       `The dot product of a query and a key is large if they point the same way. ` +
           (root ? `It is divided by √${size}, because a sum of ${size} products spreads like its root.` :
                   `It is multiplied by ${shown(data.scale)}.`),
       `score = _q_ · _k_${scale}`,
       worked(() => {
         const q = rowOf(rows.query, state.query), k = rowOf(rows.key, state.key);
         const terms = q.slice(0, 3).map((one, c) => `${shown(one)} · ${shown(k[c])}`);
         return [`${name(data.queries, state.query)} and ${name(data.keys, state.key)}: (${terms.join(' + ')} + …)${scale} = `,
                 strong(shown(scoreOf(state.query, state.key)))];
       }),
       maps(ofPairs('scores', rows.scores)));
}

function masking() {
  const cut = data.seen_begin.some((begin) => begin > 0);
  const hidden = cut || data.seen_end.some((end) => end < data.keys.length);
  const causal = data.seen_end.every((end, i) => end <= i + 1);
  if (!hidden && !rows.bias && !data.soft_cap) return;
  const parts = [];
  const capped = {columns: data.keys.length, values: rows.scores.values.map((score, at) => {
    const cap = data.soft_cap;
    const soft = cap > 0 ? cap * Math.tanh(score / cap) : score;
    return soft + (rows.bias ? rows.bias.values[at] : 0);
  })};
  if (rows.bias) parts.push(ofPairs('bias, by distance', rows.bias, {seen: seenBy, hidden: '−∞'}));
  parts.push(ofPairs('masked scores', capped, {seen: seenBy, hidden: '−∞'}));
  const told = [];
  if (data.soft_cap) told.push(`Scores are held within ±${shown(data.soft_cap)}.`);
  if (rows.bias) told.push('Each pair gets a bias that depends on the distance alone.');
  if (hidden) told.push('What a token does not see gets −∞. (The server does not even compute these scores.)');
  if (hidden && causal) told.push('A token must not know what follows it.');
  if (cut || hidden && !causal) told.push('In this layer, a token sees near tokens only.');
  step('The mask', told.join(' '), hidden ? 'score = −∞ for unseen keys' : '', maps(...parts));
}

function softmax() {
  step('Softmax: scores become shares',
       'The exponential makes every score positive, and the sum makes each row add up to 1.' +
           (data.sink === null ? '' : ` One more score, ${shown(data.sink)}, belongs to no token: it takes a share and gives nothing.`),
       'weight = exp(score) / Σ exp(score)',
       worked(() => [`${name(data.queries, state.query)} gives ${name(data.keys, state.key)} `,
                     strong(seenBy(state.query, state.key) ?
                       (100 * weightOf(state.query, state.key)).toFixed(1) + ' %' : 'nothing: it does not see it'),
                     ' of its attention']),
       maps(ofPairs('weights', rows.weights, {share: true, seen: seenBy, hidden: '0'})));
}

function weightedSum() {
  step('The weighted sum of the values', 'Each token takes from the others as much as its weights say.',
       'out = Σ weight · _v_',
       worked(() => {
         const best = data.keys.map((_, j) => [weightOf(state.query, j), j])
             .sort((a, b) => b[0] - a[0]).slice(0, 4).filter(([weight]) => weight > 0);
         return [`${name(data.queries, state.query)} = `,
                 best.map(([weight, j]) => `${weight.toFixed(2)} · v of ${name(data.keys, j)}`).join(' + '),
                 ' + …'];
       }),
       maps(ofQueries('the head’s output', rows.sum)));
}

function joining() {
  const begin = data.head * size;
  step(`${data.heads} heads become one vector`,
       `The outputs of all heads stand side by side; the frame shows this head’s part. ` +
           (data.gated ? 'Gates, between 0 and 1, let them through. ' : '') +
           'One more matrix mixes them.',
       `_y_ = _W_ (o) [head 0 … head ${data.heads - 1}]`,
       maps(ofQueries('all heads, side by side', rows.joined, {frame: [begin, begin + size]}),
            ofQueries('y', rows.output)));
}

function residual() {
  let y = data.norm_of_output ? `${norm}(_y_)` : '_y_';
  if (data.factor !== 1) y = `${shown(data.factor)} · ${y}`;
  step('Back to the stream: residual and norm',
       'What attention found is added to the vector, which so keeps what it had. ' +
           (data.norm_of_sum ? `${norm} follows. ` : '') +
           (data.parallel ? 'Beside it, the feed-forward layer reads the same input, and its output is added, too.' :
                            'The feed-forward layer is next, and then the next layer.'),
       data.norm_of_sum ? `_x′_ = ${norm}(_x_ + ${y})` : `_x′_ = _x_ + ${y}`,
       maps(ofQueries('x', rows.input), ofQueries('y', rows.output), ofQueries('x′', rows.result)));
}

// The query that chose the first new token; the last token is never read.
const firstChooser = data.queries.length - data.next.length;

function nextToken() {
  if (!data.next.length) return;
  const bars = element('div', 'bars');
  const title = element('p', 'worked');
  updates.push(() => {
    const n = state.query - firstChooser;
    if (n < 0) {
      title.textContent = `Behind ${name(data.queries, state.query)} comes a token that was given. Choose a later one.`;
      bars.replaceChildren();
      return;
    }
    const {chosen, best} = data.next[n];
    title.replaceChildren(`Behind ${name(data.queries, state.query)} comes `, strong(name([chosen.piece], 0)));
    bars.replaceChildren(...best.flatMap((one) => {
      const fill = element('div', 'fill');
      const share = Math.exp(one.logprob);
      fill.style.width = (100 * share).toFixed(2) + '%';
      return [element('span', one.piece === chosen.piece ? 'token chosen' : 'token', visible(one.piece)),
              fill, element('span', 'number', (100 * share).toFixed(2) + ' %')];
    }));
  });
  step('The next token', `After all ${data.layers} layers the last vector is compared with every token of the vocabulary. These are the ten most probable.`,
       '_p_(token) = softmax(_W_ (vocabulary) _x_)', title, bars);
}

function update() {
  $('query').value = state.query;
  $('key').value = state.key;
  for (const one of updates) one();
  redraw();
}
const redraw = onceAFrame(() => {
  readTheme();
  heats.forEach((one) => one.draw());
});

function fill(select, list, chosen) {
  select.replaceChildren(...list.map((piece, i) => {
    const option = element('option', '', `${i} ${visible(piece)}`);
    option.value = i;
    return option;
  }));
  select.addEventListener('change', () => {
    chosen(+select.value);
    update();
  });
}

function start() {
  $('model').textContent =
      `${data.model}, layer ${data.layer} of ${data.layers}, head ${data.head} of ${data.heads}, ${KINDS[data.kind]}`;
  document.title = titled('One head', data.text);
  for (const text of [data.text, data.answer]) {
    if (text) $('texts').append(element('p', 'given', marked(text)));
  }
  fill($('query'), data.queries, (i) => state.query = i);
  fill($('key'), data.keys, (j) => state.key = j);
  const hash = readHash();
  const within = (text, list, other) =>
      list[+text] !== undefined && text !== undefined ? +text : other;
  state.query = within(hash.query, data.queries, data.queries.length - 1);
  const weights = rowOf(rows.weights, state.query);
  state.key = within(hash.key, data.keys, weights.indexOf(Math.max(...weights)));
  for (const part of [embeddings, layerInput, projections, scoring, masking, softmax,
                      weightedSum, joining, residual, nextToken]) {
    part();
  }
  window.addEventListener('resize', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  update();
}

start();
