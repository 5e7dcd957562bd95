// The server's page: Look inside. Shows what `trivium tokens`, `trivium attention`,
// `trivium beams` and `trivium explain` show, with the pages of client/pages. Each picture is a
// frame of its own, which reaches neither this page nor the token.

// Weights of a picture: JSON has about ten bytes for each.
const MOST_WEIGHTS = 600000;
const BEAM_SIZE = 4;
const NEW_TOKENS = 16;  // of a prompt's answer: enough to look at

const inside = {work: new Latest()};
const insideModel = () => models.find((one) => one.name === $('inside-model').value);

// Returns one of client/pages' pages with its data.
function pageOf(name, shown) {
  const {html, style, script} = data.pages[name];
  const json = JSON.stringify(shown).replaceAll('<', '\\u003c');
  let page = '', rest = html;
  for (const [mark, part] of [['{{style}}', style], ['{{data}}', json], ['{{script}}', script]]) {
    const at = rest.indexOf(mark);
    page += rest.slice(0, at) + part;
    rest = rest.slice(at + mark.length);
  }
  return page + rest;
}

// Browsers that know trusted types refuse HTML of any other origin.
const trusted = window.trustedTypes ?
    trustedTypes.createPolicy('pages', {createHTML: (html) => html}) : {createHTML: (html) => html};

function showPicture(name, title, shown) {
  const frame = element('iframe');
  frame.title = title;
  frame.setAttribute('sandbox', 'allow-scripts allow-downloads');
  frame.srcdoc = trusted.createHTML(pageOf(name, shown));
  $('inside-view').replaceChildren(frame);
}

// Returns the input of the calls: a text, or a pair.
function insideInput() {
  const text = $('inside-text').value, second = $('second-text').value;
  return second && !$('second-field').hidden ? {pair: {first: text, second}} : {text};
}

function languagesOf(model) {
  const chosen = {};
  if ((model.sourceLanguages || []).length) chosen.sourceLanguage = $('inside-from').value;
  if ((model.targetLanguages || []).length) chosen.targetLanguage = $('inside-to').value;
  return chosen;
}

// A greedy search for one translation: a wider one costs more and shows the same.
const greedy = (model, more) => ({
  ...languagesOf(model), split: 'SPLIT_NONE',
  decoding: {beamSize: 1, numHypotheses: 1, sample: false}, ...more,
});

const upTo = (end) => Array.from({length: end}, (_, i) => i);

// Makes a map without weights, as client/pages/attention_data.js reads it.
function plannedMap(model, kind, queries, keys, more) {
  const layers = kind === 'encoder' ? model.encoderLayerCount : model.decoderLayerCount;
  return {
    kind, layers: upTo(layers || 0), heads: upTo(model.headCount || 0),
    rows: upTo(queries.length), queries, keys, boundary: null, seen_first: null,
    windows: [], prompt: false, heads_per_kv: 1, ...more,
  };
}

async function planEncoder(model, input, options) {
  const answer = await call('Encode', {
    model: model.name, inputs: [input], pooling: 'POOLING_NONE', tokens: true,
    ...languagesOf(model),
  }, options);
  const pieces = answer.results[0].pieces || [];
  let boundary = null;
  if (input.pair) {
    const first = await call(
        'Tokenize', {model: model.name, texts: [input.pair.first]}, options);
    boundary = first.results[0].tokens.length;
  }
  return plannedMap(model, 'encoder', pieces, pieces, {boundary});
}

async function planTranslation(model, input, options) {
  const answer = await call('Translate', {
    model: model.name, inputs: [input], options: greedy(model, {tokens: true})}, options);
  const [result] = answer.results;
  const [best] = result.hypotheses;
  const pieces = best.pieces || [];
  if (!pieces.length) throw new CallError('The text is blank: there is nothing to translate.');
  const prefix = result.prefixPieces && result.prefixPieces.length ?
      result.prefixPieces : ['start'];
  return {
    answer: best.text || '', newTokens: best.tokenCount,
    maps: [
      plannedMap(model, 'cross', pieces, result.sourcePieces),
      plannedMap(model, 'decoder', pieces, [...prefix, ...pieces.slice(0, -1)],
                 {seen_first: prefix.length}),
    ],
  };
}

