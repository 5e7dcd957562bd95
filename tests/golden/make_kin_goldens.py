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
    "deepseek_v2.yarn": ("DeepseekV2ForCausalLM", "num_hidden_layers=3",
        "num_attention_heads=3", "num_key_value_heads=3", "hidden_size=48",
        "q_lora_rank=null", "kv_lora_rank=24", "qk_nope_head_dim=10",
        "qk_rope_head_dim=6", "v_head_dim=14", "n_routed_experts=8",
        "num_experts_per_tok=3", "n_shared_experts=2",
        "first_k_dense_replace=1", "moe_intermediate_size=20",
        "intermediate_size=72",
        'rope_parameters={"rope_type":"yarn","rope_theta":10000.0,'
        '"factor":4.0,"original_max_position_embeddings":16,"beta_fast":32,'
        '"beta_slow":1,"mscale":0.707,"mscale_all_dim":0.707}', "seed=83"),
    "dots1.lm": ("Dots1ForCausalLM", "num_hidden_layers=3",
        "num_attention_heads=4", "num_key_value_heads=2", "head_dim=12",
        "intermediate_size=50", "moe_intermediate_size=20",
        "n_routed_experts=6", "n_shared_experts=2", "num_experts_per_tok=3",
        "first_k_dense_replace=1", "norm_topk_prob=true",
        "routed_scaling_factor=1.6", "seed=99"),
    "ernie4_5_moe.biases": ("Ernie4_5_MoeForCausalLM", "num_hidden_layers=2",
        "num_attention_heads=3", "num_key_value_heads=1", "head_dim=12",
        "intermediate_size=50", "moe_intermediate_size=20",
        "moe_num_experts=5", "moe_k=2", "moe_num_shared_experts=1",
        "moe_layer_start_index=1", "use_bias=true", "seed=102"),
    "ernie4_5_moe.lm": ("Ernie4_5_MoeForCausalLM", "num_hidden_layers=3",
        "num_attention_heads=4", "num_key_value_heads=2",
        "intermediate_size=50", "moe_intermediate_size=20",
        "moe_num_experts=6", "moe_k=3", "moe_num_shared_experts=2",
        "moe_layer_start_index=1", "seed=87"),
    "exaone.lm": ("AutoModelForCausalLM", 'config="ExaoneConfig"',
        "num_attention_heads=4", "num_key_value_heads=2",
        "intermediate_size=50", "eos_token_id=2", "seed=92"),
    "falcon.alibi": ("FalconForCausalLM", "hidden_size=48",
        "num_attention_heads=12", "ffn_hidden_size=70", "alibi=true",
        'attention="sdpa"', "maps=false", "seed=101"),
    "falcon.groups": ("FalconForCausalLM", "num_attention_heads=4",
        "new_decoder_architecture=true", "num_kv_heads=2",
        "ffn_hidden_size=128", "alibi=false", "seed=88"),
    "falcon_mamba.lm": ("FalconMambaForCausalLM", "maps=false",
        "hidden_size=40", "num_hidden_layers=2", "state_size=6",
        "time_step_rank=5", "expand=1", "seed=91"),
    "falcon_mamba.wide": ("FalconMambaForCausalLM", "maps=false",
        "hidden_size=40", "num_hidden_layers=2", "state_size=6",
        "time_step_rank=5", "intermediate_size=80", "seed=93"),
    "falcon_h1.scaled": ("FalconH1ForCausalLM", "maps=false",
        "hidden_size=40", "num_attention_heads=4", "num_key_value_heads=2",
        "intermediate_size=50", "mamba_d_ssm=72", "mamba_n_heads=2",
        "mamba_d_head=36", "mamba_n_groups=2", "mamba_d_state=12",
        "mamba_rms_norm=true", "mamba_norm_before_gate=false",
        "attention_in_multiplier=0.8", "attention_out_multiplier=0.7",
        "key_multiplier=0.6", "ssm_multipliers=[0.5,0.7,1.2,0.9,0.8]",
        "ssm_in_multiplier=1.3", "ssm_out_multiplier=0.4",
        "mlp_multipliers=[0.8,0.6]", "lm_head_multiplier=0.3",
        "embedding_multiplier=2.0", "seed=84"),
    "gemma.lm": ("GemmaForCausalLM", "num_key_value_heads=1", "head_dim=24",
        "intermediate_size=50", "pad_token_id=0", "seed=66"),
    "gemma3_text.capped": ("Gemma3ForCausalLM", "hidden_size=36",
        "num_attention_heads=3", "num_key_value_heads=1", "head_dim=20", "intermediate_size=50",
        "sliding_window=5", 'layer_types=["sliding_attention",'
        '"full_attention"]', "attn_logit_softcapping=6.0",
        "final_logit_softcapping=4.0", "attention_bias=true",
        "pad_token_id=0", "seed=120"),
    "glm.lm": ("GlmForCausalLM", "num_attention_heads=4", "head_dim=12",
        "num_key_value_heads=2", "intermediate_size=50", "seed=67"),
    "gpt_bigcode.heads": ("GPTBigCodeForCausalLM", "multi_query=false",
        "n_embd=40", "n_inner=60", "seed=68"),
    "gpt_bigcode.unscaled": ("GPTBigCodeForCausalLM", "n_embd=36",
        "n_head=3", "scale_attn_weights=false", "seed=121"),
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
    "hunyuan_v1_moe.lm": ("HunYuanMoEV1ForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "head_dim=8", "intermediate_size=24",
        "num_experts=5", "moe_topk=2", "pad_token_id=0", "seed=100"),
    "lfm2_moe.lm": ("Lfm2MoeForCausalLM", "maps=false", "hidden_size=40",
        "num_hidden_layers=4", "num_attention_heads=4",
        "num_key_value_heads=2",
        'layer_types=["conv","full_attention","conv","full_attention"]',
        "intermediate_size=56", "moe_intermediate_size=20", "num_experts=6",
        "num_experts_per_tok=3", "num_dense_layers=1",
        "routed_scaling_factor=1.4", "seed=73"),
    "mamba.lm": ("MambaForCausalLM", "maps=false", "hidden_size=40",
        "num_hidden_layers=3", "state_size=6", "time_step_rank=5",
        "use_bias=true", "tie_word_embeddings=false", "seed=89"),
    "mamba.wide": ("MambaForCausalLM", "maps=false", "hidden_size=40",
        "num_hidden_layers=2", "state_size=6", "time_step_rank=5",
        "intermediate_size=80", "tie_word_embeddings=false", "seed=94"),
    "mamba2.lm": ("Mamba2ForCausalLM", "maps=false", "hidden_size=40",
        "num_hidden_layers=3", "num_heads=4", "head_dim=20", "n_groups=2",
        "state_size=12", "seed=74"),
    "ministral.lm": ("MinistralForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=50", "head_dim=12",
        "num_hidden_layers=3", "sliding_window=5",
        'layer_types=["full_attention","sliding_attention",'
        '"full_attention"]', "seed=138"),
    "minimax_m2.lm": ("MiniMaxM2ForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "head_dim=12", "intermediate_size=24",
        "num_local_experts=6", "num_experts_per_tok=3",
        'rope_parameters={"rope_type":"default","rope_theta":10000.0,'
        '"partial_rotary_factor":0.5}', "seed=101"),
    "mpt.lm": ("MptForCausalLM", "d_model=60", "n_heads=6", "n_layers=2",
        "max_seq_len=64", "seed=75"),
    "nanochat.lm": ("NanoChatForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=70", "seed=76"),
    "nemotron.lm": ("NemotronForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=70", "seed=77"),
    "nemotron_h.dense": ("NemotronHForCausalLM", "maps=false",
        'layers_block_type=["linear_attention","mlp","full_attention","mlp",'
        '"linear_attention"]', "num_key_value_heads=1", "head_dim=16",
        "intermediate_size=48", "mamba_num_heads=4", "mamba_head_dim=12",
        "n_groups=2", "ssm_state_size=10", "seed=85"),
    "nemotron_h.experts": ("NemotronHForCausalLM", "maps=false",
        'layers_block_type=["linear_attention","moe","full_attention",'
        '"linear_attention","moe"]', "num_key_value_heads=1", "head_dim=16",
        "mamba_num_heads=4", "mamba_head_dim=12", "n_groups=2",
        "ssm_state_size=10", "n_routed_experts=4", "moe_intermediate_size=24",
        "moe_shared_expert_intermediate_size=28", "num_experts_per_tok=2",
        "routed_scaling_factor=1.6", "seed=86"),
    "nemotron_h.feeds": ("NemotronHForCausalLM", "maps=false",
        'layers_block_type=["mlp","linear_attention","moe","mlp",'
        '"full_attention","moe","moe"]', "num_key_value_heads=1",
        "head_dim=16", "intermediate_size=28", "mamba_num_heads=2",
        "mamba_head_dim=12", "n_groups=1", "ssm_state_size=10",
        "n_routed_experts=3", "moe_intermediate_size=16",
        "moe_shared_expert_intermediate_size=20", "num_experts_per_tok=2",
        "seed=103"),
    # It has an output of its own, whatever tie_word_embeddings says.
    "nemotron_h.own_output": ("NemotronHForCausalLM", "maps=false",
        'layers_block_type=["full_attention","linear_attention","mlp"]',
        "num_attention_heads=3", "num_key_value_heads=1", "head_dim=12",
        "intermediate_size=48", "mamba_num_heads=4", "mamba_head_dim=12",
        "n_groups=2", "ssm_state_size=10", "use_bias=true",
        "use_conv_bias=false", "time_step_min=1e-9",
        "tie_word_embeddings=true", "seed=122"),
    "olmo.lm": ("OlmoForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=50", "seed=78"),
    "olmo.clipped": ("OlmoForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=50", "clip_qkv=0.9",
        "seed=136"),
    "olmoe.clipped": ("OlmoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=24", "num_experts=4",
        "num_experts_per_tok=2", "clip_qkv=0.8", "seed=137"),
    "olmoe.lm": ("OlmoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=24", "num_experts=6",
        "num_experts_per_tok=3", "seed=79"),
    "olmo3.yarn": ("Olmo3ForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=1", "num_hidden_layers=4",
        "intermediate_size=50", "sliding_window=5", "attention_bias=true",
        'rope_parameters={"full_attention":{"rope_type":"yarn",'
        '"rope_theta":10000.0,"factor":4.0,"attention_factor":1.3,'
        '"beta_fast":32.0,"beta_slow":1.0,'
        '"original_max_position_embeddings":16},"sliding_attention":'
        '{"rope_type":"default","rope_theta":10000.0}}', "seed=123"),
    "opt.bare_norms": ("OPTForCausalLM", "hidden_size=36",
        "num_attention_heads=3", "ffn_dim=50", "word_embed_proj_dim=36",
        "enable_bias=false", "layer_norm_elementwise_affine=false",
        "activation_function=\"gelu\"", "seed=124"),
    "phimoe.lm": ("PhimoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=24",
        "num_local_experts=6", "router_jitter_noise=0.4",
        "attention_bias=true", "lm_head_bias=true", "sliding_window=9",
        'rope_parameters={"rope_type":"longrope","rope_theta":10000.0,'
        '"short_factor":[1,1.1,1.3,1.6],"long_factor":[1,2,3,4],'
        '"short_mscale":1.1,"long_mscale":1.3,'
        '"original_max_position_embeddings":64}', "seed=90"),
    "phimoe.published": ("PhimoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=24",
        "num_local_experts=4", "router_jitter_noise=0.01",
        "attention_bias=true", "lm_head_bias=true",
        'rope_parameters={"rope_type":"longrope","rope_theta":10000.0,'
        '"short_factor":[1,1.1,1.3,1.6],"long_factor":[1,2,3,4],'
        '"short_mscale":1.243163121016122,"long_mscale":1.243163121016122,'
        '"original_max_position_embeddings":64}', "seed=95"),
    "qwen2_5_vl.text": ("Qwen2_5_VLForConditionalGeneration", "maps=false",
        'text_config={"vocab_size":101,"hidden_size":32,'
        '"num_attention_heads":4,"num_key_value_heads":2,'
        '"intermediate_size":50,"num_hidden_layers":2,'
        '"bos_token_id":1,"eos_token_id":2,'
        '"max_position_embeddings":64,"rope_parameters":{"rope_type":'
        '"default","rope_theta":10000.0,"mrope_section":[2,1,1]}}',
        'vision_config={"depth":1,"hidden_size":8,"intermediate_size":8,'
        '"num_heads":2,"out_hidden_size":32,"patch_size":2,'
        '"fullatt_block_indexes":[0]}', "seed=96"),
    "qwen2_moe.lm": ("Qwen2MoeForCausalLM", "num_attention_heads=4",
        "num_key_value_heads=2", "intermediate_size=50", "num_experts=6",
        "num_experts_per_tok=3", "moe_intermediate_size=20",
        "shared_expert_intermediate_size=28", "seed=80"),
    "qwen3_vl_moe.text": ("Qwen3VLMoeForConditionalGeneration", "maps=false",
        'text_config={"vocab_size":101,"hidden_size":32,'
        '"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,'
        '"intermediate_size":50,"moe_intermediate_size":24,'
        '"num_experts":4,"num_experts_per_tok":2,"num_hidden_layers":2,'
        '"mlp_only_layers":[1],"max_position_embeddings":64,'
        '"tie_word_embeddings":false,"rope_parameters":{"rope_type":'
        '"default","rope_theta":10000.0,"mrope_section":[4,2,2],'
        '"mrope_interleaved":true}}',
        'vision_config={"depth":1,"hidden_size":8,"intermediate_size":8,'
        '"num_heads":2,"out_hidden_size":32,"patch_size":2,'
        '"num_position_embeddings":4,"deepstack_visual_indexes":[]}',
        "seed=97"),
    "smolvlm.text": ("SmolVLMForConditionalGeneration", "maps=false",
        'text_config={"model_type":"llama","vocab_size":101,'
        '"hidden_size":32,"num_attention_heads":4,"num_key_value_heads":2,'
        '"intermediate_size":50,"num_hidden_layers":2,'
        '"max_position_embeddings":64}',
        'vision_config={"hidden_size":8,"intermediate_size":8,'
        '"num_hidden_layers":1,"num_attention_heads":2,"patch_size":2,'
        '"image_size":4}', "scale_factor=1", "pad_token_id=0", "seed=98"),
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
