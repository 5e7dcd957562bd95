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


def token_loss(states, model, targets, smoothing):
    # Few places are padding: leaving them out costs more than it saves.
    return functional.cross_entropy(
        model.logits(states).float().flatten(0, 1), targets.flatten(),
        ignore_index=model.padding, label_smoothing=smoothing)


def fused_token_loss(states, model, targets, smoothing):
    """token_loss, in sums that torch.compile makes one kernel of. The
    vocabulary is padded, since a GPU multiplies matrices of odd sizes
    slowly."""
    weight, bias = model.shared.weight, model.final_logits_bias[0]
    count, spare = len(weight), -len(weight) % 64
    scores = functional.linear(
        states.flatten(0, 1), functional.pad(weight, (0, 0, 0, spare)),
        functional.pad(bias, (0, spare), value=-1e4)).float()
    targets = targets.flatten()
    piece = torch.arange(count + spare, device=scores.device)
    right = torch.where(piece == targets[:, None], scores, 0.0).sum(-1)
    mean = torch.where(piece < count, scores, 0.0).sum(-1) / count
    loss = (scores.logsumexp(-1) - (1 - smoothing) * right
            - smoothing * mean)
    is_token = targets != model.padding
    return torch.where(is_token, loss, 0.0).sum() / is_token.sum()


def loss_of(model, batch, options, token_loss=token_loss):
    states = model.encode(batch.sources, batch.mask)
    out = model.decode(states, batch.mask, batch.targets)
    loss = token_loss(out, model, batch.targets, options.label_smoothing)
    translation = loss.detach()
    if options.contrast and len(batch.sources) > 2:
        loss = loss + options.contrast * contrast(states, batch.mask)
    return loss, translation