// Plans the map of a prompt and its answer, whose last token is never read.
async function planPrompt(model, input, options) {
  const pieces = [];
  let answer = '', promptTokens = 0;
  for await (const event of streamOf('Generate', {
    model: model.name, input, truncate: false,
    decoding: {beamSize: 1, numHypotheses: 1, sample: false, maxNewTokens: NEW_TOKENS,
               topLogprobs: 1},
  }, options)) {
    answer += event.piece?.text || '';
    for (const one of event.piece?.logprobs || []) pieces.push(one.token.piece || '');
    if (event.done) promptTokens = event.done.sourceTokenCount;
  }
  const tokens = await call('Tokenize', {model: model.name, texts: [input.text]}, options);
  const prompt = tokens.results[0].tokens.map((one) => one.piece || '');
  const all = [...prompt, ...pieces.slice(0, -1)];
  return {
    answer, newTokens: pieces.length,
    maps: [plannedMap(model, 'decoder', all, all, {
      prompt: true, seen_first: 1, boundary: pieces.length > 1 ? promptTokens : null,
      windows: model.attentionWindows || [],
      heads_per_kv: model.headCount / (model.kvHeadCount || model.headCount),
    })],
  };
}

const sizeOf = (map) =>
    map.layers.length * map.heads.length * map.rows.length * map.keys.length;

// Leaves out first layers, then heads, until a picture has room. Returns false
// if the text is too long.
function shrink(maps) {
  while (maps.reduce((sum, map) => sum + sizeOf(map), 0) > MOST_WEIGHTS) {
    const largest = maps.reduce((a, b) => sizeOf(a) < sizeOf(b) ? b : a);
    if (largest.layers.length > 1) {
      largest.layers.shift();
      if (largest.windows.length) largest.windows.shift();
    } else if (largest.heads.length > 1) {
      largest.heads.pop();
    } else {
      return false;
    }
  }
  return true;
}

// Returns one part of a map's weights.
async function readPart(model, input, map, newTokens, selection, options) {
  if (map.kind === 'encoder') {
    const answer = await call('Encode', {
      model: model.name, inputs: [input], pooling: 'POOLING_NONE', attention: selection,
      ...languagesOf(model)}, options);
    return answer.results[0].attention;
  }
  if (map.prompt) {
    let found = null;
    for await (const event of streamOf('Generate', {
      model: model.name, input, truncate: false, decoderAttention: selection,
      decoding: {beamSize: 1, numHypotheses: 1, sample: false, maxNewTokens: newTokens},
    }, options)) {
      if (event.done) found = event.done.decoderAttention;
    }
    return found;
  }
  const name = map.kind === 'cross' ? 'crossAttention' : 'decoderAttention';
  const asked = greedy(model, {[name]: selection});
  asked.decoding.maxNewTokens = newTokens;
  const answer = await call(
      'Translate', {model: model.name, inputs: [input], options: asked}, options);
  return answer.results[0].hypotheses[0][name];
}

// Reads the weights of a map, as many layers at once as a response may hold, and
// packs them as attention_data.js reads them: w * 65535 in 16 bits.
async function readMap(model, input, map, newTokens, options) {
  const layerSize = sizeOf(map) / map.layers.length;
  const most = Number(model.limits?.maxResponseBytes || 0) / 4 / 8 * 7;
  const step = Math.max(1, Math.floor(most / layerSize));
  const codes = new Uint16Array(sizeOf(map));
  let at = 0;
  for (let i = 0; i < map.layers.length; i += step) {
    const layers = map.layers.slice(i, i + step);
    const got = await readPart(
        model, input, map, newTokens, {layers, heads: map.heads}, options);
    const weights = got?.weights || [];
    if (weights.length !== layers.length * layerSize) {
      throw new CallError(
          `The server sent ${weights.length} weights where ${layers.length * layerSize} were asked for.`);
    }
    for (const weight of weights) {
      codes[at++] = Math.round(65535 * Math.max(0, Math.min(1, Number(weight) || 0)));
    }
  }
  const bytes = new Uint8Array(codes.buffer);
  const parts = [];
  for (let i = 0; i < bytes.length; i += 8192) {
    parts.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
  }
  map.weights = btoa(parts.join(''));
}

