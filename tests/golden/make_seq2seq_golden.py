#!/usr/bin/env python3
"""Makes a golden case of an encoder-decoder: a tiny random model and what
Transformers computes with it.

    make_seq2seq_golden.py FOLDER ARCHITECTURE [KEY=JSON...]
    make_seq2seq_golden.py tests/golden/t5.odd T5ForConditionalGeneration \\
        d_model=44 d_kv=20 num_heads=5 num_decoder_layers=1 seed=1

KEY=JSON pairs go to config.json, over small sizes; `seed` seeds the weights,
`dtype` is what they are saved as, `longest` is the third source's length.
Weights are several times larger than those of a fresh model, so that attention
is not uniform. What is computed, and with which packages, make_golden.py says.
"""

import json

import torch
import transformers
from golden_files import randomize, read_arguments, saved
from make_golden import compute

SMALL = {
    "vocab_size": 307,
    "decoder_vocab_size": 307,
    "d_model": 32,
    "d_kv": 16,
    "d_ff": 64,
    "num_heads": 2,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 20,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 2,
}
SOURCES = [[117, 49, 116], [23], None, [9, 4, 290, 7, 4, 250, 11, 6, 30, 31]]
SEARCHES = (
    "greedy_20",
    "beam4_12",
    "greedy_20_no_repeat_2_repetition_1_3",
    "beam4_20_no_repeat_2_length_0_6_early",
)


@torch.no_grad()
def make_model(architecture, options):
    model_class = getattr(transformers, architecture)
    config_class = model_class.config_class
    known = config_class().to_dict()
    sizes = {key: value for key, value in SMALL.items() if key in known}
    config = config_class(**(sizes | options))
    config.architectures = [architecture]
    model = randomize(model_class(config).eval())
    # Else outputs with the same weights repeat the token that was read.
    tables = (model.get_input_embeddings(), model.get_decoder().get_input_embeddings())
    for table in {id(one.weight): one.weight for one in tables}.values():
        table.mul_(0.2)
    return model


@torch.no_grad()
def main():
    folder, architecture, options = read_arguments(__doc__)
    dtype = options.pop("dtype", "float32")
    longest = options.pop("longest", 23)
    config = saved(make_model(architecture, options), folder, dtype).config

    generator = torch.Generator().manual_seed(1)
    runs = []
    for source in SOURCES:
        if source is None:
            shape = (longest,)
            source = torch.randint(3, config.vocab_size, shape, generator=generator).tolist()
        target = torch.randint(3, config.vocab_size, (7,), generator=generator).tolist()
        run = {"input_ids": source + [config.eos_token_id]}
        run["decoder_input_ids"] = [config.decoder_start_token_id] + target
        runs.append(run | dict.fromkeys(SEARCHES))
    golden = {"kind": "seq2seq", "architecture": architecture, "runs": runs}
    (folder / "golden.json").write_text(json.dumps(golden))
    compute(folder)
    print(folder)


if __name__ == "__main__":
    main()
