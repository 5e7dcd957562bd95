"""Masks of tokens beside xgrammar and llguidance; compare_masks runs it.

All hold the same texts to the same JSON schemas with the same vocabulary, on
one thread, in turns. Times are those of the process's CPU, so that other work
on the machine does not count as such. A mask is timed for each token of each
text, and the token itself apart. "first" is the time from the schema's text to
its first mask: what a request with a new schema waits. Texts are written as
json.dumps does it.

--check compares the masks themselves: tokens that only this engine allows, and
tokens that it alone refuses.
"""

import argparse
import base64
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import arguments
import machine
import mask_cases

# The pattern that GPT-4's and Qwen's tokenizers split texts by.
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
           r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_masks",
        description="Compares this engine's masks with xgrammar's and "
        "llguidance's.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--vocabulary", required=True, help="a file in "
                        "tiktoken's form, such as qwen.tiktoken of PyPI's "
                        "dashscope")
    parser.add_argument("--texts", type=int, default=20, help="a schema")
    parser.add_argument("--tools", type=int, default=100_000,
                        help="bytes of the schemas of tools")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="xgrammar,llguidance")
    parser.add_argument("--check", action="store_true",
                        help="compare the masks themselves")
    arguments.add_report(parser)
    arguments.add_programs(parser)
    return parser.parse_args()


def read_vocabulary(path):
    tokens = []
    for line in pathlib.Path(path).read_bytes().splitlines():
        text, rank = line.split()
        if int(rank) != len(tokens):
            sys.exit(f"{path}: ids must ascend from 0")
        tokens.append(base64.b64decode(text))
    return tokens


