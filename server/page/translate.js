// The server's page: Translate. Each line of the text is an input. Calls have a
// few lines at first and more later, so that the first translations come soon.

const MOST_LINES = 16;         // of a call
const KEPT_LINES = 400;        // translations that are kept while one types
const ALTERNATIVES = 4;
const DOCUMENTS = {
  txt: ['TEXT_FORMAT_PLAIN', 'text/plain'], md: ['TEXT_FORMAT_MARKDOWN', 'text/markdown'],
  html: ['TEXT_FORMAT_HTML', 'text/html'], htm: ['TEXT_FORMAT_HTML', 'text/html'],
  xml: ['TEXT_FORMAT_XML', 'application/xml'],
};

const translation = {
  languages: [],     // of /languages
  kept: new Map(),   // what was asked -> result
  chosen: new Map(),  // what was asked and the sentence -> its chosen text
  lines: [],         // {text, result} of each line that is shown
  work: new Latest(),
  others: new Latest(),  // alternatives of a sentence
  document: null,    // the address of a translated document
  picked: false,     // one has picked a target language
};

const slice = (characters, span) =>
    characters.slice(span.charBegin || 0, span.charEnd || 0).join('');

// Returns the options of the calls.
function translateOptions() {
  const options = {
    sourceLanguage: $('from').value, targetLanguage: $('to').value,
    sentences: true,
  };
  const terms = glossaryTerms();
  if (terms.length) options.glossary = {terms};
  if ($('sure').checked) options.words = true;
  return options;
}

function glossaryTerms() {
  return [...$('terms').children].map((item) => {
    const [source, target] = item.querySelectorAll('input');
    return {source: source.value.trim(), target: target.value.trim()};
  }).filter((term) => term.source && term.target);
}

// Translates what is in the left pane.
async function translateNow() {
  soon.cancel();  // it would close the alternatives that were opened meanwhile
  const text = $('source').value;
  $('alternatives').hidden = true;
  forgetDocument();
  showError('translate-error', null);
  const options = translateOptions();
  const key = JSON.stringify(options);
  const keyOf = (line) => key + '\n' + line;
  translation.key = keyOf;
  translation.lines = text.split('\n').map(
      (line) => ({text: line, result: translation.kept.get(keyOf(line))}));
  const missing = [...new Set(
      translation.lines.filter((one) => one.text.trim() && !one.result)
          .map((one) => one.text))];
  showLines();
  if (!missing.length) {
    translation.work.stop();
    return endTranslation();
  }
  $('target').classList.add('busy');
  $('target').setAttribute('aria-busy', 'true');
  const started = performance.now();
  try {
    await translation.work.run(async (signal) => {
      for (let at = 0, size = 1; at < missing.length; size = Math.min(2 * size, MOST_LINES)) {
        const part = missing.slice(at, at + size);
        at += part.length;
        const answer = await call(
            'Translate', {inputs: part.map((line) => ({text: line})), options},
            {signal, shown: true});
        (answer.results || []).forEach((result, i) => {
          translation.kept.set(keyOf(part[i]), result);
          for (const line of translation.lines) {
            if (line.text === part[i]) line.result = result;
          }
        });
        while (translation.kept.size > KEPT_LINES + missing.length) {
          translation.kept.delete(translation.kept.keys().next().value);
        }
        showLines();
        if (leaveOwnLanguage()) return;
      }
      $('translate-note').textContent =
          `${seconds((performance.now() - started) / 1000)}`;
      endTranslation();
    });
  } catch (error) {
    if (error.name === 'AbortError') return;
    showError('translate-error', error);
    endTranslation();
  }
}

// A text that is in the target language already goes to another one, unless one
// has picked the language. Returns true if it does.
function leaveOwnLanguage() {
  const found = translation.lines.find(
      (one) => one.result && one.result.detectedLanguages)?.result.detectedLanguages[0];
  if (translation.picked || !found?.reliable || $('from').value !== 'auto' ||
      found.language !== $('to').value) {
    return false;
  }
  const other = translation.languages.find(
      (one) => one.code === found.language)?.targets[0];
  if (!other) return false;
  $('to').value = other;
  setTimeout(translateNow);
  return true;
}

