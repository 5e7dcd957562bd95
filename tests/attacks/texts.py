"""Attacks with texts: calls whose cost would be out of proportion to their
bytes, if it were not bounded before the work."""

import json
import pathlib
import random
import struct
import tempfile
import time

import attack
import grpc
from trivium.v1 import inference_pb2

GOLDENS = pathlib.Path(__file__).parents[1] / "golden"
POSITIONS = 512
VOCABULARY = 30000


def make_model(golden, folder):
    """A golden model of BERT's, tiny but for its positions and vocabulary,
    which are BERT's own: the rows that it lacks are zeros."""
    config = json.loads((GOLDENS / golden / "config.json").read_text())
    blob = (GOLDENS / golden / "model.safetensors").read_bytes()
    size, = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8:8 + size])
    header.pop("__metadata__", None)
    rows = {config["max_position_embeddings"]: POSITIONS,
            config["vocab_size"]: VOCABULARY}
    tensors = []
    end = 0
    for entry in header.values():
        begin, old_end = entry["data_offsets"]
        data = blob[8 + size + begin:8 + size + old_end]
        old = entry["shape"][0]
        if old in rows:
            data += bytes(len(data) // old * (rows[old] - old))
            entry["shape"][0] = rows[old]
        entry["data_offsets"] = [end, end + len(data)]
        end += len(data)
        tensors.append(data)
    config["max_position_embeddings"] = POSITIONS
    config["vocab_size"] = VOCABULARY
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(tensors))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]
    for letter in "abcdefghijklmnopqrstuvwxyz":
        pieces += [letter, "##" + letter]
    pieces += [f"[unused{i}]" for i in range(len(pieces), VOCABULARY)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")


class TextsAttack(attack.Attack):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as scratch:
            cls.FLAGS = []
            for name in ("bert.answer", "bert.fill_mask"):
                folder = pathlib.Path(scratch, name)
                make_model(name, folder)
                cls.FLAGS += ["--model", f"{name}={folder}"]
            super().setUpClass()

    def flood(self, method, request, clients=4, timeout=30, honest="Translate",
              compression=None):
        """Sends the request from some clients at once, for as long as a test
        attacks, beside an honest client of that method; gives the codes that
        came back."""
        codes = set()
        payload = request.SerializeToString()

        def run(_):
            with grpc.insecure_channel(
                    self.server.address,
                    [("grpc.max_send_message_length", -1)]) as channel:
                call = channel.unary_unary(attack.INFERENCE + method)
                while True:
                    try:
                        call(payload, timeout=timeout, compression=compression)
                        codes.add("OK")
                    except grpc.RpcError as error:
                        codes.add(error.code().name)
                    if time.monotonic() >= until:
                        break

        with self.honest_client(honest) as honest_client:
            until = attack.deadline()
            attack.in_threads(clients, run)
        self.assert_unharmed(honest_client)
        return codes

    def test_texts_over_the_limit(self):
        request = inference_pb2.TranslateRequest()
        for _ in range(3):
            request.inputs.add().text = "a " * (1 << 19) + "a"
        self.assertEqual(self.flood("Translate", request),
                         {"INVALID_ARGUMENT"})

    def test_what_looks_like_markup_costs_what_is_told_before(self):
        """1 MB of it is copied, or refused in the client's words before the
        model is asked."""
        def tokens():
            return {name: value for name, value in self.server.metrics().items()
                    if name.startswith("trivium_tokens_total{")
                    or name.startswith("trivium_iteration_rows_count{")}

        before = tokens()
        self.assertTrue(before)
        with grpc.insecure_channel(
                self.server.address,
                [("grpc.max_receive_message_length", -1)]) as channel:
            call = channel.unary_unary(
                attack.INFERENCE + "Translate",
                inference_pb2.TranslateRequest.SerializeToString,
                inference_pb2.TranslateResponse.FromString)
            for unit in ("<http://", "a <b>c ", "\n<http://"):
                text = unit * (10**6 // len(unit))
                for text_format in inference_pb2.TextFormat.values()[1:]:
                    request = inference_pb2.TranslateRequest()
                    request.inputs.add().text = text
                    request.options.format = text_format
                    try:
                        result = call(request, timeout=60).results[0]
                        self.assertEqual(result.hypotheses[0].text, text)
                    except grpc.RpcError as error:
                        self.assertEqual(error.code().name, "INVALID_ARGUMENT")
                        self.assertIn("inputs[0]", error.details())
        self.assertEqual(tokens(), before)

    def test_a_window_a_token(self):
        request = inference_pb2.AnswerRequest(model="bert.answer")
        question = request.inputs.add()
        question.question = "a " * (POSITIONS - 4)
        question.context = "a " * (1 << 19)
        self.assertEqual(self.flood("Answer", request), {"INVALID_ARGUMENT"})

    def test_answers_of_any_length(self):
        request = inference_pb2.AnswerRequest(
            model="bert.answer", top=100, max_answer_tokens=2**32 - 1)
        question = request.inputs.add()
        question.question = "a"
        question.context = "a " * 250000
        self.assertEqual(self.flood("Answer", request), {"INVALID_ARGUMENT"})

    def test_as_many_windows_as_are_allowed(self):
        request = inference_pb2.AnswerRequest(
            model="bert.answer", top=100, max_answer_tokens=256)
        question = request.inputs.add()
        question.question = "a"
        question.context = "a " * 150000
        self.assertLessEqual(self.flood("Answer", request, timeout=1),
                             {"OK", "DEADLINE_EXCEEDED"})

    def test_nothing_but_masks(self):
        request = inference_pb2.FillMaskRequest(model="bert.fill_mask", top=100)
        for _ in range(32):
            request.inputs.add().text = "[MASK] " * (POSITIONS - 2)
        self.assertEqual(self.flood("FillMask", request), {"INVALID_ARGUMENT"})
        # As many candidates as a response holds.
        request.top = 5
        self.assertLessEqual(self.flood("FillMask", request, timeout=1),
                             {"OK", "DEADLINE_EXCEEDED"})

    def test_fields_of_nothing(self):
        # Two bytes of a request each, and a hundred or more in memory.
        class Nothing:
            @staticmethod
            def SerializeToString():
                return bytes((0x12, 0)) * ((4 << 20) // 2 - 1)

        for method in ("Translate", "Tokenize", "Score"):
            self.assertEqual(self.flood(method, Nothing),
                             {"INVALID_ARGUMENT"})

    def test_messages_that_unpack_to_many_bytes(self):
        class Zeros:
            @staticmethod
            def SerializeToString():
                return bytes(64 << 20)

        self.assertEqual(
            self.flood("Translate", Zeros, compression=grpc.Compression.Gzip),
            {"UNIMPLEMENTED"})

    def test_characters_that_become_many(self):
        request = inference_pb2.TranslateRequest()
        for _ in range(4):
            request.inputs.add().text = "\ufdfa" * 340000
        request.options.truncate = False
        # Words of unknown letters are not translated.
        self.assertEqual(self.flood("Translate", request), {"OK"})
        request.options.text_stages = inference_pb2.TEXT_STAGES_OFF
        self.assertEqual(self.flood("Translate", request),
                         {"INVALID_ARGUMENT"})

    def test_marks_behind_a_letter(self):
        request = inference_pb2.TranslateRequest()
        for marks in ("\u0301", "\u0301\u0327", "\u0e31\u0301\u0345"):
            # Without the letter it is kept, not translated.
            request.inputs.add().text = (
                "a" + marks * (900000 // len(marks.encode())))
        # As one sentence it is cut until there are too many parts; what little
        # the tokenizer makes of some marks may be translated in time.
        self.assertLessEqual(
            self.flood("Translate", request, timeout=2),
            {"OK", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"})

    def test_long_texts_to_tokenize(self):
        request = inference_pb2.TokenizeRequest()
        for _ in range(3):
            request.texts.append("a b c d " * (1 << 17))
        # Its response would be over the limit.
        self.assertLessEqual(
            self.flood("Tokenize", request, timeout=2, honest="Tokenize"),
            {"INVALID_ARGUMENT", "DEADLINE_EXCEEDED"})

    def test_many_calls_of_long_texts(self):
        request = inference_pb2.TranslateRequest()
        for _ in range(4):
            request.inputs.add().text = "An apple. " * 100000
        # Long enough for a slow machine, which answers all of them.
        self.assertEqual(self.flood("Translate", request, clients=32,
                                    timeout=self.PATIENCE_SECONDS),
                         {"INVALID_ARGUMENT"})

    def test_patterns(self):
        # Of the first, each letter begins another of a thousand; of the second,
        # each match looks at all that follows.
        letters = random.Random(1).choices("ab", k=1 << 20)
        for pattern, text in (("[ab]*a[ab]{1000}", "".join(letters)),
                              ("a[^b]*b|a", "a" * (1 << 20))):
            request = inference_pb2.TranslateRequest()
            request.options.protect.patterns.extend([pattern] * 16)
            request.inputs.add().text = text
            self.assertLessEqual(
                self.flood("Translate", request, timeout=5, honest="Tokenize"),
                {"INVALID_ARGUMENT", "DEADLINE_EXCEEDED"})

    def test_kinds_without_end(self):
        # A byte each: one field, whatever their number.
        kinds = [1] * ((4 << 20) - 100)
        request = inference_pb2.TranslateRequest()
        request.inputs.add().text = "I ate an apple."
        request.options.protect.kinds.extend(kinds)
        self.assertEqual(self.flood("Translate", request),
                         {"INVALID_ARGUMENT"})
        request.options.ClearField("protect")
        request.options.checks.kinds.extend(kinds)
        self.assertEqual(self.flood("Translate", request),
                         {"INVALID_ARGUMENT"})
        request.options.ClearField("checks")
        request.options.cross_attention.layers.extend(kinds)
        self.assertEqual(self.flood("Translate", request),
                         {"INVALID_ARGUMENT"})

    def test_tags_of_a_sentence(self):
        for text, text_format in (
                ("An apple " + "<i></i>" * 100000 + " and a pear.",
                 inference_pb2.TEXT_FORMAT_HTML),
                ("An apple " + "[](x)" * 100000 + " and a pear.",
                 inference_pb2.TEXT_FORMAT_MARKDOWN)):
            request = inference_pb2.TranslateRequest()
            request.inputs.add().text = text
            request.options.format = text_format
            request.options.decoding.max_new_tokens = 32
            self.assertLessEqual(
                self.flood("Translate", request, timeout=5, honest="Tokenize"),
                {"OK", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"})

    def test_terms_everywhere(self):
        request = inference_pb2.TranslateRequest()
        request.inputs.add().text = "." * (1 << 20)
        request.options.split = inference_pb2.SPLIT_NONE
        request.options.truncate = True
        for i in range(1024):
            request.options.glossary.terms.add(
                source="." * 63 + chr(ord("a") + i % 26), target="Apfel")
        self.assertLessEqual(
            self.flood("Translate", request, timeout=5, honest="Tokenize"),
            {"OK", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"})


if __name__ == "__main__":
    attack.main()
