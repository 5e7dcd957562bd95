// The attention page. `data` (client/commands/attention_page.h):
//   model, texts, bits (of a weight), maps: [{kind, layers, heads, rows,
//   queries, keys, boundary, seen, weights}]
// Weights are [layers, heads, queries, keys]; of 16 bits w * 65535, of 8 bits
// sqrt(w) * 255, since most weights of a long text are small.
'use strict';

const $ = (id) => document.getElementById(id);

const KINDS = {
  encoder: {
    name: 'Encoder self-attention',
    meaning: 'Every token of the text looks at every token of the text. ' +
        'A row’s weights add up to 1.',
    left: 'looks', right: 'looked at',
  },
  cross: {
    name: 'Cross-attention',
    meaning: 'To choose a token of the translation, the decoder looks at the ' +
        'tokens of the source.',
    left: 'chosen', right: 'source',
  },
  decoder: {
    name: 'Decoder self-attention',
    meaning: 'To choose a token, the decoder looks at what it has read so far; ' +
        'what comes later is masked.',
    left: 'chosen', right: 'read',
  },
};
const MEAN = -1;  // in the place of a head

const VALUES = new Float32Array(data.bits === 16 ? 65536 : 256);
for (let i = 0; i < VALUES.length; ++i) {
  VALUES[i] = data.bits === 16 ? i / 65535 : (i / 255) ** 2;
}

// A layer's head, or the mean of its heads: weights [queries, keys].
class AttentionSet {
  constructor(one) {
    Object.assign(this, one);
    const text = atob(one.weights);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    this.codes = data.bits === 16 ? new Uint16Array(bytes.buffer) : bytes;
    this.size = this.queries.length * this.keys.length;
    this.maps = new Map();
  }

  // layer and head: places in the lists, or MEAN.
  map(layer, head) {
    const name = layer + '/' + head;
    if (this.maps.has(name)) return this.maps.get(name);
    const heads = head === MEAN ? this.heads.map((_, i) => i) : [head];
    const map = new Float32Array(this.size);
    for (const one of heads) {
      const start = (layer * this.heads.length + one) * this.size;
      for (let i = 0; i < this.size; ++i) {
        map[i] += VALUES[this.codes[start + i]] / heads.length;
      }
    }
    if (this.maps.size > 8) this.maps.clear();
    this.maps.set(name, map);
    return map;
  }

  // How many keys a row may see.
  seen(row) {
    if (this.seen_first === null) return this.keys.length;
    return Math.min(this.keys.length, this.seen_first + this.rows[row]);
  }
}

const sets = data.maps.map((one) => new AttentionSet(one));
const state = {
  set: 0, layer: 0, head: 0, view: 'lines', threshold: .05,
  hover: null, pinned: null,  // {side: 'query' or 'key', index}
};
const shown = () => sets[state.set];
const selected = () => state.hover || state.pinned;

// [[index of the other token, weight]] of a token.
function weightsOf(token) {
  const set = shown();
  const map = set.map(state.layer, state.head);
  const width = set.keys.length;
  const list = [];
  if (token.side === 'query') {
    const end = set.seen(token.index);
    for (let k = 0; k < end; ++k) list.push([k, map[token.index * width + k]]);
  } else {
    for (let q = 0; q < set.queries.length; ++q) {
      if (token.index < set.seen(q)) {
        list.push([q, map[q * width + token.index]]);
      }
    }
  }
  return list;
}

// ---- Drawing ---------------------------------------------------------------

let theme;
function readTheme() {
  theme = Object.fromEntries(
      ['panel', 'text', 'quiet', 'line', 'accent', 'strong'].map(
          (name) => [name, color(name)]));
  // Small weights must show: the ramp rises like a root.
  theme.ramp = Array.from(
      {length: 256}, (_, i) => mix(theme.panel, theme.accent, (i / 255) ** .6));
}
const shade = (part) => theme.ramp[Math.min(255, Math.round(part * 255))];
// What has the full colour: weights of a long text are small.
const largest = (map) => map.reduce((a, b) => Math.max(a, b), 1e-6);

