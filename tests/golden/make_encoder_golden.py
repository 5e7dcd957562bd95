#!/usr/bin/env python3
"""Makes a golden case of an encoder: a tiny random model and what Transformers
computes with it.

    make_encoder_golden.py FOLDER ARCHITECTURE [KEY=JSON...]
    make_encoder_golden.py tests/golden/mpnet.base MPNetModel
    make_encoder_golden.py /tmp/odd DebertaV2ForMaskedLM hidden_size=36 seed=5
    make_encoder_golden.py tests/golden/bart.classify BartForSequenceClassification end=2

KEY=JSON pairs go to config.json, over small sizes; `seed` seeds the weights,
`dtype` is what they are saved as, `end` is an id at the end of each sequence.
maps=false leaves attention maps out; exact=true computes in double precision,
not in f32. Weights are several times larger than those of a fresh model, so
that attention is not uniform. Each sequence runs alone, without padding. Needs
PyPI's torch, transformers (5.23 made the committed files) and safetensors; the
tests themselves do not.
"""

import torch
import transformers
from golden_files import randomize, read_arguments, saved, write_golden

SMALL = {
    "vocab_size": 307,
    "hidden_size": 32,
    "dim": 32,
    "embedding_size": 16,
    "emb_dim": 32,  # of XLM
    "num_hidden_layers": 2,
    "n_layers": 2,
    "num_attention_heads": 2,
    "n_heads": 2,
    "intermediate_size": 128,
    "hidden_dim": 128,
    "max_position_embeddings": 66,
    # Encoder-decoders that classify.
    "d_model": 32,
    "d_ff": 64,
    "d_kv": 16,
    "num_layers": 2,
    "num_heads": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}
# Ids of the runs; some models treat 0 and 1 as padding, others do not.
RUNS = [[5, 17, 42], [3, 3, 3], list(range(2, 25)), [9, 1, 0, 300, 7, 1, 1, 250, 2, 11, 6]]


# FlauBERT with pre_norm asks for a layer's part of a cache that has no parts.
transformers.EncoderDecoderCache.__getitem__ = lambda self, _: self


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
    return randomize(model_class(config).eval())


def with_separators(ids, separator):
    """The ids with the three separators of a question and a text."""
    ids = [i + 1 if i == separator else i for i in ids]
    middle = len(ids) // 2
    return ids[:middle] + [separator] * 2 + ids[middle:] + [separator]


def full_maps(windows, of_global):
    """Longformer's maps [heads, tokens, tokens], which it keeps as those of the
    first tokens, which are global, then of the tokens in the window."""
    heads, tokens, width = windows.shape
    count = 0 if of_global is None else of_global.shape[1]
    half = (width - count) // 2
    maps = torch.zeros(heads, tokens, tokens, dtype=windows.dtype)
    for i in range(tokens):
        for j in range(max(0, i - half), min(tokens, i + half + 1)):
            maps[:, i, j] = windows[:, i, count + j - i + half]
        maps[:, i, :count] += windows[:, i, :count]
    if count:
        maps[:, :count] = of_global[:, :, :tokens]
    return maps


@torch.no_grad()
def run_model(model, ids, types, attentions):
    inputs = {"input_ids": torch.tensor([ids])}
    if hasattr(model.config, "n_langs"):  # XLM takes ids of padding as the text's end
        inputs["lengths"] = torch.tensor([len(ids)])
    if types:
        inputs["token_type_ids"] = torch.tensor([types])
    out = dict(model(**inputs, output_attentions=attentions, output_hidden_states=True))
    tensors = {}
    if "encoder_last_hidden_state" in out:  # of an encoder-decoder
        out["last_hidden_state"] = out["encoder_last_hidden_state"]
        out["attentions"] = out.get("encoder_attentions")
    elif isinstance(model, transformers.DPRPreTrainedModel):
        # Its pooled output is the first token's state.
        out["last_hidden_state"] = out["hidden_states"][-1]
        assert torch.equal(out.pop("pooler_output"), out["last_hidden_state"][:, 0])
    for name in ("last_hidden_state", "pooler_output", "logits", "start_logits", "end_logits"):
        if out.get(name) is not None:
            tensors[name] = out[name][0]
    if attentions and model.config.model_type == "longformer":
        of_global = out.get("global_attentions") or [None] * len(out["attentions"])
        out["attentions"] = [
            full_maps(w[0], None if g is None else g[0].transpose(1, 2)).unsqueeze(0)
            for w, g in zip(out["attentions"], of_global)
        ]
    for layer, weights in enumerate(out.get("attentions") or []):
        tensors[f"attentions.{layer}"] = weights[0]
    return tensors


def main():
    folder, architecture, options = read_arguments(__doc__)
    dtype = options.pop("dtype", "float32")
    length = options.pop("longest", 23)
    end = options.pop("end", None)
    exact = options.pop("exact", False)
    maps = options.pop("maps", True)
    model = saved(make_model(architecture, options), folder, dtype)
    if exact:
        model = model.double()
    (folder / "generation_config.json").unlink(missing_ok=True)

    generator = torch.Generator().manual_seed(1)
    vocabulary = model.config.vocab_size
    segments = getattr(model.config, "type_vocab_size", 0) or 0
    runs, tensors = [], {}
    for i, ids in enumerate(RUNS):
        if i == 2:
            ids = torch.randint(vocabulary, (length,), generator=generator).tolist()
        if end is not None:
            ids = ids + [end]
        if architecture == "LongformerForQuestionAnswering":
            ids = with_separators(ids, model.config.sep_token_id)
        run = {"input_ids": ids}
        if segments > 1:
            run["token_type_ids"] = [min(k * segments // len(ids), segments - 1) for k in range(len(ids))]
        runs.append(run)
        for name, tensor in run_model(model, ids, run.get("token_type_ids"), maps and i == 0).items():
            tensors[f"{i}.{name}"] = tensor.float().contiguous()
    write_golden(folder, "encoder", architecture, runs, tensors)


if __name__ == "__main__":
    main()
