"""Loss and BLEU on the pairs that are kept from training."""

import sacrebleu
import torch
from torch.nn import functional

import batch as batches
import decode
import packed

TRANSLATED = 200  # pairs


class Validation:
    def __init__(self, path, words, device):
        self._words, self._device = words, device
        data = packed.Packed.load(path)
        order = data.longest().argsort(kind="stable")
        self._batches = [
            batches.make(data, order[i:i + 50], words, 0, 0, False).to(device)
            for i in range(0, len(order), 50)]
        chosen = range(min(TRANSLATED, len(data)))
        self._texts = batches.make(data, chosen, words, 0, 0, False).to(device)
        self._references = [
            words.decode([i for i in ids.tolist() if i != words.padding])
            for ids in self._texts.targets]

    @torch.inference_mode()
    def scores(self, model):
        """Returns ({target language: BLEU of greedy search}, mean loss of a
        token)."""
        total = count = 0
        with torch.autocast(self._device.split(":")[0], torch.bfloat16):
            for one in self._batches:
                states = model.encode(one.sources, one.mask)
                out = model.decode(states, one.mask, one.targets)
                loss = functional.cross_entropy(
                    model.logits(out[one.target_mask]).float(),
                    one.targets[one.target_mask], reduction="sum")
                total += loss.item()
                count += int(one.target_mask.sum())
            made = decode.greedy(model, self._texts.sources, self._texts.mask,
                                 self._words.end)
        texts = [self._words.decode(ids) for ids in made]
        half = len(texts) // 2
        bleu = {
            language: sacrebleu.corpus_bleu(
                texts[part], [self._references[part]]).score
            for language, part in (("de", slice(0, half)),
                                   ("en", slice(half, None)))}
        return bleu, total / count