function hatch(context) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  pen.strokeStyle = rgb(theme.quiet, .55);
  pen.beginPath();
  pen.moveTo(-1, 9);
  pen.lineTo(9, -1);
  pen.moveTo(-1, 1);
  pen.lineTo(1, -1);
  pen.moveTo(7, 9);
  pen.lineTo(9, 7);
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

// The pixels of a map, one each cell.
function imageOf(set, map) {
  const width = set.keys.length, height = set.queries.length;
  const image = new ImageData(width, height);
  const most = largest(map);
  for (let i = 0; i < map.length; ++i) {
    const c = shade(map[i] / most);
    image.data[4 * i] = c[0];
    image.data[4 * i + 1] = c[1];
    image.data[4 * i + 2] = c[2];
    image.data[4 * i + 3] = 255;
  }
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}

let layout = null;  // of what is on the canvas, for the pointer

function drawLines() {
  const set = shown();
  const map = set.map(state.layer, state.head);
  const scroller = $('scroller');
  const width = scroller.clientWidth;
  const rows = Math.max(set.queries.length, set.keys.length);
  const step = rows <= 40 ? 24 : rows <= 120 ? 19 : 16;
  const total = rows * step + 8;
  $('extent').style.height = total + 'px';
  $('extent').style.width = '';
  const height = Math.min(total, Math.round(window.innerHeight * .78));
  const context = prepare($('canvas'), width, height);
  const top = scroller.scrollTop - 4;
  context.font = `${step > 20 ? 14 : 12}px ${FONT}`;
  context.textBaseline = 'middle';
  const most = width * .34;
  const widest = (pieces) => Math.min(
      most, Math.max(...pieces.map((p) => context.measureText(p).width)) + 14);
  const left = widest(set.labels.queries), right = width - widest(set.labels.keys);
  const y = (i) => i * step + step / 2 - top;
  const token = selected();
  const chosen = token ? new Map(weightsOf(token)) : null;

  const first = Math.max(0, Math.floor(top / step) - 1);
  const last = Math.min(rows, first + Math.ceil(height / step) + 2);
  const label = (pieces, side, i, x, align, box) => {
    if (i >= pieces.length) return;
    const own = token && token.side === side && token.index === i;
    const weight = chosen && token.side !== side ? chosen.get(i) || 0 : 0;
    if (own || weight > 0) {
      context.fillStyle = own ? rgb(theme.strong, .25) :
                                rgb(theme.accent, .08 + .8 * weight);
      context.fillRect(box[0], y(i) - step / 2 + 1, box[1], step - 2);
    }
    const dimmed = token && token.side === side && !own;
    context.fillStyle = rgb(dimmed ? theme.quiet : theme.text);
    context.textAlign = align;
    context.fillText(fitted(context, pieces[i], box[1] - 8), x, y(i) + 1);
  };
  for (let i = first; i < last; ++i) {
    label(set.labels.queries, 'query', i, left - 7, 'right', [0, left]);
    label(set.labels.keys, 'key', i, right + 7, 'left', [right, width - right]);
  }

  const line = (q, k, weight) => {
    const from = y(q), to = y(k);
    if (Math.max(from, to) < 0 || Math.min(from, to) > height) return;
    // Alone, a line may show however small its weight is.
    const strength = token ? Math.sqrt(weight) : weight;
    context.globalAlpha = Math.min(1, .06 + .94 * strength);
    context.lineWidth = 1 + 2.5 * weight;
    context.beginPath();
    context.moveTo(left + 3, from);
    const bend = (right - left) * .4;
    context.bezierCurveTo(left + bend, from, right - bend, to, right - 3, to);
    context.stroke();
  };
  context.strokeStyle = rgb(token ? theme.strong : theme.accent);
  if (token) {
    for (const [other, weight] of chosen) {
      if (weight < Math.min(state.threshold, .01)) continue;
      if (token.side === 'query') line(token.index, other, weight);
      else line(other, token.index, weight);
    }
  } else {
    const keys = set.keys.length;
    for (let q = 0; q < set.queries.length; ++q) {
      const end = set.seen(q);
      for (let k = 0; k < end; ++k) {
        const weight = map[q * keys + k];
        if (weight >= state.threshold && weight > 0) line(q, k, weight);
      }
    }
  }
  context.globalAlpha = 1;
  // What the chosen token may not see.
  if (token && token.side === 'query' && set.seen(token.index) < set.keys.length) {
    context.fillStyle = hatch(context);
    const from = y(set.seen(token.index)) - step / 2;
    context.fillRect(right, from, width - right,
                     y(set.keys.length) - step / 2 - from);
  }
  if (set.boundary !== null) {
    context.strokeStyle = rgb(theme.quiet);
    context.setLineDash([3, 3]);
    context.beginPath();
    for (const [pieces, from, to] of [[boundaryRow(set), 0, left],
                                      [set.boundary, right, width]]) {
      context.moveTo(from, y(pieces) - step / 2);
      context.lineTo(to, y(pieces) - step / 2);
    }
    context.stroke();
    context.setLineDash([]);
  }
  layout = {
    at(x, at) {
      const index = Math.floor((at + top) / step);
      if (x < left + 4 && index < set.queries.length) {
        return {side: 'query', index};
      }
      if (x > right - 4 && index < set.keys.length) return {side: 'key', index};
      return null;
    },
  };
}

