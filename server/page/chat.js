// The server's page: Chat, by OpenAI's path, which streams.

const LONG_ANSWER = 200000;  // characters above which Markdown stays text

const chat = {
  messages: [],  // as OpenAI's API has them
  work: new Latest(),
};

// Returns the body of a request, or throws what is wrong with the settings.
function chatRequest() {
  const system = $('system').value.trim();
  const body = {
    model: $('chat-model').value,
    messages: [...(system ? [{role: 'system', content: system}] : []), ...chat.messages],
    stream: true, stream_options: {include_usage: true},
  };
  for (const [id, name] of [['temperature', 'temperature'], ['top-p', 'top_p'],
                            ['top-k', 'top_k'], ['min-p', 'min_p'],
                            ['most-tokens', 'max_tokens'], ['seed', 'seed']]) {
    if (!$(id).validity.valid) {
      throw new CallError(`${name}: ${$(id).validationMessage}`);
    }
    if ($(id).value !== '') body[name] = Number($(id).value);
  }
  if ($('thinking').value) {
    body.chat_template_kwargs = {enable_thinking: $('thinking').value === 'true'};
  }
  const tools = $('tools').value.trim();
  if (tools) {
    try {
      body.tools = JSON.parse(tools);
    } catch (error) {
      throw new CallError(`The tools are no JSON: ${error.message}`);
    }
  }
  return body;
}

// Adds a message to the page and returns its place.
function addSaid(role, name) {
  const made = element('div', 'said ' + role, element('h2', '', name));
  $('log').append(made);
  return made;
}

function toEnd() {
  const log = $('log');
  log.scrollTop = log.scrollHeight;
}

function addUser(text) {
  addSaid('user', 'You').append(element('div', 'words', text));
  chat.messages.push({role: 'user', content: text});
  toEnd();
}

// Draws an answer as it comes.
class AnswerView {
  constructor(name) {
    this.message = {role: 'assistant', content: ''};
    this.calls = [];
    this.place = addSaid('assistant', name);
    this.thoughts = element('details', 'thoughts', element('summary', '', 'Thoughts'),
                            element('div'));
    this.thoughts.hidden = true;
    this.words = element('div', 'words');
    this.tools = element('div');
    this.figures = element('p', 'figures');
    this.place.append(this.thoughts, this.words, this.tools, this.figures);
    this.draw = onceAFrame(() => this.drawNow());
  }

  add(delta) {
    if (delta.reasoning_content) {
      this.message.reasoning_content =
          (this.message.reasoning_content || '') + delta.reasoning_content;
    }
    if (delta.content) this.message.content += delta.content;
    for (const part of delta.tool_calls || []) {
      const one = this.calls[part.index || 0] ??=
          {id: '', type: 'function', function: {name: '', arguments: ''}};
      if (part.id) one.id = part.id;
      if (part.function?.name) one.function.name = part.function.name;
      one.function.arguments += part.function?.arguments || '';
    }
    this.draw();
  }

  drawNow() {
    if (this.ended) return;
    const log = $('log');
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    const {content, reasoning_content: thoughts} = this.message;
    this.thoughts.hidden = !thoughts;
    if (thoughts) this.thoughts.lastChild.textContent = thoughts;
    this.words.replaceChildren(
        ...(content.length > LONG_ANSWER ? [content] : markdown(content)));
    this.tools.replaceChildren(...this.calls.map((one) => element(
        'div', 'tool-call', element('strong', '', `Calls ${one.function.name}`),
        element('pre', 'code', one.function.arguments))));
    if (atEnd) toEnd();
  }

  // Returns the message for the next request.
  end(text) {
    this.drawNow();
    this.ended = true;
    this.figures.textContent = text;
    const message = {...this.message};
    if (this.calls.length) {
      message.tool_calls = this.calls;
      if (!message.content) message.content = null;
      this.calls.forEach((one, i) => this.addReply(one, this.tools.children[i]));
    }
    return message;
  }

