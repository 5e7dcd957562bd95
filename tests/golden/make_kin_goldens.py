#!/usr/bin/env python3
"""Makes the golden cases of decoders that are kin of others: one for each
family, with its options away from their defaults, in double precision.

    make_kin_goldens.py FOLDER [NAME...]

Needs what make_decoder_golden.py needs (Transformers 5.24 made the committed
files).
"""

import pathlib
import subprocess
import sys

SHORT = ["vocab_size=101", "prompts=[[71,66,11],null]", "exact=true"]

CASES = {
    "arcee.lm": ("ArceeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=70", "mlp_bias=true",
        "attention_bias=true",
        'rope_parameters={"rope_type":"yarn","rope_theta":10000.0,'
        '"factor":4.0,"original_max_position_embeddings":16}', "seed=61"),
    "biogpt.lm": ("BioGptForCausalLM", "hidden_size=40",
        "intermediate_size=70", "seed=62"),
    "codegen.lm": ("CodeGenForCausalLM", "n_embd=48", "n_head=4",
        "n_positions=64", "rotary_dim=8", "seed=63"),
    "cohere.lm": ("CohereForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=70", "logit_scale=0.3",
        "seed=64"),
    "cohere.norms": ("CohereForCausalLM", "hidden_size=40",
        "num_attention_heads=4", "num_key_value_heads=2",
        "intermediate_size=50", "use_qk_norm=true", "attention_bias=true",
        "seed=65"),
    "gemma.lm": ("GemmaForCausalLM", "num_key_value_heads=1", "head_dim=24",
        "intermediate_size=50", "pad_token_id=0", "seed=66"),
    "glm.lm": ("GlmForCausalLM", "num_attention_heads=4", "head_dim=12",
        "num_key_value_heads=2", "intermediate_size=50", "seed=67"),
    "gpt_bigcode.heads": ("GPTBigCodeForCausalLM", "multi_query=false",
        "n_embd=40", "n_inner=60", "seed=68"),
    "gpt_bigcode.lm": ("GPTBigCodeForCausalLM", "n_head=4", "seed=69"),
    "granitemoe.lm": ("GraniteMoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "num_local_experts=5",
        "num_experts_per_tok=2", "intermediate_size=24",
        "attention_multiplier=0.3", "embedding_multiplier=3.0",
        "logits_scaling=2.5", "residual_multiplier=0.6", "seed=70"),
    "granitemoeshared.lm": ("GraniteMoeSharedForCausalLM",
        "num_attention_heads=4", "num_key_value_heads=2",
        "num_local_experts=5", "num_experts_per_tok=2",
        "intermediate_size=24", "shared_intermediate_size=40",
        "attention_multiplier=0.3", "embedding_multiplier=3.0",
        "logits_scaling=2.5", "residual_multiplier=0.6", "seed=71"),
    "helium.lm": ("HeliumForCausalLM", "hidden_size=48",
        "num_attention_heads=4", "num_key_value_heads=2", "head_dim=12",
        "intermediate_size=70", "seed=72"),
    "lfm2_moe.lm": ("Lfm2MoeForCausalLM", "maps=false", "hidden_size=40",
        "num_hidden_layers=4", "num_attention_heads=4",
        "num_key_value_heads=2",
        'layer_types=["conv","full_attention","conv","full_attention"]',
        "intermediate_size=56", "moe_intermediate_size=20", "num_experts=6",
        "num_experts_per_tok=3", "num_dense_layers=1",
        "routed_scaling_factor=1.4", "seed=73"),
    "mamba2.lm": ("Mamba2ForCausalLM", "maps=false", "hidden_size=40",
        "num_hidden_layers=3", "num_heads=4", "head_dim=20", "n_groups=2",
        "state_size=12", "seed=74"),
    "mpt.lm": ("MptForCausalLM", "d_model=60", "n_heads=6", "n_layers=2",
        "max_seq_len=64", "seed=75"),
    "nanochat.lm": ("NanoChatForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=70", "seed=76"),
    "nemotron.lm": ("NemotronForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "head_dim=12", "intermediate_size=70",
        "seed=77"),
    "olmo.lm": ("OlmoForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=50", "seed=78"),
    "olmoe.lm": ("OlmoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=24", "num_experts=6",
        "num_experts_per_tok=3", "seed=79"),
    "qwen2_moe.lm": ("Qwen2MoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=50", "num_experts=6",
        "num_experts_per_tok=3", "moe_intermediate_size=20",
        "shared_expert_intermediate_size=28", "num_hidden_layers=3",
        "mlp_only_layers=[1]", "seed=80"),
    "stablelm.norms": ("StableLmForCausalLM", "hidden_size=64",
        "num_attention_heads=4", "num_key_value_heads=2",
        "intermediate_size=50", "qk_layernorm=true",
        "use_parallel_residual=true", "seed=81"),
    "xglm.lm": ("XGLMForCausalLM", "d_model=40", "num_layers=2",
        "attention_heads=4", "ffn_dim=70", "seed=82"),
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    maker = pathlib.Path(__file__).with_name("make_decoder_golden.py")
    for name in sys.argv[2:] or CASES:
        folder = pathlib.Path(sys.argv[1]) / name
        command = [sys.executable, maker, folder, CASES[name][0], *SHORT]
        subprocess.run([*command, *CASES[name][1:]], check=True)


if __name__ == "__main__":
    main()