// The first row of the second text.
function boundaryRow(set) {
  const found = set.rows.findIndex((row) => row >= set.boundary);
  return found < 0 ? set.rows.length : found;
}

function drawMatrix() {
  const set = shown();
  const map = set.map(state.layer, state.head);
  const scroller = $('scroller');
  const available = scroller.clientWidth;
  const rows = set.queries.length, keys = set.keys.length;
  const pen = $('canvas').getContext('2d');
  pen.font = `12px ${FONT}`;
  const widest = (pieces, most) => Math.min(
      most, Math.max(...pieces.map((p) => pen.measureText(p).width)) + 10);
  let leftMargin = widest(set.labels.queries, Math.min(150, available * .3));
  let topMargin = widest(set.labels.keys, 120);
  let cell = Math.min(46, (available - leftMargin) / keys);
  const labelled = cell >= 8;
  const size = Math.max(9, Math.min(12, cell));
  if (!labelled) {
    leftMargin = topMargin = 0;
    cell = Math.max(1, available / keys);
  }
  // A few rows of many keys would be a thread.
  const tall = Math.max(cell, Math.min(24, 400 / rows));
  const width = Math.ceil(leftMargin + keys * cell);
  const height = Math.ceil(topMargin + rows * tall);
  $('extent').style.width = width + 'px';
  $('extent').style.height = height + 'px';
  const context = prepare($('canvas'), width, height);
  context.imageSmoothingEnabled = false;
  context.drawImage(imageOf(set, map), leftMargin, topMargin, keys * cell,
                    rows * tall);
  // Masks: what a row may not see.
  if (set.seen_first !== null) {
    context.fillStyle = hatch(context);
    for (let q = 0; q < rows; ++q) {
      const from = leftMargin + set.seen(q) * cell;
      context.fillRect(from, topMargin + q * tall,
                       leftMargin + keys * cell - from, tall);
    }
  }
  const token = selected();
  context.font = `${size}px ${FONT}`;
  context.textBaseline = 'middle';
  if (labelled) {
    for (let q = 0; q < rows; ++q) {
      const own = token && token.side === 'query' && token.index === q;
      context.fillStyle = rgb(own ? theme.strong : theme.text);
      context.textAlign = 'right';
      context.fillText(fitted(context, set.labels.queries[q], leftMargin - 6),
                       leftMargin - 5, topMargin + (q + .5) * tall);
    }
    for (let k = 0; k < keys; ++k) {
      const own = token && token.side === 'key' && token.index === k;
      context.fillStyle = rgb(own ? theme.strong : theme.text);
      context.save();
      context.translate(leftMargin + (k + .5) * cell, topMargin - 5);
      context.rotate(-Math.PI / 2);
      context.textAlign = 'left';
      context.fillText(fitted(context, set.labels.keys[k], topMargin - 6), 0, 0);
      context.restore();
    }
  }
  if (cell >= 32) {
    context.textAlign = 'center';
    context.font = `11px ${FONT}`;
    const most = largest(map);
    for (let q = 0; q < rows; ++q) {
      for (let k = 0; k < set.seen(q); ++k) {
        const weight = map[q * keys + k];
        const back = shade(weight / most);
        const far = (c) => c.reduce((sum, v, i) => sum + Math.abs(v - back[i]), 0);
        context.fillStyle =
            rgb(far(theme.text) > far(theme.panel) ? theme.text : theme.panel);
        context.fillText(weight.toFixed(2), leftMargin + (k + .5) * cell,
                         topMargin + (q + .5) * tall);
      }
    }
  }
  context.strokeStyle = rgb(theme.line);
  context.strokeRect(leftMargin + .5, topMargin + .5, keys * cell - 1,
                     rows * tall - 1);
  if (set.boundary !== null) {
    context.strokeStyle = rgb(theme.quiet);
    context.setLineDash([4, 3]);
    context.beginPath();
    const x = leftMargin + set.boundary * cell;
    const y = topMargin + boundaryRow(set) * tall;
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
  }
  if (token) {
    context.strokeStyle = rgb(theme.strong);
    context.lineWidth = 1.5;
    if (token.side === 'query') {
      context.strokeRect(leftMargin, topMargin + token.index * tall,
                         keys * cell, tall);
    } else {
      context.strokeRect(leftMargin + token.index * cell, topMargin, cell,
                         rows * tall);
    }
  }
  layout = {
    at(x, y) {
      const k = Math.floor((x - leftMargin) / cell);
      const q = Math.floor((y - topMargin) / tall);
      if (q < 0 && k >= 0 && k < keys) return {side: 'key', index: k};
      if (q < 0 || q >= rows || k >= keys) return null;
      return {side: 'query', index: q, other: k};
    },
  };
}

