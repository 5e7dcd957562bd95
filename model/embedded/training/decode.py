"""Beam search over batches, for validation and for a teacher's translations."""

import torch
from torch.nn import functional

import marian


class Cache:
    """Keys and values: the decoder's own of each hypothesis, which grow at each
    step, and those of the encoder's states, which the hypotheses of a source
    share."""

    def __init__(self, model, states, mask):
        self._model = model
        self.mask = marian.seen(mask)
        self.source = [layer.encoder_attn.keys_values(states)
                       for layer in model.decoder.layers]
        self._own = [None] * len(self.source)
        self._length = 0

    def select_sources(self, rows):
        self.mask = self.mask[rows]
        self.source = [(k[rows], v[rows]) for k, v in self.source]

    def select(self, hypotheses):
        """Reorders the decoder's own keys and values."""
        self._own = [(k[hypotheses], v[hypotheses]) for k, v in self._own]

    def step(self, ids):
        """The last ids of all hypotheses, those of a source together
        [hypotheses] -> logits [hypotheses, vocabulary]."""
        model = self._model
        x = model.embed(ids[:, None], self._length)
        self._length += 1
        for i, layer in enumerate(model.decoder.layers):
            queries, *own = layer.self_attn.projected(
                x, "q_proj", "k_proj", "v_proj")
            if self._own[i] is not None:
                own = [torch.cat(pair, 2) for pair in zip(self._own[i], own)]
            self._own[i] = own
            x = layer.decode_step(x, (queries, *own), self.source[i],
                                  self.mask)
        logits = model.logits(x[:, 0])
        logits[:, model.padding] = -torch.inf
        return logits


def longest_target(sources):
    """Returns the number of tokens after which a translation is given up."""
    return min(2 * sources.shape[1] + 10, 400)


def without_end(ids, end):
    """[rows, length] -> a list for each row, up to its first end token."""
    lengths = (ids != end).int().cumprod(1).sum(1).tolist()
    return [row[:length] for row, length in zip(ids.tolist(), lengths)]


@torch.inference_mode()
def greedy(model, sources, mask, end):
    """sources, mask: [rows, length] -> a list of ids for each row, without the
    end token."""
    cache = Cache(model, model.encode(sources, mask), mask)
    ids = torch.full_like(sources[:, 0], model.padding)
    done = torch.zeros_like(ids, dtype=torch.bool)
    made = []
    for _ in range(longest_target(sources)):
        ids = cache.step(ids).argmax(-1)
        ids = torch.where(done, end, ids)
        made.append(ids)
        done |= ids == end
        if done.all():
            break
    return without_end(torch.stack(made, 1), end)


@torch.inference_mode()
def beam(model, sources, mask, end, size=4):
    """Like greedy, but returns for each row the hypothesis with the best mean
    log-probability of a token. A row is done when `size` hypotheses have ended
    and no running one is better than any of them."""
    rows, device = len(sources), sources.device
    states = model.encode(sources, mask)
    each = torch.arange(rows, device=device)
    cache = Cache(model, states, mask)
    total = torch.full((rows, size), -torch.inf, device=device)
    total[:, 0] = 0
    ids = torch.full((rows * size,), model.padding, device=device)
    made = torch.empty((rows * size, 0), dtype=torch.long, device=device)
    origin = each.clone()  # [rows still searched] their places in `sources`
    ended_scores = torch.full((rows, size), -torch.inf, device=device)
    limit = longest_target(sources)
    best = torch.full((rows, limit), end, device=device)  # or `end`
    for length in range(1, limit + 1):
        # The best of each hypothesis first: a row of all is long to search.
        logits = cache.step(ids)
        tokens = logits.topk(2 * size, -1).indices
        scores = functional.log_softmax(
            logits, -1, dtype=torch.float32).gather(-1, tokens)
        scores = total[:, :, None] + scores.view(len(origin), size, -1)
        top, index = scores.flatten(1).topk(2 * size, -1)
        parent = index // (2 * size)
        token = tokens.view(len(origin), -1).gather(1, index)
        ended = token == end
        # An end among the first `size` candidates is a hypothesis.
        whole = ended[:, :size] & top[:, :size].isfinite()
        mean = torch.where(whole, top[:, :size] / length, -torch.inf)
        score, which = mean.max(-1)
        better = (score > ended_scores[origin, 0]).nonzero()[:, 0]
        beams = better * size + parent[better, which[better]]
        best[origin[better], :length - 1] = made[beams]
        best[origin[better], length - 1:] = end
        ended_scores[origin] = torch.cat(
            [ended_scores[origin], mean], 1).topk(size, -1).values
        # The others continue.
        total, kept = top.masked_fill(ended, -torch.inf).topk(size, -1)
        parent, token = parent.gather(1, kept), token.gather(1, kept)
        first = size * torch.arange(len(origin), device=device)
        flat = (parent + first[:, None]).flatten()
        made = torch.cat([made[flat], token.flatten()[:, None]], 1)
        ids = token.flatten()
        open_rows = total[:, 0] / length > ended_scores[origin, -1]
        if not open_rows.any():
            break
        if open_rows.sum() < 0.7 * len(origin):
            live = open_rows.repeat_interleave(size)
            cache.select(flat[live])
            cache.select_sources(open_rows)
            made, ids = made[live], ids[live]
            total, origin = total[open_rows], origin[open_rows]
        else:
            cache.select(flat)
    never = ended_scores[origin, 0].isneginf().nonzero()[:, 0]
    best[origin[never], :made.shape[1]] = made[never * size]
    return without_end(best, end)
