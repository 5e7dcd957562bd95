// Code that all pages share: their data, and how to show text of any kind.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

// Text from models and users gets into the page only through these functions
// and textContent. Characters that are invisible or reorder their neighbours
// are shown as a sign or their number. Joiners and selectors stay, since they
// are parts of emoji.
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

// Isolates text on a canvas, which does not support unicode-bidi.
const isolated = (text) => '\u2068' + text + '\u2069';

// Returns a page's title: what it shows, and the beginning of its text.
function titled(what, text) {
  const characters = Array.from(marked(text || '').replace(/\s+/g, ' ').trim());
  const short = characters.length > 60 ?
      characters.slice(0, 60).join('') + '…' : characters.join('');
  return short ? `${what}: ${short}` : what;
}

// Makes an element with a class, text and children.
function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

// Makes an SVG element.
function svg(tag, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  if (text !== undefined) made.textContent = text;
  return made;
}

// Saves a drawing as a separate file, on the page's background colour.
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

// Returns one of the page's colours, by its name, as [r, g, b].
function color(name) {
  const text =
      getComputedStyle(document.documentElement).getPropertyValue('--' + name);
  return [1, 3, 5].map((i) => parseInt(text.trim().slice(i, i + 2), 16));
}
const rgb = (c, alpha = 1) => `rgba(${c.join(',')},${alpha})`;
const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));

// Sizes a canvas in CSS pixels and returns its context, cleared.
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

// Returns the beginning of `text` that fits into `width`.
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return isolated(text);
  let characters = Array.from(text);
  while (characters.length > 1 &&
         context.measureText(characters.join('') + '…').width > width) {
    characters = characters.slice(0, Math.ceil(characters.length * .9) - 1);
  }
  return isolated(characters.join('') + '…');
}

// Returns a function that runs `draw` once before the next frame, however often
// it is called until then.
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

// Returns the part of the address after #, as {name: value}.
const readHash = () =>
    Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
// Replaces it. A page in a frame without an address of its own has none.
function writeHash(where) {
  if (location.protocol !== 'about:') history.replaceState(null, '', '#' + where);
}