// ---- The rest of the page --------------------------------------------------

function showDetails() {
  const set = shown();
  const token = selected();
  const list = $('weights');
  list.replaceChildren();
  $('details-title').replaceChildren();
  if (!token) {
    $('details-title').textContent = 'Weights of a token';
    return;
  }
  const own = token.side === 'query' ? set.labels.queries : set.labels.keys;
  const others = token.side === 'query' ? set.labels.keys : set.labels.queries;
  const name = element('span', 'token', own[token.index]);
  const place = token.side === 'query' ? set.rows[token.index] : token.index;
  $('details-title').append(
      name, element('span', 'quiet', ` ${place} ` +
          (token.side === 'query' ? 'looks at' : 'is looked at by')));
  const weights = weightsOf(token);
  if (token.other !== undefined && token.other < set.seen(token.index)) {
    // The cell under the pointer comes first.
    const [pair] = weights.splice(token.other, 1);
    weights.sort((a, b) => b[1] - a[1]);
    weights.unshift(pair);
  } else {
    weights.sort((a, b) => b[1] - a[1]);
  }
  const most = weights.length === 15 ? 15 : 14;
  for (const [other, weight] of weights.slice(0, most)) {
    const item = element(
        'li', '', element('b', '', others[other]),
        element('span', '', weight.toFixed(data.bits === 16 ? 4 : 3)));
    const part = `${(100 * Math.min(1, weight)).toFixed(1)}%`;
    item.style.background = `linear-gradient(to right, ${
        rgb(theme.accent, .3)} ${part}, transparent ${part})`;
    list.append(item);
  }
  if (weights.length > most) {
    const rest = weights.slice(most).reduce((sum, one) => sum + one[1], 0);
    list.append(element(
        'li', 'quiet', element('b', '', `${weights.length - most} others`),
        element('span', '', rest.toFixed(3))));
  }
}

const headName = (set, head) => head === MEAN ?
    'mean of ' + set.heads.length + ' heads' : 'head ' + set.heads[head];

