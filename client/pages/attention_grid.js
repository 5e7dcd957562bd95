// The attention page: a grid with a small picture of each head of each layer.

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

// Returns a line above each group of query heads that read the same keys and
// values.
function shareLine(set) {
  const spans = [];
  for (const head of set.heads) {
    const shared = Math.floor(head / set.heads_per_kv);
    if (spans.length && spans.at(-1).shared === shared) ++spans.at(-1).heads;
    else spans.push({shared, heads: 1});
  }
  return [element('span'), element('span'), ...spans.map(({shared, heads}) => {
    const line = element('span', 'shared', `KV ${shared}`);
    line.style.gridColumn = `span ${heads}`;
    return line;
  })];
}

function buildGrid() {
  const set = shown();
  const grid = $('grid');
  const heads = set.heads.map((_, i) => i);
  // The mean comes first, so that a phone shows it, however many heads there
  // are.
  if (heads.length > 1) heads.unshift(MEAN);
  $('picker').hidden = set.layers.length * heads.length < 2;
  grid.style.gridTemplateColumns = `auto repeat(${heads.length}, auto)`;
  $('sharing').hidden = set.heads_per_kv < 2 || heads.length < 2;
  grid.replaceChildren(...$('sharing').hidden ? [] : shareLine(set));
  grid.append(element('span'));
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
