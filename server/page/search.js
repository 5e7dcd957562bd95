// The server's page: Search. Scores texts by the cosine of their embeddings with
// the query's, and by a reranker.

const EXAMPLE_LINES = [
  'The library opens at nine in the morning and closes at eight.',
  'Books may be borrowed for four weeks.',
  'A lost card is replaced for five euros.',
  'The café on the first floor sells soup and sandwiches.',
  'Students of the university pay nothing.',
  'Laptops can be charged at every desk.',
];
const EXAMPLE_QUERY = 'How long can I keep a book?';
const COSINE = 'Cosine', RERANKED = 'Reranker’s score';
const KEPT_VECTORS = 4000;
const TEXTS_A_CALL = 32;

const search = {vectors: new Map(), work: new Latest()};

function cosine(a, b) {
  let product = 0, first = 0, second = 0;
  for (let i = 0; i < a.length; ++i) {
    product += a[i] * b[i];
    first += a[i] * a[i];
    second += b[i] * b[i];
  }
  return product / (Math.sqrt(first * second) || 1);
}

// Returns the vectors of texts, and asks for those that are not known.
async function vectorsOf(model, kind, texts, options) {
  const keyOf = (text) => model + '\n' + kind + '\n' + text;
  const missing = [...new Set(texts.filter((text) => !search.vectors.has(keyOf(text))))];
  for (let at = 0; at < missing.length; at += TEXTS_A_CALL) {
    const part = missing.slice(at, at + TEXTS_A_CALL);
    const answer = await call(
        'Encode', {model, inputs: part.map((text) => ({text})), kind, truncate: true},
        options);
    answer.results.forEach((result, i) => search.vectors.set(keyOf(part[i]), result.embedding));
  }
  const all = texts.map((text) => search.vectors.get(keyOf(text)));
  while (search.vectors.size > KEPT_VECTORS + texts.length) {
    search.vectors.delete(search.vectors.keys().next().value);
  }
  return all;
}

// Returns a bar for a score of 0 to 1, and the number. Narrow windows show its name
// beside it.
function scoreCell(name, score) {
  const part = Math.max(0, Math.min(1, score));
  const bar = svg('svg', {width: 72, height: 10, viewBox: '0 0 72 10', 'aria-hidden': 'true'});
  bar.append(svg('rect', {class: 'full', width: 72, height: 10, rx: 3}),
             svg('rect', {class: 'part', width: (72 * part).toFixed(1), height: 10, rx: 3}));
  const cell = element('td', 'score', bar, score.toFixed(3));
  cell.dataset.name = name;
  return cell;
}

async function searchNow() {
  const lines = $('lines').value.split('\n').map((line) => line.trim()).filter(Boolean);
  const query = $('query').value.trim();
  showError('search-error', null);
  if (!lines.length || !query) {
    $('search-note').textContent = lines.length ? 'Say what to look for.' : 'Paste texts first.';
    return;
  }
  $('search-note').textContent = 'Searching …';
  $('find').disabled = true;
  const started = performance.now();
  try {
    await search.work.run(async (signal) => {
      const rows = lines.map((text) => ({text}));
      const embedder = $('embedder').value, reranker = $('reranker').value;
      if (embedder) {
        const vectors = await vectorsOf(embedder, 'TEXT_KIND_DOCUMENT', lines, {signal});
        const [asked] = await vectorsOf(embedder, 'TEXT_KIND_QUERY', [query],
                                        {signal, shown: true});
        rows.forEach((row, i) => { row.cosine = cosine(vectors[i], asked); });
      }
      if (reranker) {
        const answer = await call(
            'Rerank', {model: reranker, query, documents: lines, truncate: true},
            {signal, shown: true});
        for (const one of answer.documents || []) rows[one.index || 0].rerank = one.score || 0;
      }
      showFound(rows, Boolean(embedder), Boolean(reranker));
      $('search-note').textContent =
          `${count(rows.length)} texts in ${seconds((performance.now() - started) / 1000)}`;
    });
  } catch (error) {
    if (error.name === 'AbortError') return;
    $('search-note').textContent = '';
    showError('search-error', error);
  }
  $('find').disabled = false;
}

function showFound(rows, embeds, reranks) {
  const by = reranks ? 'rerank' : 'cosine';
  rows.sort((a, b) => (b[by] || 0) - (a[by] || 0));
  const head = (name) => {
    const cell = element('th', '', name);
    cell.scope = 'col';
    return cell;
  };
  $('found').tHead.replaceChildren(element(
      'tr', '', head('Text'), ...(embeds ? [head(COSINE)] : []),
      ...(reranks ? [head(RERANKED)] : [])));
  $('found').tBodies[0].replaceChildren(...rows.map((row) => element(
      'tr', '', element('td', '', row.text),
      ...(embeds ? [scoreCell(COSINE, row.cosine)] : []),
      ...(reranks ? [scoreCell(RERANKED, row.rerank || 0)] : []))));
  $('found-panel').hidden = false;
}

function startSearch() {
  modelListeners.push(() => {
    // Encoders of translators embed as well, but were not trained for it.
    const embedders = modelsFor('Encode');
    embedders.sort((a, b) => (a.design !== 'DESIGN_ENCODER') - (b.design !== 'DESIGN_ENCODER'));
    const rerankers = modelsFor('Rerank');
    showTool('search', embedders.length + rerankers.length > 0);
    const options = (list) => list.map((model) => [model.name, model.name]);
    fillSelect($('embedder'), [...options(embedders), ['', 'none']]);
    fillSelect($('reranker'), [...options(rerankers), ['', 'none']]);
    $('embedder-field').hidden = !embedders.length;
    $('reranker-field').hidden = !rerankers.length;
    showHint();
  });
  const showHint = () => {
    const model = models.find((one) => one.name === $('embedder').value);
    const hint = model && model.design !== 'DESIGN_ENCODER' ?
        `${model.name} was not made for search: its scores only show how embeddings work. Load an embedding model for real ones, such as hf:BAAI/bge-small-en-v1.5.` : '';
    $('search-hint').hidden = !hint;
    $('search-hint').textContent = hint;
  };
  $('embedder').addEventListener('change', showHint);
  const countLines = () => {
    const lines = $('lines').value.split('\n').filter((line) => line.trim()).length;
    $('lines-count').textContent = lines ? `${count(lines)} texts` : '';
  };
  $('lines').addEventListener('input', countLines);
  $('example-lines').addEventListener('click', () => {
    $('lines').value = EXAMPLE_LINES.join('\n');
    $('query').value = EXAMPLE_QUERY;
    countLines();
    $('find').focus();
  });
  $('find').addEventListener('click', searchNow);
  for (const id of ['query', 'lines']) {
    $(id).addEventListener('keydown', (event) => {
      const sends = event.ctrlKey || event.metaKey || (id === 'query' && !event.shiftKey);
      if (event.key !== 'Enter' || !sends) return;
      event.preventDefault();
      searchNow();
    });
  }
}