function drawThumb(canvas, set, layer, head) {
  const map = set.map(layer, head);
  const rows = set.queries.length, keys = set.keys.length;
  const size = canvas.width;
  const most = new Float32Array(size * size);
  for (let q = 0; q < rows; ++q) {
    const y = Math.floor(q * size / rows), height = Math.ceil(size / rows);
    for (let k = 0; k < keys; ++k) {
      const weight = map[q * keys + k];
      const x = Math.floor(k * size / keys), width = Math.ceil(size / keys);
      for (let i = y; i < Math.min(size, y + height); ++i) {
        for (let j = x; j < Math.min(size, x + width); ++j) {
          if (most[i * size + j] < weight) most[i * size + j] = weight;
        }
      }
    }
  }
  const image = new ImageData(size, size);
  const full = largest(map);
  for (let i = 0; i < most.length; ++i) {
    image.data.set([...shade(most[i] / full), 255], 4 * i);
  }
  canvas.getContext('2d').putImageData(image, 0, 0);
}

function buildGrid() {
  const set = shown();
  const grid = $('grid');
  const heads = set.heads.map((_, i) => i);
  if (heads.length > 1) heads.push(MEAN);
  $('picker').hidden = set.layers.length * heads.length < 2;
  grid.style.gridTemplateColumns = `auto repeat(${heads.length}, auto)`;
  grid.replaceChildren(element('span'));
  for (const head of heads) {
    grid.append(element('span', '', head === MEAN ? 'mean' : `${set.heads[head]}`));
  }
  const side = heads.length > 13 ? 16 : heads.length > 9 ? 20 : 32;
  set.layers.forEach((number, layer) => {
    grid.append(element('span', 'layer', `${number}`));
    for (const head of heads) {
      const canvas = element('canvas');
      canvas.width = canvas.height = side;
      drawThumb(canvas, set, layer, head);
      const button = element('button', '', canvas);
      button.setAttribute(
          'aria-label', `layer ${number}, ${headName(set, head)}`);
      button.title = button.getAttribute('aria-label');
      button.dataset.place = layer + '/' + head;
      button.addEventListener('click', () => go({layer, head}));
      grid.append(button);
    }
  });
}

const redraw = onceAFrame(() => {
  if (state.view === 'lines') drawLines();
  else drawMatrix();
});

function showAll() {
  const set = shown();
  const kind = KINDS[set.kind];
  const what = `layer ${set.layers[state.layer]}, ${headName(set, state.head)}`;
  $('caption').textContent = `${kind.name}: ${what}`;
  $('canvas').setAttribute('aria-label', $('caption').textContent);
  $('meaning').textContent = kind.meaning;
  $('left-name').textContent = kind.left;
  $('right-name').textContent = kind.right;
  $('columns').hidden = state.view !== 'lines';
  $('threshold-label').hidden = state.view !== 'lines';
  $('threshold').value = state.threshold;
  $('threshold-value').textContent = state.threshold.toFixed(2);
  const legend = [];
  if (state.view === 'matrix') {
    const most = largest(set.map(state.layer, state.head));
    legend.push(`Full colour: ${most.toFixed(2)}.`);
  }
  if (set.seen_first !== null) legend.push('Hatched: masked, may not be seen.');
  if (set.boundary !== null) legend.push('Dashed: the second text begins.');
  $('legend').textContent = legend.join(' ');
  for (const button of $('kinds').children) {
    button.setAttribute('aria-pressed', +button.dataset.set === state.set);
  }
  $('view-lines').setAttribute('aria-pressed', state.view === 'lines');
  $('view-matrix').setAttribute('aria-pressed', state.view === 'matrix');
  for (const button of $('grid').querySelectorAll('button')) {
    button.setAttribute(
        'aria-pressed',
        button.dataset.place === state.layer + '/' + state.head);
  }
  showDetails();
  redraw();
}

