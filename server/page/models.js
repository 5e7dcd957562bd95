// The server's page: Models. Orders ask for a token if the server wants one.

const PRECISIONS = {PRECISION_F32: 'f32', PRECISION_BF16: 'bf16', PRECISION_INT8: 'int8',
  PRECISION_INT4: 'int4'};
const DESIGNS = {
  DESIGN_ENCODER: 'encoder', DESIGN_DECODER: 'decoder',
  DESIGN_ENCODER_DECODER: 'encoder and decoder',
};

function languagesText(list) {
  const codes = (list || []).map((one) => one.bcp47 || one.code);
  return codes.length > 12 ? `${codes.length} languages` : codes.join(', ');
}

function drawModel(model) {
  const limits = model.limits || {};
  const facts = [
    ['Family', `${model.family || ''}, ${DESIGNS[model.design] || ''}`],
    ['Calls', (model.calls || []).join(', ')],
    ['Languages', model.sourceLanguages && model.targetLanguages ?
        `${languagesText(model.sourceLanguages)} → ${languagesText(model.targetLanguages)}` : ''],
    ['Chats', (model.chatTemplates || []).length ? 'yes' : model.chatRefusal],
    ['Parameters', `${many(model.parameterCount)} in ${PRECISIONS[model.precision] || ''}, instructions: ${model.isa || ''}`],
    ['Memory', `${bytes(model.weightBytes)} of weights` +
        (Number(model.kvCacheBytes) ? `, ${bytes(model.kvCacheBytes)} for keys and values` : '')],
    ['Size', [model.encoderLayerCount && `${model.encoderLayerCount} layers of the encoder`,
              model.decoderLayerCount && `${model.decoderLayerCount} layers of the decoder`,
              `${count(model.headCount)} heads`, `${count(model.dModel)} wide`,
              `${count(model.vocabularySize)} tokens known`].filter(Boolean).join(', ')],
    ['Limits', [limits.maxSourceTokens && `${count(limits.maxSourceTokens)} tokens read`,
                limits.maxTargetTokens && `${count(limits.maxTargetTokens)} written`,
                `${count(limits.maxInputs)} inputs a call`,
                `${bytes(limits.maxRequestBytes)} a request`].filter(Boolean).join(', ')],
    ['Labels', (model.labels || []).slice(0, 12).join(', ')],
    ['Batches', model.batchInvariant ? 'do not change a bit of an answer' : 'may change the last bits of an answer'],
    ['Revision', model.revision],
  ];
  const list = element('dl', 'facts');
  for (const [name, text] of facts) {
    if (text) list.append(element('dt', '', name), element('dd', '', marked(text)));
  }
  const button = (text, order) => {
    const made = element('button', '', text);
    made.type = 'button';
    made.setAttribute('aria-label', `${text} ${model.name}`);
    made.addEventListener('click', order);
    return made;
  };
  const orders = element(
      'div', 'row',
      button('Read again', () => giveOrder('ReloadModel', {name: model.name},
                                           `${model.name} was read again.`)),
      button('Unload', () => {
        if (confirm(`Unload ${model.name}? Calls of it will fail.`)) {
          giveOrder('UnloadModel', {name: model.name}, `${model.name} is unloaded.`);
        }
      }));
  return element('section', 'panel', element('h2', '', model.name), list, orders);
}

async function giveOrder(name, message, done) {
  showError('models-error', null);
  $('models-note').textContent = 'The server works on it …';
  try {
    await call(name, message);
    await readModels();
    $('models-note').textContent = done;
  } catch (error) {
    $('models-note').textContent = '';
    showError('models-error', error);
    if (error.status === 403) $('token-button').hidden = false;
  }
}

function startModels() {
  modelListeners.push(() => {
    $('models').replaceChildren(...models.map(drawModel));
    const all = models.reduce((sum, model) => sum + Number(model.weightBytes || 0), 0);
    $('models-note').textContent =
        `${count(models.length)} ${models.length === 1 ? 'model' : 'models'}, ${bytes(all)} of weights`;
    $('served').textContent = models.map((model) => model.name).join(', ');
  });
  $('models-again').addEventListener('click', async () => {
    showError('models-error', null);
    try {
      await readModels();
    } catch (error) {
      showError('models-error', error);
    }
  });
  $('load').addEventListener('submit', async (event) => {
    event.preventDefault();
    const folder = $('load-folder').value.trim();
    const name = $('load-name').value.trim();
    await giveOrder('LoadModel', {folder, name, precision: $('load-precision').value},
                    `${name || folder} is loaded.`);
  });
}