// Nothing is waited for: a line that got no translation stays empty.
function endTranslation() {
  for (const waiting of $('target').querySelectorAll('.waiting')) {
    waiting.parentElement.shown = null;
    waiting.remove();
  }
  $('copy-target').disabled = !$('target').textContent.trim();
  $('target').classList.remove('busy');
  $('target').setAttribute('aria-busy', 'false');
}

// Shows the translations that have come. Lines are drawn again only if they
// changed, so that a screen reader hears what is new.
function showLines() {
  const target = $('target');
  const drawn = [...target.children];
  translation.lines.forEach((line, i) => {
    const last = drawn[i];
    const shown = last && last.shown;
    if (shown && shown.text === line.text && shown.result === line.result) return;
    const made = drawLine(line);
    made.shown = {...line};
    if (last) last.replaceWith(made);
    else target.append(made);
  });
  for (const extra of drawn.slice(translation.lines.length)) extra.remove();
  const first = target.querySelector('.sentence');
  if (first && !target.querySelector('.sentence[tabindex="0"]')) first.tabIndex = 0;
  showDetected();
  $('copy-target').disabled = !target.textContent.trim();
}

function showDetected() {
  const line = translation.lines.find(
      (one) => one.result && one.result.detectedLanguages);
  const found = line && line.result.detectedLanguages[0];
  const route = line && line.result.route;
  let text = '';
  if (found && $('from').value === 'auto') {
    text = `${languageName(found.language)}, ${Math.round(100 * (found.confidence || 0))} %` +
        (found.reliable ? '' : ' (a guess)');
  }
  if (route && route.length > 1) text += ` by way of ${languageName(route[0].targetLanguage)}`;
  $('detected').textContent = text;
}

function drawLine(line) {
  const made = element('div', 'line');
  made.dir = 'auto';
  if (!line.text.trim()) {
    made.append(line.text || '\u200b');
    return made;
  }
  const best = line.result && (line.result.hypotheses || [])[0];
  if (!best) {
    made.append(element('span', 'waiting', '…'));
    return made;
  }
  const characters = Array.from(best.text || '');
  const source = Array.from(line.text);
  let at = 0;
  for (const pair of line.result.sentences || []) {
    const span = (pair.targets || [])[0];
    if (!span) continue;
    made.append(characters.slice(at, span.charBegin || 0).join(''));
    made.append(drawSentence(line, pair, span, characters, source));
    at = span.charEnd || 0;
  }
  made.append(characters.slice(at).join(''));
  return made;
}

function drawSentence(line, pair, span, characters, source) {
  const asked = slice(source, pair.source);
  const made = element('span', 'sentence');
  made.setAttribute('role', 'button');
  made.setAttribute('aria-haspopup', 'true');
  made.tabIndex = -1;
  made.title = 'Click for other translations';
  const own = translation.chosen.get(translation.key(asked));
  if (own !== undefined) made.append(own);
  else made.append(...drawWords(line.result, span, characters, source));
  made.addEventListener('click', () => showAlternatives(made, asked));
  return made;
}

// Marks the words of a sentence by how sure the model is of them.
function drawWords(result, span, characters, source) {
  const words = result.hypotheses[0].words || [];
  const begin = span.charBegin || 0, end = span.charEnd || 0;
  const parts = [];
  let at = begin;
  for (const word of words) {
    const from = word.charBegin || 0, to = word.charEnd || 0;
    if (from < at || to > end) continue;
    parts.push(characters.slice(at, from).join(''));
    const text = characters.slice(from, to).join('');
    const sure = Math.exp(word.meanLogprob || 0);
    const level = sure < .4 ? 'guess' : sure < .75 ? 'unsure' : '';
    const made = element('span', level ? 'word ' + level : '', text);
    const origin = (word.sourceWords || []).map(
        (i) => slice(source, (result.sourceWords || [])[i] || {})).join(' ');
    made.title = `${Math.round(100 * sure)} % sure` + (origin ? `, from “${origin}”` : '');
    if (level) made.append(element('span', 'unseen', ` (${Math.round(100 * sure)} % sure)`));
    parts.push(made);
    at = to;
  }
  parts.push(characters.slice(at, end).join(''));
  return parts;
}

