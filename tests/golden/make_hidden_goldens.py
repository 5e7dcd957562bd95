#!/usr/bin/env python3
"""Adds hidden.safetensors to golden cases of encoders: what Transformers gives
with output_hidden_states for a run of each, "hidden_states.0" (what enters the
first layer) to the last layer's.

    make_hidden_goldens.py FOLDER...
    make_hidden_goldens.py tests/golden/{albert.groups,bert.base,...}

Needs PyPI's torch, transformers (5.23 made the committed files) and
safetensors; the tests themselves do not.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

RUN = 3


@torch.no_grad()
def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in map(pathlib.Path, sys.argv[1:]):
        golden = json.loads((folder / "golden.json").read_text())
        config = json.loads((folder / "config.json").read_text())
        model_class = getattr(transformers, config["architectures"][0])
        model = model_class.from_pretrained(folder, attn_implementation="eager")
        model = model.float().eval()
        run = golden["runs"][RUN]
        inputs = {"input_ids": torch.tensor([run["input_ids"]])}
        if "token_type_ids" in run:
            inputs["token_type_ids"] = torch.tensor([run["token_type_ids"]])
        encoder = model.get_encoder() if model.config.is_encoder_decoder else model
        states = encoder(**inputs, output_hidden_states=True).hidden_states
        save_file({f"hidden_states.{i}": one[0].contiguous()
                   for i, one in enumerate(states)},
                  folder / "hidden.safetensors")
        print(folder, len(states), tuple(states[0].shape))


if __name__ == "__main__":
    main()
