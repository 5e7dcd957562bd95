#!/usr/bin/env python3
"""Writes transformers_cases.inc: the results of Transformers' generate() with a
model whose logits are the table's row of the last token, under the options of
DecodingOptions.

    make_transformers_cases.py > tests/model/search/transformers_cases.inc

Searches, processors, warpers and their order are Transformers' own. Penalties
for frequency and presence, which Transformers lacks, are a processor of OpenAI's
definition. Draws use the project's random numbers (counter_rng.h), over tokens
by id if none is cut, else best first. Needs PyPI's torch and
transformers (5.23 made the committed file); the tests themselves do not.
"""

import torch
import transformers
from transformers.modeling_outputs import CausalLMOutput

VOCABULARY = 14
END = 3
PROMPT = [5, 9, 5]
# Cases with DecodingOptions' names, and `prompt`, whose tokens do not count as
# new.
CASES = [
    {},
    {"frequency_penalty": 0.7},
    {"presence_penalty": 2.0},
    {"frequency_penalty": -0.4, "presence_penalty": 0.9, "repetition_penalty": 1.3},
    {"logit_bias": {2: -3.0, 4: -2.0, 9: 0.25}},
    {"logit_bias": {0: 100.0}, "repetition_penalty": 1.6, "no_repeat_ngram_size": 2},
    {"beam_size": 3, "frequency_penalty": 0.6, "logit_bias": {2: 0.8}},
    {"beam_size": 3, "presence_penalty": 1.5, "repetition_penalty": 1.2, "length_penalty": 0.6},
    {"sample": True},
    {"sample": True, "min_p": 0.2},
    {"sample": True, "min_p": 0.3, "temperature": 1.7, "top_k": 6},
    {"sample": True, "typical_p": 0.6},
    {"sample": True, "typical_p": 0.3, "temperature": 0.6},
    {"sample": True, "typical_p": 0.8, "top_k": 5, "temperature": 1.4},
    {
        "sample": True,
        "temperature": 1.5,
        "top_k": 11,
        "top_p": 0.9,
        "min_p": 0.1,
        "typical_p": 0.7,
        "frequency_penalty": 0.5,
        "logit_bias": {7: 1.0},
    },
]
MAX_NEW_TOKENS = 14


def uniform_at(seed, sample, position):
    """UniformAt of model/search/counter_rng.h."""
    counter = [sample, position, 0, 0]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ counter[3] ^ key[1],
            first & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (((counter[0] << 32) | counter[1]) >> 11) * 2.0**-53


class CountPenalties(transformers.LogitsProcessor):
    def __init__(self, frequency, presence):
        self.frequency, self.presence = frequency, presence

    def __call__(self, input_ids, scores):
        for row, ids in zip(scores, input_ids[:, len(PROMPT) :].tolist()):
            for token in set(ids):
                row[token] -= self.frequency * ids.count(token) + self.presence
        return scores


class TableModel(transformers.GPT2LMHeadModel):
    def forward(self, input_ids, **_):
        return CausalLMOutput(logits=self.table[input_ids])


def run(model, options, seed):
    by_id = not ({"top_k", "top_p", "typical_p"} & options.keys())
    position = 0

    def draw(probabilities, num_samples):
        nonlocal position
        p = probabilities[0].tolist()
        order = sorted(range(len(p)), key=lambda token: token if by_id else (-p[token], token))
        uniform, position, total = uniform_at(seed, 0, position), position + 1, 0
        for token in order:
            total += p[token]
            if total > uniform:
                return torch.tensor([[token]])
        raise ValueError("rounding left no token")

    torch.multinomial = draw
    sample = options.get("sample", False)
    arguments = {name: options[name] for name in ("temperature", "top_p", "min_p", "typical_p") if name in options}
    bias = options.get("logit_bias", {})
    out = model.generate(
        torch.tensor([PROMPT]),
        attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        do_sample=sample,
        num_beams=options.get("beam_size", 1),
        max_new_tokens=MAX_NEW_TOKENS,
        top_k=options.get("top_k", 0) if sample else None,
        repetition_penalty=options.get("repetition_penalty", 1.0),
        no_repeat_ngram_size=options.get("no_repeat_ngram_size", 0),
        length_penalty=options.get("length_penalty", 1.0),
        sequence_bias={(token,): value for token, value in bias.items()} or None,
        logits_processor=[CountPenalties(options.get("frequency_penalty", 0), options.get("presence_penalty", 0))],
        eos_token_id=END,
        pad_token_id=END,
        use_cache=False,
        return_dict_in_generate=True,
        output_scores=True,
        **arguments,
    )
    return out.sequences[0, len(PROMPT) :].tolist()


def braces(value):
    if isinstance(value, dict):
        return "{" + ", ".join("{%d, %rf}" % pair for pair in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value!r}f" if isinstance(value, float) else str(value)


@torch.no_grad()
def main():
    transformers.logging.set_verbosity_error()
    generator = torch.Generator().manual_seed(18)
    table = (torch.randn(VOCABULARY, VOCABULARY, generator=generator) * 200).round() / 100
    table[:, END] -= 2.5  # makes most texts long
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=4, n_layer=1, n_head=1, n_positions=64)
    model = TableModel(config).eval()
    model.table = table
    print("// Made by make_transformers_cases.py with Transformers", transformers.__version__)
    print("// clang-format off")
    print("const std::vector<std::vector<float>> kTable = {")
    for row in table.tolist():
        print("    {" + ", ".join(f"{value:.2f}f" for value in row) + "},")
    print("};")
    print("const std::vector<int32_t> kPrompt = {" + ", ".join(map(str, PROMPT)) + "};")
    print(f"constexpr int32_t kEnd = {END};")
    print(f"constexpr int kMaxNewTokens = {MAX_NEW_TOKENS};")
    names = ["beam_size", "sample", "length_penalty", "temperature", "top_k", "top_p", "min_p", "typical_p"]
    names += ["repetition_penalty", "no_repeat_ngram_size", "frequency_penalty", "presence_penalty", "logit_bias"]
    print("const std::vector<TransformersCase> kCases = {")
    for seed, options in enumerate(CASES):
        # The default of DecodingOptions differs from that of this table.
        shown = {"top_k": 0} | options
        fields = [f"o->{name} = {braces(shown[name])};" for name in names if name in shown]
        ids = run(model, options, seed)
        print("    {[](DecodingOptions* o) { " + " ".join(fields) + " },")
        print("     {" + ", ".join(map(str, ids)) + "}},")
    print("};")
    print("// clang-format on")


if __name__ == "__main__":
    main()
