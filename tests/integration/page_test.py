"""Tests the server's page (server/page) in Chromium, by clicks and keys.

Usage: page_test.py SERVER MODEL: the server's program and the embedded model.
Exits with 77, which skips the test, where there is no Chromium (Debian: chromium).
With PAGE_PICTURES=FOLDER it also writes a picture of each tab, to look at.
"""

import hashlib
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from browser import Browser, find
from chat_server import ROOT, SKIPPED, Server, make_chat_folder, make_plain_folder

TABS = ("translate", "chat", "search", "inside", "models", "server")
TOKEN = "page-test-token-of-more-than-32-letters"
SENTENCE = "The house is big."
AUDIT = (pathlib.Path(__file__).parent / "page_audit.js").read_text()
READY = "document.body.dataset.ready === 'yes'"
HOSTILE = """<img src=x onerror=alert(1)> **<script>alert(2)</script>**
[link](javascript:alert(3)) [link](https://example.com/?a=1) ![picture](https://example.com/a.png)
| <b>x</b> | `<i>y</i>` |
|---|---|
| [z](data:text/html,1) | <https://example.com/b> |"""


class Prefix(http.server.BaseHTTPRequestHandler):
    """A proxy that takes /tools/trivium off each path, as people's proxies do."""

    port = 0
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if not self.path.startswith("/tools/trivium"):
            return self.send_error(404)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = http.client.HTTPConnection("127.0.0.1", self.port)
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() not in ("connection", "accept-encoding")}
        headers["X-Forwarded-Prefix"] = "/tools/trivium"
        server.request(self.command, self.path[14:] or "/", body, headers)
        answer = server.getresponse()
        data = answer.read()
        server.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *arguments):
        pass


