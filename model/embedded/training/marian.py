"""Marian's Transformer (Vaswani et al., 2017) in PyTorch: post-norm, sinusoidal
positions, one embedding for source, target and output. Parameters have the
names of Transformers' MarianMTModel."""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional

# It plans for each shape of a batch, which takes longer than the work itself.
torch.backends.cuda.enable_cudnn_sdp(False)


@dataclasses.dataclass
class Shape:
    vocabulary: int
    d_model: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 2
    heads: int = 4
    ffn: int = 1024


def positions(count, d_model):
    """Returns sines in the first half, cosines in the second, [count,
    d_model]."""
    angles = torch.arange(count)[:, None] / torch.pow(
        10000.0, 2 * torch.arange(d_model // 2) / d_model)
    return torch.cat([angles.sin(), angles.cos()], 1)


def seen(mask):
    """mask [batch, keys], true where a key is seen -> [batch, 1, 1, keys], as
    attention takes it."""
    if not mask.is_cuda:
        return mask[:, None, None]
    # Attention on a GPU adds it to the scores, and wants rows that begin at
    # multiples of 16 bytes.
    batch, keys = mask.shape
    added = torch.zeros(batch, 1, 1, keys + -keys % 8, dtype=torch.bfloat16,
                        device=mask.device)[..., :keys]
    return added.masked_fill_(~mask[:, None, None], -torch.inf)


def attention(queries, keys, values, mask, causal):
    """softmax(queries keys^T / sqrt(d)) values, of [batch, heads, length, d].
    """
    scores = queries @ keys.transpose(2, 3) * queries.shape[-1] ** -0.5
    if causal:
        mask = torch.ones(
            scores.shape[2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).to(values.dtype) @ values


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(shape.d_model, shape.d_model))

    def split(self, x):
        """[batch, length, d] -> [batch, heads, length, d / heads]"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def projected(self, x, *names):
        """Returns several projections of x, computed as one product."""
        layers = [getattr(self, name) for name in names]
        out = functional.linear(x, torch.cat([one.weight for one in layers]),
                                torch.cat([one.bias for one in layers]))
        return [self.split(one) for one in out.chunk(len(names), -1)]

    def keys_values(self, x):
        return self.projected(x, "k_proj", "v_proj")

    def among_itself(self, x, mask=None, causal=False):
        return self.combined(*self.projected(x, "q_proj", "k_proj", "v_proj"),
                             mask, causal)

    def attend(self, x, keys, values, mask=None):
        return self.combined(self.split(self.q_proj(x)), keys, values, mask)

    def combined(self, queries, keys, values, mask=None, causal=False):
        """mask: what seen() returns."""
        if queries.is_cuda:
            out = functional.scaled_dot_product_attention(
                queries, keys, values, mask, is_causal=causal)
        else:  # PyTorch's own is slow for short texts, mostly backward
            out = attention(queries, keys, values, mask, causal)
        return self.out_proj(out.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """x = norm(x + attention(x)); in a decoder, the same with the source's
    states; then norm(x + fc2(swish(fc1(x))))."""

    def __init__(self, shape, dropout, decoder):
        super().__init__()
        self.self_attn = Attention(shape)
        self.self_attn_layer_norm = nn.LayerNorm(shape.d_model)
        if decoder:
            self.encoder_attn = Attention(shape)
            self.encoder_attn_layer_norm = nn.LayerNorm(shape.d_model)
        self.fc1 = nn.Linear(shape.d_model, shape.ffn)
        self.fc2 = nn.Linear(shape.ffn, shape.d_model)
        self.final_layer_norm = nn.LayerNorm(shape.d_model)
        self.dropout = nn.Dropout(dropout)

    def added(self, x, out, norm):
        """norm(x + out) in the precision of the products, which halves what
        training moves through a GPU's memory."""
        return norm(x + self.dropout(out)).type_as(out)

    def feed_forward(self, x):
        inner = self.dropout(functional.silu(self.fc1(x)))
        return self.added(x, self.fc2(inner), self.final_layer_norm)

    def encode(self, x, mask):
        out = self.self_attn.among_itself(x, mask)
        return self.feed_forward(
            self.added(x, out, self.self_attn_layer_norm))

    def decode(self, x, states, mask):
        """All of a target: x [batch, length, d]."""
        out = self.self_attn.among_itself(x, causal=True)
        return self._after_itself(
            x, out, self.encoder_attn.keys_values(states), mask)

    def decode_step(self, x, own, source, mask):
        """One token of each hypothesis: x [hypotheses, 1, d]; own: its queries,
        and the keys and values of its target so far; source: those of the
        encoder's states, one row for all hypotheses of a source."""
        return self._after_itself(x, self.self_attn.combined(*own), source,
                                  mask)

    def _after_itself(self, x, out, source, mask):
        x = self.added(x, out, self.self_attn_layer_norm)
        queries = x.reshape(len(source[0]), -1, x.shape[-1])
        out = self.encoder_attn.attend(queries, *source, mask).view(x.shape)
        return self.feed_forward(
            self.added(x, out, self.encoder_attn_layer_norm))


class Stack(nn.Module):
    def __init__(self, shape, count, dropout, decoder):
        super().__init__()
        self.layers = nn.ModuleList(
            Layer(shape, dropout, decoder) for _ in range(count))


class Marian(nn.Module):
    LONGEST = 512  # positions

    def __init__(self, shape, dropout=0.0, padding=None):
        """padding: the id that starts the decoder and is never chosen."""
        super().__init__()
        self.shape = shape
        self.padding = shape.vocabulary - 1 if padding is None else padding
        self.shared = nn.Embedding(shape.vocabulary, shape.d_model)
        self.encoder = Stack(shape, shape.encoder_layers, dropout, False)
        self.decoder = Stack(shape, shape.decoder_layers, dropout, True)
        self.final_logits_bias = nn.Parameter(torch.zeros(1, shape.vocabulary))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", positions(
            self.LONGEST, shape.d_model), persistent=False)
        nn.init.normal_(self.shared.weight, std=shape.d_model ** -0.5)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 2 and "shared" not in name:
                nn.init.xavier_uniform_(parameter)

    def embed(self, ids, first=0):
        x = self.shared(ids) * math.sqrt(self.shape.d_model)
        x = self.dropout(x + self.positions[first:first + ids.shape[1]])
        # All layers get the same type, which compiles them once.
        device = x.device.type
        return (x.to(torch.get_autocast_dtype(device))
                if torch.is_autocast_enabled(device) else x)

    def encode(self, ids, mask):
        """ids [batch, length], mask [batch, length] true for tokens ->
        states [batch, length, d_model]."""
        x, mask = self.embed(ids), seen(mask)
        for layer in self.encoder.layers:
            x = layer.encode(x, mask)
        return x

    def decode(self, states, mask, targets):
        """Teacher forcing: targets [batch, length], end token included -> the
        decoder's states for each of them."""
        start = torch.full_like(targets[:, :1], self.padding)
        x = self.embed(torch.cat([start, targets[:, :-1]], 1))
        mask = seen(mask)
        for layer in self.decoder.layers:
            x = layer.decode(x, states, mask)
        return x

    def logits(self, states):
        return functional.linear(
            states, self.shared.weight, self.final_logits_bias[0])
