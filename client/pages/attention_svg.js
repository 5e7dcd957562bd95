// The attention page: the drawing as an SVG file. Implements the canvas calls
// of drawLines and drawMatrix by SVG elements, for a whole map.

// Splits a colour rgba(r,g,b,alpha) into colour and opacity, since many
// programs do not know colours with alpha.
function paintOf(kind, color, alpha) {
  const [, solid, own] = /^rgba\((.*),([^,]*)\)$/.exec(color) || [];
  return solid === undefined ?
      {[kind]: color} :
      {[kind]: `rgb(${solid})`, [kind + '-opacity']: alpha * own};
}

class SvgPen {
  constructor(group) {
    this.group = group;
    this.fillStyle = this.strokeStyle = 'rgba(0,0,0,1)';
    this.lineWidth = this.globalAlpha = 1;
    this.textAlign = 'left';
    this.dashes = '';
    this.outer = [];  // groups that save() left open
    this.ruler = document.createElement('canvas').getContext('2d');
  }

  add(tag, attributes, text) {
    const made = svg(tag, attributes, text);
    this.group.append(made);
    return made;
  }
  filled() { return paintOf('fill', this.fillStyle, this.globalAlpha); }
  stroked() {
    return {
      fill: 'none', 'stroke-width': this.lineWidth,
      ...(this.dashes && {'stroke-dasharray': this.dashes}),
      ...paintOf('stroke', this.strokeStyle, this.globalAlpha),
    };
  }

  set font(font) { this.ruler.font = font; }
  measureText(text) { return this.ruler.measureText(text); }
  setLineDash(dashes) { this.dashes = dashes.join(' '); }

  fillText(text, x, y) {
    // textBaseline is always the middle.
    this.add('text', {
      x, y, dy: '.35em',
      'text-anchor': {left: 'start', center: 'middle', right: 'end'}[this.textAlign],
      ...this.filled(),
    }, text).style.font = this.ruler.font;
  }
  fillRect(x, y, width, height) {
    this.add('rect', {x, y, width, height, ...this.filled()});
  }
  strokeRect(x, y, width, height) {
    this.add('rect', {x, y, width, height, ...this.stroked()});
  }

  beginPath() { this.path = ''; }
  moveTo(x, y) { this.path += `M${x} ${y}`; }
  lineTo(x, y) { this.path += `L${x} ${y}`; }
  bezierCurveTo(...places) { this.path += `C${places.join(' ')}`; }
  stroke() { this.add('path', {d: this.path, ...this.stroked()}); }

  save() { this.outer.push(this.group); }
  restore() { this.group = this.outer.pop(); }
  translate(x, y) { this.move(`translate(${x} ${y})`); }
  rotate(angle) { this.move(`rotate(${angle * 180 / Math.PI})`); }
  move(transform) {
    const inner = svg('g', {transform});
    this.group.append(inner);
    this.group = inner;
  }
}

class SvgPaper {
  whole = true;

  begin(width, height) {
    this.drawing = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`});
    return new SvgPen(this.drawing);
  }

  hatch() {
    if (!this.hatched) {
      const pattern = svg(
          'pattern',
          {id: 'hatch', width: 8, height: 8, patternUnits: 'userSpaceOnUse'});
      pattern.append(svg('path', {
        d: 'M-1 9L9 -1M-1 1L1 -1M7 9L9 7',
        ...paintOf('stroke', rgb(theme.quiet, .55), 1),
      }));
      this.drawing.prepend(pattern);
      this.hatched = true;
    }
    return 'url(#hatch)';
  }

  // Draws a path for each colour, made of runs of cells. The background's
  // colour needs none.
  image(pen, set, map, x, y, width, height) {
    const columns = set.keys.length, rows = set.queries.length;
    const most = largest(map);
    const paths = new Map();
    for (let q = 0; q < rows; ++q) {
      const row = Array.from(
          map.subarray(q * columns, (q + 1) * columns),
          (weight) => rgb(shade(weight / most)));
      for (let k = 0; k < columns;) {
        let run = 1;
        while (row[k + run] === row[k]) ++run;
        paths.set(row[k], (paths.get(row[k]) || '') + `M${k} ${q}h${run}v1h${-run}z`);
        k += run;
      }
    }
    paths.delete(rgb(theme.panel));
    const group = svg('g', {
      transform: `translate(${x} ${y}) scale(${width / columns} ${height / rows})`,
      'shape-rendering': 'crispEdges',
    });
    for (const [color, d] of paths) {
      group.append(svg('path', {d, ...paintOf('fill', color, 1)}));
    }
    pen.group.append(group);
  }
}