// Asks for the best translations of one sentence, and lets one be chosen.
async function showAlternatives(sentence, asked) {
  for (const one of document.querySelectorAll('.sentence.chosen')) one.classList.remove('chosen');
  sentence.classList.add('chosen');
  const list = $('alternatives-list');
  list.replaceChildren(element('li', 'quiet', 'Searching …'));
  $('alternatives-source').textContent = asked;
  $('alternatives').hidden = false;
  const options = {...translateOptions(), words: false, sentences: false,
                   decoding: {beamSize: ALTERNATIVES, numHypotheses: ALTERNATIVES}};
  try {
    const answer = await translation.others.run((signal) => call(
        'Translate', {inputs: [{text: asked}], options}, {signal, shown: true}));
    const texts = new Map();
    for (const one of answer.results[0].hypotheses || []) {
      if (!texts.has(one.text || '')) texts.set(one.text || '', one.score || 0);
    }
    list.replaceChildren(...[...texts].map(([text, score]) => {
      const button = element('button', '', element('span', '', text),
                             element('b', '', score.toFixed(2)));
      button.type = 'button';
      button.addEventListener('click', () => {
        translation.chosen.set(translation.key(asked), text);
        sentence.textContent = text;
        closeAlternatives(sentence);
      });
      return element('li', '', button);
    }));
    list.querySelector('button')?.focus();
  } catch (error) {
    if (error.name === 'AbortError') return;
    $('alternatives').hidden = true;
    showError('translate-error', error);
  }
}

function closeAlternatives(sentence) {
  translation.others.stop();
  $('alternatives').hidden = true;
  const back = sentence || document.querySelector('.sentence.chosen');
  if (!back) return;
  back.classList.remove('chosen');
  back.focus();
}

// Translates a document as a whole, with its markup.
async function translateDocument(file) {
  const ending = file.name.split('.').pop().toLowerCase();
  const kind = Object.hasOwn(DOCUMENTS, ending) ? DOCUMENTS[ending] : null;
  forgetDocument();
  showError('translate-error', kind ? null : new CallError(
      `${file.name} is of no kind that is translated here: .txt, .md, .html and .xml are.`));
  if (!kind) return;
  translation.lines = [];
  $('target').replaceChildren();
  $('target').classList.add('busy');
  $('translate-note').textContent = `Translating ${file.name} …`;
  try {
    const text = await textOf(file);
    const {words, sentences, ...options} = translateOptions();
    const answer = await translation.work.run((signal) => call(
        'Translate', {inputs: [{text}], options: {...options, format: kind[0]}}, {signal}));
    const best = answer.results[0].hypotheses[0].text || '';
    translation.document = URL.createObjectURL(new Blob([best], {type: kind[1]}));
    $('target').replaceChildren(best);
    $('download').href = translation.document;
    $('download').download =
        file.name.slice(0, -ending.length) + options.targetLanguage + '.' + ending;
    $('download').hidden = false;
    $('copy-target').disabled = false;
    $('translate-note').textContent = `${file.name} is translated.`;
  } catch (error) {
    // Newer work has replaced this, and shows its own notes.
    if (error.name === 'AbortError') return;
    $('translate-note').textContent = '';
    showError('translate-error', error);
  }
  endTranslation();
}

async function textOf(file) {
  try {
    return new TextDecoder('utf-8', {fatal: true}).decode(await file.arrayBuffer());
  } catch {
    throw new CallError(`${file.name} is not UTF-8: convert it first.`);
  }
}

function forgetDocument() {
  if (translation.document) URL.revokeObjectURL(translation.document);
  translation.document = null;
  $('download').hidden = true;
  $('translate-note').textContent = '';
}

async function readLanguages() {
  const works = modelsFor('Translate').length > 0;
  if (works) translation.languages = await getJson('languages');
  showTool('translate', works && translation.languages.length > 0);
  const list = translation.languages;
  fillSelect($('from'), [['auto', 'Detect the language'],
                         ...list.map((one) => [one.code, one.name])], 'auto');
  fillTargets();
}

