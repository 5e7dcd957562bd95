"""Muon (Jordan et al., 2024), like torch.optim.Muon with lr that matches
AdamW's, but for all matrices of one shape at once: a model has dozens, and a
GPU computes them faster than they can be given to it one by one.

    momentum = 0.95 momentum + 0.05 gradient
    update = 0.95 momentum + 0.05 gradient, its singular values made about 1
    matrix = (1 - lr decay) matrix - 0.2 lr sqrt(longer side) update
"""

import collections
import math

import torch

MOMENTUM = 0.95
# Coefficients of the polynomial that is iterated on the singular values.
COEFFICIENTS = 3.4445, -4.7750, 2.0315
ITERATIONS = 5


def orthogonal(matrices):
    """Returns [n, rows, columns] with singular values near 1, in bf16."""
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b,
                                           alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices, lr, weight_decay=0.01):
        shapes = collections.defaultdict(list)
        for matrix in matrices:
            shapes[matrix.shape].append(matrix)
        super().__init__([{"params": some} for some in shapes.values()],
                         {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            matrices = group["params"]
            gradients = torch.stack([matrix.grad for matrix in matrices])
            state = self.state[matrices[0]]
            if not state:
                state["momentum"] = torch.zeros_like(gradients)
            state["momentum"].lerp_(gradients, 1 - MOMENTUM)
            update = orthogonal(gradients.lerp(state["momentum"], MOMENTUM))
            lr = group["lr"]
            torch._foreach_mul_(matrices, 1 - lr * group["weight_decay"])
            torch._foreach_add_(
                matrices, list(update.float().unbind()),
                alpha=-0.2 * lr * math.sqrt(max(matrices[0].shape)))
