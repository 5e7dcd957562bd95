// The attention page: draws a map as lines or as a matrix.

let theme;
function readTheme() {
  theme = Object.fromEntries(
      ['panel', 'text', 'quiet', 'line', 'accent', 'strong'].map(
          (name) => [name, color(name)]));
  // The ramp rises like a square root, so that small weights are visible.
  theme.ramp = Array.from(
      {length: 256}, (_, i) => mix(theme.panel, theme.accent, (i / 255) ** .6));
}
const shade = (part) => theme.ramp[Math.min(255, Math.round(part * 255))];
// The weight that gets the full colour: the largest, since those of a long text
// are small.
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

// Returns the pixels of a map, one for each cell.
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

// A place to draw a map: the page, where only the visible lines of a long text
// need to be drawn. attention_svg.js has the other place.
const SCREEN = {
  whole: false,
  begin(width, height, extent) {
    $('extent').style.width = extent.width ? extent.width + 'px' : '';
    $('extent').style.height = extent.height + 'px';
    return prepare($('canvas'), width, height);
  },
  hatch,
  image(context, set, map, x, y, width, height) {
    context.imageSmoothingEnabled = false;
    context.drawImage(imageOf(set, map), x, y, width, height);
  },
};

// drawLines and drawMatrix return a layout: `at` finds the token at a place,
// `down` how far down a token is.

// Returns the colour of a piece: an answer's differs from a prompt's.
const inkOf = (set, side, index) =>
    set.answers(side === 'query' ? set.rows[index] : index) ? theme.accent :
                                                              theme.text;

function drawLines(paper) {
  const set = shown();
  const map = set.map(state.layer, state.head);
  const scroller = $('scroller');
  const width = scroller.clientWidth;
  const rows = Math.max(set.queries.length, set.keys.length);
  const step = rows <= 40 ? 24 : rows <= 120 ? 19 : 16;
  const total = rows * step + 8;
  const height = paper.whole ?
      total : Math.min(total, Math.round(window.innerHeight * .78));
  const context = paper.begin(width, height, {height: total});
  const top = (paper.whole ? 0 : scroller.scrollTop) - 4;
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
    context.fillStyle = rgb(dimmed ? theme.quiet : inkOf(set, side, i));
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
    // Lines of a single token are visible even if their weights are small.
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
      const [begin, end] = set.seen(q);
      for (let k = begin; k < end; ++k) {
        const weight = map[q * keys + k];
        if (weight >= state.threshold && weight > 0) line(q, k, weight);
      }
    }
  }
  context.globalAlpha = 1;
  // Marks what the chosen token may not see.
  if (token && token.side === 'query') {
    context.fillStyle = paper.hatch(context);
    for (const [from, to] of set.masked(token.index)) {
      context.fillRect(right, y(from) - step / 2, width - right,
                       (to - from) * step);
    }
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
  return {
    at(x, at) {
      const index = Math.floor((at + top) / step);
      if (x < left + 4 && index < set.queries.length) {
        return {side: 'query', index};
      }
      if (x > right - 4 && index < set.keys.length) return {side: 'key', index};
      return null;
    },
    down: (token) => token.index * step,
  };
}

// Returns the first row of the second text.
function boundaryRow(set) {
  const found = set.rows.findIndex((row) => row >= set.boundary);
  return found < 0 ? set.rows.length : found;
}

function drawMatrix(paper) {
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
  // Few rows with many keys are drawn taller, else they would be a thin strip.
  const tall = Math.max(cell, Math.min(24, 400 / rows));
  const width = Math.ceil(leftMargin + keys * cell);
  const height = Math.ceil(topMargin + rows * tall);
  const context = paper.begin(width, height, {width, height});
  paper.image(context, set, map, leftMargin, topMargin, keys * cell, rows * tall);
  // Hatches what each row may not see.
  if (set.seen_first !== null) {
    context.fillStyle = paper.hatch(context);
    for (let q = 0; q < rows; ++q) {
      for (const [from, to] of set.masked(q)) {
        context.fillRect(leftMargin + from * cell, topMargin + q * tall,
                         (to - from) * cell, tall);
      }
    }
  }
  const token = selected();
  context.font = `${size}px ${FONT}`;
  context.textBaseline = 'middle';
  if (labelled) {
    for (let q = 0; q < rows; ++q) {
      const own = token && token.side === 'query' && token.index === q;
      context.fillStyle = rgb(own ? theme.strong : inkOf(set, 'query', q));
      context.textAlign = 'right';
      context.fillText(fitted(context, set.labels.queries[q], leftMargin - 6),
                       leftMargin - 5, topMargin + (q + .5) * tall);
    }
    for (let k = 0; k < keys; ++k) {
      const own = token && token.side === 'key' && token.index === k;
      context.fillStyle = rgb(own ? theme.strong : inkOf(set, 'key', k));
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
      const [begin, end] = set.seen(q);
      for (let k = begin; k < end; ++k) {
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
  return {
    at(x, y) {
      const k = Math.floor((x - leftMargin) / cell);
      const q = Math.floor((y - topMargin) / tall);
      if (q < 0 && k >= 0 && k < keys) return {side: 'key', index: k};
      if (q < 0 || q >= rows || k >= keys) return null;
      return {side: 'query', index: q, other: k};
    },
    down: (token) =>
        token.side === 'key' ? 0 : topMargin + token.index * tall,
  };
}
