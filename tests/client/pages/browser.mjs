// A small browser for tests of client/pages, with what those pages need: a tree
// of elements made from a page's HTML, events, and canvases that record their
// calls. It lays nothing out.
import {readFileSync} from 'node:fs';
import vm from 'node:vm';

const FOLDER = new URL('../../../client/pages/', import.meta.url);
const read = (name) => readFileSync(new URL(name, FOLDER), 'utf8');

// Returns the scripts of a page in their order, as in pages.cc.in.
export function scriptsOf(page) {
  const lists = [...read('pages.cc.in').matchAll(/R"=+\(([^)]*)\)=+"/g)].map(
      (match) => [...match[1].matchAll(/@(\w+)_(\w+)@/g)].map(
          ([, name, kind]) => `${name}.${kind}`));
  return lists.find((names) => names.includes(page + '.js'));
}

export class Element {
  constructor(tag) {
    this.tag = tag;
    this.nodes = [];  // elements and strings
    this.attributes = {};
    this.listeners = {};
    this.dataset = {};
    this.style = {setProperty(name, value) { this[name] = value; }};
    this.hidden = false;
    this.clientWidth = 800;
    this.clientHeight = 400;
    this.scrolled = 0;
  }

  get tagName() { return this.tag.toUpperCase(); }
  get scrollTop() { return this.scrolled; }
  set scrollTop(pixels) { this.scrolled = Math.max(0, pixels); }

  get children() { return this.nodes.filter((one) => one instanceof Element); }
  get childNodes() { return this.nodes; }
  get firstChild() { return this.nodes[0]; }
  append(...nodes) { this.nodes.push(...nodes); }
  prepend(...nodes) { this.nodes.unshift(...nodes); }
  replaceChildren(...nodes) { this.nodes = nodes; }
  get textContent() {
    return this.nodes.map((one) => one.textContent ?? one).join('');
  }
  set textContent(text) { this.nodes = [String(text)]; }

  setAttribute(name, value) { this.attributes[name] = String(value); }
  getAttribute(name) { return this.attributes[name] ?? null; }
  set className(name) { this.setAttribute('class', name); }
  get classList() {
    return {
      toggle: (name, on) => {
        const others = (this.getAttribute('class') || '').split(' ').filter(
            (one) => one && one !== name);
        this.className = [...others, ...(on ? [name] : [])].join(' ');
      },
    };
  }

  // Returns this element and all elements in it.
  *all() {
    yield this;
    for (const child of this.children) yield* child.all();
  }
  querySelectorAll(tags) {
    const names = tags.split(', ');
    return [...this.all()].filter(
        (one) => one !== this && names.includes(one.tag));
  }
  cloneNode() {
    const copy = new Element(this.tag);
    copy.attributes = {...this.attributes};
    copy.nodes = this.nodes.map((one) => one instanceof Element ?
        one.cloneNode() : one);
    return copy;
  }

  addEventListener(type, listener) {
    (this.listeners[type] ||= []).push(listener);
  }
  // Returns true if a listener called preventDefault().
  fire(type, event = {}) {
    let prevented = false;
    const whole = {
      target: this, preventDefault() { prevented = true; }, ...event};
    for (const listener of this.listeners[type] || []) listener(whole);
    return prevented;
  }
  click() { this.fire('click'); }
  getBoundingClientRect() { return {left: 0, top: 0}; }

  getContext() {
    this.calls = [];
    return new Proxy({}, {
      get: (own, name) => own[name] ?? ((...given) => {
        this.calls.push([name, ...given]);
        return name === 'measureText' ? {width: 7 * given[0].length} : {};
      }),
    });
  }
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;');
export function serialize(node) {
  if (!(node instanceof Element)) return escaped(node);
  const attributes = Object.entries(node.attributes).map(
      ([name, value]) => ` ${name}="${escaped(value)}"`).join('');
  const inner = node.nodes.map(serialize).join('');
  return `<${node.tag}${attributes}>${inner}</${node.tag}>`;
}

// Parses HTML in which every element except these is closed.
const EMPTY = ['meta', 'input'];
function parse(html) {
  const root = new Element('document');
  const open = [root];
  const parts = html.replace(/<!--.*?-->|<!DOCTYPE[^>]*>/gs, '');
  for (const [, end, tag, attributes, text] of parts.matchAll(
           /<(\/?)(\w+)([^>]*)>|([^<]+)/g)) {
    if (text !== undefined) {
      open.at(-1).append(text);
    } else if (end) {
      if (open.pop().tag !== tag) throw new Error(`</${tag}> out of place`);
    } else {
      const element = new Element(tag);
      for (const [, name, value] of attributes.matchAll(/([\w-]+)(?:="([^"]*)")?/g)) {
        element.setAttribute(name, value ?? '');
      }
      open.at(-1).append(element);
      if (!EMPTY.includes(tag)) open.push(element);
    }
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1).tag}> is not closed`);
  return root;
}

// A page of client/pages, opened with the given data.
export class Page {
  constructor(name, data, hash = '') {
    this.html = read(name + '.html').replace(/{{\w+}}/g, '');
    this.document = parse(this.html);
    this.saved = [];  // files: {name, type, text}
    this.byId('data').textContent = JSON.stringify(data);
    const document = Object.assign(this.document, {
      documentElement: new Element('html'),
      getElementById: (id) => this.byId(id),
      createElement: (tag) => this.made(tag),
      createElementNS: (space, tag) => new Element(tag),
    });
    this.window = new Element('window');
    this.context = vm.createContext({
      document, location: {hash}, URLSearchParams, atob,
      window: Object.assign(this.window, {innerHeight: 1000}),
      history: {replaceState: (state, title, place) => { this.place = place; }},
      matchMedia: () => new Element('media'),
      requestAnimationFrame: (draw) => draw(),
      getComputedStyle: (element) => ({
        getPropertyValue: (property) => property === '--font' ? 'sans-serif' :
            property === '--accent' ? '#1f5fbf' :
            property.startsWith('--') ? '#fbfaf8' : property,
      }),
      ImageData: class {
        constructor(width, height) {
          this.data = new Uint8ClampedArray(4 * width * height);
        }
      },
      Blob: class {
        constructor(parts, {type}) { Object.assign(this, {text: parts.join(''), type}); }
      },
      URL: {createObjectURL: (blob) => blob, revokeObjectURL() {}},
      XMLSerializer: class { serializeToString(node) { return serialize(node); } },
    });
    vm.runInContext(scriptsOf(name).map(read).join(''), this.context);
  }

  byId(id) {
    return [...this.document.all()].find((one) => one.getAttribute('id') === id);
  }
  text(id) { return this.byId(id).textContent; }
  made(tag) {
    const element = new Element(tag);
    if (tag === 'a') {
      element.click = () => this.saved.push(
          {name: element.download, type: element.href.type, text: element.href.text});
    }
    return element;
  }
  press(key, target = this.document, more = {}) {
    return this.document.fire('keydown', {key, target, ...more});
  }
  // Returns the texts of the pressed buttons in an element.
  pressed(id) {
    return this.byId(id).querySelectorAll('button').filter(
        (one) => one.getAttribute('aria-pressed') === 'true');
  }
}
