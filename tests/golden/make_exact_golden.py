#!/usr/bin/env python3
"""Computes the tensors of an encoder-decoder's golden anew, in double
precision: make_exact_golden.py FOLDER...

Where a random model makes much of little (M2M-100's), Transformers' own f32 is
off by more than a golden allows.
"""

import json
import pathlib
import sys

import torch
import transformers_4_experts
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM


def remake(folder):
    transformers_4_experts.use()
    model = AutoModelForSeq2SeqLM.from_pretrained(
        folder, attn_implementation="eager").eval().double()
    runs = json.loads((folder / "golden.json").read_text("utf-8"))["runs"]
    old = load_file(folder / "golden.safetensors")
    new = {}
    for i, run in enumerate(runs):
        with torch.no_grad():
            out = model(input_ids=torch.tensor([run["input_ids"]]),
                        decoder_input_ids=torch.tensor([run["decoder_input_ids"]]),
                        output_attentions=True)
        known = {"logits": out.logits,
                 "encoder_last_hidden_state": out.encoder_last_hidden_state}
        for layer, maps in enumerate(out.encoder_attentions):
            known[f"attentions.{layer}"] = maps
        for layer, maps in enumerate(out.cross_attentions):
            known[f"cross_attentions.{layer}"] = maps
        for name, tensor in known.items():
            if f"{i}.{name}" in old:
                new[f"{i}.{name}"] = tensor[0].float().contiguous()
    if new.keys() != old.keys():
        sys.exit(f"{folder}: nothing computes {sorted(old.keys() - new.keys())}")
    for name, tensor in new.items():
        print(f"{folder.name} {name}: {(tensor - old[name]).abs().max():.1e}")
    save_file(new, folder / "golden.safetensors")


for argument in sys.argv[1:]:
    remake(pathlib.Path(argument))
