// Plots of the load page, as SVG that is as wide as its box.
'use strict';

const LEFT = 56, RIGHT = 14, TOP = 8, BOTTOM = 22;

// Formats numbers and seconds for people.
function short(number) {
  return number >= 100 ? Math.round(number).toLocaleString('en') :
                         String(Number(number.toPrecision(3)));
}
function time(seconds) {
  if (seconds >= 1) return short(seconds) + ' s';
  if (seconds >= 1e-3) return short(seconds * 1e3) + ' ms';
  return short(seconds * 1e6) + ' µs';
}

// Returns round numbers from 0 to the first that is not below `most`.
function ticks(most, count = 4) {
  if (!(most > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most / count));
  const step =
      [1, 2, 5, 10].map((one) => one * power).find((one) => one * count >= most * .999);
  const all = [0];
  while (all.at(-1) < most * .999) all.push(all.length * step);
  return all;
}

// Returns 1, 2 and 5 times powers of ten between two numbers.
function logTicks(low, high) {
  const all = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e) {
    for (const step of [1, 2, 5]) {
      const at = step * 10 ** e;
      if (at >= low * .999 && at <= high * 1.001) all.push(at);
    }
  }
  return all;
}

// Returns an axis: a function from a value to its place between two places.
// `log`: by its logarithm.
function scale(low, high, from, to, log = false) {
  const f = log ? Math.log : (one) => one;
  const span = f(high) - f(low) || 1;
  return (value) => from + (f(value) - f(low)) / span * (to - from);
}

// Makes a drawing in a box, with grid lines. xs, ys: {low, high, ticks, label,
// log}.
function frame(box, height, xs, ys) {
  const width = Math.max(200, box.clientWidth);
  const x = scale(xs.low, xs.high, LEFT, width - RIGHT, xs.log);
  const y = scale(ys.low, ys.high, height - BOTTOM, TOP, ys.log);
  const drawing = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`});
  for (const at of ys.ticks) {
    drawing.append(
        svg('line', {class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y(at), y2: y(at)}),
        svg('text', {x: LEFT - 6, y: y(at) + 4, 'text-anchor': 'end'}, ys.label(at)));
  }
  let end = -Infinity;  // of the previous label
  for (const at of xs.ticks) {
    const label = xs.label(at), half = label.length * 3.5;
    const middle = Math.min(x(at), width - half);
    if (middle - half < end + 8) continue;
    end = middle + half;
    drawing.append(
        svg('line', {class: 'grid', x1: x(at), x2: x(at), y1: height - BOTTOM,
                     y2: height - BOTTOM + 4}),
        svg('text', {x: middle, y: height - 6, 'text-anchor': 'middle'}, label));
  }
  box.replaceChildren(drawing);
  return {drawing, x, y, width, height};
}

// Draws a line through points [x, y], with a gap where y is null.
function line(plot, name, points) {
  let path = '', pen = false;
  points.forEach(([x, y], i) => {
    if (y !== null) {
      const place = `${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}`;
      path += (pen ? 'L' : 'M') + place;
      // A point without neighbours would be invisible.
      const next = points[i + 1];
      if (!pen && (!next || next[1] === null)) path += 'h2';
    }
    pen = y !== null;
  });
  plot.drawing.append(svg('path', {class: 'line ' + name, d: path}));
}

function across(plot, name, y) {
  plot.drawing.append(svg('line', {
    class: name, x1: LEFT, x2: plot.width - RIGHT, y1: plot.y(y), y2: plot.y(y)}));
}
function upright(plot, name, x) {
  plot.drawing.append(svg('line', {
    class: name, x1: plot.x(x), x2: plot.x(x), y1: TOP, y2: plot.height - BOTTOM}));
}

// Draws bars of `counts`, each from one bound to the next.
function bars(plot, bounds, counts, chosen) {
  counts.forEach((count, i) => {
    const left = plot.x(bounds[i]), right = plot.x(bounds[i + 1]);
    plot.drawing.append(svg('rect', {
      class: i === chosen ? 'bar chosen' : 'bar',
      x: left + .5, width: Math.max(.5, right - left - 1),
      y: plot.y(count), height: plot.y(0) - plot.y(count)}));
  });
}

// Lets people point at one of the `count` parts of a plot, or go through them
// with keys. `choose` receives the number of the part, or null. at(part): its
// middle, in pixels.
function pointing(box, count, at, current, choose) {
  box.addEventListener('pointermove', (event) => {
    const place = event.clientX - box.getBoundingClientRect().left;
    let best = null;
    for (let i = 0; i < count(); ++i) {
      if (best === null || Math.abs(at(i) - place) < Math.abs(at(best) - place)) best = i;
    }
    choose(best);
  });
  box.addEventListener('pointerleave', () => choose(null));
  box.addEventListener('blur', () => choose(null));
  box.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || !count()) return;
    event.preventDefault();
    const from = current() ?? (step > 0 ? -1 : count());
    choose(Math.min(count() - 1, Math.max(0, from + step)));
  });
}
