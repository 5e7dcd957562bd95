#!/usr/bin/env python3
"""Makes golden cases with shapes that fit no vector and no tile: odd head sizes
and feed-forward widths, vocabularies of prime size, one layer and five, heads
that share keys and values, windows shorter than the texts, texts as long as the
positions, encoders and decoders that have little in common.

    make_odd_goldens.py FOLDER
    TRIVIUM_GOLDENS=FOLDER build/dev/bin/golden_test

Needs what make_golden.py needs. The smallest are in tests/golden.
"""

import pathlib
import subprocess
import sys

ENCODERS = {
    "bert.h20_1": ("BertModel", "hidden_size=60", "num_attention_heads=3",
        "num_hidden_layers=1", "intermediate_size=100", "vocab_size=307",
        "seed=11"),
    "bert.h80_5": ("BertForMaskedLM", "hidden_size=160",
        "num_attention_heads=2", "num_hidden_layers=5",
        "intermediate_size=210", "vocab_size=311", "longest=66", "seed=12"),
    "bert.h24_3": ("BertForTokenClassification", "hidden_size=120",
        "num_attention_heads=5", "num_hidden_layers=3", "intermediate_size=77",
        "vocab_size=401", 'hidden_act="gelu_new"', "num_labels=7", "seed=13"),
    "bert.relu": ("BertForNextSentencePrediction", "hidden_size=44",
        "num_attention_heads=4", "num_hidden_layers=2", "intermediate_size=93",
        'hidden_act="relu"', 'dtype="bfloat16"', "seed=14"),
    "distilbert.h24": ("DistilBertForMaskedLM", "dim=72", "n_heads=3",
        "n_layers=5", "hidden_dim=90", "vocab_size=313", "longest=60",
        "seed=15"),
    "roberta.h20": ("RobertaForMaskedLM", "hidden_size=60",
        "num_attention_heads=3", "num_hidden_layers=5",
        "intermediate_size=150", "vocab_size=317",
        "max_position_embeddings=68", "longest=64", "seed=16"),
    "xlmr.h80": ("XLMRobertaForSequenceClassification", "hidden_size=160",
        "num_attention_heads=2", "num_hidden_layers=1",
        "intermediate_size=130", "vocab_size=331", "num_labels=3", "seed=17"),
    "camembert.h24": ("CamembertForTokenClassification", "hidden_size=48",
        "num_attention_heads=2", "num_hidden_layers=3",
        "intermediate_size=131", "vocab_size=337", "seed=18"),
    "mpnet.h20": ("MPNetForMaskedLM", "hidden_size=60",
        "num_attention_heads=3", "num_hidden_layers=5",
        "intermediate_size=101", "vocab_size=347", "longest=60", "seed=19"),
    "mpnet.h80": ("MPNetForSequenceClassification", "hidden_size=160",
        "num_attention_heads=2", "num_hidden_layers=1", "intermediate_size=70",
        "vocab_size=347", "seed=20"),
    "albert.h24": ("AlbertForMaskedLM", "hidden_size=72",
        "num_attention_heads=3", "num_hidden_layers=5", "num_hidden_groups=1",
        "intermediate_size=110", "embedding_size=20", "vocab_size=349",
        "longest=64", "seed=21"),
    "albert.groups": ("AlbertModel", "hidden_size=60", "num_attention_heads=3",
        "num_hidden_layers=4", "num_hidden_groups=2", "inner_group_num=1",
        "intermediate_size=110", "embedding_size=17", "vocab_size=353",
        "seed=22"),
    "electra.h20": ("ElectraForMaskedLM", "hidden_size=60",
        "num_attention_heads=3", "num_hidden_layers=5", "intermediate_size=99",
        "embedding_size=24", "vocab_size=359", "longest=64", "seed=23"),
    "electra.same": ("ElectraForPreTraining", "hidden_size=80",
        "num_attention_heads=1", "num_hidden_layers=1", "intermediate_size=64",
        "embedding_size=80", "vocab_size=367", "seed=24"),
    "deberta.h20": ("DebertaForMaskedLM", "hidden_size=60",
        "num_attention_heads=3", "num_hidden_layers=5", "intermediate_size=99",
        "vocab_size=373", "relative_attention=true",
        'pos_att_type=["c2p","p2c"]', "max_relative_positions=-1",
        "longest=64", "seed=25"),
    "deberta.c2p": ("DebertaModel", "hidden_size=80", "num_attention_heads=1",
        "num_hidden_layers=1", "intermediate_size=70", "vocab_size=379",
        "relative_attention=true", 'pos_att_type=["c2p"]',
        "max_relative_positions=12", "position_biased_input=false", "seed=26"),
    "deberta-v2.h24": ("DebertaV2ForMaskedLM", "hidden_size=72",
        "num_attention_heads=3", "num_hidden_layers=5", "intermediate_size=90",
        "vocab_size=383", "relative_attention=true",
        'pos_att_type=["c2p","p2c"]', "share_att_key=true",
        "position_buckets=8", 'norm_rel_ebd="layer_norm"',
        "position_biased_input=false", "longest=64", "seed=27"),
    "deberta-v2.own": ("DebertaV2ForSequenceClassification", "hidden_size=160",
        "num_attention_heads=2", "num_hidden_layers=1",
        "intermediate_size=100", "vocab_size=389", "relative_attention=true",
        'pos_att_type=["p2c"]', "share_att_key=false", "position_buckets=-1",
        "max_relative_positions=20", "type_vocab_size=2", "longest=50",
        "pooler_hidden_size=160", "seed=28"),
    "deberta-v2.both": ("DebertaV2ForTokenClassification", "hidden_size=40",
        "num_attention_heads=2", "num_hidden_layers=3", "intermediate_size=70",
        "vocab_size=389", "relative_attention=true",
        'pos_att_type=["c2p","p2c"]', "share_att_key=false",
        "position_buckets=16", "longest=66", "seed=29"),
}