  // The user may answer a call as the function would.
  addReply(one, place) {
    const input = element('input');
    input.setAttribute('aria-label', `Result of ${one.function.name}`);
    input.placeholder = 'the function’s result';
    const button = element('button', '', 'Answer as the function');
    button.type = 'button';
    button.addEventListener('click', () => {
      chat.messages.push({role: 'tool', tool_call_id: one.id, content: input.value});
      input.disabled = button.disabled = true;
      const open = [...this.tools.querySelectorAll('button')].some((b) => !b.disabled);
      if (!open) answer();
    });
    place.append(element('div', 'row', input, button));
  }
}

// Asks the model for the next message.
async function answer() {
  showError('chat-error', null);
  let body;
  try {
    body = chatRequest();
  } catch (error) {
    return showError('chat-error', error);
  }
  const view = new AnswerView(body.model);
  toEnd();
  const started = performance.now();
  let first = 0, usage = null, finish = '';
  const buttons = (works) => {
    $('stop').disabled = !works;
    $('send').disabled = works;
    $('chat-again').disabled = $('chat-clear').disabled = works;
    // A screen reader waits for the end instead of reading every word twice.
    $('log').setAttribute('aria-busy', works);
  };
  buttons(true);
  $('chat-note').textContent = 'The model answers …';
  let failure = null;
  try {
    await chat.work.run(async (signal) => {
      const events = await send('POST', 'v1/chat/completions', body, {signal, shown: true});
      for await (const event of eventsOf(events)) {
        if (event === '[DONE]') break;
        const json = JSON.parse(event);
        if (json.error) throw new CallError(errorText(event, 0));
        if (json.usage) usage = json.usage;
        const [choice] = json.choices || [];
        if (!choice) continue;
        first ||= performance.now();
        view.add(choice.delta || {});
        if (choice.finish_reason) finish = choice.finish_reason;
      }
    });
  } catch (error) {
    failure = error;
  }
  const stopped = failure && failure.name === 'AbortError';
  const time = (performance.now() - started) / 1000;
  const figures = [];
  if (usage) {
    figures.push(`${count(usage.completion_tokens)} tokens`,
                 `${(usage.completion_tokens / Math.max(time, .001)).toFixed(1)} tokens a second`);
  }
  if (first) figures.push(`first after ${seconds((first - started) / 1000)}`);
  if (finish === 'length') figures.push('the length limit cut it');
  if (stopped) figures.push('stopped');
  const message = view.end(figures.join(' · '));
  const said = message.content || message.tool_calls || message.reasoning_content;
  if (said) chat.messages.push(message);
  else if (failure) view.place.remove();
  buttons(false);
  $('chat-again').disabled = !chat.messages.length;
  $('chat-note').textContent = stopped ? 'Stopped.' : failure ? '' : 'Done.';
  showError('chat-error', failure);
}

function sendMessage() {
  const text = $('message').value;
  if (chat.work.runs) return;
  if (!text.trim()) {
    $('chat-note').textContent = 'Type a message first.';
    return;
  }
  $('message').value = '';
  addUser(text);
  answer();
}

// Takes the last answer away and asks for another one.
function answerAgain() {
  while (chat.messages.length && chat.messages.at(-1).role !== 'user') chat.messages.pop();
  while ($('log').lastChild && !$('log').lastChild.classList.contains('user')) {
    $('log').lastChild.remove();
  }
  if (chat.messages.length) answer();
}

function startChat() {
  modelListeners.push(() => {
    const able = models.filter((model) => (model.chatTemplates || []).length > 0);
    showTool('chat', able.length > 0);
    fillSelect($('chat-model'), able.map((model) => [model.name, model.name]));
  });
  $('send').addEventListener('click', sendMessage);
  $('stop').addEventListener('click', () => chat.work.stop());
  $('chat-again').addEventListener('click', answerAgain);
  $('chat-clear').addEventListener('click', () => {
    chat.messages = [];
    $('log').replaceChildren();
    showError('chat-error', null);
    $('chat-note').textContent = '';
    $('chat-again').disabled = $('chat-clear').disabled = true;
    $('message').focus();
  });
  $('message').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      sendMessage();
    }
    if (event.key === 'Escape') chat.work.stop();
  });
}