class PageTest(unittest.TestCase):
    """One server with a model for each tab, and one page."""

    program = embedded = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.scratch = pathlib.Path(cls.folder.name)
        make_chat_folder(cls.scratch / "chat")
        make_plain_folder(cls.scratch / "plain")
        golden = ROOT / "tests/golden"
        cls.server = Server(
            cls.program, cls.scratch, "--http-metrics", "--model-root", golden,
            "--model", f"en-de={cls.embedded}", "--model", cls.scratch / "chat",
            "--model", cls.scratch / "plain",
            "--model", f"embedder={golden / 'sentences/qwen3.embedding'}",
            "--model", f"reranker={golden / 'sentences/qwen3.reranker'}")
        cls.browser = Browser(timeout=60)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.server.stop()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.problems = []
        self.browser.asked = []
        self.show(1440)

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])
        for url in self.browser.asked:
            self.assertRegex(url, rf"^({self.server.url}|data:|blob:|about:)")

    def show(self, width, dark=False, tab="", url=None):
        """Opens the page anew."""
        self.browser.look(width, dark=dark)
        self.browser.open((url or self.server.url) + (f"#{tab}" if tab else ""))
        self.browser.wait(READY)

    def text(self, selector):
        return self.browser.run(
            f"document.querySelector({json.dumps(selector)}).textContent")

    def wait_for(self, selector):
        self.browser.wait(f"document.querySelector({json.dumps(selector)})")

    def wait_text(self, selector, text):
        self.browser.wait(f"document.querySelector({json.dumps(selector)})"
                          f".textContent.includes({json.dumps(text)})")

    def focus_is(self, selector):
        return self.browser.run(
            f"document.activeElement.matches({json.dumps(selector)})")

    def translate(self, text):
        self.browser.click("#source")
        self.browser.run("document.getElementById('source').select()")
        self.browser.type(text)
        self.browser.press("Enter", control=True)

    def test_tabs_are_chosen_by_keys(self):
        self.assertEqual(self.text("[aria-selected=true]"), "Translate")
        self.browser.run("document.getElementById('tab-translate').focus()")
        for key, tab in (("ArrowRight", "chat"), ("ArrowRight", "search"),
                         ("End", "server"), ("ArrowRight", "translate"),
                         ("ArrowLeft", "server"), ("Home", "translate")):
            self.browser.press(key)
            self.assertTrue(self.focus_is(f"#tab-{tab}[aria-selected=true]"), tab)
            shown = self.browser.run(
                "[...document.querySelectorAll('[role=tabpanel]')]"
                ".filter((one) => one.checkVisibility()).map((one) => one.id)")
            self.assertEqual(shown, [f"panel-{tab}"])
            self.assertEqual(self.browser.run("location.hash"), f"#{tab}")

    def test_the_first_stop_of_tab_leads_to_the_content(self):
        self.browser.press("Tab")
        self.assertTrue(self.focus_is(".skip"))
        self.browser.press("Enter")
        self.assertTrue(self.focus_is("#main"))

    def test_translates_and_detects(self):
        self.translate(f"{SENTENCE} It is old.\n\nWe like it.")
        self.wait_text("#target", "Wir mögen es.")
        self.assertEqual(
            self.browser.run("targetText()"),
            "Das Haus ist groß. Es ist alt.\n\nWir mögen es.")
        self.assertRegex(self.text("#detected"), r"^English, \d+ %")
        self.assertEqual(self.browser.run("document.getElementById('to').value"), "de")
        self.browser.click("#swap")
        self.browser.wait("document.getElementById('from').value === 'de'")
        self.wait_text("#target", "We like it.")

    def test_a_refused_text_leaves_nothing_waiting(self):
        self.translate("مرحبا بالعالم.\nكيف حالك اليوم؟")
        self.wait_text("#translate-error", "'ar'")
        self.assertEqual(self.text("#target"), "")
        self.assertTrue(self.browser.run("document.getElementById('copy-target').disabled"))
        self.translate("The house is big. " * 2500)
        self.wait_text("#translate-error", "The text has more than")
        self.assertEqual(self.text("#target"), "")
        self.translate("It is old.")
        self.wait_text("#target", "Es ist alt.")
        self.assertEqual(self.text("#translate-error"), "")
        self.browser.problems = []  # the console names refused calls

    def test_a_sentence_has_alternatives(self):
        self.translate(f"{SENTENCE} It is old.")
        self.wait_for("#target .sentence")
        # By keys: from one sentence to the next, and to its alternatives.
        self.browser.run("document.querySelector('.sentence[tabindex=\"0\"]').focus()")
        self.browser.press("ArrowRight")
        self.assertEqual(self.browser.run("document.activeElement.textContent"),
                         "Es ist alt.")
        self.browser.press("Enter")
        self.wait_for("#alternatives-list button")
        self.assertEqual(self.text("#alternatives-source"), "It is old.")
        self.assertTrue(self.focus_is("#alternatives-list button"))
        texts = self.browser.run(
            "[...document.querySelectorAll('#alternatives-list span')]"
            ".map((one) => one.textContent)")
        self.assertEqual(len(set(texts)), len(texts))
        self.assertGreater(len(texts), 1)
        self.browser.press("Tab")
        self.browser.press("Enter")
        self.browser.wait("document.getElementById('alternatives').hidden")
        self.assertEqual(self.browser.run("targetText()"),
                         f"Das Haus ist groß. {texts[1]}")
        self.assertTrue(self.focus_is(".sentence"))
        # Escape closes them.
        self.browser.press(" ")
        self.wait_for("#alternatives-list button")
        self.browser.press("Escape")
        self.assertTrue(self.focus_is(".sentence"))

    def test_a_glossary_holds(self):
        self.translate(SENTENCE)
        self.wait_text("#target", "Das Haus ist groß.")
        self.browser.click("#glossary summary")
        self.browser.click("#add-term")
        self.assertTrue(self.focus_is("#terms input"))
        self.browser.type("house")
        self.browser.press("Tab")
        self.browser.type("Gebäude")
        self.wait_text("#target", "Gebäude")
        self.assertEqual(self.text("#glossary-count"), "(1)")
        self.browser.click("#terms button")
        self.wait_text("#target", "Das Haus ist groß.")

    def test_marks_words_that_the_model_is_unsure_of(self):
        self.translate("The gnarly wombat pontificated sesquipedalianly.")
        self.wait_for("#target .sentence")
        self.browser.click("#sure")
        self.wait_for("#target .word")
        self.assertRegex(
            self.browser.run("document.querySelector('#target .word').title"),
            r"^\d+ % sure")
        # What only screen readers read is not copied.
        self.assertNotIn("% sure", self.browser.run("targetText()"))

    def test_translates_a_document(self):
        path = self.scratch / "page.html"
        path.write_text("<p>The <b>house</b> is big.</p>\n<p>It is old.</p>\n")
        root = self.browser.send("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.send("DOM.querySelector", nodeId=root,
                                 selector="#document")["nodeId"]
        self.browser.run("document.getElementById('to').value = 'de'")
        self.browser.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])
        self.wait_text("#translate-note", "page.html is translated.")
        self.assertRegex(self.text("#target"),
                         r"^<p>.*<b>.*Haus.*</b>.*</p>\n<p>.+</p>\n$")
        self.assertEqual(self.browser.run("document.getElementById('download').download"),
                         "page.de.html")
        # Dropping one that is no text says so.
        self.browser.run("""(() => {
            const data = new DataTransfer();
            data.items.add(new File(['x'], 'a.exe'));
            document.getElementById('source-pane').dispatchEvent(
                new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        })()""")
        self.wait_text("#translate-error", "a.exe is of no kind")

    def test_chats(self):
        self.browser.click("#tab-chat")
        self.browser.click("#panel-chat summary")
        self.browser.click("#most-tokens")
        self.browser.type("12")
        self.browser.click("#seed")
        self.browser.type("7")
        self.browser.click("#message")
        self.browser.type("<b>Hello</b>")
        self.browser.press("Enter")
        self.wait_text("#chat-note", "Done.")
        self.assertEqual(self.text(".said.user .words"), "<b>Hello</b>")
        self.assertRegex(self.text(".said.assistant .figures"),
                         r"^\d+ tokens · .* a second · first after")
        first = self.text(".said.assistant")
        self.browser.click("#chat-again")
        self.browser.wait("chat.messages.length === 2 && !chat.work.runs")
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('.said').length"), 2)
        self.assertEqual(first.split("tokens")[0],
                         self.text(".said.assistant").split("tokens")[0])
        self.browser.click("#chat-clear")
        self.assertEqual(self.text("#log"), "")
        self.assertTrue(self.focus_is("#message"))

    def test_an_answer_can_be_stopped(self):
        self.browser.click("#tab-chat")
        self.browser.run("document.getElementById('chat-model').value = 'plain'")
        self.browser.run("document.getElementById('most-tokens').value = 900")
        self.browser.run("document.getElementById('temperature').value = 1.9")
        # The answer must not end by itself before it is stopped.
        self.browser.run("""(() => {
            const fetched = window.fetch;
            window.fetch = async (path, options) => {
              const answer = await fetched(path, options);
              const text = (await answer.text()).replace('data: [DONE]', ':');
              const body = new ReadableStream({start(stream) {
                  stream.enqueue(new TextEncoder().encode(text));
                  options.signal.addEventListener('abort', () =>
                      stream.error(new DOMException('', 'AbortError')));
              }});
              return new Response(body, answer);
            };
        })()""")
        self.browser.click("#message")
        self.browser.type("Tell me everything.")
        self.browser.click("#send")
        self.browser.wait("!document.getElementById('stop').disabled")
        self.assertTrue(self.browser.run("document.getElementById('send').disabled"))
        self.browser.wait("chat.work.runs")
        self.browser.click("#stop")
        self.wait_text("#chat-note", "Stopped.")
        self.assertFalse(self.browser.run("document.getElementById('send').disabled"))
        self.assertTrue(self.browser.run("document.getElementById('chat-error').hidden"))

    def test_thoughts_are_folded_and_calls_answered(self):
        self.browser.click("#tab-chat")
        self.browser.run("""(() => {
            const view = new AnswerView('model');
            view.add({reasoning_content: 'Hmm, '});
            view.add({reasoning_content: '<i>weather</i>.'});
            view.add({tool_calls: [{index: 0, id: 'a', function: {name: 'weather', arguments: '{"city"'}}]});
            view.add({tool_calls: [{index: 0, function: {arguments: ': "Bonn"}'}}]});
            chat.messages = [{role: 'user', content: 'Q'}, view.end('')];
            window.asked = [];
            answer = () => asked.push(JSON.stringify(chat.messages));
        })()""")
        self.assertFalse(self.browser.run("document.querySelector('.thoughts').open"))
        self.assertEqual(self.text(".thoughts div"), "Hmm, <i>weather</i>.")
        self.assertEqual(self.text(".tool-call strong"), "Calls weather")
        self.assertEqual(self.text(".tool-call pre"), '{"city": "Bonn"}')
        self.browser.click(".tool-call input")
        self.browser.type("sunny")
        self.browser.click(".tool-call button")
        messages = json.loads(self.browser.run("asked[0]"))
        self.assertEqual(messages[-1], {
            "role": "tool", "tool_call_id": "a", "content": "sunny"})
        self.assertEqual(messages[-2]["tool_calls"][0]["function"],
                         {"name": "weather", "arguments": '{"city": "Bonn"}'})

    def test_markdown_is_never_html(self):
        found = self.browser.run(f"""(() => {{
            const made = element('div', '', ...markdown({json.dumps(HOSTILE)}));
            document.body.append(made);
            return {{
              tags: [...new Set([...made.querySelectorAll('*')].map((one) => one.tagName))],
              names: [...new Set([...made.querySelectorAll('*')].flatMap(
                  (one) => one.getAttributeNames()))],
              links: [...made.querySelectorAll('a')].map((one) => one.href),
              text: made.textContent,
            }};
        }})()""")
        self.assertLessEqual(set(found["tags"]), {
            "P", "STRONG", "A", "SPAN", "BR", "DIV", "TABLE", "THEAD", "TBODY",
            "TR", "TH", "TD", "CODE"})
        self.assertLessEqual(set(found["names"]), {"class", "href", "target", "rel"})
        self.assertEqual(set(found["links"]), {
            "https://example.com/?a=1", "https://example.com/a.png",
            "https://example.com/b"})
        self.assertIn("<script>alert(2)</script>", found["text"])
        # Long and odd texts take no long time.
        self.assertLess(self.browser.run("""(() => {
            const begun = performance.now();
            for (const sign of ['*', '_', '`', '[', '![', '**a', '> ', '- ', '|', '\\\\']) {
              markdown(sign.repeat(15000));
              markdown((sign + '\\n').repeat(2000));
            }
            return performance.now() - begun;
        })()"""), 20000)

    def test_markdown_has_the_usual_forms(self):
        html = self.browser.run("""element('div', '', ...markdown(
            '# A *b*\\n\\nc **d** `e*f*`\\n\\n- g\\n- h\\n  1. i\\n\\n```py\\nj = *k*\\n```\\n> l\\n'
        )).innerHTML""")
        self.assertEqual(html, (
            "<h3>A <em>b</em></h3><p>c <strong>d</strong> <code>e*f*</code></p>"
            "<ul><li>g</li><li>h<ol start=\"1\"><li>i</li></ol></li></ul>"
            "<pre tabindex=\"0\"><code>j = *k*</code></pre>"
            "<blockquote><p>l</p></blockquote>"))

    def test_searches(self):
        self.browser.click("#tab-search")
        self.browser.click("#example-lines")
        self.assertTrue(self.focus_is("#find"))
        self.browser.press("Enter")
        self.wait_for("#found tbody tr")
        rows = self.browser.run(
            "[...document.querySelectorAll('#found tbody tr')].map((row) =>"
            " [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual(len(rows), 6)
        scores = [float(row[2]) for row in rows]
        self.assertEqual(scores, sorted(scores, reverse=True))
        # The cosines are those of vectors that another path gives.
        query = self.browser.run("document.getElementById('query').value")
        server = http.client.HTTPConnection("127.0.0.1", self.server.ports["http"])
        server.request("POST", "/v1/embeddings", json.dumps(
            {"model": "embedder", "input": [row[0] for row in rows]}),
            {"Content-Type": "application/json"})
        texts = [one["embedding"] for one in json.loads(server.getresponse().read())["data"]]
        server.request("POST", "/trivium.v1.Inference/Encode", json.dumps(
            {"model": "embedder", "inputs": [{"text": query}], "kind": "TEXT_KIND_QUERY"}),
            {"Content-Type": "application/json"})
        asked = json.loads(server.getresponse().read())["results"][0]["embedding"]
        server.close()
        for row, vector in zip(rows, texts):
            product = sum(a * b for a, b in zip(vector, asked))
            self.assertAlmostEqual(float(row[1]), product, places=2)
        # Without a reranker the cosine sorts.
        self.browser.run("document.getElementById('reranker').value = ''")
        self.browser.click("#find")
        self.browser.wait("document.querySelectorAll('#found thead th').length === 2")
        scores = self.browser.run(
            "[...document.querySelectorAll('#found tbody tr')].map((row) =>"
            " Number(row.cells[1].textContent))")
        self.assertEqual(scores, sorted(scores, reverse=True))

    def test_looks_inside(self):
        self.browser.click("#tab-inside")
        self.browser.run("document.getElementById('inside-text').value = 'The house is big.'")
        self.browser.click("#show-tokens")
        self.wait_for(".tokens li")
        self.assertEqual(self.text(".tokens li .token"), "▁The")
        self.browser.click("#show-attention")
        self.wait_for("iframe[title=Attention]")
        self.browser.wait_in_frame("document.getElementById('caption').textContent")
        self.assertEqual(
            self.browser.run_in_frame("document.getElementById('caption').textContent"),
            "Cross-attention: layer 1, mean of 4 heads")
        self.assertEqual(
            self.browser.run_in_frame("document.getElementById('texts').textContent"),
            "The house is big.Das Haus ist groß.")
        # The rows of an attention sum to 1.
        self.assertAlmostEqual(self.browser.run_in_frame(
            "weightsOf({side: 'query', index: 0}).reduce((sum, one) => sum + one[1], 0)"),
            1, places=3)
        # A picture reaches neither the page nor the token.
        self.assertEqual(self.browser.run_in_frame("""(() => {
            try { return parent.document.title; } catch (error) { return error.name; }
        })()"""), "SecurityError")
        self.browser.click("#show-beams")
        self.wait_for("iframe[title='Beam search']")
        self.browser.wait_in_frame("document.querySelectorAll('#hypotheses li').length")
        self.assertEqual(
            self.browser.run_in_frame(
                "document.querySelector('#hypotheses span').textContent"),
            "Das Haus ist groß.")

    def test_shows_one_head_step_by_step(self):
        self.browser.click("#tab-inside")
        self.browser.run("document.getElementById('inside-text').value = 'The house is big.'")
        self.assertTrue(self.browser.run("document.getElementById('head-fields').hidden"))
        self.browser.click("#show-head")
        self.wait_for("iframe[title='One head']")
        self.browser.wait_in_frame("document.querySelectorAll('#steps section').length")
        # The picture opens on the cross-attention, whose last query ends the text.
        self.assertIn("cross-attention", self.browser.run_in_frame(
            "document.getElementById('model').textContent"))
        self.assertEqual(
            self.browser.run_in_frame("document.getElementById('texts').textContent"),
            "The house is big.Das Haus ist groß.")
        for kind in ("decoder", "encoder"):
            self.browser.run(f"""(() => {{
                document.getElementById('inside-view').replaceChildren();
                const select = document.getElementById('head-kind');
                select.value = '{kind}';
                select.dispatchEvent(new Event('change'));
            }})()""")
            self.wait_for("iframe[title='One head']")
            self.browser.wait_in_frame(f"data.kind === '{kind}' && heats.length")
            # Weights of a row sum to 1, and the picture has them all.
            self.assertAlmostEqual(self.browser.run_in_frame(
                "rowOf(rows.weights, 1).reduce((sum, one) => sum + one, 0)"), 1, places=3)
        self.assertEqual(self.text("#inside-error"), "")

    def test_looks_inside_other_kinds_of_models(self):
        self.browser.click("#tab-inside")
        for model, kind in (("embedder", "Encoder self-attention"),
                            ("chat", "Decoder self-attention")):
            self.browser.run(f"""(() => {{
                const select = document.getElementById('inside-model');
                select.value = '{model}';
                select.dispatchEvent(new Event('change'));
                document.getElementById('inside-view').replaceChildren();
                document.getElementById('inside-text').value = 'The house is big.';
            }})()""")
            self.assertTrue(self.browser.run("document.getElementById('show-beams').hidden"))
            self.browser.click("#show-attention")
            self.browser.wait("document.querySelector('iframe') || "
                              "!document.getElementById('inside-error').hidden")
            self.assertEqual(self.text("#inside-error"), "")
            self.browser.wait_in_frame(
                f"document.getElementById('caption').textContent.startsWith('{kind}')")

    def test_models_are_listed_loaded_and_unloaded(self):
        self.browser.click("#tab-models")
        names = "[...document.querySelectorAll('#models h2')].map((one) => one.textContent)"
        self.assertEqual(self.browser.run(names),
                         ["en-de", "chat", "plain", "embedder", "reranker"])
        self.assertIn("marian", self.text("#models .facts"))
        self.browser.click("#panel-models summary")
        self.browser.click("#load-folder")
        self.browser.type("bert.base")
        self.browser.press("Tab")
        self.browser.type("added")
        self.browser.press("Enter")
        self.wait_text("#models-note", "added is loaded.")
        self.assertEqual(self.browser.run(names)[-1], "added")
        self.browser.run("window.confirm = () => true")
        self.browser.click("[aria-label='Unload added']")
        self.wait_text("#models-note", "added is unloaded.")
        self.assertEqual(len(self.browser.run(names)), 5)
        self.browser.run("document.getElementById('load-folder').value = 'nothing'")
        self.browser.click("#load button")
        self.browser.wait("!document.getElementById('models-error').hidden")
        self.assertIn("nothing", self.text("#models-error"))
        # The console tells the refusal, too.
        self.browser.problems = [one for one in self.browser.problems
                                 if "LoadModel" not in one]

    def test_figures_of_the_server(self):
        self.browser.click("#tab-server")
        self.wait_for(".chart")
        self.browser.run("call('Translate', {inputs: [{text: 'It is old.'}],"
                         " options: {sourceLanguage: 'en', targetLanguage: 'de'}})")
        self.browser.wait("/answered (?!0\\/s)/.test(document.querySelector('.chart p').textContent)")
        titles = self.browser.run("[...document.querySelectorAll('.chart h2')].map((one) => one.textContent)")
        self.assertEqual(titles[:3], ["Calls", "Tokens", "Requests"])
        memory = self.browser.run("[...document.querySelectorAll('.chart p')].at(-1).textContent")
        self.assertRegex(memory, r"process [\d.]+ MB")
        self.assertTrue(self.browser.run("document.getElementById('no-metrics').hidden"))
        self.assertRegex(
            self.browser.run("document.querySelector('.chart svg').getAttribute('aria-label')"),
            r"^Calls: answered ")

    def test_code_does_what_the_page_did(self):
        self.translate("It is old.")
        self.wait_text("#target", "Es ist alt.")
        self.browser.click("#tab-server")
        for kind, program in (("curl", "bash"), ("Python", sys.executable)):
            self.browser.run(
                "[...document.querySelectorAll('#code-kinds button')]"
                f".find((one) => one.textContent === '{kind}').click()")
            done = subprocess.run([program], input=self.text("#code"), text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertIn("Es ist alt.", done.stdout, done.stderr)
        self.assertEqual(self.browser.run(
            "[...document.querySelectorAll('#code-kinds button')].map((one) => one.textContent)"),
            ["curl", "Python", "trivium"])
        # What one types is quoted for the shell and for Python.
        odd = "It's \\ \"old\" $(date) `id` ü"
        self.browser.run(
            "noteCall({method: 'POST', path: 'v1/chat/completions', body: {model: 'chat',"
            f" messages: [{{role: 'user', content: {json.dumps(odd)}}}], stream: true,"
            " stream_options: {include_usage: true}, min_p: 0.1, max_tokens: 3}})")
        kinds = dict(self.browser.run(
            "CODES.filter(([, make]) => make(lastCall)).map(([name, make]) => [name, make(lastCall)])"))
        echoed = subprocess.run(
            ["bash"], input="curl() { printf '%s' \"${@: -1}\"; }\n" + kinds["curl"],
            text=True, capture_output=True, check=True)
        self.assertEqual(json.loads(echoed.stdout)["messages"][0]["content"], odd)
        for name in ("Python", "openai"):
            compile(kinds[name], name, "exec")
        self.assertIn('extra_body={"min_p": 0.1}', kinds["openai"])

    def test_people_can_read_and_use_it(self):
        pictures = os.environ.get("PAGE_PICTURES")
        for dark in (False, True):
            self.show(1440, dark)
            self.translate("The gnarly wombat pontificated. The house is big.")
            self.wait_for("#target .sentence")
            self.browser.click("#sure")
            self.wait_for("#target .word")
            self.browser.click("#target .sentence")
            self.wait_for("#alternatives-list button")
            self.browser.run("""(() => {
                addTerm();
                document.getElementById('glossary').open = true;
                addUser('What is the weather in Bonn, and what is two and two?');
                const view = new AnswerView('model');
                view.add({reasoning_content: 'Let me think.'});
                view.add({content: '# Sums\\nTwo and two is **four**, as `2 + 2` '
                    + 'in [Python](https://python.org).\\n\\n> A quote\\n\\n```\\nprint(2 + 2)\\n```\\n\\n'
                    + '| a | b |\\n|---|---|\\n| 1 | 2 |'});
                view.add({tool_calls: [{index: 0, id: 'a', function: {name: 'weather', arguments: '{"city": "Bonn"}'}}]});
                chat.messages.push(view.end('12 tokens'));
                document.querySelector('.thoughts').open = true;
                for (const one of document.querySelectorAll('details')) one.open = true;
            })()""")
            self.browser.click("#tab-search")
            self.browser.click("#example-lines")
            self.browser.click("#find")
            self.wait_for("#found tbody tr")
            self.browser.click("#tab-inside")
            self.browser.click("#show-tokens")
            self.wait_for(".tokens li")
            self.browser.click("#tab-server")
            self.wait_for(".chart polyline")
            for width in (400, 1440, 3840):
                self.browser.look(width, 2160 if width == 3840 else 900, dark)
                for tab in TABS:
                    self.browser.run(f"showTab('{tab}')")
                    wrong = self.browser.run(AUDIT)
                    self.assertEqual(wrong, [], f"{tab} at {width}, dark: {dark}")
                    if pictures:
                        name = f"{tab}-{width}{'-dark' if dark else ''}.png"
                        self.browser.picture(os.path.join(pictures, name), whole=True)

    def test_a_proxy_may_put_it_under_a_prefix(self):
        Prefix.port = int(self.server.ports["http"])
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prefix)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{proxy.server_port}/tools/trivium"
        for end in ("", "/", "/index.html"):
            self.show(1440, url=place + end)
            self.translate("It is old.")
            self.wait_text("#target", "Es ist alt.")
            self.assertEqual(self.text("#openai-base"), place + "/v1")
        self.assertTrue(all(url.startswith((place, self.server.url, "data:", "about:"))
                            for url in self.browser.asked), self.browser.asked)
        self.browser.asked = []
        proxy.shutdown()
        proxy.server_close()


class GoneTest(unittest.TestCase):
    """A server that stops while its page is open."""

    def test_says_that_the_server_has_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(PageTest.program, pathlib.Path(folder))
            browser = Browser(timeout=60)
            self.addCleanup(browser.close)
            browser.open(server.url)
            browser.wait(READY)
            server.stop()
            browser.click("#source")
            browser.type("It is old.")
            browser.press("Enter", control=True)
            browser.wait("document.getElementById('translate-error')"
                         ".textContent.includes('cannot be reached')")
            self.assertEqual(
                browser.run("document.getElementById('target').textContent"), "")
            self.assertEqual(browser.run(AUDIT), [])


class TokenTest(unittest.TestCase):
    """A server with tokens, and only a model that chats."""

    def test_asks_for_a_token_and_hides_what_no_model_does(self):
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            make_chat_folder(scratch / "chat")
            tokens = scratch / "tokens.json"
            tokens.write_text(json.dumps({"tokens": [
                {"name": "someone",
                 "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}]}))
            tokens.chmod(0o600)
            server = Server(PageTest.program, scratch, "--model", scratch / "chat",
                            "--tokens-file", tokens)
            browser = Browser(timeout=60)
            try:
                self.use(browser, server)
            finally:
                browser.close()
                server.stop()

    def use(self, browser, server):
        browser.look(1440)
        browser.open(server.url)
        browser.wait("document.getElementById('ask-token').open")
        self.assertTrue(browser.run("document.activeElement.id === 'token'"))
        self.assertEqual(browser.run(AUDIT), [])
        browser.type("wrong")
        browser.press("Enter")
        # It asks again, and says why.
        browser.wait("document.getElementById('ask-token').open && "
                     "document.getElementById('token').value === ''")
        self.assertTrue(browser.run("document.getElementById('ask-token-why').textContent"))
        browser.type(TOKEN)
        browser.press("Enter")
        browser.wait(READY)
        self.assertEqual(browser.run("sessionStorage.length"), 1)
        self.assertEqual(browser.run("localStorage.length + document.cookie.length"), 0)
        self.assertEqual(browser.run("document.querySelector('[aria-selected=true]').textContent"),
                         "Chat")
        for tab in ("translate", "search"):
            browser.click(f"#tab-{tab}")
            self.assertRegex(
                browser.run(f"document.querySelector('#panel-{tab} .missing').textContent"),
                r"^No model here .* Start the server with one")
            self.assertTrue(browser.run(
                f"document.querySelector('#panel-{tab} .missing').checkVisibility() &&"
                f" !document.querySelector('#panel-{tab} .tool').checkVisibility()"))
        # An order says that there are none here.
        browser.click("#tab-models")
        browser.run("window.confirm = () => true")
        browser.click("[aria-label='Unload chat']")
        browser.wait("!document.getElementById('models-error').hidden")
        # The port has no /metrics, but KServe's figures.
        browser.click("#tab-server")
        browser.wait("document.querySelectorAll('.chart').length === 3")
        self.assertFalse(browser.run("document.getElementById('no-metrics').hidden"))
        # The code has no token in it.
        browser.run("noteCall({method: 'POST', path: 'v1/chat/completions', body: {model: 'chat',"
                    " messages: [{role: 'user', content: 'a'}]}})")
        code = browser.run("CODES.map(([, make]) => make(lastCall) || '').join('\\n')")
        self.assertNotIn(TOKEN, code)
        self.assertIn("$TRIVIUM_TOKEN", code)
        # It can be forgotten.
        browser.click("#token-button")
        browser.wait("document.getElementById('ask-token').open")
        browser.click("#forget-token")
        browser.wait("sessionStorage.length === 0")


if __name__ == "__main__":
    PageTest.program, PageTest.embedded = (
        pathlib.Path(path).absolute() for path in sys.argv[1:3])
    if find() is None:
        print("skipped, as there is no Chromium here")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
