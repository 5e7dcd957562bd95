#!/usr/bin/env python3
"""Makes the golden cases of encoder-decoders that are kin of others, with their
options away from their defaults: tensors in double precision, ids in f32.

    make_pair_goldens.py FOLDER [NAME...]

Needs what make_golden.py needs (Transformers 5.24 made the committed files).

LED's and LongT5's maps of local attention are stored by distance or by block;
those of the other layers are kept. NLLB-MoE's experts are replaced by those of
Transformers 4: in 5.24 its class takes a mask for a list of experts, and sends
every token to the experts 0 and 1.
"""

import json
import pathlib
import subprocess
import sys

GEMMA = {
    "vocab_size": 307,
    "hidden_size": 40,
    "head_dim": 12,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "intermediate_size": 50,
    "max_position_embeddings": 64,
    "sliding_window": 6,
    "query_pre_attn_scalar": 20,
    "attn_logit_softcapping": 3.0,
    "final_logit_softcapping": 5.0,
}

GEMMA3 = GEMMA | {
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}
EYES = {
    "model_type": "siglip_vision_model",
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 64,
    "patch_size": 4,
}

CASES = {
    "led.generate": ("LEDForConditionalGeneration", "d_model=40",
        "encoder_layers=2", "encoder_attention_heads=4", "decoder_layers=1",
        "attention_window=[4,8]", "max_encoder_position_embeddings=64",
        "max_decoder_position_embeddings=48", "encoder_ffn_dim=50",
        "seed=1"),
    "longt5.blocks": ("LongT5ForConditionalGeneration", "d_model=40",
        "num_heads=3", "d_kv=12", "local_radius=3", "decoder_start_token_id=0",
        'encoder_attention_type="transient-global"', "global_block_size=4",
        "tie_word_embeddings=false", "num_decoder_layers=1", "seed=4"),
    "longt5.generate": ("LongT5ForConditionalGeneration", "d_model=40",
        "num_heads=3", "d_kv=12", "local_radius=3", "decoder_start_token_id=0",
        'feed_forward_proj="gated-gelu"', "tie_word_embeddings=false",
        "num_decoder_layers=1", "seed=2"),
    "nllb-moe.generate": ("NllbMoeForConditionalGeneration", "d_model=40",
        "encoder_layers=4", "decoder_layers=3", "encoder_attention_heads=4",
        "encoder_sparse_step=2", "decoder_sparse_step=3", "num_experts=5",
        "router_bias=true", "moe_token_dropout=0.3", "encoder_ffn_dim=24",
        "decoder_ffn_dim=28", "seed=3"),
    "t5gemma2.generate": ("T5Gemma2ForConditionalGeneration",
        "encoder=" + json.dumps({"text_config": GEMMA3, "vision_config": EYES}),
        "decoder=" + json.dumps(GEMMA3 | {"num_hidden_layers": 2,
            "layer_types": ["full_attention", "sliding_attention"],
            "num_key_value_heads": 1, "intermediate_size": 44,
            "final_logit_softcapping": 5.0}),
        "decoder_start_token_id=2", "seed=12"),
    "t5gemma.generate": ("T5GemmaForConditionalGeneration",
        "encoder=" + json.dumps(GEMMA),
        "decoder=" + json.dumps(GEMMA | {"hidden_size": 32,
            "num_hidden_layers": 2, "intermediate_size": 44}),
        "decoder_start_token_id=2", "seed=11"),
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).parent
    for name in sys.argv[2:] or CASES:
        folder = pathlib.Path(sys.argv[1]) / name
        for maker, arguments in (("make_seq2seq_golden.py", CASES[name]),
                                 ("make_exact_golden.py", ())):
            subprocess.run([sys.executable, here / maker, folder, *arguments],
                           check=True)


if __name__ == "__main__":
    main()
