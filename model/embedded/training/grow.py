"""Begins a large model as a small one that is made wider and deeper (Chen et
al., "Net2Net", 2015; Chen et al., "bert2BERT", 2021), so that it need not learn
anew what the small one knows.

Every feature becomes two, and the weights that read them are parted at random
between the two, so that they learn to differ. Layers are added that begin
nearly as the identity. The larger model begins with nearly the small one's
translations: only the positions' sines have new frequencies.
"""

import math
import re

import torch

import marian


def wider(tensors, shape):
    """The weights of a model of twice the width, of twice the heads."""
    each = 2 * shape.d_model // (2 * shape.heads)  # features of a head
    features = torch.arange(2 * shape.d_model) // 2
    inner = torch.arange(2 * shape.ffn) // 2
    # Heads are copied as wholes.
    place = torch.arange(2 * shape.d_model)
    heads = place // (2 * each) * each + place % each

    def parted(weight, columns):
        """Repeats columns; those of one origin sum to it."""
        weight = weight[:, columns]
        share = (0.5 + 0.2 * torch.randn(weight.shape)).clamp(0.05, 0.95)
        first, second = columns.argsort(stable=True).view(-1, 2).T
        share[:, second] = 1 - share[:, first]
        return weight * share

    made = {}
    for name, tensor in tensors.items():
        if name == "shared.weight":
            # embed() multiplies by the root of the width.
            made[name] = tensor[:, features] / math.sqrt(2)
        elif name == "final_logits_bias":
            made[name] = tensor
        elif re.search(r"\.[qkv]_proj\.", name):
            made[name] = (tensor[heads] if tensor.dim() == 1
                          else parted(tensor[heads], features))
        elif ".fc1." in name:
            made[name] = (tensor[inner] if tensor.dim() == 1
                          else parted(tensor[inner], features))
        elif tensor.dim() == 1:  # of norms, and biases of fc2 and out_proj
            made[name] = tensor[features]
        else:
            made[name] = parted(tensor[features],
                                inner if ".fc2." in name else heads)
    # The logits sum over twice the features of embeddings that are smaller.
    last = f"decoder.layers.{shape.decoder_layers - 1}.final_layer_norm."
    for part in ("weight", "bias"):
        made[last + part] = made[last + part] / math.sqrt(2)
    return made


def identity(tensors, prefix):
    """A layer like that at `prefix`, which it follows, but nearly without
    effect: it adds nothing, and its norms restore what it reads."""
    layer = {name.removeprefix(prefix): tensor.clone()
             for name, tensor in tensors.items() if name.startswith(prefix)}
    gain, bias = (layer["final_layer_norm." + part]
                  for part in ("weight", "bias"))
    for name, tensor in layer.items():
        if "out_proj" in name or "fc2" in name:
            tensor.zero_()
        elif "layer_norm.weight" in name:
            tensor.fill_((gain.square().mean() + bias.var()).sqrt())
        elif "layer_norm.bias" in name:
            tensor.fill_(bias.mean())
    return layer


def deeper(tensors, stack, have, want):
    """Spreads the new layers of "encoder" or "decoder" among the old ones."""
    made = {name: tensor for name, tensor in tensors.items()
            if not name.startswith(stack + ".")}
    origin = [place * have // want for place in range(want)]
    for place, old in enumerate(origin):
        prefix = f"{stack}.layers.{old}."
        layer = (identity(tensors, prefix)
                 if place and origin[place - 1] == old else
                 {name.removeprefix(prefix): tensor
                  for name, tensor in tensors.items()
                  if name.startswith(prefix)})
        made.update((f"{stack}.layers.{place}.{name}", tensor)
                    for name, tensor in layer.items())
    return made


@torch.no_grad()
def grown(small, shape, dropout):
    """Returns a model of `shape` that begins as `small`, which is half as wide
    and no deeper."""
    old = small.shape
    if ((2 * old.d_model, 2 * old.heads, 2 * old.ffn)
            != (shape.d_model, shape.heads, shape.ffn)
            or shape.encoder_layers < old.encoder_layers
            or shape.decoder_layers < old.decoder_layers):
        raise SystemExit(f"{shape} is not twice as wide as {old} and as deep")
    tensors = wider(small.state_dict(), old)
    for stack in ("encoder", "decoder"):
        tensors = deeper(tensors, stack, getattr(old, stack + "_layers"),
                         getattr(shape, stack + "_layers"))
    # The layer whose norm carries the logits' factor has to be the last.
    model = marian.Marian(shape, dropout, small.padding)
    model.load_state_dict(tensors)
    return model
