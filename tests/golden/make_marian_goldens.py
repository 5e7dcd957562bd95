#!/usr/bin/env python3
"""Makes the golden cases marian.*: tiny Marian models that have learned
something, so that what they generate differs by input, and what Transformers
computes with them.

    make_marian_goldens.py FOLDER
    make_marian_goldens.py tests/golden

They learn a language in which each token has a translation of one token and,
nearly as likely, another of two: so searches with other beams, length penalties
and penalties of repetition find something else. FOLDER/marian.translate, marian.bin_zip and marian.bin_legacy are one
model in three containers, marian.separate_vocabularies is another one. Needs
what make_golden.py needs, and some minutes.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file

import make_golden

VOCABULARY = 307
END, PADDING = 0, 306
SOURCES = 40  # source tokens 1 .. SOURCES
SHORT = 0.55  # the share of short translations
STEPS = 2500
SEARCHES = [
    "greedy_20",
    "beam4_20",
    "greedy_20_no_repeat_2_repetition_1_3",
    "beam4_20_no_repeat_2_length_0_6_early",
    "beam4_40_length_0_0",
    "beam4_40_length_2_0",
]
# One is longer than a tile of keys, and one repeats itself.
INPUTS = [
    [3, 17, 29, END],
    [11, END],
    [8, 31, 2, 25, 14, 38, 6, 19, 33, 1, 27, 12, 40, 22, 9, 35, 5, 16, 30, 21, 7, 37, 13, END],
    [4, 4, 18, 4, 4, 18, 4, 4, 26, 10, 23, END],
    [36, 20, 39, 15, 24, END],
]


def translate(token, short):
    """A token's translations, of one token or of two."""
    return [SOURCES + 1 + token] if short else [100 + 2 * token, 101 + 2 * token]


def pair(generator):
    def number(low, high):
        return int(torch.randint(low, high, (1,), generator=generator))

    source = [number(1, SOURCES + 1) for _ in range(number(1, 13))]
    target = []
    for token in source:
        target += translate(token, torch.rand(1, generator=generator).item() < SHORT)
    return source + [END], target + [END]


def train(separate, seed):
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY, decoder_vocab_size=VOCABULARY, d_model=32,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
        max_position_embeddings=64, activation_function="swish",
        scale_embedding=True, pad_token_id=PADDING, eos_token_id=END,
        bos_token_id=None, decoder_start_token_id=PADDING,
        forced_eos_token_id=None, dropout=0.0,
        share_encoder_decoder_embeddings=not separate,
        tie_word_embeddings=not separate)
    config._attn_implementation = "eager"
    model = transformers.MarianMTModel(config).train()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, STEPS)
    pad = torch.nn.utils.rnn.pad_sequence
    for step in range(STEPS):
        pairs = [pair(generator) for _ in range(48)]
        sources = pad([torch.tensor(s) for s, _ in pairs], True, PADDING)
        labels = pad([torch.tensor(t) for _, t in pairs], True, -100)
        loss = model(input_ids=sources, labels=labels,
                     attention_mask=(sources != PADDING).long()).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 250 == 0 or step + 1 == STEPS:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    return model.eval()


def save(model, folder, legacy):
    """`legacy`: None for safetensors, else whether the .bin is of the oldest
    format."""
    model.save_pretrained(folder)
    if legacy is None:
        return
    weights = folder / "model.safetensors"
    torch.save(dict(load_file(weights)), folder / "pytorch_model.bin",
               _use_new_zipfile_serialization=not legacy)
    weights.unlink()


def write_runs(folder, seed):
    generator = torch.Generator().manual_seed(seed)
    runs = []
    for ids in INPUTS:
        forced = torch.randint(1, VOCABULARY - 1, (7,), generator=generator)
        runs.append({"input_ids": ids,
                     "decoder_input_ids": [PADDING] + forced.tolist(),
                     **{name: [] for name in SEARCHES}})
    golden = {"kind": "seq2seq", "architecture": "MarianMTModel", "runs": runs,
              "generate": {}}
    (folder / "golden.json").write_text(json.dumps(golden))
    make_golden.compute(folder)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    parent = pathlib.Path(sys.argv[1])
    model = train(separate=False, seed=1)
    for name, legacy in (("translate", None), ("bin_zip", False), ("bin_legacy", True)):
        save(model, parent / f"marian.{name}", legacy)
        write_runs(parent / f"marian.{name}", seed=2)
    other = parent / "marian.separate_vocabularies"
    save(train(separate=True, seed=3), other, None)
    write_runs(other, seed=4)


if __name__ == "__main__":
    main()
