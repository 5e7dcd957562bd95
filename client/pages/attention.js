// The attention page: what surrounds the drawing, a token's weights and the
// controls.

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
  const digits = data.bits === 16 ? 4 : 3;
  if (token.other !== undefined && set.sees(token.index, token.other)) {
    // The cell under the pointer comes first; the list below is sorted by
    // weight.
    const [other, weight] = weights.find(([key]) => key === token.other);
    $('details-title').append(
        element('br'), element('span', 'token', others[other]),
        element('span', 'quiet', ` ${weight.toFixed(digits)}`));
  }
  weights.sort((a, b) => b[1] - a[1]);
  const most = weights.length === 15 ? 15 : 14;
  for (const [other, weight] of weights.slice(0, most)) {
    const item = element(
        'li', '', element('b', '', others[other]),
        element('span', '', weight.toFixed(digits)));
    const part = `${(100 * Math.min(1, weight)).toFixed(1)}%`;
    item.style.background = `linear-gradient(to right, ${
        rgb(theme.accent, .3)} ${part}, transparent ${part})`;
    list.append(item);
  }
  if (weights.length > most) {
    const rest = weights.slice(most).reduce((sum, one) => sum + one[1], 0);
    list.append(element(
        'li', 'quiet', element('b', '', `${weights.length - most} others`),
        element('span', '', rest.toFixed(digits))));
  }
}

const draw = (paper) =>
    state.view === 'lines' ? drawLines(paper) : drawMatrix(paper);
let layout = null;  // of the drawing on the screen
const redraw = onceAFrame(() => {
  layout = draw(SCREEN);
});

function showAll() {
  const set = shown();
  const kind = set.words;
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
  if (set.window) {
    legend.push(`A window: this layer sees the last ${set.window} tokens.`);
  }
  if (set.boundary !== null) {
    legend.push(set.prompt ? 'Dashed: the answer begins.' :
                             'Dashed: the second text begins.');
  }
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

// Scrolls to a token if it is out of sight.
function comeIntoSight(token) {
  const scroller = $('scroller');
  const down = layout ? layout.down(token) : 0, margin = 40;
  scroller.scrollTop = Math.max(
      down + margin - scroller.clientHeight,
      Math.min(scroller.scrollTop, down - margin));
}

// Applies a change to the state, shows the result and updates the address.
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
  writeHash(where);
  showAll();
}

function goWhereHashSays() {
  const hash = readHash();
  const change = {};
  const set = sets.findIndex((one) => one.kind === hash.kind);
  // For a translation, begins with the attention to the source.
  const cross = sets.findIndex((one) => one.kind === 'cross');
  change.set = Math.max(0, set < 0 ? cross : set);
  const there = sets[change.set];
  // Begins with the last layer, whose heads tell the most.
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
  document.title = titled('Attention', data.texts[0]);
  data.texts.forEach((text, index) => {
    const lines = text.split('\n').map(marked).join('\n');
    const answer = sets[0].prompt && index === 1;
    $('texts').append(element('p', answer ? 'given answer' : 'given', lines));
  });
  sets.forEach((set, index) => {
    const button = element('button', '', set.words.name);
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
  $('save').addEventListener('click', () => {
    const file = new SvgPaper();
    draw(file);
    saveSvg(file.drawing, $('caption').textContent, 'attention.svg');
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
    const token = (side, by) => {
      const count = (side === 'query' ? set.queries : set.keys).length;
      const now = state.pinned && state.pinned.side === side ?
          state.pinned.index : by > 0 ? -1 : 0;
      state.hover = null;
      go({pinned: {side, index: (now + by + count) % count}});
      comeIntoSight(state.pinned);
    };
    if (event.key === 'n') token('query', 1);
    else if (event.key === 'p') token('query', -1);
    else if (event.key === 'N') token('key', 1);
    else if (event.key === 'P') token('key', -1);
    else if (event.key === 'Escape') go({pinned: null});
    else if (event.key === 'ArrowUp') go({layer: state.layer - 1});
    else if (event.key === 'ArrowDown') go({layer: state.layer + 1});
    else if (event.key === 'ArrowLeft') {
      go({head: state.head === MEAN ? last :
              state.head === 0 ? MEAN : state.head - 1});
    } else if (event.key === 'ArrowRight') {
      go({head: state.head === last ? MEAN : state.head + 1});
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