// Changes the state as given and shows it; the address says it too.
function go(change) {
  const before = state.set;
  Object.assign(state, change);
  const set = shown();
  state.layer = Math.max(0, Math.min(state.layer, set.layers.length - 1));
  if (state.head !== MEAN || set.heads.length === 1) {
    state.head = Math.max(0, Math.min(state.head, set.heads.length - 1));
  }
  if (before !== state.set) {
    state.hover = state.pinned = null;
    $('scroller').scrollTop = 0;
  }
  if (before !== state.set || !$('grid').children.length) buildGrid();
  const where = new URLSearchParams({
    kind: set.kind,
    layer: set.layers[state.layer],
    head: state.head === MEAN ? 'mean' : set.heads[state.head],
    view: state.view,
  });
  if (state.pinned && state.pinned.side === 'query') {
    where.set('token', set.rows[state.pinned.index]);
  }
  history.replaceState(null, '', '#' + where);
  showAll();
}

function goWhereHashSays() {
  const hash = readHash();
  const change = {};
  const set = sets.findIndex((one) => one.kind === hash.kind);
  change.set = Math.max(0, set);
  const there = sets[change.set];
  // At first the last layer: its heads are the most telling ones.
  const layer = there.layers.indexOf(+hash.layer);
  change.layer = layer < 0 ? there.layers.length - 1 : layer;
  change.head = hash.head === 'mean' ? MEAN :
                                       Math.max(0, there.heads.indexOf(+hash.head));
  if (!('head' in hash)) change.head = MEAN;
  if (hash.view === 'matrix' || hash.view === 'lines') change.view = hash.view;
  go(change);
  const row = there.rows.indexOf(+hash.token);
  if ('token' in hash && row >= 0) go({pinned: {side: 'query', index: row}});
}

function start() {
  for (const set of sets) {
    set.labels = {
      queries: set.queries.map(visible),
      keys: set.keys.map(visible),
    };
  }
  readTheme();
  $('model').textContent = data.model;
  for (const text of data.texts) {
    const lines = text.split('\n').map(marked).join('\n');
    $('texts').append(element('p', 'given', lines));
  }
  sets.forEach((set, index) => {
    const button = element('button', '', KINDS[set.kind].name);
    button.dataset.set = index;
    button.addEventListener('click', () => go({set: index}));
    $('kinds').append(button);
  });
  $('kinds').hidden = sets.length < 2;
  $('view-lines').addEventListener('click', () => go({view: 'lines'}));
  $('view-matrix').addEventListener('click', () => go({view: 'matrix'}));
  $('threshold').addEventListener('input', (event) => {
    state.threshold = +event.target.value;
    showAll();
  });
  const canvas = $('canvas');
  const tokenAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return layout && layout.at(event.clientX - box.left, event.clientY - box.top);
  };
  const point = (token) => {
    if (JSON.stringify(token) === JSON.stringify(state.hover)) return;
    state.hover = token;
    showDetails();
    redraw();
  };
  canvas.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'mouse') point(tokenAt(event));
  });
  canvas.addEventListener('pointerleave', () => point(null));
  canvas.addEventListener('click', (event) => {
    const token = tokenAt(event);
    const same = token && state.pinned && token.side === state.pinned.side &&
        token.index === state.pinned.index;
    state.hover = null;
    go({pinned: same ? null : token});
  });
  $('scroller').addEventListener('scroll', () => {
    if (state.view === 'lines') redraw();
  });
  document.addEventListener('keydown', (event) => {
    if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey) return;
    const set = shown();
    const last = set.heads.length - 1;
    if (event.key === 'ArrowUp') go({layer: state.layer - 1});
    else if (event.key === 'ArrowDown') go({layer: state.layer + 1});
    else if (event.key === 'ArrowLeft') {
      go({head: state.head === MEAN ? last : state.head - 1});
    } else if (event.key === 'ArrowRight') {
      go({head: state.head === MEAN || state.head === last ? MEAN : state.head + 1});
    } else return;
    event.preventDefault();
  });
  window.addEventListener('resize', redraw);
  window.addEventListener('hashchange', goWhereHashSays);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    readTheme();
    buildGrid();
    showAll();
  });
  state.threshold = Math.max(...sets.map((s) => s.keys.length)) > 100 ? .1 : .05;
  goWhereHashSays();
}

start();
