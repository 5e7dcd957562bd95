// What the pages share: their data, and how text of any kind is shown.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

// Text from models and users goes into the page through here and
// textContent only. What would be invisible, or would reorder its neighbours,
// is shown by a sign or its number; joiners and selectors are parts of emoji.
const INVISIBLE = new RegExp(
    '(?![\\u200d\\p{Variation_Selector}])' +
        '[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]',
    'gu');
const visible = (piece) => piece === '' ? '∅' : marked(piece);
function marked(text) {
  return text.replace(INVISIBLE, (c) => {
    const code = c.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '␡';
    return '⟨' + code.toString(16) + '⟩';
  });
}

// For a canvas, which knows no unicode-bidi.
const isolated = (text) => '\u2068' + text + '\u2069';

// A page's title: what it is, and of which text.
function titled(what, text) {
  const characters = Array.from(marked(text || '').replace(/\s+/g, ' ').trim());
  const short = characters.length > 60 ?
      characters.slice(0, 60).join('') + '…' : characters.join('');
  return short ? `${what}: ${short}` : what;
}

// An element with a class, text and children.
function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

// An element of a drawing.
function svg(tag, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  if (text !== undefined) made.textContent = text;
  return made;
}

// Hands a drawing over as a file of its own, on the page's ground.
function saveSvg(drawing, title, name) {
  drawing.prepend(
      svg('title', {}, title),
      svg('rect', {width: '100%', height: '100%', fill: `rgb(${color('panel')})`}));
  const text = new XMLSerializer().serializeToString(drawing);
  const link = element('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'image/svg+xml'}));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// The page's colours as [r, g, b], by their names.
function color(name) {
  const text =
      getComputedStyle(document.documentElement).getPropertyValue('--' + name);
  return [1, 3, 5].map((i) => parseInt(text.trim().slice(i, i + 2), 16));
}
const rgb = (c, alpha = 1) => `rgba(${c.join(',')},${alpha})`;
const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));

// Sizes a canvas in CSS pixels and gives its context, cleared.
function prepare(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

const FONT = getComputedStyle(document.documentElement)
                 .getPropertyValue('--font');

// The beginning of `text` that fits into `width`.
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return isolated(text);
  let characters = Array.from(text);
  while (characters.length > 1 &&
         context.measureText(characters.join('') + '…').width > width) {
    characters = characters.slice(0, Math.ceil(characters.length * .9) - 1);
  }
  return isolated(characters.join('') + '…');
}

// Runs `draw` before the next frame, once, however often it is asked for.
function onceAFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

// The part of the address after #, as {name: value}.
const readHash = () =>
    Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
