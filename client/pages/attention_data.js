// The attention page: its data and state. `data`
// (client/commands/attention_page.h):
//   model, texts, bits (of a weight), maps: [{kind, layers, heads, rows,
//   queries, keys, boundary, seen_first, windows, prompt, heads_per_kv,
//   weights}]
// Weights are [layers, heads, queries, keys]. With 16 bits a weight w is stored
// as w * 65535; with 8 bits as sqrt(w) * 255, since most weights of a long text
// are small.
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
  // The self-attention of a decoder-only model.
  prompt: {
    name: 'Decoder self-attention',
    meaning: 'Every token of the prompt and of its answer looks at itself and ' +
        'at what came before it; what comes later is masked.',
    left: 'looks', right: 'looked at',
  },
};
const MEAN = -1;  // in place of a head: the mean of all heads

const VALUES = new Float32Array(data.bits === 16 ? 65536 : 256);
for (let i = 0; i < VALUES.length; ++i) {
  VALUES[i] = data.bits === 16 ? i / 65535 : (i / 255) ** 2;
}

// The maps of one kind of attention, decoded on demand.
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

  // Returns the weights [queries, keys] of a head, or of the mean of a layer's
  // heads. `layer` and `head` are indices in the lists; `head` may be MEAN.
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

  get words() { return KINDS[this.prompt ? 'prompt' : this.kind]; }

  // The most keys that a row of the current layer sees; 0: all.
  get window() { return this.windows[state.layer] || 0; }

  // Returns the range [begin, end) of keys that a row may see.
  seen(row) {
    if (this.seen_first === null) return [0, this.keys.length];
    const end = Math.min(this.keys.length, this.seen_first + this.rows[row]);
    return [this.window ? Math.max(0, end - this.window) : 0, end];
  }
  sees(row, key) {
    const [begin, end] = this.seen(row);
    return begin <= key && key < end;
  }
  // Returns the ranges of keys that a row may not see.
  masked(row) {
    const [begin, end] = this.seen(row);
    return [[0, begin], [end, this.keys.length]].filter(([from, to]) => from < to);
  }

  // True if the token with this number in the text belongs to the answer.
  answers(place) {
    return this.prompt && this.boundary !== null && place >= this.boundary;
  }
}

const sets = data.maps.map((one) => new AttentionSet(one));
const state = {
  set: 0, layer: 0, head: 0, view: 'lines', threshold: .05,
  hover: null, pinned: null,  // {side: 'query' or 'key', index}
};
const shown = () => sets[state.set];
const selected = () => state.hover || state.pinned;

// Returns [[index of the other token, weight]] for a token.
function weightsOf(token) {
  const set = shown();
  const map = set.map(state.layer, state.head);
  const width = set.keys.length;
  const list = [];
  if (token.side === 'query') {
    const [begin, end] = set.seen(token.index);
    for (let k = begin; k < end; ++k) list.push([k, map[token.index * width + k]]);
  } else {
    for (let q = 0; q < set.queries.length; ++q) {
      if (set.sees(q, token.index)) {
        list.push([q, map[q * width + token.index]]);
      }
    }
  }
  return list;
}