async function showAttention(signal) {
  const model = insideModel(), input = insideInput(), options = {signal};
  let maps = [], answer = '', newTokens = 0;
  if (model.design === 'DESIGN_DECODER') {
    ({maps, answer, newTokens} = await planPrompt(model, input, options));
  } else {
    if (serves(model, 'Encode')) maps.push(await planEncoder(model, input, options));
    if (serves(model, 'Translate') && input.text !== undefined) {
      const planned = await planTranslation(model, input, options);
      ({answer, newTokens} = planned);
      maps.push(...planned.maps);
    }
  }
  const all = maps.reduce((sum, map) => sum + sizeOf(map), 0);
  if (!shrink(maps)) {
    throw new CallError('The text is too long for a picture. Take a sentence.');
  }
  for (const map of maps) await readMap(model, input, map, newTokens, options);
  const texts = input.pair ? [input.pair.first, input.pair.second] : [input.text];
  showPicture('attention', 'Attention', {
    model: model.name, bits: 16, maps,
    texts: answer ? [...texts, answer] : texts,
  });
  const shown = maps.reduce((sum, map) => sum + sizeOf(map), 0);
  return shown < all ? 'The picture has room for a part of the layers and heads only.' : '';
}

const FATES = {
  BEAM_FATE_CONTINUED: 'continued', BEAM_FATE_ENDED: 'ended',
  BEAM_FATE_ENDED_TOO_LOW: 'ended_too_low', BEAM_FATE_OUTSCORED: 'outscored',
  BEAM_FATE_STOPPED: 'stopped',
};
const REASONS = {FINISH_REASON_END: 'end token', FINISH_REASON_STOP: 'stop string'};

// Says in a sentence why a candidate was continued or not.
function why(steps, s, place) {
  const runs = (one) => one.fate === 'continued' || one.fate === 'stopped';
  const one = steps[s][place];
  const score = one.score.toFixed(4);
  switch (one.fate) {
    case 'continued': {
      const next = steps[s + 1];
      return !next || next.some((child) => child.parent === place && child.fate !== 'pruned') ?
          'among the best of its step: it was continued' :
          'among the best of its step, but all its continuations were worse than those of others';
    }
    case 'stopped':
      return 'still running when the search stopped: it could not become a result any more';
    case 'ended':
      return `ended with score ${score}: ` + (one.hypothesis === undefined ?
          'kept, but fewer results were requested' : `result ${one.hypothesis + 1}`);
    case 'ended_too_low':
      return `ended, but only at rank ${place + 1} of its step: no more may end than the beam size`;
    case 'outscored':
      return `ended with score ${score}, but as many others as the beam size ended with better ones`;
    default: {
      const running = steps[s].filter(runs);
      return `pruned: the ${running.length} best of the step went on, the last of them with ` +
          `${(running.at(-1)?.sum || 0).toFixed(4)}, and this has ${one.sum.toFixed(4)}`;
    }
  }
}

async function showBeams(signal) {
  const model = insideModel();
  const text = $('inside-text').value;
  const answer = await call('Translate', {
    model: model.name, inputs: [{text}],
    options: {...languagesOf(model), split: 'SPLIT_NONE',
              decoding: {beamSize: BEAM_SIZE, numHypotheses: BEAM_SIZE, trace: true}},
  }, {signal, shown: true});
  const [result] = answer.results;
  const trace = result.beamTrace || {};
  const steps = (trace.steps || []).map((step) => step.candidates.map((one) => ({
    parent: one.parent || 0, id: one.id || 0, token: one.piece || String(one.id || 0),
    logprob: one.logprob || 0, sum: one.totalLogprob || 0, score: one.score || 0,
    fate: FATES[one.fate] || 'pruned', hypothesis: one.hypothesis,
  })));
  steps.forEach((step, s) => step.forEach((one, place) => {
    if (s > 0 && !steps[s - 1][one.parent]) {
      throw new CallError('The server’s trace contradicts itself.');
    }
    one.why = why(steps, s, place);
  }));
  showPicture('beams', 'Beam search', {
    model: model.name, text, truncated: Boolean(trace.truncated), steps,
    hypotheses: (result.hypotheses || []).map((one) => ({
      text: one.text || '', score: one.score || 0, tokens: one.tokenCount || 0,
      reason: REASONS[one.finishReason] || 'length limit',
    })),
  });
  return '';
}

