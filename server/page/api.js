// The server's page: calls of the API.

const $ = (id) => document.getElementById(id);

// Where the page is, which is where the API is: a proxy may have put both under a
// prefix, with or without a slash at its end.
const HERE = location.pathname.replace(/\/(index\.html)?$/, '') + '/';
const addressOf = (path) => location.origin + HERE + path;

// Kept until the tab is closed, and sent to this server only.
const TOKEN = 'trivium-token';
const tokenNow = () => sessionStorage.getItem(TOKEN) || '';

// An error of a call, with the text that the server tells.
class CallError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

// Returns the text of an error in any of the API's shapes. People know no fields
// of messages: they typed a text.
function errorText(body, status) {
  let json;
  try {
    json = JSON.parse(body);
  } catch {
    json = null;
  }
  const error = json && (json.error ?? json);
  const text = typeof error === 'string' ? error : error && error.message;
  return text ? text.replace(/^inputs\[\d+\]\.text: /, 'The text ') :
      `The server answered with status ${status}.`;
}

let asking = null;  // the open question for a token

// Asks for a token, and returns true if there is another one now.
function askForToken(why) {
  asking ??= new Promise((resolve) => {
    const dialog = $('ask-token');
    $('ask-token-why').textContent = why;
    $('token').value = '';
    $('forget-token').hidden = !tokenNow();
    dialog.returnValue = 'cancel';
    dialog.addEventListener('close', () => {
      asking = null;
      const text = $('token').value.trim();
      $('token').value = '';
      const change = dialog.returnValue === 'use' && text !== '';
      if (change) sessionStorage.setItem(TOKEN, text);
      if (dialog.returnValue === 'forget') sessionStorage.removeItem(TOKEN);
      $('token-button').hidden = !tokenNow();
      resolve(change);
    }, {once: true});
    dialog.showModal();
    $('token').focus();
  });
  return asking;
}

// The last call that can be shown as code: {method, path, body}.
let lastCall = null;
const callListeners = [];
function noteCall(call) {
  lastCall = call;
  for (const listener of callListeners) listener();
}

// Sends a request and returns its answer, whose status is below 300. Asks for a
// token where one is missing. Options: type and signal of the request; quiet: a
// missing token is an error; shown: the call is of interest as code.
async function send(method, path, body, options = {}) {
  if (options.shown) noteCall({method, path, body});
  for (;;) {
    const token = tokenNow();
    const headers = {};
    if (body !== undefined) headers['Content-Type'] = options.type || 'application/json';
    if (token) headers.Authorization = 'Bearer ' + token;
    let answer;
    try {
      answer = await fetch(HERE + path, {
        method, headers, signal: options.signal, cache: 'no-store',
        body: body === undefined || body instanceof Uint8Array ?
            body : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new CallError('The server cannot be reached. Is it still running?');
    }
    if (answer.ok) return answer;
    const why = errorText(await answer.text(), answer.status);
    if (answer.status === 401 && !options.quiet &&
        (token !== tokenNow() || await askForToken(why))) {
      continue;
    }
    throw new CallError(why, answer.status);
  }
}

const getJson = async (path, options) =>
    (await send('GET', path, undefined, options)).json();

// Calls the API's own calls by Connect's protocol, with messages as JSON.
async function call(name, message, options) {
  const service = /Model/.test(name) ? 'Models' : 'Inference';
  return (await send('POST', `trivium.v1.${service}/${name}`, message, options)).json();
}

// Yields the pieces of an answer's body.
async function* piecesOf(answer) {
  const reader = answer.body.getReader();
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Yields the data of server-sent events.
async function* eventsOf(answer) {
  const decoder = new TextDecoder();
  let rest = '', data = [];
  for await (const piece of piecesOf(answer)) {
    const lines = (rest + decoder.decode(piece, {stream: true})).split('\n');
    rest = lines.pop();
    for (const line of lines.map((one) => one.replace(/\r$/, ''))) {
      if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      } else if (line === '' && data.length) {
        yield data.join('\n');
        data = [];
      }
    }
  }
}

// Yields the messages of a call that Connect answers with a stream.
async function* streamOf(name, message, options) {
  const text = new TextEncoder().encode(JSON.stringify(message));
  const body = new Uint8Array(5 + text.length);
  new DataView(body.buffer).setUint32(1, text.length);
  body.set(text, 5);
  const answer = await send('POST', 'trivium.v1.Inference/' + name, body,
                            {...options, type: 'application/connect+json'});
  let held = new Uint8Array(0);
  for await (const piece of piecesOf(answer)) {
    const all = new Uint8Array(held.length + piece.length);
    all.set(held);
    all.set(piece, held.length);
    let at = 0;
    while (all.length - at >= 5) {
      const length = new DataView(all.buffer, at + 1).getUint32(0);
      if (all.length - at - 5 < length) break;
      const json = JSON.parse(
          new TextDecoder().decode(all.subarray(at + 5, at + 5 + length)));
      if (all[at] & 2) {
        if (json.error) throw new CallError(json.error.message || 'The call failed.');
        return;
      }
      yield json;
      at += 5 + length;
    }
    held = all.slice(at);
  }
  throw new CallError('The answer broke off.');
}
