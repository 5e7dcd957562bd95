// Tests the scripts of server/page, all but what needs a browser.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import test from 'node:test';
import vm from 'node:vm';
import {Element, serialize} from '../../client/pages/browser.mjs';

const ROOT = new URL('../../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, ROOT), 'utf8');

// The names of the page's files in their order, as in page.cc.in.
function filesOf() {
  const lists = [...read('server/page/page.cc.in').matchAll(/R"=+\(([^)]*)\)=+"/g)];
  return [...lists[2][1].matchAll(/@(\w+)_js@/g)].map(([, name]) => name + '.js');
}

// Runs the scripts without starting the page. `answer` is what fetch gives.
function open({path = '/', token = '', answer} = {}) {
  const data = new Element('script');
  data.textContent = '{}';
  const sent = [];
  const context = vm.createContext({
    document: {
      documentElement: new Element('html'),
      getElementById: (id) => id === 'data' ? data : new Element('x'),
      createElement: (tag) => new Element(tag),
      createElementNS: (space, tag) => new Element(tag),
    },
    location: {pathname: path, origin: 'http://host:8080', hostname: 'host', hash: ''},
    sessionStorage: {getItem: () => token},
    getComputedStyle: () => ({getPropertyValue: () => ''}),
    fetch: async (address, options) => {
      sent.push({address, ...options});
      return answer;
    },
    window: {}, Intl, URL, URLSearchParams, TextEncoder, TextDecoder, Uint8Array,
    DataView, btoa, performance, setTimeout, clearTimeout,
  });
  const scripts = filesOf().map((name) => read(
      (name === 'page.js' ? 'client/pages/' : 'server/page/') + name)).join('');
  vm.runInContext(scripts.replace(/\nstart\(\);\s*$/, ''), context);
  return {sent, run: (code) => vm.runInContext(code, context)};
}

// Compares values of the page's context, whose classes are others.
const same = (one, other) => assert.deepEqual(
    JSON.parse(JSON.stringify(one)), other);

test('all scripts of the folder are in the page, and main.js is the last', () => {
  const files = filesOf();
  assert.equal(files[0], 'page.js');
  assert.equal(files.at(-1), 'main.js');
  assert.equal(new Set(files).size, 13);
});

const html = (text) =>
    serialize(open().run(`element('div', '', ...markdown(${JSON.stringify(text)}))`));

test('Markdown becomes elements', () => {
  assert.equal(html('# A *b*\n\nc **d** `e*f*`\nnext'),
               '<div><h3>A <em>b</em></h3><p>c <strong>d</strong> <code>e*f*</code>' +
               '<br></br>next</p></div>');
  assert.equal(html('- a\n- b\n  1. c\n\nd'),
               '<div><ul><li>a</li><li>b<ol><li>c</li></ol></li></ul><p>d</p></div>');
  assert.equal(html('```js\n*a*\n```\n> b'),
               '<div><pre><code>*a*</code></pre><blockquote><p>b</p></blockquote></div>');
  assert.equal(html('| a | b |\n|---|:-:|\n| 1 | *2* |'),
               '<div><div class="scroll"><table><thead><tr><th>a</th><th>b</th></tr></thead>' +
               '<tbody><tr><td>1</td><td><em>2</em></td></tr></tbody></table></div></div>');
});

test('what is no Markdown stays text', () => {
  for (const text of ['2 * 3 * 4', 'snake_case_name', '\\*a\\*', 'a ** b', '`a', '[a](b c)',
                      '<b>bold</b>', '&lt;']) {
    const [only] = open().run(`markdown(${JSON.stringify(text)})`);
    assert.equal(only.children.length, 0, text);
    assert.equal(only.textContent, text.replaceAll('\\', ''));
  }
});

test('links lead to the web only', () => {
  for (const address of ['javascript:alert(1)', 'data:text/html,a', '//a', 'file:///etc', 'a']) {
    assert.match(html(`[text](${address})`), /<span>text<\/span>|\[text\]/, address);
  }
  const found = (text) => [...open().run(`element('p', '', ...inlines(${JSON.stringify(text)}))`).all()]
      .filter((one) => one.tag === 'a').map((one) => [one.href, one.rel, one.target]);
  assert.deepEqual(found('See https://a.example/b?c=1, or [d](http://e.example "f").'), [
    ['https://a.example/b?c=1', 'noopener noreferrer', '_blank'],
    ['http://e.example/', 'noopener noreferrer', '_blank'],
  ]);
});

test('texts of one sign take linear time', () => {
  const page = open();
  for (const sign of ['*', '_', '`', '[', '**a', '> ', '- ', '|', '\\', '  - a\n']) {
    const begun = performance.now();
    page.run(`markdown(${JSON.stringify(sign)}.repeat(15000)).length`);
    assert.ok(performance.now() - begun < 5000, sign);
  }
});

test('metrics are read with their labels', () => {
  const page = open();
  page.run(`samples = parseMetrics(${JSON.stringify(
      '# HELP a_total Text.\na_total{model="x\\"}\\\\",code="OK"} 3\n' +
      'a_total{model="y",code="INTERNAL"} 4e1\nb 1.5\nc_bucket{le="+Inf"} 2\n')})`);
  assert.equal(page.run(`sumOf(samples, 'a_total')`), 43);
  assert.equal(page.run(`sumOf(samples, 'a_total', (labels) => labels.code === 'OK')`), 3);
  assert.equal(page.run(`samples.get('a_total')[0].labels.model`), 'x"}\\');
  assert.equal(page.run(`sumOf(samples, 'b')`), 1.5);
  assert.equal(page.run(`sumOf(samples, 'none')`), 0);
});

test('quantiles are of what came between two pages', () => {
  const page = open();
  const text = (counts) => ['0.1', '0.5', '1', '+Inf'].map(
      (le, i) => `t_bucket{le="${le}"} ${counts[i]}`).join('\n');
  page.run(`before = parseMetrics(${JSON.stringify(text([10, 10, 10, 10]))});
            now = parseMetrics(${JSON.stringify(text([10, 14, 18, 20]))})`);
  // Ten more: 4 of 0.1 to 0.5, 4 of 0.5 to 1, and 2 above.
  for (const [part, time] of [[.2, .3], [.5, .625]]) {
    assert.ok(Math.abs(page.run(`quantile(now, before, 't', ${part})`) - time) < 1e-9);
  }
  assert.equal(page.run(`quantile(now, before, 't', .99)`), 1);
  assert.ok(Number.isNaN(page.run(`quantile(now, now, 't', .5)`)));
});

test('KServe\'s statistics have the same shape', () => {
  const page = open();
  const one = (calls, ns) => `parseStatistics({model_stats: [{name: 'a', inference_stats: ` +
      `{success: {count: ${calls}, ns: ${ns}}}}]})`;
  assert.equal(page.run(`meanOf('success')(${one(5, 4e9)}, ${one(3, 1e9)})`), 1.5);
  assert.ok(Number.isNaN(page.run(`meanOf('success')(${one(3, 1e9)}, ${one(3, 1e9)})`)));
});

const ODD = 'It\'s \\ "old" $(date) `id` \n ü 日';

test('curl and Python send exactly what the page sent', () => {
  const body = {model: 'm', inputs: [{text: ODD}], flag: true, nothing: null, number: .5,
                list: Array.from({length: 30}, (_, i) => i)};
  const page = open();
  page.run(`noteCall({method: 'POST', path: 'v1/x', body: ${JSON.stringify(body)}})`);
  const code = (name) => page.run(`${name}(lastCall)`);
  const echoed = execFileSync('bash', ['-c', 'curl() { printf "%s" "${@: -1}"; }\n' +
                                       code('curlCode')], {encoding: 'utf8'});
  assert.deepEqual(JSON.parse(echoed), body);
  assert.match(code('curlCode'), /^curl 'http:\/\/host:8080\/v1\/x' /);
  const shown = execFileSync('python3', ['-c', `
import json, sys, urllib.request
def show(request):
    print(request.data.decode())
    sys.exit()
urllib.request.urlopen = show
` + code('pythonCode')], {encoding: 'utf8'});
  assert.deepEqual(JSON.parse(shown), body);
});

test('code is for the clients that have such a call', () => {
  const page = open();
  const kinds = (path, body) => {
    page.run(`noteCall({path: '${path}', body: ${JSON.stringify(body)}})`);
    return page.run(`CODES.filter(([, make]) => make(lastCall)).map(([name]) => name)`);
  };
  same(kinds('v1/chat/completions', {model: 'a', messages: [], min_p: .1}),
       ['curl', 'Python', 'openai']);
  assert.match(page.run('openaiCode(lastCall)'), /extra_body=\{"min_p": 0.1\}/);
  same(kinds('trivium.v1.Inference/Encode', {model: 'a', inputs: [{text: 'b'}]}),
       ['curl', 'Python', 'openai']);
  same(kinds('trivium.v1.Inference/Translate', {
    inputs: [{text: 'b'}],
    options: {targetLanguage: 'de', sentences: true, decoding: {beamSize: 4}},
  }), ['curl', 'Python', 'trivium']);
  assert.match(page.run('clientCode(lastCall)'),
               /\["b"\],\n {8}target_language="de",\n {8}decoding=\{"beam_size": 4\},/);
});

test('a token is never in the code', () => {
  const page = open({token: 'secret'});
  page.run(`noteCall({path: 'v1/chat/completions', body: {model: 'a', messages: []}})`);
  for (const name of ['curlCode', 'pythonCode', 'openaiCode']) {
    assert.match(page.run(`${name}(lastCall)`), /TRIVIUM_TOKEN/);
    assert.doesNotMatch(page.run(`${name}(lastCall)`), /secret/);
  }
});

test('a proxy\'s prefix is part of all addresses', () => {
  for (const [path, here] of [['/', '/'], ['/index.html', '/'], ['/a/b', '/a/b/'],
                              ['/a/b/', '/a/b/'], ['/a/b/index.html', '/a/b/']]) {
    assert.equal(open({path}).run('HERE'), here);
    assert.equal(open({path}).run(`addressOf('v1')`), `http://host:8080${here}v1`);
  }
});

test('errors of every shape are told', () => {
  const page = open();
  const told = (body) => page.run(`errorText(${JSON.stringify(body)}, 500)`);
  assert.equal(told('{"code": "internal", "message": "a"}'), 'a');
  assert.equal(told('{"error": {"message": "b"}}'), 'b');
  assert.equal(told('{"error": "c"}'), 'c');
  for (const other of ['', '<html>', 'null', '[]', '{"error": {}}']) {
    assert.equal(told(other), 'The server answered with status 500.', other);
  }
});

// An answer whose body comes in pieces of `size` bytes.
function answerOf(bytes, size) {
  let at = 0;
  return {ok: true, body: {getReader: () => ({
    read: async () => at >= bytes.length ? {done: true} :
        {done: false, value: bytes.slice(at, at += size)},
    cancel: async () => {},
  })}};
}

test('events are read wherever their bytes are cut', async () => {
  const text = ': comment\n\ndata: {"a":"ü日"}\n\ndata:b\ndata: c\r\n\r\n\ndata: [DONE]\n\n';
  for (const size of [1, 2, 3, 7, 1000]) {
    const page = open();
    const events = [];
    const read = page.run('eventsOf')(answerOf(new TextEncoder().encode(text), size));
    for await (const event of read) events.push(event);
    assert.deepEqual(events, ['{"a":"ü日"}', 'b\nc', '[DONE]']);
  }
});

function envelope(flags, json) {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const bytes = new Uint8Array(5 + text.length);
  bytes[0] = flags;
  new DataView(bytes.buffer).setUint32(1, text.length);
  bytes.set(text, 5);
  return [...bytes];
}

test('Connect\'s streams are read wherever their bytes are cut', async () => {
  const whole = [...envelope(0, {a: 'ü'}), ...envelope(0, {b: 2}), ...envelope(2, {})];
  const readAll = async (bytes, size) => {
    const page = open({answer: answerOf(new Uint8Array(bytes), size)});
    const messages = [];
    for await (const one of page.run('streamOf')('Generate', {x: 1})) messages.push(one);
    assert.equal(page.sent[0].address, '/trivium.v1.Inference/Generate');
    assert.deepEqual([...page.sent[0].body], envelope(0, {x: 1}));
    return JSON.parse(JSON.stringify(messages));
  };
  for (const size of [1, 4, 6, 1000]) {
    assert.deepEqual(await readAll(whole, size), [{a: 'ü'}, {b: 2}]);
  }
  await assert.rejects(readAll(whole.slice(0, 20), 5), /broke off/);
  await assert.rejects(
      readAll([...envelope(0, {a: 1}), ...envelope(2, {error: {message: 'no'}})], 9), /no/);
});

test('maps lose layers, then heads, to fit a picture', () => {
  const page = open();
  const shrunk = (layers, heads, tokens) => page.run(`(() => {
      const all = upTo(${tokens});
      const maps = [{layers: upTo(${layers}), heads: upTo(${heads}), rows: all, keys: all, windows: []}];
      return [shrink(maps), maps[0].layers.length, maps[0].heads.length];
  })()`);
  same(shrunk(6, 8, 50), [true, 6, 8]);
  same(shrunk(12, 12, 100), [true, 5, 12]);
  same(shrunk(12, 16, 300), [true, 1, 6]);
  same(shrunk(1, 1, 1000), [false, 1, 1]);
});

test('the story of a candidate is that of the command', () => {
  const page = open();
  const step = (...all) => all.map(([fate, sum, parent = 0, hypothesis]) =>
      ({fate, sum, score: sum, parent, hypothesis}));
  const steps = [
    step(['continued', -.1], ['continued', -.5], ['pruned', -2]),
    step(['ended', -.2, 0, 0], ['stopped', -.3, 0], ['outscored', -.4, 0], ['ended_too_low', -.6, 0]),
  ];
  page.run(`steps = ${JSON.stringify(steps)}`);
  const story = (s, place) => page.run(`why(steps, ${s}, ${place})`);
  assert.equal(story(0, 0), 'among the best of its step: it was continued');
  assert.match(story(0, 1), /but all its continuations were worse/);
  assert.match(story(0, 2), /^pruned: the 2 best of the step went on, .* -0.5000, and this has -2.0000$/);
  assert.equal(story(1, 0), 'ended with score -0.2000: result 1');
  assert.match(story(1, 1), /^still running/);
  assert.match(story(1, 2), /as many others/);
  assert.match(story(1, 3), /rank 4 of its step/);
});

test('numbers are short', () => {
  const page = open();
  for (const [code, text] of [
    ['bytes(99.7e6)', '100 MB'],
    ['bytes(999)', '999 B'], ['bytes("13300000")', '13 MB'], ['bytes(537e6)', '537 MB'],
    ['many(7322948)', '7.32 million'], ['many(307)', '307'], ['seconds(.00034)', '340 µs'],
    ['seconds(.0489)', '48.9 ms'], ['seconds(12)', '12 s'], ['seconds(NaN)', '–']]) {
    assert.equal(page.run(code), text);
  }
});

test('cosines are those of directions', () => {
  const page = open();
  assert.equal(page.run('cosine([1, 0], [2, 0])'), 1);
  assert.equal(page.run('cosine([1, 0], [0, 3])'), 0);
  assert.equal(page.run('cosine([0, 0], [1, 1])'), 0);
});