// Names of a HeadTrace's matrices, in JSON and on the picture.
const TRACED = {
  tokenEmbeddings: 'token_embeddings', segmentEmbeddings: 'segment_embeddings',
  positionEmbeddings: 'position_embeddings', embedded: 'embedded', input: 'input',
  normed: 'normed', query: 'query', key: 'key', value: 'value', scores: 'scores',
  bias: 'bias', weights: 'weights', sum: 'sum', joined: 'joined', output: 'output',
  result: 'result',
};
const fiveDigits = (numbers) => (numbers || []).map((one) => Number(Number(one).toPrecision(5)));

// Makes the data of the picture, as client/commands/head_page.cc does.
function pictureOfHead(trace, more) {
  const rows = {};
  for (const [name, shown] of Object.entries(TRACED)) {
    if (!trace[name]) continue;
    rows[shown] = {columns: trace[name].columns, values: fiveDigits(trace[name].values)};
  }
  const pieces = (list) => (list || []).map((one) => one.piece || String(one.id || 0));
  const numbers = (list) => (list || []).map(Number);
  const next = (one) => ({piece: one.piece || String(one.id || 0), logprob: one.logprob || 0});
  return {
    ...more, rows, queries: pieces(trace.queries), keys: pieces(trace.keys),
    positions: (trace.positions || 'TRACE_POSITIONS_NONE').slice(16).toLowerCase(),
    frequencies: fiveDigits(trace.rotaryFrequencies), scale: trace.scale || 0,
    soft_cap: trace.softCap || 0, sink: trace.sink ?? null,
    kv_head: trace.keyValueHead || 0, heads: trace.headCount, layers: trace.layerCount,
    gated: Boolean(trace.gated), parallel: Boolean(trace.parallel),
    norm_of_output: Boolean(trace.normOfOutput), norm_of_sum: Boolean(trace.normOfSum),
    rms: Boolean(trace.rmsNorm), factor: trace.residualFactor ?? 0,
    seen_begin: numbers(trace.seenBegin), seen_end: numbers(trace.seenEnd),
    next: more.next.map((one) => ({
      chosen: next(one.token || {}), best: (one.alternatives || []).map(next)})),
  };
}

async function showHead(signal) {
  const model = insideModel(), input = insideInput();
  const kind = $('head-kind').value;
  const layer = Number($('head-layer').value), head = Number($('head-number').value);
  const headTrace = {layer, head, cross: kind === 'cross'};
  let trace = null, answer = '';
  const next = [];
  if (kind === 'encoder') {
    const encoded = await call('Encode', {
      model: model.name, inputs: [input], pooling: 'POOLING_NONE', headTrace,
      ...languagesOf(model)}, {signal, shown: true});
    trace = encoded.results[0].headTrace;
  } else {
    const decoding = {beamSize: 1, numHypotheses: 1, sample: false, topLogprobs: 10};
    if (model.design === 'DESIGN_DECODER') decoding.maxNewTokens = NEW_TOKENS;
    for await (const event of streamOf('Generate', {
      model: model.name, input, headTrace, decoding, ...languagesOf(model),
    }, {signal, shown: true})) {
      answer += event.piece?.text || '';
      next.push(...event.piece?.logprobs || []);
      if (event.done) trace = event.done.headTrace;
    }
  }
  if (!trace) throw new CallError('The text is blank: there is nothing to explain.');
  const text = input.pair ? `${input.pair.first} ${input.pair.second}` : input.text;
  showPicture('explain', 'One head', pictureOfHead(
      trace, {model: model.name, text, answer, kind, layer, head, next}));
  return '';
}

