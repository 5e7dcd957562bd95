#!/usr/bin/env python3
"""Computes what Transformers generates under rules of generation_config.json.

    make_generation_goldens.py FOLDER [FOLDER...]

For each folder of a golden case (make_golden.py) and each rule below, of the
inputs of its golden.json: FOLDER/generation_golden.json, which
generation_golden_test compares with. Needs PyPI's torch and transformers
(5.23 made the committed files).
"""

import json
import pathlib
import sys

import torch
import transformers

RULES = [
    {"num_beams": 4, "max_length": 16, "min_length": 9},
    {"num_beams": 4, "max_length": 20, "min_length": 5, "length_penalty": 2.0,
     "no_repeat_ngram_size": 3, "early_stopping": True},
    {"num_beams": 3, "max_length": 20, "length_penalty": 0.0,
     "early_stopping": "never"},
    {"num_beams": 2, "max_length": 12, "encoder_no_repeat_ngram_size": 1},
    {"num_beams": 4, "max_length": 24, "encoder_no_repeat_ngram_size": 2,
     "repetition_penalty": 1.2},
    {"max_length": 16, "encoder_repetition_penalty": 3.0},
    {"num_beams": 4, "max_length": 16, "encoder_repetition_penalty": 0.5},
    {"max_length": 16, "suppress": 3, "suppress_first": 2},
    {"num_beams": 4, "max_length": 16, "suppress": 4, "suppress_first": 3,
     "forced_bos_token_id": 7},
    {"num_beams": 4, "max_length": 14, "forced_eos_token_id": 9,
     "bad": 2, "renormalize_logits": True},
    {"num_beams": 4, "max_new_tokens": 12, "min_new_tokens": 12},
    {"max_length": 24, "exponential_decay_length_penalty": [6, 1.3]},
    {"num_beams": 4, "max_length": 24,
     "exponential_decay_length_penalty": [4, 1.05]},
    {"num_beams": 3, "max_length": 24, "length_penalty": 2.0,
     "exponential_decay_length_penalty": [0, 0.9]},
]


@torch.no_grad()
def generate(model, ids, config):
    # The folder's own would fill what this does not say.
    model.generation_config = transformers.GenerationConfig(**config)
    out = model.generate(torch.tensor([ids]), return_dict_in_generate=True,
                         output_scores=True)
    # Alone it is not padded: a <pad> at the end is one that was written.
    new = out.sequences[0].tolist()[1:]
    score = out.sequences_scores[0].item() if config.get("num_beams", 1) > 1 else None
    return {"ids": new, "score": score}


def compute(folder):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    inputs = [run["input_ids"]
              for run in json.loads((folder / "golden.json").read_text())["runs"]]
    base = {key: getattr(model.generation_config, key) for key in
            ("decoder_start_token_id", "eos_token_id", "pad_token_id",
             "bos_token_id")}
    base["do_sample"] = False
    # What is suppressed and banned, and is in sources, would be chosen else.
    plains = [generate(model, ids, {**base, "num_beams": 4,
                                    "max_length": 16})["ids"] for ids in inputs]
    inputs += [ids[:-1] + plain[:10] + ids[-1:]
               for ids, plain in zip(inputs, plains)]
    plain = plains[0]
    common = sorted(set(plain), key=plain.count, reverse=True)
    cases = []
    for rule in RULES:
        config = {**base, **rule}
        if "suppress" in config:
            config["suppress_tokens"] = common[:config.pop("suppress")]
        if "suppress_first" in config:
            config["begin_suppress_tokens"] = plain[:config.pop("suppress_first")]
        if "bad" in config:
            del config["bad"]
            config["bad_words_ids"] = [[common[0]], plain[2:4], plain[5:8]]
        config = {key: value for key, value in config.items()
                  if value is not None}
        cases.append({"config": config,
                      "results": [generate(model, ids, config)
                                  for ids in inputs]})
    (folder / "generation_golden.json").write_text(
        json.dumps({"transformers": transformers.__version__,
                    "inputs": inputs, "cases": cases}) + "\n")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        compute(pathlib.Path(name))
        print(name)


if __name__ == "__main__":
    main()