class Own:
    name = "Trivium"

    def __init__(self, options, tokens, folder):
        self.bits = folder / "bits"
        self.words = (len(tokens) + 1 + 63) // 64
        self.process = subprocess.Popen(
            [options.programs / "trivium-bench-masks", options.vocabulary,
             *(["--bits", self.bits] if options.check else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, schema, texts):
        self.process.stdin.write(
            json.dumps({"schema": schema, "texts": texts}) + "\n")
        self.process.stdin.flush()
        result = json.loads(self.process.stdout.readline())
        return {"first": result["compile"] + result["first"],
                "masks": result["masks"], "advances": result["advances"]}

    def masks(self, schema, texts):
        self.bits.write_bytes(b"")  # the program appends
        self.run(schema, texts)
        words = np.fromfile(self.bits, dtype="<u8")
        return words.reshape(-1, self.words).view("<u4")


class Peer:
    def run(self, schema, texts, keep=None):
        start = time.process_time()
        matcher = self.compile(schema)
        self.fill(matcher)
        first = time.process_time() - start
        masks, advances = [], []
        for text in texts:
            matcher = self.again(matcher)
            for token in text:
                start = time.process_time()
                self.fill(matcher)
                filled = time.process_time()
                accepted = self.advance(
                    matcher, self.end if token < 0 else token)
                advances.append(time.process_time() - filled)
                masks.append(filled - start)
                if keep is not None:
                    keep.append(np.array(self.bitmask).view("<u4").ravel())
                if not accepted:
                    raise ValueError(f"{self.name} refuses a text")
        return {"first": first, "masks": masks, "advances": advances}

    def masks(self, schema, texts):
        keep = []
        self.run(schema, texts, keep)
        return np.stack(keep)


class Xgrammar(Peer):
    name = "xgrammar"

    def __init__(self, tokens):
        import xgrammar
        self.module = xgrammar
        self.end = len(tokens)
        self.info = xgrammar.TokenizerInfo(
            [*tokens, "<end>"], vocab_type=xgrammar.VocabType.RAW,
            stop_token_ids=[self.end])
        self.bitmask = xgrammar.allocate_token_bitmask(1, len(tokens) + 1)

    def compile(self, schema):
        # A compiler of its own, so that nothing is remembered.
        compiler = self.module.GrammarCompiler(self.info, max_threads=1)
        self.grammar = compiler.compile_json_schema(
            schema, any_whitespace=True, strict_mode=False)
        return self.module.GrammarMatcher(self.grammar)

    def again(self, matcher):
        return self.module.GrammarMatcher(self.grammar)

    def fill(self, matcher):
        matcher.fill_next_token_bitmask(self.bitmask)

    def advance(self, matcher, token):
        return matcher.accept_token(token)


class Llguidance(Peer):
    name = "llguidance"

    def __init__(self, tokens):
        import llguidance
        import llguidance.numpy
        self.module = llguidance
        self.numpy = llguidance.numpy
        self.end = len(tokens)
        everything = [*tokens, b"<end>"]

        class Tokenizer:
            bos_token_id = None

            def __call__(self, text):
                return [0]

        tokenizer = Tokenizer()
        tokenizer.eos_token_id, tokenizer.tokens = self.end, everything
        self.tokenizer = llguidance.LLTokenizer(
            llguidance.TokenizerWrapper(tokenizer))
        self.bitmask = self.numpy.allocate_token_bitmask(1, len(everything))

    def compile(self, schema):
        self.schema = self.module.LLMatcher.grammar_from_json_schema(
            schema, defaults={"whitespace_flexible": True})
        return self.make()

    def make(self):
        matcher = self.module.LLMatcher(self.tokenizer, self.schema)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def again(self, matcher):
        matcher.reset()
        return matcher

    def fill(self, matcher):
        self.numpy.fill_next_token_bitmask(matcher, self.bitmask, 0)

    def advance(self, matcher, token):
        return matcher.consume_token(token) or token == self.end


PEERS = {"xgrammar": Xgrammar, "llguidance": Llguidance}


def percentile(values, share):
    return float(np.percentile(np.array(values), share))


def report_of(results):
    masks = [one for result in results for one in result["masks"]]
    return {"first_ms": 1e3 * statistics.median(
                result["first"] for result in results),
            "p50_us": 1e6 * percentile(masks, 50),
            "p99_us": 1e6 * percentile(masks, 99),
            "mean_us": 1e6 * statistics.fmean(masks),
            "token_us": 1e6 * statistics.fmean(
                one for result in results for one in result["advances"])}


def print_report(name, reports):
    print(f"\n{name:24} {'first, ms':>10} {'p50, us':>9} {'p99, us':>9} "
          f"{'mean, us':>9} {'token, us':>9}")
    for engine, report in reports.items():
        print(f"{engine:24} {report['first_ms']:10.2f} {report['p50_us']:9.1f} "
              f"{report['p99_us']:9.1f} {report['mean_us']:9.1f} "
              f"{report['token_us']:9.2f}", flush=True)


def check(own, peers, tokens, schema, texts):
    """Prints where this engine differs from all peers."""
    ours = own.masks(schema, texts)
    width = (len(tokens) + 1 + 31) // 32
    ours = ours[:, :width]
    others = [peer.masks(schema, texts)[:, :width] for peer in peers]
    only_ours, only_theirs = ours.copy(), np.bitwise_not(ours)
    for other in others:
        only_ours &= np.bitwise_not(other)
        only_theirs &= other
    flat = [token for text in texts for token in text]
    for words, kind in ((only_ours, "we alone allow"),
                        (only_theirs, "we alone refuse")):
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        bits = bits[:, :len(tokens)]
        steps, found = np.nonzero(bits)
        print(f"  {kind}: {len(found)} tokens at {len(set(steps))} of "
              f"{len(flat)} masks; as", [
                  (b"".join(tokens[t] for t in flat[max(0, s - 6):s]
                            if t >= 0), tokens[t])
                  for s, t in list(zip(steps.tolist(), found.tolist()))
                  [::max(1, len(found) // 6)]])


def main():
    options = parse_arguments()
    import tiktoken
    tokens = read_vocabulary(options.vocabulary)
    encoding = tiktoken.Encoding(
        "vocabulary", pat_str=PATTERN, special_tokens={},
        mergeable_ranks={token: i for i, token in enumerate(tokens)})
    with tempfile.TemporaryDirectory() as folder:
        own = Own(options, tokens, pathlib.Path(folder))
        peers = [PEERS[name](tokens)
                 for name in options.peers.split(",") if name]
        reports, all_results = {}, {}
        for name, schema, values in mask_cases.cases(options.texts,
                                                     options.tools):
            schema = json.dumps(schema, ensure_ascii=False)
            texts = [[*encoding.encode(json.dumps(value, ensure_ascii=False)),
                      -1] for value in values]
            results = {}
            for number in range(options.rounds):
                engines = [own, *peers]
                for engine in engines[number % len(engines):] + \
                        engines[:number % len(engines)]:
                    try:
                        result = engine.run(schema, texts)
                    except Exception as error:  # a peer's own kinds
                        if engine is own:
                            raise
                        if number == 0:
                            print(f"{engine.name}: {name}: {error}")
                        continue
                    results.setdefault(engine.name, []).append(result)
                    all_results.setdefault(engine.name, []).append(result)
            reports[name] = {engine: report_of(one)
                             for engine, one in results.items()}
            print_report(f"{name}, {len(schema.encode())} bytes",
                         reports[name])
            if options.check:
                check(own, peers, tokens, schema, texts)
        reports["all"] = {engine: report_of(one)
                          for engine, one in all_results.items()}
        print_report("all", reports["all"])
    described = machine.describe()
    print(f"\n{len(tokens)} tokens; {machine.in_words(described)}")
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"machine": described, "masks": reports}, indent=1))


if __name__ == "__main__":
    main()
