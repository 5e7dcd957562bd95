#!/usr/bin/env python3
"""Computes what Transformers says of a Hugging Face encoder-decoder folder.

    make_golden.py FOLDER [FOLDER...]

Reads the inputs and the names of the searches from FOLDER/golden.json, loads
the model with from_pretrained (f32), and writes their results back to
golden.json and golden.safetensors: what golden_test compares with. Each
sequence runs alone, without padding. Needs PyPI's torch, transformers (5.23
made the committed files) and safetensors; the tests themselves do not.

Names of searches: greedy_N or beam4_N (N new tokens at most), then
_no_repeat_SIZE, _repetition_X_Y (penalty X.Y), _length_X_Y (length penalty
X.Y, the three best hypotheses with scores), _early (early_stopping true).
"""

import json
import pathlib
import re
import sys

import torch
import transformers
import transformers_4_experts
from safetensors.torch import save_file


def generation_options(name):
    """The arguments of generate() that a search's name stands for."""
    options = {
        "num_beams": 4 if name.startswith("beam4") else 1,
        "max_new_tokens": int(re.match(r"(?:greedy|beam4)_(\d+)", name)[1]),
        "do_sample": False,
        "early_stopping": name.endswith("_early"),
        "length_penalty": 1.0,
        "forced_eos_token_id": None,
        "bad_words_ids": None,
    }
    if match := re.search(r"_no_repeat_(\d+)", name):
        options["no_repeat_ngram_size"] = int(match[1])
    if match := re.search(r"_repetition_(\d+)_(\d+)", name):
        options["repetition_penalty"] = float(f"{match[1]}.{match[2]}")
    if match := re.search(r"_length_(\d+)_(\d+)", name):
        options["length_penalty"] = float(f"{match[1]}.{match[2]}")
        options["num_return_sequences"] = 3
    return options


def search(model, input_ids, name):
    """New tokens of the best hypothesis, or of several with their scores."""
    options = generation_options(name)
    out = model.generate(
        torch.tensor([input_ids]),
        return_dict_in_generate=True,
        output_scores=True,
        **options,
    )
    end = model.generation_config.eos_token_id
    results = []
    for i, sequence in enumerate(out.sequences.tolist()):
        ids = sequence[1:]  # without the start token
        if end in ids:  # padding follows
            ids = ids[: ids.index(end) + 1]
        score = out.sequences_scores[i].item() if options["num_beams"] > 1 else None
        results.append({"ids": ids, "score": score})
    return results


@torch.no_grad()
def compute(folder):
    transformers_4_experts.use()
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    golden = json.loads((folder / "golden.json").read_text())
    tensors = {}
    for i, run in enumerate(golden["runs"]):
        out = model(
            input_ids=torch.tensor([run["input_ids"]]),
            decoder_input_ids=torch.tensor([run["decoder_input_ids"]]),
            output_attentions=True,
        )
        tensors[f"{i}.encoder_last_hidden_state"] = out.encoder_last_hidden_state[0]
        tensors[f"{i}.logits"] = out.logits[0]
        if i == 0:
            for layer, weights in enumerate(out.cross_attentions):
                tensors[f"0.cross_attentions.{layer}"] = weights[0]
        for name in [n for n in run if re.match(r"(greedy|beam4)_\d", n)]:
            results = search(model, run["input_ids"], name)
            if "_length_" in name:
                run[name] = results
            else:
                run[name] = results[0]["ids"]
                if name.startswith("beam4"):
                    run["beam4_score"] = results[0]["score"]
    golden["transformers"] = transformers.__version__
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "golden.safetensors")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        compute(pathlib.Path(name))
        print(name)


if __name__ == "__main__":
    main()
