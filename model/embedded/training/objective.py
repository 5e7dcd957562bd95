"""The loss that training minimizes."""

import torch
from torch.nn import functional


def contrast(states, mask, temperature=0.05):
    """Measures how badly each English text's pooled states find those of its
    translation in the batch, and the reverse."""
    pooled = (states.float() * mask[:, :, None]).sum(1)
    english, german = functional.normalize(pooled, dim=-1).chunk(2)
    likeness = english @ german.T / temperature
    own = torch.arange(len(english), device=states.device)
    return (functional.cross_entropy(likeness, own)
            + functional.cross_entropy(likeness.T, own)) / 2


def loss_of(model, batch, options):
    states = model.encode(batch.sources, batch.mask)
    out = model.decode(states, batch.mask, batch.targets)
    # Few places are padding: leaving them out costs more than it saves.
    loss = functional.cross_entropy(
        model.logits(out).float().flatten(0, 1), batch.targets.flatten(),
        ignore_index=model.padding, label_smoothing=options.label_smoothing)
    translation = loss.detach()
    if options.contrast and len(batch.sources) > 2:
        loss = loss + options.contrast * contrast(states, batch.mask)
    return loss, translation
