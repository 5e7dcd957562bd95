"""What the scripts that make golden cases of tiny random models share."""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file


def read_arguments(usage):
    """FOLDER ARCHITECTURE [KEY=JSON...]: the folder, the architecture, and the
    options; `seed` is used up."""
    if len(sys.argv) < 3:
        sys.exit(usage)
    options = dict(pair.split("=", 1) for pair in sys.argv[3:])
    options = {key: json.loads(value) for key, value in options.items()}
    torch.manual_seed(options.pop("seed", 0))
    return pathlib.Path(sys.argv[1]), sys.argv[2], options


def randomize(model):
    """Weights several times larger than a fresh model's, so that attention is
    not uniform."""
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:  # sinusoids
            continue
        # Conv1D's weights are [in, out], all others [out, in].
        inputs = parameter.shape[-1]
        if "pointwise" in name:  # a convolution of width 1
            inputs = parameter.shape[1]
        scale = 1 / max(inputs, 1) ** 0.5 if parameter.dim() > 1 else 0.3
        # RoBERTa-PreLayerNorm has a norm in its model's name, too.
        place = name.removeprefix(f"{model.base_model_prefix}.").lower()
        norm = any(part in place for part in ("norm", "ln_"))
        mean = 1.0 if norm and name.endswith("weight") else 0.0
        torch.nn.init.normal_(parameter, mean, 1.5 * scale)
    # LFM2's and ERNIE's, which are zero otherwise.
    for name, tensor in [*model.named_buffers(), *model.named_parameters()]:
        if name.endswith(("expert_bias", "e_score_correction_bias")):
            tensor.data.normal_(0, 0.3)
    return model


def saved(model, folder, dtype, reader=None, attention="eager"):
    """The model as it is read, by a class, from the folder that it was written
    to."""
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    read = (reader or type(model)).from_pretrained(folder, attn_implementation=attention)
    return read.float().eval()


def write_golden(folder, kind, architecture, runs, tensors):
    golden = {
        "kind": kind,
        "architecture": architecture,
        "transformers": transformers.__version__,
        "runs": runs,
    }
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    save_file(tensors, folder / "golden.safetensors")
    print(folder)
