#!/usr/bin/env python3
"""Writes testdata/decoders.json: small tokenizers of every kind that decoders
and ModernBERT use, trained on a few lines, and the results of Hugging Face's
library.

  pip install tokenizers==0.23.3
  tests/model/tokenizer/make_decoder_cases.py
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "fuzz"))

import families  # noqa: E402
from tokenizers import AddedToken  # noqa: E402

LINES = ["The miller's 3 daughters won't tell the other tale.",
         "Die Müller erzählen 1234 Märchen über 東京.",
         "if (x == 10) {\n    return they'll + the_rest;\n}"]
TEXTS = [
    "", " ", "  ", "\n", "\n\n", "\t the\n\n  tale ", "The miller's daughters",
    "  two spaces  in   front", "THEY'LL won'T tell", "1234567890 3.14 x10",
    "Märchen über 東京", "Mu\u0308ller", "naïve café ﬁn ½ ² Ⅷ", "😀👩‍👩‍👧‍👦 ok",
    "a<|im_end|>b", "<s>The</s> tale<|im_end|>\n", " <|im_start|>user\nhi",
    "<think>the tale</think>", "<|im_<|im_end|>", "don't \u00a0\u3000stop\u2028",
    "\u0000\u0007 control \ufeff", "x == 10; // over_the_rest\r\n\r\n",
    "مرحبا ١٢٣", "हिन्दी में", "the" * 40, "𝒯𝒽𝑒 ſ K İ ß", "▁the▁tale", "<0x41>"]
NAMES = ["openai_gpt", "gpt2", "opt", "smollm", "llama3", "qwen2", "gpt_oss",
         "deepseek", "llama", "gemma", "modernbert"]


def cases(name):
    tokenizer = families.FAMILIES[name](LINES)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False)])
    for text in TEXTS:
        tokenizer.encode_special_tokens = True
        literal = tokenizer.encode(text).ids
        tokenizer.encode_special_tokens = False
        encoding = tokenizer.encode(text)
        yield {"text": text, "ids": encoding.ids, "literal": literal,
               "begins": [begin for begin, _ in encoding.offsets],
               "ends": [end for _, end in encoding.offsets],
               "decoded": tokenizer.decode(encoding.ids)}
    yield json.loads(tokenizer.to_str())


def main():
    families_of = {}
    for name in NAMES:
        *of_texts, tokenizer = cases(name)
        families_of[name] = {"tokenizer": tokenizer, "cases": of_texts}
    with open(HERE / "testdata/decoders.json", "w") as file:
        file.write("{\n" + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}"
            for name, value in families_of.items()) + "\n}\n")


if __name__ == "__main__":
    main()
