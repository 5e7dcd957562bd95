"""Wrong values in every member of every shape's bodies: a valid body has one of
its members replaced, or left out. The answer is never an error of the server's,
and an error names a member on the way to the wrong value.

Every POST path of docs/openapi.json has a body in BODIES, or a reason in
NOT_TRIED: a new path fails until it has one of them.

For long, by hand, it tries more of them: see CMakeLists.txt."""

import copy
import http.client
import json
import pathlib
import random
import re
import shutil
import struct
import tempfile
import time

import attack
import texts

ROOT = pathlib.Path(__file__).parents[2]
API = json.loads((ROOT / "docs/openapi.json").read_text())
CALLS = "/trivium.v1.Inference/"
MODELS = "/trivium.v1.Models/"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}},
          "required": ["a"]}
TOOL = {"type": "function",
        "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
RERANK = {"model": "bert.rank", "query": "a", "documents": ["b", "c"],
          "top_n": 1, "return_documents": True}
USER = [{"role": "user", "content": "hi"}]
# Paths, of which some have several, and a body that is valid for each.
BODIES = (
    ("/v1/embeddings", {"model": "bert.base", "input": ["a", "b"],
                        "encoding_format": "float", "dimensions": 4}),
    ("/embeddings", {"model": "bert.base", "input": "a"}),
    ("/v1/completions", {"model": "chat", "prompt": ["a", "b"], "stop": ["q"],
                         "max_tokens": 2, "temperature": 0.3, "logprobs": 1,
                         "seed": 3, "logit_bias": {"3": 1.0}, "n": 1}),
    ("/v1/chat/completions", {
        "model": "chat", "max_tokens": 2, "temperature": 0.5, "seed": 1,
        "top_p": 0.9, "top_k": 5, "stop": ["x"], "logprobs": True,
        "top_logprobs": 2, "tools": [TOOL], "tool_choice": "auto",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": "a", "tool_calls": [
                {"id": "c", "type": "function",
                 "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "1"}]}),
    ("/v1/chat/completions", {
        "model": "chat", "messages": USER, "max_tokens": 2, "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "n", "strict": True, "schema": SCHEMA}}}),
    ("/v1/messages", {
        "model": "chat", "max_tokens": 2, "top_k": 3, "stop_sequences": ["q"],
        "system": [{"type": "text", "text": "s"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "t", "name": "f",
                 "input": {"a": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t",
                 "content": [{"type": "text", "text": "1"}]}]}],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"}}),
    ("/v1/messages/count_tokens", {"model": "chat", "system": "s",
                                   "messages": USER}),
    ("/v1/responses/input_tokens", {"model": "chat", "input": USER,
                                    "instructions": "i"}),
    ("/v1/responses", {
        "model": "chat", "instructions": "i", "max_output_tokens": 2,
        "input": [
            {"role": "user",
             "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "reasoning",
             "summary": [{"type": "summary_text", "text": "t"}]},
            {"type": "function_call", "call_id": "c", "name": "f",
             "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1"}],
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}],
        "text": {"format": {"type": "text"}}}),
    ("/v1/responses/input_tokens", {
        "model": "chat", "instructions": "i", "input": [
            {"role": "user",
             "content": [{"type": "input_text", "text": "hi"}]}]}),
    ("/api/chat", {"model": "chat", "messages": USER, "stream": False,
                   "tools": [TOOL], "keep_alive": "5m",
                   "options": {"num_predict": 2, "stop": ["q"], "seed": 1}}),
    ("/api/generate", {"model": "chat", "prompt": "hi", "stream": False,
                       "format": SCHEMA, "options": {"num_predict": 2}}),
    ("/api/embed", {"model": "bert.base", "input": ["a"], "truncate": True}),
    ("/api/embeddings", {"model": "bert.base", "prompt": "a"}),
    ("/api/show", {"name": "chat"}),
    ("/embed", {"inputs": ["a", "b"], "normalize": True, "truncate": True}),
    ("/similarity", {"inputs": {"source_sentence": "a",
                                "sentences": ["b", "c"]}}),
    ("/predict", {"inputs": [["a"], ["b"]], "raw_scores": True}),
    ("/tokenize", {"inputs": ["a"], "add_special_tokens": True}),
    ("/tokenize", {"prompt": "a", "add_special_tokens": True,
                   "return_token_strs": True}),
    ("/tokenize", {"content": "a", "add_special": True, "with_pieces": True}),
    ("/tokenize", {"model": "chat", "messages": USER,
                   "return_token_strs": True}),
    ("/apply-template", {"model": "chat", "messages": USER}),
    ("/detokenize", {"tokens": [1, 2]}),
    ("/completion", {"model": "chat", "prompt": "a", "n_predict": 2,
                     "stop": ["q"], "repeat_penalty": 1.5}),
    ("/generate", {"model": "chat", "inputs": "a", "parameters": {
        "max_new_tokens": 2, "do_sample": True, "top_k": 3, "seed": 1,
        "stop": ["q"], "details": True, "top_n_tokens": 2}}),
    ("/pipeline/text-generation", {
        "model": "chat", "inputs": "a", "parameters": {"max_new_tokens": 2}}),
    ("/generate_stream", {"model": "chat", "inputs": "a", "parameters": {
        "max_new_tokens": 2,
        "grammar": {"type": "json", "value": SCHEMA}}}),
    ("/", {"model": "chat", "inputs": "a", "stream": False,
           "parameters": {"max_new_tokens": 2, "return_full_text": True}}),
    ("/decode", {"ids": [[1, 2]], "skip_special_tokens": True}),
    ("/embed_all", {"inputs": ["a", "b"], "truncate": True}),
    ("/rerank", {"query": "a", "texts": ["b", "c"], "raw_scores": True,
                 "return_text": True}),
    ("/rerank", RERANK),
    ("/", {"inputs": ["a"], "model": "bert.base"}),
    ("/", {"inputs": "a", "model": "bert.classify"}),
    ("/", {"query": "a", "texts": ["b", "c"]}),
    ("/pipeline/feature-extraction", {"inputs": ["a", "b"],
                                      "normalize": True}),
    ("/pipeline/sentence-similarity", {
        "inputs": {"source_sentence": "a", "sentences": ["b", "c"]}}),
    ("/pipeline/text-classification", {
        "model": "bert.classify", "inputs": "a",
        "parameters": {"top_k": 2, "function_to_apply": "none"}}),
    ("/pipeline/zero-shot-classification", {
        "model": "bert.entail", "inputs": "a", "parameters": {
            "candidate_labels": ["b", "c"], "multi_label": True,
            "hypothesis_template": "a {}"}}),
    ("/pipeline/token-classification", {
        "inputs": ["a b"], "parameters": {
            "aggregation_strategy": "first", "ignore_labels": ["O"]}}),
    ("/pipeline/fill-mask", {"inputs": ["a [MASK] b"],
                             "parameters": {"top_k": 2}}),
    ("/pipeline/question-answering", {
        "inputs": {"question": "a", "context": "b a"},
        "parameters": {"top_k": 2}}),
    ("/pipeline/translation", {
        "inputs": ["I ate."],
        "parameters": {"src_lang": "en", "tgt_lang": "de"}}),
    ("/score", {"text_1": "a", "text_2": ["b", "c"]}),
    ("/v1/score", {"queries": ["a"], "documents": ["b"], "model": "bert.rank"}),
    ("/v1/rerank", RERANK),
    ("/v2/rerank", RERANK),
    ("/infinity/rerank", RERANK),
    ("/classify", {"model": "bert.classify", "input": ["a"]}),
    ("/v1/embed", {"model": "bert.base", "texts": ["a"], "truncate": "END",
                   "input_type": "search_query"}),
    ("/v2/embed", {"model": "bert.base", "texts": ["a"], "truncate": "END",
                   "input_type": "search_query",
                   "embedding_types": ["float", "int8"]}),
    ("/v2/embed", {"model": "bert.base", "input_type": "search_query",
                   "inputs": [{"content": [{"type": "text", "text": "a"}]}]}),
    ("/v2/translate", {"text": ["I ate."], "source_lang": "EN",
                       "target_lang": "DE", "split_sentences": "1",
                       "tag_handling": "xml"}),
    ("/v2/glossaries", {"name": "g", "source_lang": "en", "target_lang": "de",
                        "entries": "a\tb", "entries_format": "tsv"}),
    ("/v3/glossaries", {"name": "g", "dictionaries": [
        {"source_lang": "en", "target_lang": "de", "entries": "a\tb",
         "entries_format": "tsv"}]}),
    ("/v2/models/en-de/infer", {
        "id": "1", "parameters": {"beam_size": 2},
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [1],
                    "data": ["I ate."]}]}),
    ("/v2/repository/index", {"ready": True}),
    ("/translate", {"q": ["I ate."], "source": "en", "target": "de",
                    "format": "html", "alternatives": 1}),
    ("/detect", {"q": "I ate an apple."}),
    (CALLS + "Translate", {
        "model": "en-de", "inputs": [{"text": "I ate."}],
        "options": {"format": "TEXT_FORMAT_HTML", "targetLanguage": "de",
                    "protect": {"patterns": ["a+"]},
                    "glossary": {"terms": [{"source": "a", "target": "b"}]},
                    "decoding": {"beamSize": 2, "maxNewTokens": 9}}}),
    (CALLS + "Encode", {
        "model": "bert.base", "inputs": [{"text": "a b c"}],
        "pooling": "POOLING_MEAN", "dimensions": 4, "hiddenLayers": [1]}),
    (CALLS + "Similarity", {
        "model": "bert.base", "first": {"inputs": [{"text": "a"}]},
        "second": {"inputs": [{"text": "b"}], "prompt": "p"},
        "function": "SIMILARITY_FUNCTION_COSINE", "dimensions": 4}),
    (CALLS + "Score", {
        "model": "en-de", "inputs": [{"text": "I ate.", "target": "Ich."}]}),
    (CALLS + "Tokenize", {"model": "en-de", "texts": ["a"]}),
    (CALLS + "Detokenize", {"model": "en-de", "inputs": [{"ids": [5]}]}),
    (CALLS + "Classify", {
        "model": "bert.classify", "inputs": [{"text": "a"}, {
            "pair": {"first": "a", "second": "b"}}], "top": 2}),
    (CALLS + "Rerank", {
        "model": "bert.rank", "query": "a", "documents": ["b", "c"], "top": 1,
        "returnText": True}),
    (CALLS + "ClassifyTokens", {
        "model": "bert.tag", "inputs": [{"text": "a b"}],
        "aggregation": "AGGREGATION_AVERAGE", "ignore": ["O"]}),
    (CALLS + "Answer", {
        "model": "bert.answer", "inputs": [{"question": "a", "context": "b"}],
        "top": 2, "maxAnswerTokens": 3, "overlap": 2}),
    (CALLS + "FillMask", {
        "model": "bert.fill_mask", "inputs": [{"text": "a [MASK]."}],
        "top": 3}),
    (MODELS + "ListModels", {}),
    (MODELS + "GetModel", {"name": "en-de"}),
)
# Other names of paths have the bodies of those.
BODIES += tuple((path, body) for path, methods in API["paths"].items()
                for of, body in BODIES
                if of == methods.get("post", {}).get("x-same-as"))
FORM = "its body is a form with a file, not JSON"
SENT = "it asks for a document that a form has sent"
ORDER = "it changes which models the other paths find"
# The other POST paths of docs/openapi.json, and why they are not tried.
NOT_TRIED = {
    CALLS + "Generate": "its body is in an envelope of Connect's streams",
    MODELS + "LoadModel": ORDER,
    MODELS + "ReloadModel": ORDER,
    MODELS + "UnloadModel": ORDER,
    "/embed_sparse": "no model here makes sparse vectors; its codec is that of "
                     "/embed_all",
    "/pipeline/summarization": "no model here has the task; its codec is that "
                               "of /pipeline/translation",
    "/translate_file": FORM,
    "/v2/document": FORM,
    "/v2/document/{document}": SENT,
    "/v2/document/{document}/result": SENT,
}
# The models that are made of BERT's goldens, and the labels of some.
GOLDENS = {"bert.base": "bert.base", "bert.classify": "bert.classify",
           "bert.entail": "bert.classify", "bert.rank": "bert.classify",
           "bert.answer": "bert.answer", "bert.tag": "bert.tag",
           "bert.fill_mask": "bert.fill_mask"}
LABELS = {"bert.entail": ("contradiction", "neutral", "entailment"),
          "bert.rank": ("fits",)}
LEFT_OUT = object()


class Raw(str):
    """JSON that json.dumps would not write."""


VALUES = (
    None, -1, 0, 0.5, 1, 2**31, 2**63, 2**64, 1e300, True, "", "xyzzy", "a\0b",
    "z" * 5000, [], [None], [1], ["x"], [{}], {}, {"xyzzy": 1}, LEFT_OUT,
    Raw("[" * 50 + "]" * 50), Raw("[" * 3000 + "]" * 3000), Raw('"\\ud800"'),
    Raw("1e999"), Raw("[" + "1," * 20000 + "1]"))
# Members of /score that need another one beside them.
PARTNERS = {"data_2": ("data_1",), "documents": ("queries",),
            "items": ("queries",)}
# Errors about the body as a whole, and about a prompt that is made of many
# members.
WHOLE_BODY = ("the body is", "the body has", "the body needs", "tokens and the model reads")


def written(value):
    """The value as JSON."""
    raw = {}

    def marked(value):
        if isinstance(value, Raw):
            mark = f"raw {len(raw)}"
            raw[json.dumps(mark)] = value
            return mark
        if isinstance(value, dict):
            return {key: marked(one) for key, one in value.items()}
        return [marked(one) for one in value] if isinstance(value, list) \
            else value

    text = json.dumps(marked(value))
    for mark, value in raw.items():
        text = text.replace(mark, value)
    return text


def places(value, before=()):
    """The ways to all values in one."""
    if before:
        yield before
    members = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, one in members:
        yield from places(one, before + (key,))


def unused(path, body):
    """The members that a path's schema has and the body has not."""
    content = API["paths"].get(path, {}).get("post", {}).get(
        "requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    while "$ref" in schema:
        schema = API["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return [(name,) for name in schema.get("properties", {})
            if name not in body]


def changed(body, place, value):
    body = copy.deepcopy(body)
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    if value is not LEFT_OUT:
        inner[place[-1]] = value
    elif isinstance(inner, list) or place[-1] in inner:
        del inner[place[-1]]
    return body


def names_of(place, body):
    """What an error about a place may name: a member on the way to it. If the
    place is a member of the whole body, another of those may be the wrong one
    with it, or without it, or a partner that it lacks."""
    names = [key for key in place if isinstance(key, str)]
    if len(place) == 1:
        names += body
        names += PARTNERS.get(place[0], ())
    return names + ["".join("_" + c.lower() if c.isupper() else c for c in name)
                    for name in names]


def set_labels(folder, names):
    """Gives a classifier these labels, and its first rows for them."""
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["id2label"] = dict(enumerate(names))
    config["label2id"] = {name: i for i, name in enumerate(names)}
    file.write_text(json.dumps(config))
    file = folder / "model.safetensors"
    blob = file.read_bytes()
    size, = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8:8 + size])
    data = b""
    for name, entry in header.items():
        begin, end = (8 + size + place for place in entry["data_offsets"])
        if name.startswith("classifier."):
            rows = entry["shape"][0]
            entry["shape"][0] = len(names)
            end = begin + (end - begin) // rows * len(names)
        entry["data_offsets"] = [len(data), len(data) + end - begin]
        data += blob[begin:end]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_chat_model(folder):
    """A tiny decoder that chats."""
    golden = ROOT / "tests/golden/qwen3.lm"
    shutil.copytree(ROOT / "tests/integration/chats", folder)
    for file in ("generation_config.json", "model.safetensors"):
        shutil.copy(golden / file, folder)
    config = json.loads((golden / "config.json").read_text())
    config["max_position_embeddings"] = 1024
    (folder / "config.json").write_text(json.dumps(config))


class Shapes(attack.Attack):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as scratch:
            chat = pathlib.Path(scratch, "chat")
            make_chat_model(chat)
            cls.FLAGS = ["--http-listen", "127.0.0.1:0", "--log-level", "warn",
                         "--model", f"chat={chat}"]
            for name, golden in GOLDENS.items():
                folder = pathlib.Path(scratch, name)
                texts.make_model(golden, folder)
                if name in LABELS:
                    set_labels(folder, LABELS[name])
                cls.FLAGS += ["--model", f"{name}={folder}"]
            super().setUpClass()

    def post(self, path, text):
        """The status and body of the answer."""
        try:
            self._connection.request("POST", path, text,
                                     {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.fail(f"{path} {text[:500]}: {error!r}")

    def test_every_path_is_tried_or_has_a_reason(self):
        tried = {path for path, _ in BODIES}

        def has_body(path):
            pattern = re.sub(r"\\{[a-z_]+\\}", "[^/]+", re.escape(path))
            return any(re.fullmatch(pattern, one) for one in tried)

        paths = {path for path, methods in API["paths"].items()
                 if "post" in methods}
        self.assertEqual(
            sorted(path for path in paths if not has_body(path)),
            sorted(NOT_TRIED))

    def test_wrong_values(self):
        self._connection = http.client.HTTPConnection(
            self.server.http_address, timeout=60)
        self.addCleanup(self._connection.close)
        cases = []
        for path, body in BODIES:
            status, answer = self.post(path, json.dumps(body))
            self.assertIn(status, (200, 201), f"{path}: {answer}")
            for place in [*places(body), *unused(path, body)]:
                cases += [(path, body, place, value) for value in VALUES]
        random.Random(1).shuffle(cases)
        until = time.monotonic() + max(4, attack.seconds())
        tried = 0
        problems = []
        for path, body, place, value in cases:
            text = written(changed(body, place, value))
            status, answer = self.post(path, text)
            named = (status not in (400, 422) or value in (None, LEFT_OUT)
                     or any(said in answer for said in WHOLE_BODY)
                     or any(name in answer for name in names_of(place, body)))
            if status >= 500 or not named:
                problems.append(
                    f"{path} {place} {str(value)[:60]}: {status} {answer[:400]}")
            tried += 1
            if time.monotonic() > until:
                break
        print(f"{tried} of {len(cases)}", end=" ", flush=True)
        self.assertGreater(tried, 100)
        self.assertEqual(problems[:10], [])


if __name__ == "__main__":
    attack.main()
