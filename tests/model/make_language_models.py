#!/usr/bin/env python3
"""Gives the folders of make_language_cases.py small random models, and records
what Transformers translates with them.

    make_language_models.py [FOLDERS]

Writes model.safetensors and configurations into those of its folders that exist
(FOLDERS: tests/model/testdata/languages), and into each run of cases.json the
new tokens of its first texts, greedy and with four beams. Needs PyPI's torch
and transformers (5.23 made the committed files).
"""

import json
import pathlib
import sys

import torch
from transformers import (M2M100Config, M2M100ForConditionalGeneration,
                          MBartConfig, MBartForConditionalGeneration, T5Config,
                          T5ForConditionalGeneration)

HERE = pathlib.Path(__file__).parent
TEXTS = 4
FAIRSEQ = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
           "encoder_attention_heads": 2, "decoder_attention_heads": 2,
           "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "init_std": 0.4,
           "max_position_embeddings": 64, "decoder_start_token_id": 2,
           "scale_embedding": False, "forced_eos_token_id": None}
T5 = {"d_model": 16, "d_kv": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16,
      "initializer_factor": 4.0, "decoder_start_token_id": 0}
MODELS = {
    "mbart": (MBartForConditionalGeneration, MBartConfig, FAIRSEQ),
    "mbart50": (MBartForConditionalGeneration, MBartConfig, FAIRSEQ),
    "m2m_100": (M2M100ForConditionalGeneration, M2M100Config, FAIRSEQ),
    "nllb": (M2M100ForConditionalGeneration, M2M100Config, FAIRSEQ),
    "madlad": (T5ForConditionalGeneration, T5Config, T5),
}


@torch.no_grad()
def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                       HERE / "testdata" / "languages")
    cases = json.loads((out / "cases.json").read_text())
    for number, (name, (model_class, config_class, sizes)) in enumerate(
            MODELS.items()):
        runs = cases["folders"][name]
        largest = max(max([run["target_id"] or 0] +
                          [id for ids in run["ids"] for id in ids])
                      for run in runs)
        # The tokenizers' last tokens are masks and languages.
        vocabulary = {"mbart": 330, "mbart50": 360, "m2m_100": 260,
                      "nllb": 510, "madlad": 310}[name]
        assert largest < vocabulary, (name, largest)
        torch.manual_seed(number)
        model = model_class(config_class(vocab_size=vocabulary, **sizes)).eval()
        folder = out / name
        was = json.loads((folder / "config.json").read_text())
        config = {**json.loads(model.config.to_json_string(use_diff=True)),
                  **was}
        (folder / "config.json").write_text(json.dumps(config) + "\n")
        model.save_pretrained(folder / "saved")
        for kept in ("model.safetensors", "generation_config.json"):
            (folder / "saved" / kept).rename(folder / kept)
        for path in (folder / "saved").iterdir():
            path.unlink()
        (folder / "saved").rmdir()
        for run in runs:
            told = {}
            if name == "mbart":
                told["decoder_start_token_id"] = run["target_id"]
            elif run["target_id"] is not None:
                told["forced_bos_token_id"] = run["target_id"]
            run["generated"] = []
            for ids in run["ids"][:TEXTS]:
                results = []
                for beams in (1, 4):
                    new = model.generate(torch.tensor([ids]), num_beams=beams,
                                         max_new_tokens=12, do_sample=False,
                                         **told)[0].tolist()[1:]
                    while new and new[-1] == model.config.pad_token_id:
                        new.pop()
                    results.append(new)
                run["generated"].append(results)
    (out / "cases.json").write_text(
        json.dumps(cases, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
