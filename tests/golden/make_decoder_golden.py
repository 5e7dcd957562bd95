#!/usr/bin/env python3
"""Makes a golden case of a decoder-only model: a tiny random model and what
Transformers computes with it.

    make_decoder_golden.py FOLDER ARCHITECTURE [KEY=JSON...]
    make_decoder_golden.py tests/golden/opt.wide OPTForCausalLM \\
        hidden_size=40 word_embed_proj_dim=64 num_attention_heads=2 \\
        _remove_final_layer_norm=true seed=26

KEY=JSON pairs go to config.json, over small sizes; `seed` seeds the weights,
`dtype` is what they are saved as, `prompts` are others than PROMPTS, `longest`
is the length of the one that is null. `maps`=false leaves attention maps out,
which models with states do not have. `attention`="sdpa" is for Falcon's ALiBi,
which the usual "eager" of Transformers 5.24 adds twice. `exact`=true computes in double precision.
`config` names the configuration of a model whose class is another's (EXAONE,
AutoModelForCausalLM). Models with eyes read texts here; their sizes are in
`text_config` and `vision_config`.
Weights are several times larger than those of a fresh model, so that attention
is not uniform. Each prompt runs alone, without padding, in f32 unless `exact`,
and is continued without an end token. Names of searches are make_golden.py's. Needs
PyPI's torch, transformers (5.23 made the committed files) and safetensors; the
tests themselves do not.
"""

import torch
import transformers
from golden_files import randomize, read_arguments, saved, write_golden
from make_golden import generation_options

SMALL = {
    "vocab_size": 307,
    "hidden_size": 32,
    "n_embd": 32,
    "word_embed_proj_dim": 32,
    "num_hidden_layers": 2,
    "n_layer": 2,
    "num_attention_heads": 2,
    "num_heads": 2,
    "n_head": 2,
    "intermediate_size": 128,
    "ffn_dim": 128,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
}
PROMPTS = [[71, 66, 11], [23], None, [9, 1, 0, 300, 7, 1, 1, 250, 2, 11, 6]]
SEARCHES = (
    "greedy_24",
    "beam4_12",
    "greedy_16_no_repeat_2_repetition_1_3",
    "beam4_16_no_repeat_2_length_0_6",
)


def make_model(architecture, options):
    model_class = getattr(transformers, architecture)
    own = options.pop("config", None)
    config_class = getattr(transformers, own) if own else model_class.config_class
    known = config_class().to_dict()
    sizes = {key: value for key, value in SMALL.items() if key in known}
    config = config_class(**(sizes | options))
    config._attn_implementation = "eager"
    config.architectures = [architecture]
    if own:
        return randomize(model_class.from_config(config).eval())
    return randomize(model_class(config).eval())


def search(model, prompt, name):
    """New tokens of the best hypothesis, or of several with their scores."""
    options = generation_options(name)
    out = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        return_dict_in_generate=True,
        output_scores=True,
        eos_token_id=None,
        **options,
    )
    ids = [sequence[len(prompt) :] for sequence in out.sequences.tolist()]
    if options["num_beams"] == 1:
        return ids[0], None
    scores = out.sequences_scores.tolist()
    if "_length_" in name:
        return [{"ids": one, "score": score} for one, score in zip(ids, scores)], None
    return ids[0], scores[0]


@torch.no_grad()
def main():
    folder, architecture, options = read_arguments(__doc__)
    dtype = options.pop("dtype", "float32")
    prompts = options.pop("prompts", PROMPTS)
    longest = options.pop("longest", 23)
    maps = options.pop("maps", True)
    exact = options.pop("exact", False)
    attention = options.pop("attention", "eager")
    reader = transformers.AutoModelForCausalLM if "config" in options else None
    model = saved(make_model(architecture, options), folder, dtype, reader, attention)
    if exact:
        # The usual products of experts know no double precision.
        model.config._experts_implementation = "eager"
        model.double()
        torch.set_default_dtype(torch.float64)

    generator = torch.Generator().manual_seed(1)
    vocabulary = model.config.get_text_config().vocab_size
    runs, tensors = [], {}
    for i, prompt in enumerate(prompts):
        if prompt is None:
            shape = (longest,)
            prompt = torch.randint(vocabulary, shape, generator=generator).tolist()
        run = {"input_ids": prompt}
        out = model(input_ids=torch.tensor([prompt]), output_attentions=maps and i in (0, 2))
        tensors[f"{i}.logits"] = out.logits[0].float().contiguous()
        for layer, weights in enumerate(getattr(out, "attentions", None) or []):
            tensors[f"{i}.attentions.{layer}"] = weights[0].float().contiguous()
        for name in SEARCHES:
            run[name], score = search(model, prompt, name)
            if score is not None:
                run["beam4_score"] = score
        runs.append(run)
    write_golden(folder, "decoder", architecture, runs, tensors)


if __name__ == "__main__":
    main()
