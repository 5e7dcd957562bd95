// The beams page. `data` (client/commands/beam_tree.h):
//   model, text, truncated, hypotheses: [{text, score, tokens, reason}],
//   steps: [[{parent, token, logprob, sum, score, fate, why, hypothesis}]]
// Each column is a step, with its best candidate on top.
'use strict';

const $ = (id) => document.getElementById(id);
const COLUMN = 148, ROW = 34, BOX = 112, TOP = 26, LEFT = 8;

const GROUPS = {
  continued: 'continued', stopped: 'continued', pruned: 'pruned',
  ended: 'ended', ended_too_low: 'lost', outscored: 'lost',
};

const nodes = data.steps.map((step, s) => step.map((one, rank) => ({
  ...one, step: s, rank, label: visible(one.token),
})));
const parentOf = (node) => node.step === 0 ? null : nodes[node.step - 1][node.parent];

// Returns a node and all that it continues, from first to last.
function wayTo(node) {
  const way = [];
  for (let one = node; one; one = parentOf(one)) way.unshift(one);
  return way;
}

const state = {hover: null, pinned: null, result: 0};

const pen = document.createElement('canvas').getContext('2d');
pen.font = `13px ${FONT}`;

function draw() {
  const tree = $('tree');
  const lanes = Math.max(1, ...nodes.map((step) => step.length));
  tree.setAttribute('width', LEFT * 2 + Math.max(1, nodes.length) * COLUMN);
  tree.setAttribute('height', TOP + lanes * ROW + 4);
  const x = (node) => LEFT + node.step * COLUMN;
  const y = (node) => TOP + node.rank * ROW;
  const lines = svg('g', {}), boxes = svg('g', {});
  nodes.forEach((step, s) => {
    lines.append(svg('text', {class: 'step', x: LEFT + s * COLUMN, y: 14},
                     'step ' + (s + 1)));
    for (const node of step) {
      const group = GROUPS[node.fate];
      const parent = parentOf(node);
      if (parent) {
        const from = x(parent) + BOX, to = x(node);
        const a = y(parent) + ROW / 2 - 4, b = y(node) + ROW / 2 - 4;
        node.line = svg('path', {
          class: group,
          d: `M${from} ${a}C${from + 18} ${a} ${to - 18} ${b} ${to} ${b}`,
        });
        lines.append(node.line);
      }
      node.box = svg('g', {
        class: group, transform: `translate(${x(node)} ${y(node)})`,
        tabindex: 0, role: 'button',
        'aria-label': `step ${s + 1}, ${node.label}, ${node.sum.toFixed(2)}, ${node.why}`,
      });
      node.box.addEventListener('focus', () => {
        state.hover = node;
        show();
      });
      node.box.addEventListener('blur', () => {
        state.hover = null;
        show();
      });
      node.box.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        state.pinned = state.pinned === node ? null : node;
        show();
      });
      node.box.append(
          svg('rect', {width: BOX, height: ROW - 8}),
          svg('text', {x: 6, y: 17}, fitted(pen, node.label, BOX - 52)),
          svg('text', {class: 'number', x: BOX - 6, y: 17},
              node.sum.toFixed(2)));
      node.box.addEventListener('pointerenter', () => {
        state.hover = node;
        show();
      });
      node.box.addEventListener('pointerleave', () => {
        state.hover = null;
        show();
      });
      node.box.addEventListener('click', () => {
        state.pinned = state.pinned === node ? null : node;
        show();
      });
      boxes.append(node.box);
    }
  });
  tree.replaceChildren(lines, boxes);
}

function show() {
  const ends = nodes.flat().find((node) => node.hypothesis === state.result);
  const way = new Set(ends ? wayTo(ends) : []);
  const selected = state.hover || state.pinned;
  for (const node of nodes.flat()) {
    node.box.classList.toggle('way', way.has(node));
    node.box.classList.toggle('selected', node === selected);
    if (node.line) node.line.classList.toggle('way', way.has(node));
  }
  [...$('hypotheses').children].forEach((item, index) => {
    item.firstChild.setAttribute('aria-pressed', index === state.result);
  });
  if (!selected) return;
  $('details-title').textContent = selected.why;
  $('story').textContent =
      wayTo(selected).map((node) => node.label).join(' ');
  $('numbers').replaceChildren(...[
    ['token', selected.label],
    ['its log-probability', selected.logprob.toFixed(4)],
    ['sum', selected.sum.toFixed(4)],
    ['score', selected.score.toFixed(4)],
    ['rank in the step', selected.rank + 1],
  ].map(([name, value]) => element(
      'div', '', element('dt', '', name), element('dd', 'token', `${value}`))));
}

// Returns the tree as a separate file, with the colours of the page.
function drawing() {
  const copy = $('tree').cloneNode(true);
  const from = $('tree').querySelectorAll('rect, path, text');
  copy.querySelectorAll('rect, path, text').forEach((one, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray',
                        'opacity', 'font', 'text-anchor', 'display']) {
      one.style.setProperty(name, style.getPropertyValue(name));
    }
  });
  return copy;
}

function start() {
  $('model').textContent = data.model;
  document.title = titled('Beam search', data.text);
  $('texts').append(element('p', 'given', marked(data.text)));
  $('meaning').textContent =
      'Each step keeps the best candidates of all running hypotheses, by the ' +
      'sum of their log-probabilities (the number in the box).' +
      (data.truncated ? ' The trace was full: later steps are missing.' : '');
  data.hypotheses.forEach((one, index) => {
    const button = element(
        'button', '', element('b', '', one.score.toFixed(4)),
        element('span', '', one.text), element('b', '', one.reason));
    button.addEventListener('click', () => {
      state.result = index;
      show();
    });
    $('hypotheses').append(element('li', '', button));
  });
  $('pruned').addEventListener('change', (event) => {
    $('tree').classList.toggle('bare', !event.target.checked);
  });
  $('save').addEventListener(
      'click', () => saveSvg(drawing(), document.title, 'beams.svg'));
  draw();
  const hash = readHash();
  if ('result' in hash) state.result = +hash.result;
  if ('step' in hash && nodes[hash.step - 1]) {
    state.pinned = nodes[hash.step - 1][(hash.rank || 1) - 1] || null;
  }
  show();
}

start();
