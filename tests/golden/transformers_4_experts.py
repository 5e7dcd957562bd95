"""NLLB-MoE's experts as Transformers 4 computes them. In 5.24 the class takes
the mask of each token's first expert for a list of experts, and sends every
token to the experts 0 and 1."""

import torch
from transformers.models.nllb_moe import modeling_nllb_moe


def forward(self, hidden_states, router_mask, router_probs):
    total = torch.zeros_like(hidden_states)
    for expert in range(self.num_experts):
        weights = router_probs[:, expert]
        tokens = weights != 0
        if tokens.any():
            out = self[f"expert_{expert}"](hidden_states[tokens])
            total[tokens] += weights[tokens, None] * out
    return total * (1 - self.moe_token_dropout)


def use():
    modeling_nllb_moe.NllbMoeExperts.forward = forward
