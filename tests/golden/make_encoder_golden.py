#!/usr/bin/env python3
"""Makes a golden case of an encoder: a tiny random model and what Transformers
computes with it.

    make_encoder_golden.py FOLDER ARCHITECTURE [KEY=JSON...]
    make_encoder_golden.py tests/golden/mpnet.base MPNetModel
    make_encoder_golden.py /tmp/odd DebertaV2ForMaskedLM hidden_size=36 seed=5

KEY=JSON pairs go to config.json, over small sizes; `seed` seeds the weights,
`dtype` is what they are saved as. Weights are several times larger than those
of a fresh model, so that attention is not uniform. Each sequence runs alone,
without padding, in f32. Needs PyPI's torch, transformers (5.23 made the
committed files) and safetensors; the tests themselves do not.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

SMALL = {
    "vocab_size": 307,
    "hidden_size": 32,
    "dim": 32,
    "embedding_size": 16,
    "num_hidden_layers": 2,
    "n_layers": 2,
    "num_attention_heads": 2,
    "n_heads": 2,
    "intermediate_size": 128,
    "hidden_dim": 128,
    "max_position_embeddings": 66,
}
# Ids of the runs; some models treat 0 and 1 as padding, others do not.
RUNS = [[5, 17, 42], [3, 3, 3], list(range(2, 25)), [9, 1, 0, 300, 7, 1, 1, 250, 2, 11, 6]]


def make_model(architecture, options):
    model_class = getattr(transformers, architecture)
    config = model_class.config_class()
    for key, value in SMALL.items():
        if hasattr(config, key):
            setattr(config, key, value)
    for key, value in options.items():
        setattr(config, key, value)
    config._attn_implementation = "eager"
    config.architectures = [architecture]
    model = model_class(config).eval()
    for name, parameter in model.named_parameters():
        scale = 1 / max(parameter.shape[-1], 1) ** 0.5 if parameter.dim() > 1 else 0.3
        mean = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
        torch.nn.init.normal_(parameter, mean, 1.5 * scale)
    return model


@torch.no_grad()
def run_model(model, ids, types, attentions):
    inputs = {"input_ids": torch.tensor([ids])}
    if types:
        inputs["token_type_ids"] = torch.tensor([types])
    out = model(**inputs, output_attentions=attentions)
    tensors = {}
    for name in ("last_hidden_state", "pooler_output", "logits", "start_logits", "end_logits"):
        if getattr(out, name, None) is not None:
            tensors[name] = out[name][0]
    for layer, weights in enumerate(out.attentions or []):
        tensors[f"attentions.{layer}"] = weights[0]
    return tensors


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    options = dict(pair.split("=", 1) for pair in sys.argv[3:])
    options = {key: json.loads(value) for key, value in options.items()}
    torch.manual_seed(options.pop("seed", 0))
    dtype = getattr(torch, options.pop("dtype", "float32"))
    length = options.pop("longest", 23)
    model = make_model(sys.argv[2], options)
    model.to(dtype).save_pretrained(folder)
    model = type(model).from_pretrained(folder, attn_implementation="eager").float().eval()
    (folder / "generation_config.json").unlink(missing_ok=True)

    generator = torch.Generator().manual_seed(1)
    vocabulary = model.config.vocab_size
    segments = getattr(model.config, "type_vocab_size", 0) or 0
    runs, tensors = [], {}
    for i, ids in enumerate(RUNS):
        if i == 2:
            ids = torch.randint(vocabulary, (length,), generator=generator).tolist()
        run = {"input_ids": ids}
        if segments > 1:
            run["token_type_ids"] = [min(k * segments // len(ids), segments - 1) for k in range(len(ids))]
        runs.append(run)
        for name, tensor in run_model(model, ids, run.get("token_type_ids"), i == 0).items():
            tensors[f"{i}.{name}"] = tensor.contiguous()
    golden = {
        "kind": "encoder",
        "architecture": sys.argv[2],
        "transformers": transformers.__version__,
        "runs": runs,
    }
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    save_file(tensors, folder / "golden.safetensors")
    print(folder)


if __name__ == "__main__":
    main()
