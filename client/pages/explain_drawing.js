// The page of one head: matrices as heat maps. A map has a row for each token.
// Its cells can be reached by a click or by the arrow keys, and tell their
// number in the page's status line.
'use strict';

const $ = (id) => document.getElementById(id);
const LABEL = 96, GAP = 6;  // pixels for a row's token, and behind it
const MOST_WIDTH = 900;     // of a map's cells
const heats = [];           // all maps of the page

// Shows a number with few digits, with a true minus. In a cell, tiny ones are 0.
function shown(number, inCell = false) {
  const size = Math.abs(number);
  const text = size >= 1e5 || (size !== 0 && size < .001 && !inCell) ?
      size.toExponential(inCell ? 0 : 2) : size.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3);
  return number < 0 ? '−' + text : text;
}

// The page's colours by their names, read once for each drawing of all maps.
let theme;
function readTheme() {
  theme = Object.fromEntries(
      ['panel', 'text', 'quiet', 'line', 'accent', 'strong', 'good'].map(
          (name) => [name, color(name)]));
}

// A number below which 99 of 100 are: a few large ones do not pale the others.
function largestOf(values) {
  const sizes = values.map(Math.abs).sort((a, b) => a - b);
  return sizes[Math.floor((sizes.length - 1) * .99)] || sizes.at(-1) || 1;
}

class Heat {
  // matrix: {columns, values}. options:
  //   rows: the tokens of the rows; names: the tokens of the columns, or null if
  //   columns are dimensions; share: values are from 0 to 1; seen(row, column);
  //   hidden: what stands in cells that are not seen;
  //   frame: [begin, end) of columns to frame; row, column: () => the selection;
  //   choose(row, column).
  constructor(title, matrix, options) {
    Object.assign(this, {title, matrix, ...options});
    this.height = this.rows.length;
    this.width = matrix.columns;
    this.most = this.share ? 1 : largestOf(matrix.values);
    this.at = [0, 0];
    this.canvas = element('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute(
        'aria-label', `${title}: ${this.height} rows, ${this.width} columns`);
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('focus', () => this.draw());
    this.canvas.addEventListener('blur', () => this.draw());
    const caption = element('figcaption');
    caption.append(title + (this.names ? '' : ` [${this.height} × ${this.width}]`));
    this.figure = element('figure', '', caption, element('div', 'scroll', this.canvas));
    heats.push(this);
  }

  get cell() {
    const room = Math.min(MOST_WIDTH, document.documentElement.clientWidth - LABEL - 80);
    if (this.names) {
      const side = Math.floor(room / this.width);
      return [Math.max(16, Math.min(46, side)), Math.max(16, Math.min(26, side))];
    }
    return [Math.max(1, Math.min(12, Math.floor(room / this.width) || 1)), 16];
  }
  get top() { return this.names ? 62 : 0; }
  value(row, column) { return this.matrix.values[row * this.width + column]; }
  sees(row, column) { return !this.seen || this.seen(row, column); }

  fill(value) {
    const panel = theme.panel;
    const part = Math.min(1, Math.abs(value) / this.most);
    if (this.share) return mix(panel, theme.good, Math.sqrt(part));
    return mix(panel, value < 0 ? theme.accent : theme.strong, Math.sqrt(part));
  }

  draw() {
    const [w, h] = this.cell, top = this.top;
    const pen = prepare(this.canvas, LABEL + GAP + this.width * w + 2, top + this.height * h + 2);
    const x = (column) => LABEL + GAP + column * w, y = (row) => top + row * h;
    pen.fillStyle = rgb(theme.panel);
    pen.fillRect(0, 0, x(this.width) + 2, y(this.height) + 2);
    pen.textBaseline = 'middle';
    for (let row = 0; row < this.height; ++row) {
      const chosen = this.row && this.row() === row;
      pen.font = `${chosen ? 'bold ' : ''}12px ${FONT}`;
      pen.textAlign = 'right';
      pen.fillStyle = rgb(chosen ? theme.text : theme.quiet);
      pen.fillText(fitted(pen, visible(this.rows[row]), LABEL), LABEL, y(row) + h / 2);
      for (let column = 0; column < this.width; ++column) {
        const seen = this.sees(row, column);
        const value = this.value(row, column), fill = this.fill(value);
        pen.fillStyle = rgb(seen ? fill : theme.panel);
        pen.fillRect(x(column), y(row), w, h);
        if (!seen) this.hatch(pen, x(column), y(row), w, h);
        if (this.names && w >= 40) this.number(pen, value, seen, fill, x(column), y(row), w, h);
      }
    }
    this.frameColumns(pen, x, y);
    if (this.names) this.nameColumns(pen, x, w, top);
    this.mark(pen, x, y, w, h);
  }