DECODERS = {
    "openai-gpt.h20": ("OpenAIGPTLMHeadModel", "n_embd=60", "n_head=3",
        "n_layer=1", "vocab_size=311", "seed=40"),
    "openai-gpt.h24": ("OpenAIGPTLMHeadModel", "n_embd=72", "n_head=3",
        "n_layer=5", "vocab_size=313", "longest=40", "seed=33"),
    "gpt2.h20": ("GPT2LMHeadModel", "n_embd=100", "n_head=5", "n_layer=5",
        "n_inner=77", "scale_attn_by_inverse_layer_idx=true",
        "vocab_size=317", "seed=33"),
    "gpt2.h80": ("GPT2LMHeadModel", "n_embd=160", "n_head=2", "n_layer=1",
        'activation_function="relu"', "vocab_size=331", "longest=40",
        "seed=33"),
    "gpt_neo.h24": ("GPTNeoForCausalLM", "hidden_size=72", "num_heads=3",
        "num_layers=3", 'attention_types=[[["global","local"],1],[["local"],1]]',
        "window_size=5", "intermediate_size=90", "vocab_size=337", "longest=40",
        "seed=35"),
    "opt.h20": ("OPTForCausalLM", "hidden_size=60", "num_attention_heads=3",
        "num_hidden_layers=3", "ffn_dim=90", "word_embed_proj_dim=44",
        "do_layer_norm_before=false", "vocab_size=347", "seed=51"),
    "opt.h80": ("OPTForCausalLM", "hidden_size=160", "num_attention_heads=2",
        "num_hidden_layers=1", "ffn_dim=77", "word_embed_proj_dim=160",
        "vocab_size=349", "longest=40", "seed=37"),
    "llama.h20": ("LlamaForCausalLM", "hidden_size=54", "head_dim=20",
        "num_attention_heads=6", "num_key_value_heads=3",
        "num_hidden_layers=3", "intermediate_size=70", "vocab_size=353",
        "attention_bias=true", "mlp_bias=true", "seed=38"),
    "llama.linear": ("LlamaForCausalLM", "hidden_size=72", "head_dim=24",
        "num_attention_heads=3", "num_key_value_heads=1",
        "num_hidden_layers=5", "intermediate_size=77", "vocab_size=359",
        'rope_parameters={"rope_type":"linear","rope_theta":10000.0,'
        '"factor":4.0}', "tie_word_embeddings=true", "seed=39"),
    "llama.dynamic": ("LlamaForCausalLM", "hidden_size=60", "head_dim=20",
        "num_attention_heads=3", "num_key_value_heads=3",
        "num_hidden_layers=1", "intermediate_size=70", "vocab_size=367",
        'rope_parameters={"rope_type":"dynamic","rope_theta":500.0,'
        '"factor":2.0}', "longest=40", "seed=40"),
    "llama.yarn80": ("LlamaForCausalLM", "hidden_size=44", "head_dim=80",
        "num_attention_heads=2", "num_key_value_heads=1",
        "num_hidden_layers=3", "intermediate_size=70", "vocab_size=373",
        'rope_parameters={"rope_type":"yarn","rope_theta":10000.0,'
        '"factor":4.0,"original_max_position_embeddings":16}', "longest=40",
        "seed=41"),
    "llama.llama3": ("LlamaForCausalLM", "hidden_size=50", "head_dim=20",
        "num_attention_heads=5", "num_key_value_heads=1",
        "num_hidden_layers=5", "intermediate_size=77", "vocab_size=379",
        'rope_parameters={"rope_type":"llama3","rope_theta":500000.0,'
        '"factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,'
        '"original_max_position_embeddings":16}', "longest=40", "seed=42"),
    # Every prompt is longer than the original positions.
    "llama.longrope": ("LlamaForCausalLM", "hidden_size=52", "head_dim=20",
        "num_attention_heads=4", "num_key_value_heads=2",
        "num_hidden_layers=1", "intermediate_size=77", "vocab_size=383",
        'rope_parameters={"rope_type":"longrope","rope_theta":10000.0,'
        '"short_factor":[1,1,1,1.1,1.2,1.3,1.5,1.7,1.8,2],'
        '"long_factor":[1,1.5,2,2.5,3,4,5,6,7,8],"factor":32.0,'
        '"original_max_position_embeddings":2}',
        "prompts=[[71,66,11],[23,80,5,5],null,[9,1,0,300,7,1,250,2,11,6]]",
        "seed=43"),
    # None is.
    "llama.longrope_short": ("LlamaForCausalLM", "hidden_size=52",
        "head_dim=20", "num_attention_heads=4", "num_key_value_heads=2",
        "num_hidden_layers=1", "intermediate_size=77", "vocab_size=383",
        'rope_parameters={"rope_type":"longrope","rope_theta":10000.0,'
        '"short_factor":[1,1,1,1.1,1.2,1.3,1.5,1.7,1.8,2],'
        '"long_factor":[1,1.5,2,2.5,3,4,5,6,7,8],"factor":4.0,'
        '"original_max_position_embeddings":64}', "longest=40", "seed=43"),
    "mistral.h20": ("MistralForCausalLM", "hidden_size=60", "head_dim=20",
        "num_attention_heads=3", "num_key_value_heads=1",
        "num_hidden_layers=3", "intermediate_size=77", "sliding_window=7",
        "vocab_size=389", "longest=40", "seed=44"),
    "qwen2.h80": ("Qwen2ForCausalLM", "hidden_size=160",
        "num_attention_heads=2", "num_key_value_heads=1",
        "num_hidden_layers=3", "intermediate_size=70", "sliding_window=5",
        "use_sliding_window=true", "max_window_layers=1", "vocab_size=397",
        "longest=40", "seed=45"),
    "qwen3.h24": ("Qwen3ForCausalLM", "hidden_size=54", "head_dim=24",
        "num_attention_heads=6", "num_key_value_heads=2",
        "num_hidden_layers=5", "intermediate_size=70", "vocab_size=401",
        "tie_word_embeddings=true", "longest=40", "seed=46"),
    "smollm3.h20": ("SmolLM3ForCausalLM", "hidden_size=40",
        "num_attention_heads=2", "num_key_value_heads=1",
        "num_hidden_layers=5", "intermediate_size=30",
        "vocab_size=409", "longest=40", "seed=47"),
    "gemma3.h20": ("Gemma3ForCausalLM", "hidden_size=45", "head_dim=20",
        "num_attention_heads=3", "num_key_value_heads=1",
        "num_hidden_layers=3", "intermediate_size=70", "sliding_window=5",
        "query_pre_attn_scalar=17", "vocab_size=419", "pad_token_id=0",
        'layer_types=["sliding_attention","full_attention",'
        '"sliding_attention"]', "longest=40", "seed=48"),
    "mixtral.h20": ("MixtralForCausalLM", "hidden_size=60",
        "num_attention_heads=3", "num_key_value_heads=1",
        "num_hidden_layers=3", "intermediate_size=44", "num_local_experts=5",
        "num_experts_per_tok=3", "sliding_window=6", "vocab_size=421",
        "longest=40", "seed=49"),
    "qwen3_moe.h24": ("Qwen3MoeForCausalLM", "hidden_size=40", "head_dim=24",
        "num_attention_heads=4", "num_key_value_heads=2",
        "num_hidden_layers=3", "intermediate_size=70", "num_experts=7",
        "num_experts_per_tok=3", "norm_topk_prob=true",
        "moe_intermediate_size=28", "mlp_only_layers=[1]", "vocab_size=431",
        "longest=40", "seed=50"),
    "gpt_oss.h20": ("GptOssForCausalLM", "hidden_size=44", "head_dim=20",
        "num_attention_heads=4", "num_key_value_heads=2",
        "num_hidden_layers=3", "intermediate_size=36", "num_local_experts=3",
        "num_experts_per_tok=2", "sliding_window=5", "vocab_size=433",
        "longest=40", "seed=51"),
}