function fillTargets() {
  const list = translation.languages;
  const from = $('from').value;
  const names = new Map(list.map((one) => [one.code, one.name]));
  const targets = new Set(
      list.filter((one) => from === 'auto' || one.code === from)
          .flatMap((one) => one.targets));
  fillSelect($('to'),
             [...targets].map((code) => [code, names.get(code) || languageName(code)])
                 .sort((a, b) => a[1].localeCompare(b[1])),
             navigator.language.split('-')[0]);
}

function addTerm() {
  const source = element('input'), target = element('input');
  source.setAttribute('aria-label', 'Term');
  target.setAttribute('aria-label', 'Its translation');
  const remove = element('button', '', 'Remove');
  remove.type = 'button';
  const item = element('li', '', source, element('span', 'quiet', '→'), target, remove);
  const changed = () => {
    const terms = glossaryTerms().length;
    $('glossary-count').textContent = terms ? `(${terms})` : '';
    soon();
  };
  remove.addEventListener('click', () => {
    item.remove();
    $('add-term').focus();
    changed();
  });
  source.addEventListener('input', changed);
  target.addEventListener('input', changed);
  $('terms').append(item);
  source.focus();
}

const soon = afterPause(500, () => {
  if ($('source').value.trim() || translation.lines.length) translateNow();
});

function startTranslate() {
  modelListeners.push(readLanguages);
  $('source').addEventListener('input', () => {
    const size = Array.from($('source').value).length;
    $('source-count').textContent = size ? `${count(size)} characters` : '';
    soon();
  });
  $('source').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) translateNow();
  });
  $('translate').addEventListener('click', translateNow);
  $('from').addEventListener('change', () => {
    fillTargets();
    soon();
  });
  $('to').addEventListener('change', () => {
    translation.picked = true;
    soon();
  });
  $('sure').addEventListener('change', soon);
  $('swap').addEventListener('click', () => {
    const line = translation.lines.find(
        (one) => one.result && one.result.detectedLanguages);
    const from = $('from').value !== 'auto' ? $('from').value :
        line ? line.result.detectedLanguages[0].language : '';
    const to = $('to').value;
    const text = targetText();
    $('from').value = to;
    fillTargets();
    if (from) $('to').value = from;
    if (text.trim()) $('source').value = text;
    if ($('source').value.trim()) translateNow();
  });
  $('copy-target').addEventListener(
      'click', () => copy(targetText(), $('translate-note')));
  $('close-alternatives').addEventListener('click', () => closeAlternatives());
  $('alternatives').addEventListener('keydown', (event) => {
    if (event.key === 'Escape') closeAlternatives();
  });
  $('add-term').addEventListener('click', addTerm);
  // Sentences are one stop of Tab; arrows go from one to the next.
  $('target').addEventListener('keydown', (event) => {
    const all = [...$('target').querySelectorAll('.sentence')];
    const at = all.indexOf(event.target);
    if (at < 0) return;
    if (event.key === 'Enter' || event.key === ' ') event.target.click();
    else if (event.key === 'ArrowRight' || event.key === 'ArrowDown') move(at + 1);
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') move(at - 1);
    else return;
    event.preventDefault();
    function move(to) {
      const next = all[Math.max(0, Math.min(all.length - 1, to))];
      for (const one of all) one.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  });
  $('open-document').addEventListener('click', () => $('document').click());
  $('document').addEventListener('change', () => {
    const [file] = $('document').files;
    if (file) translateDocument(file);
    $('document').value = '';
  });
  const pane = $('source-pane');
  pane.addEventListener('dragover', (event) => {
    if (![...event.dataTransfer.types].includes('Files')) return;
    event.preventDefault();
    pane.classList.add('dropping');
  });
  pane.addEventListener('dragleave', () => pane.classList.remove('dropping'));
  pane.addEventListener('drop', (event) => {
    pane.classList.remove('dropping');
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    translateDocument(file);
  });
}

// Returns the translation as plain text, without what only screen readers read.
function targetText() {
  const textOf = (node) => node.nodeType === Node.TEXT_NODE ? node.data :
      node.classList.contains('unseen') ? '' : [...node.childNodes].map(textOf).join('');
  const lines = [...$('target').childNodes].map(textOf);
  return lines.join('\n').replaceAll('\u200b', '');
}
