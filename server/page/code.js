// The server's page: the last call as code that people copy. A token is never in
// it: the code reads TRIVIUM_TOKEN.

const quoteShell = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

// Returns a value as Python writes it.
function python(value, indent = '') {
  const inner = indent + '    ';
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Array.isArray(value) ? value.map((one) => python(one, inner)) :
      Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${python(one, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const line = open + entries.join(', ') + close;
  if (line.length < 64 && !line.includes('\n')) return line;
  return `${open}\n${inner}${entries.join(`,\n${inner}`)},\n${indent}${close}`;
}

function curlCode({path, body}) {
  return [
    `curl ${body.stream ? '-N ' : ''}${quoteShell(addressOf(path))} \\`,
    ...(tokenNow() ? ['  -H "Authorization: Bearer $TRIVIUM_TOKEN" \\'] : []),
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoteShell(JSON.stringify(body))}`,
  ].join('\n');
}

// Needs nothing but Python.
function pythonCode({path, body}) {
  const {stream, stream_options: _, ...rest} = body;
  return [
    `import json${tokenNow() ? ', os' : ''}, urllib.request`, '',
    `request = urllib.request.Request(`,
    `    ${JSON.stringify(addressOf(path))},`,
    `    data=json.dumps(${python(rest, '    ')}).encode(),`,
    `    headers={"Content-Type": "application/json"` + (tokenNow() ?
        `,\n             "Authorization": "Bearer " + os.environ["TRIVIUM_TOKEN"]})` : '})'),
    `with urllib.request.urlopen(request) as answer:`,
    `    print(json.load(answer))`,
  ].join('\n');
}

// What a call is for OpenAI's client; null: it has no such call.
function openaiCode({path, body}) {
  const key = tokenNow() ? 'os.environ["TRIVIUM_TOKEN"]' : '"none"';
  const head = [
    ...(tokenNow() ? ['import os', ''] : []), 'from openai import OpenAI', '',
    `client = OpenAI(base_url=${JSON.stringify(addressOf('v1'))}, api_key=${key})`];
  const fields = (values) => Object.entries(values).map(
      ([name, value]) => `    ${name}=${python(value, '    ')},`);
  if (path === 'v1/chat/completions') {
    const {stream, stream_options: _, messages, model, ...rest} = body;
    const known = ['temperature', 'top_p', 'max_tokens', 'seed', 'tools'];
    const plain = Object.fromEntries(Object.entries(rest).filter(([name]) => known.includes(name)));
    const extra = Object.fromEntries(Object.entries(rest).filter(([name]) => !known.includes(name)));
    if (Object.keys(extra).length) plain.extra_body = extra;
    return [...head, 'stream = client.chat.completions.create(',
            ...fields({model, messages, ...plain, stream: true}), ')',
            'for chunk in stream:', '    if chunk.choices:',
            '        print(chunk.choices[0].delta.content or "", end="", flush=True)'].join('\n');
  }
  if (path === 'trivium.v1.Inference/Encode') {
    return [...head, 'answer = client.embeddings.create(',
            ...fields({model: body.model, input: body.inputs.map((one) => one.text)}), ')',
            'print(answer.data[0].embedding[:8])'].join('\n');
  }
  return null;
}

// The project's own client, over gRPC.
function clientCode({path, body}) {
  const field = (name) => name.replace(/[A-Z]/g, (c) => '_' + c.toLowerCase());
  const snake = (value) => Array.isArray(value) ? value.map(snake) :
      value && typeof value === 'object' ?
      Object.fromEntries(Object.entries(value).map(([name, one]) => [field(name), snake(one)])) :
      value;
  if (path !== 'trivium.v1.Inference/Translate') return null;
  const texts = body.inputs.map((one) => one.text);
  const options = Object.entries(snake(body.options)).filter(
      ([name, value]) => value !== '' && value !== false && name !== 'sentences');
  const place = location.hostname;
  return [
    ...(tokenNow() ? ['import os'] : []), 'import trivium', '',
    '# The port is that of --listen.',
    `with trivium.Client("${place}:50051"${tokenNow() ? ',' : ''}` + (tokenNow() ?
        ' credentials=trivium.tls_credentials(token=os.environ["TRIVIUM_TOKEN"])' : '') +
        ') as client:',
    '    response = client.translate(', `        ${python(texts, '        ')},`,
    ...(body.model ? [`        model=${JSON.stringify(body.model)},`] : []),
    ...options.map(([name, value]) => `        ${name}=${python(value, '        ')},`),
    '    )', '    for result in response.results:',
    '        print(result.hypotheses[0].text)'].join('\n');
}

const CODES = [['curl', curlCode], ['Python', pythonCode], ['openai', openaiCode],
               ['trivium', clientCode]];
let codeKind = 'curl';

function showCode() {
  const able = lastCall ? CODES.filter(([, make]) => make(lastCall) !== null) : [];
  if (!able.some(([name]) => name === codeKind)) codeKind = 'curl';
  $('code-kinds').replaceChildren(...able.map(([name]) => {
    const button = element('button', '', name);
    button.type = 'button';
    button.setAttribute('aria-pressed', name === codeKind);
    button.addEventListener('click', () => {
      codeKind = name;
      showCode();
      [...$('code-kinds').children].find((one) => one.textContent === name).focus();
    });
    return button;
  }));
  $('code-none').hidden = able.length > 0;
  $('code').hidden = $('copy-code').hidden = !able.length;
  $('code-note').textContent = '';
  if (able.length) {
    $('code').textContent = able.find(([name]) => name === codeKind)[1](lastCall);
  }
}

function startCode() {
  callListeners.push(showCode);
  $('copy-code').addEventListener('click', () => copy($('code').textContent, $('code-note')));
}
