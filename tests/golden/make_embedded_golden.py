#!/usr/bin/env python3
"""Computes what Transformers says of the embedded model's texts.

    make_embedded_golden.py [FOLDER]

Reads the texts of FOLDER/golden.json (en-de.embedded by default), tokenizes
and translates them with model/embedded in f32, each alone, and writes the
results back to golden.json and golden.safetensors. A text may begin with the
token of the language to translate to (">>de<< "). Needs PyPI's torch,
transformers (5.23 made the committed files) and safetensors; the tests
themselves do not.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "model" / "embedded"
NEW_TOKENS = 60
WITH_TENSORS = 4  # runs


def translate(model, ids, beams):
    out = model.generate(
        ids, num_beams=beams, num_return_sequences=min(beams, 2),
        max_length=None, max_new_tokens=NEW_TOKENS, do_sample=False,
        early_stopping=False, length_penalty=1.0, forced_eos_token_id=None,
        return_dict_in_generate=True, output_scores=True)
    pad = model.generation_config.pad_token_id
    found = [[i for i in row[1:] if i != pad] for row in out.sequences.tolist()]
    return found, out.sequences_scores.tolist() if beams > 1 else None


@torch.no_grad()
def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else HERE / "en-de.embedded")
    model = transformers.MarianMTModel.from_pretrained(
        MODEL, dtype=torch.float32, attn_implementation="eager").eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(MODEL)
    decode = lambda ids: tokenizer.decode(ids, skip_special_tokens=True)
    golden = json.loads((folder / "golden.json").read_text(encoding="utf-8"))
    tensors, runs = {}, []
    for i, text in enumerate(run["text"] for run in golden["runs"]):
        ids = tokenizer([text], return_tensors="pt").input_ids
        [greedy], _ = translate(model, ids, 1)
        found, scores = translate(model, ids, 4)
        runs.append({
            "text": text, "input_ids": ids[0].tolist(),
            f"greedy_{NEW_TOKENS}": greedy, "greedy_text": decode(greedy),
            f"beam4_{NEW_TOKENS}": [
                {"ids": one, "text": decode(one), "score": score}
                for one, score in zip(found, scores)]})
        if i < WITH_TENSORS:
            out = model(input_ids=ids, labels=torch.tensor([greedy]),
                        output_attentions=True)
            states = out.encoder_last_hidden_state[0]
            mean = torch.nn.functional.normalize(states.mean(0), dim=0)
            tensors |= {
                f"{i}.encoder_last_hidden_state": states,
                f"{i}.mean_normalized": mean,
                f"{i}.logits": out.logits[0],
                f"{i}.cross_attentions.{model.config.decoder_layers - 1}":
                    out.cross_attentions[-1][0]}
    golden["runs"] = runs
    golden["note"] = (
        "weights f16 as stored, computed in f32; bad_words_ids "
        f"{model.generation_config.bad_words_ids}, no forced end, "
        "length_penalty 1.0, early_stopping false; logits of run i are "
        "teacher-forced on its greedy ids")
    (folder / "golden.json").write_text(
        json.dumps(golden, indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8")
    save_file({k: v.contiguous() for k, v in tensors.items()},
              folder / "golden.safetensors")


if __name__ == "__main__":
    main()