  hatch(pen, x, y, w, h) {
    pen.strokeStyle = rgb(theme.line);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x + 2, y + h - 2);
    pen.lineTo(x + w - 2, y + 2);
    pen.stroke();
  }

  number(pen, value, seen, fill, x, y, w, h) {
    pen.font = `11px ${FONT}`;
    pen.textAlign = 'center';
    const light = fill[0] * .3 + fill[1] * .59 + fill[2] * .11 > 140;
    pen.fillStyle = seen ? (light ? '#1b1a17' : '#f4f2ee') : rgb(theme.quiet);
    const text = !seen && this.hidden ? this.hidden : this.share ?
        value.toFixed(2) : shown(value, true);
    pen.fillText(text, x + w / 2, y + h / 2);
  }

  nameColumns(pen, x, w, top) {
    for (let column = 0; column < this.width; ++column) {
      const chosen = this.column && this.column() === column;
      pen.font = `${chosen ? 'bold ' : ''}12px ${FONT}`;
      pen.fillStyle = rgb(chosen ? theme.text : theme.quiet);
      pen.save();
      pen.translate(x(column) + w / 2 + 3, top - 4);
      pen.rotate(-Math.PI / 3);
      pen.textAlign = 'left';
      pen.fillText(fitted(pen, visible(this.names[column]), 62), 0, 0);
      pen.restore();
    }
  }

  frameColumns(pen, x, y) {
    if (!this.frame) return;
    pen.strokeStyle = rgb(theme.text);
    pen.lineWidth = 1.5;
    pen.strokeRect(x(this.frame[0]), y(0), x(this.frame[1]) - x(this.frame[0]), y(this.height) - y(0));
  }

  // Marks the selected row, and the cell that the keyboard is at.
  mark(pen, x, y, w, h) {
    pen.strokeStyle = rgb(theme.text);
    pen.lineWidth = 1;
    const row = this.row ? this.row() : -1;
    if (row >= 0) pen.strokeRect(x(0), y(row), this.width * w, h);
    const column = this.names && this.column ? this.column() : -1;
    if (row >= 0 && column >= 0) {
      pen.lineWidth = 2;
      pen.strokeRect(x(column), y(row), w, h);
    }
    if (document.activeElement !== this.canvas || this.names) return;
    pen.lineWidth = 2;
    pen.strokeRect(x(this.at[1]) - 1, y(this.at[0]), Math.max(3, w), h);
  }

  go(row, column) {
    this.at = [Math.max(0, Math.min(this.height - 1, row)),
               Math.max(0, Math.min(this.width - 1, column))];
    this.tell();
    this.choose(...this.at);
  }

  tell() {
    const [row, column] = this.at;
    const where = this.names ? `looks at ${visible(this.names[column])}` : `number ${column}`;
    const value = this.value(row, column);
    const seen = this.sees(row, column) ? shown(value) : (this.hidden || 'not seen');
    $('readout').textContent = `${this.title}: ${visible(this.rows[row])}, ${where}: ${seen}`;
  }

  click(event) {
    const box = this.canvas.getBoundingClientRect(), [w, h] = this.cell;
    const column = Math.floor((event.clientX - box.left - LABEL - GAP) / w);
    const row = Math.floor((event.clientY - box.top - this.top) / h);
    if (row >= 0 && row < this.height) this.go(row, column);
  }

  key(event) {
    const [row, column] = this.at;
    const steps = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      Home: [row, 0], End: [row, this.width - 1],
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    this.go(...steps[event.key]);
  }
}
