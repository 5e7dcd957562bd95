// The server's page: parts that several tabs use.

// Shows an error of a call; null hides the last one. A call that was stopped is
// no error.
function showError(id, error) {
  const notice = $(id);
  const text = !error || error.name === 'AbortError' ? '' : error.message;
  notice.hidden = !text;
  notice.textContent = text;
}

// Replaces a select's options: [[value, text]]. Keeps the choice if it remains,
// else takes `chosen`.
function fillSelect(select, options, chosen) {
  const now = select.value;
  select.replaceChildren(...options.map(([value, text]) => {
    const option = element('option', '', text);
    option.value = value;
    return option;
  }));
  const has = (value) => options.some((one) => one[0] === value);
  select.value = now && has(now) ? now :
      has(chosen) ? chosen : options.length ? options[0][0] : '';
}

// Copies a text, and says so beside the button.
async function copy(text, note) {
  try {
    await navigator.clipboard.writeText(text);
    note.textContent = 'Copied.';
  } catch {
    // Browsers allow the clipboard only on https and localhost.
    const area = element('textarea', 'unseen');
    area.value = text;
    document.body.append(area);
    area.select();
    note.textContent =
        document.execCommand('copy') ? 'Copied.' : 'The browser refuses to copy.';
    area.remove();
  }
}

// Returns a function that runs `work` once nothing has called it for a while.
function afterPause(milliseconds, work) {
  let timer = 0;
  const soon = () => {
    soon.cancel();
    timer = setTimeout(work, milliseconds);
  };
  soon.cancel = () => clearTimeout(timer);
  return soon;
}

// Runs works one after another: a new one stops the last, which gets a signal.
class Latest {
  async run(work) {
    this.stop();
    const mine = this.controller = new AbortController();
    try {
      return await work(mine.signal);
    } finally {
      if (this.controller === mine) this.controller = null;
    }
  }
  stop() {
    if (this.controller) this.controller.abort();
    this.controller = null;
  }
  get runs() { return Boolean(this.controller); }
}

// Texts for numbers.
function bytes(number) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let size = Number(number) || 0, unit = 0;
  while (size >= 1000 && unit + 1 < units.length) {
    size /= 1000;
    ++unit;
  }
  return `${unit === 0 ? size : Number(size.toPrecision(size >= 100 ? 3 : 2))} ${units[unit]}`;
}
const count = (number) => Number(number || 0).toLocaleString('en');
function many(number) {
  const size = Number(number) || 0;
  return size >= 1e9 ? `${Number((size / 1e9).toPrecision(3))} billion` :
      size >= 1e6 ? `${Number((size / 1e6).toPrecision(3))} million` : count(size);
}
function seconds(number) {
  if (!isFinite(number)) return '–';
  return number < .001 ? `${Number((number * 1e6).toPrecision(2))} µs` :
      number < 1 ? `${Number((number * 1e3).toPrecision(3))} ms` :
      `${Number(number.toPrecision(3))} s`;
}

// The models that the server has: ListModels' messages.
let models = [];
const modelListeners = [];
const serves = (model, name) => (model.calls || []).includes(name);
const modelsFor = (name) => models.filter((model) => serves(model, name));
async function readModels(options) {
  models = (await call('ListModels', {}, options)).models || [];
  for (const listener of modelListeners) await listener();
}

// Shows what a tab does, or the sentence that says what to load for it.
function showTool(tab, works) {
  const panel = $('panel-' + tab);
  panel.querySelector('.missing').hidden = works;
  panel.querySelector('.tool').hidden = !works;
  $('tab-' + tab).classList.toggle('empty', !works);
}

// The name of a language in English, if the browser knows it.
const languageNames = new Intl.DisplayNames(['en'], {type: 'language'});
function languageName(code) {
  try {
    return languageNames.of(code) || code;
  } catch {
    return code;
  }
}