PAIRS = {
    "t5.h20": ("T5ForConditionalGeneration", "d_model=44", "d_kv=20",
        "num_heads=5", "num_layers=3", "num_decoder_layers=1", "d_ff=90",
        "vocab_size=311", "decoder_start_token_id=0", "longest=40", "seed=82"),
    # Transformers' cache has as many layers as the encoder.
    "t5.untied": ("T5ForConditionalGeneration", "d_model=40", "d_kv=24",
        "num_heads=3", "num_layers=1", "num_decoder_layers=5", "d_ff=77",
        "use_cache=false",
        'feed_forward_proj="gated-gelu"', "tie_word_embeddings=false",
        "vocab_size=313", "decoder_start_token_id=0", "seed=98"),
    "t5.untied_relu": ("T5ForConditionalGeneration", "d_model=36", "d_kv=80",
        "num_heads=1", "num_layers=3", "num_decoder_layers=2", "d_ff=50",
        "tie_word_embeddings=false", "vocab_size=317",
        "decoder_start_token_id=0", "seed=92"),
    "mt5.h12": ("MT5ForConditionalGeneration", "d_model=44", "d_kv=12",
        "num_heads=5", "num_layers=3", "num_decoder_layers=1", "d_ff=70",
        "tie_word_embeddings=false", "vocab_size=331",
        "decoder_start_token_id=0", "seed=81"),
    "bart.unequal": ("BartForConditionalGeneration", "d_model=60",
        "encoder_layers=5", "decoder_layers=1", "encoder_attention_heads=3",
        "decoder_attention_heads=5", "encoder_ffn_dim=90",
        "decoder_ffn_dim=50", "vocab_size=337", "longest=60", "seed=62"),
    "mbart.h24": ("MBartForConditionalGeneration", "d_model=72",
        "encoder_layers=1", "decoder_layers=3", "encoder_attention_heads=3",
        "decoder_attention_heads=1", "encoder_ffn_dim=50",
        "decoder_ffn_dim=90", "scale_embedding=true", "vocab_size=347",
        "longest=40", "seed=74"),
    "m2m_100.h80": ("M2M100ForConditionalGeneration", "d_model=80",
        "encoder_layers=3", "decoder_layers=1", "encoder_attention_heads=1",
        "decoder_attention_heads=4", "encoder_ffn_dim=70",
        "decoder_ffn_dim=50", "vocab_size=349", "longest=40", "seed=81"),
    "pegasus.h20": ("PegasusForConditionalGeneration", "d_model=60",
        "encoder_layers=1", "decoder_layers=5", "encoder_attention_heads=3",
        "decoder_attention_heads=3", "encoder_ffn_dim=70",
        "decoder_ffn_dim=90", "scale_embedding=true",
        "decoder_start_token_id=0", "vocab_size=353", "longest=60",
        "seed=79"),
    "marian.h20": ("MarianMTModel", "d_model=40", "encoder_layers=3",
        "decoder_layers=1", "encoder_attention_heads=2",
        "decoder_attention_heads=5", "encoder_ffn_dim=90",
        "decoder_ffn_dim=50", 'activation_function="swish"',
        "scale_embedding=true", "vocab_size=359", "decoder_vocab_size=359",
        "decoder_start_token_id=358", "pad_token_id=358", "longest=40",
        "seed=60"),
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for cases, maker in ((ENCODERS, "make_encoder_golden.py"),
                         (DECODERS, "make_decoder_golden.py"),
                         (PAIRS, "make_seq2seq_golden.py")):
        maker = pathlib.Path(__file__).with_name(maker)
        for name, arguments in cases.items():
            folder = pathlib.Path(sys.argv[1]) / name
            subprocess.run([sys.executable, maker, folder, *arguments], check=True)


if __name__ == "__main__":
    main()