// Offers the kinds, layers and heads that the model has.
function fitHeads() {
  const model = insideModel();
  if (!model) return;
  const kinds = [];
  if (model.design !== 'DESIGN_DECODER') kinds.push(['encoder', 'encoder']);
  if (model.design !== 'DESIGN_ENCODER') kinds.push(['decoder', 'decoder']);
  if (model.design === 'DESIGN_ENCODER_DECODER') kinds.push(['cross', 'decoder to source']);
  fillSelect($('head-kind'), kinds, kinds.at(-1)[0]);
  const layers = $('head-kind').value === 'encoder' ? model.encoderLayerCount : model.decoderLayerCount;
  const numbers = (end) => upTo(end || 1).map((one) => [String(one), String(one)]);
  fillSelect($('head-layer'), numbers(layers));
  fillSelect($('head-number'), numbers(model.headCount));
}

async function showTokens(signal) {
  const model = insideModel(), input = insideInput();
  const message = input.pair ? {pairs: [input.pair]} : {texts: [input.text]};
  const answer = await call('Tokenize', {model: model.name, ...message}, {signal, shown: true});
  const tokens = answer.results[0].tokens || [];
  const list = element('ol', 'tokens', ...tokens.map((one, i) => {
    const item = element('li', one.special ? 'special' : '',
                         element('span', 'token', visible(one.piece || '')),
                         element('small', '', String(one.id || 0)));
    item.title = `Token ${i}: id ${one.id || 0}` + (one.special ? ', special' :
        `, characters ${one.charBegin || 0} to ${one.charEnd || 0}`);
    return item;
  }));
  $('inside-view').replaceChildren(element(
      'section', 'panel', element('h2', '', `${tokens.length} tokens`), list,
      element('p', 'quiet', 'The number below a piece is its id in the vocabulary. ▁ or Ġ stands for the space before a piece; dashed tokens are added by the model.')));
  return '';
}

function fitControls() {
  const model = insideModel();
  if (!model) return;
  const options = (list) => (list || []).map((one) => {
    const code = one.bcp47 || one.code;
    return [code, languageName(code)];
  });
  fillSelect($('inside-from'), options(model.sourceLanguages), 'en');
  const from = $('inside-from').value;
  const targets = options(model.targetLanguages);
  if ($('inside-to').value === from) $('inside-to').value = '';
  fillSelect($('inside-to'), targets, (targets.find(([code]) => code !== from) || [''])[0]);
  $('inside-from-field').hidden = !(model.sourceLanguages || []).length;
  $('inside-to-field').hidden = !(model.targetLanguages || []).length;
  $('second-field').hidden = model.design !== 'DESIGN_ENCODER';
  $('show-beams').hidden = !serves(model, 'Translate');
  fitHeads();
}

function startInside() {
  modelListeners.push(() => {
    const able = models.filter((model) => model.hasTokenizer);
    showTool('inside', able.length > 0);
    fillSelect($('inside-model'), able.map((model) => [model.name, model.name]));
    fitControls();
  });
  $('inside-text').value = 'The animal didn’t cross the street because it was too tired.';
  $('inside-model').addEventListener('change', fitControls);
  $('inside-from').addEventListener('change', fitControls);
  const on = (id, what, work) => $(id).addEventListener('click', async () => {
    showError('inside-error', null);
    for (const one of document.querySelectorAll('.looks button')) {
      one.setAttribute('aria-pressed', one.id === id);
    }
    $('head-fields').hidden = id !== 'show-head';
    if (!$('inside-text').value.trim()) {
      return showError('inside-error', new CallError('Type a text first.'));
    }
    $('inside-note').textContent = `Reading ${what} …`;
    try {
      $('inside-note').textContent = await inside.work.run(work);
    } catch (error) {
      if (error.name === 'AbortError') return;
      $('inside-note').textContent = '';
      showError('inside-error', error);
    }
  });
  on('show-tokens', 'tokens', showTokens);
  on('show-attention', 'attention', showAttention);
  on('show-beams', 'the search', showBeams);
  on('show-head', 'the head', showHead);
  for (const id of ['head-kind', 'head-layer', 'head-number']) {
    $(id).addEventListener('change', () => {
      fitHeads();
      $('show-head').click();
    });
  }
}
