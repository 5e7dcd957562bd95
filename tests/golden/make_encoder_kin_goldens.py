#!/usr/bin/env python3
"""Makes the golden cases of encoders that are kin of others: of each family the
options that change what is computed, in double precision.

    make_encoder_kin_goldens.py FOLDER [NAME...]

Needs what make_encoder_golden.py needs (Transformers 5.24 made the committed
files).
"""

import pathlib
import subprocess
import sys

MOBILE = ["hidden_size=40", "intra_bottleneck_size=20", "true_hidden_size=20",
    "num_attention_heads=4", "intermediate_size=28"]

CASES = {
    "convbert.base": ("ConvBertModel", "hidden_size=40",
        "num_attention_heads=4", "intermediate_size=64", "seed=110"),
    "convbert.classify": ("ConvBertForSequenceClassification",
        "num_attention_heads=6", "head_ratio=3", "conv_kernel_size=5",
        "embedding_size=32", "hidden_act=\"relu\"", "num_labels=3",
        "intermediate_size=64", "seed=111"),
    "convbert.fill_mask": ("ConvBertForMaskedLM", "num_attention_heads=4",
        "num_groups=4", "conv_kernel_size=3",
        "intermediate_size=64", "seed=112"),
    "deberta-v2.convolution": ("DebertaV2ForSequenceClassification",
        "hidden_size=40", "num_hidden_layers=3", "intermediate_size=50",
        "relative_attention=true", "pos_att_type=[\"c2p\",\"p2c\"]",
        "share_att_key=true", "position_buckets=8",
        "norm_rel_ebd=\"layer_norm\"", "position_biased_input=false",
        "conv_kernel_size=3", "conv_act=\"gelu\"", "num_labels=3",
        "pooler_hidden_size=40", "seed=125"),
    "gpt2.tag": ("GPT2ForTokenClassification", "vocab_size=311", "n_embd=32",
        "n_head=2", "n_layer=2", "n_positions=64", "eos_token_id=2",
        "bos_token_id=1", "num_labels=3", "seed=126"),
    "longformer.answer": ("LongformerForQuestionAnswering", "hidden_size=40",
        "num_attention_heads=4", "attention_window=[4,8]", "longest=41",
        "intermediate_size=50", "type_vocab_size=1", "seed=131"),
    "longformer.base": ("LongformerModel", "attention_window=6", "longest=41",
        "intermediate_size=50", "layer_norm_eps=1e-5", "seed=132"),
    "longformer.classify": ("LongformerForSequenceClassification",
        "hidden_size=40", "num_attention_heads=4", "attention_window=[4,16,8]",
        "num_hidden_layers=3", "longest=41", "intermediate_size=50",
        "num_labels=3", "type_vocab_size=1", "seed=133"),
    "longformer.fill_mask": ("LongformerForMaskedLM", "attention_window=8",
        "longest=41", "intermediate_size=50", "hidden_act=\"relu\"",
        "seed=134"),
    "longformer.tag": ("LongformerForTokenClassification",
        "attention_window=[64,4]", "longest=41", "intermediate_size=50",
        "num_labels=3", "seed=135"),
    "mobilebert.answer": ("MobileBertForQuestionAnswering", *MOBILE,
        "normalization_type=\"layer_norm\"", "use_bottleneck_attention=true",
        "num_feedforward_networks=1", "embedding_size=40", "seed=113"),
    "mobilebert.base": ("MobileBertModel", *MOBILE, "seed=114"),
    "mobilebert.classify": ("MobileBertForSequenceClassification", *MOBILE,
        "classifier_activation=false", "trigram_input=false", "num_labels=3",
        "seed=115"),
    "mobilebert.fill_mask": ("MobileBertForMaskedLM", *MOBILE,
        "num_feedforward_networks=3", "seed=116"),
    "mobilebert.tag": ("MobileBertForTokenClassification", *MOBILE,
        "use_bottleneck=false", "true_hidden_size=40",
        "num_feedforward_networks=2", "seed=117"),
    "modernbert.biases": ("ModernBertForSequenceClassification",
        "num_hidden_layers=3", "intermediate_size=50",
        'layer_types=["full_attention","sliding_attention",'
        '"sliding_attention"]', "local_attention=6", "norm_bias=true",
        "attention_bias=true", "mlp_bias=true", "classifier_bias=true",
        'classifier_pooling="mean"', "pad_token_id=0", "bos_token_id=1",
        "eos_token_id=2", "cls_token_id=1", "sep_token_id=2", "num_labels=3",
        "seed=127"),
    "nomic_bert.h20": ("NomicBertForMaskedLM", "head_dim=20",
        "intermediate_size=44", "seed=128"),
    "qwen3.tag": ("Qwen3ForTokenClassification", "num_key_value_heads=1",
        "head_dim=20", "intermediate_size=50",
        'layer_types=["full_attention","full_attention"]', "num_labels=3",
        "pad_token_id=0", "seed=129"),
    "t5.tag": ("T5ForTokenClassification", "num_labels=3",
        "relative_attention_num_buckets=8",
        "relative_attention_max_distance=20", "seed=130"),
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    maker = pathlib.Path(__file__).with_name("make_encoder_golden.py")
    for name in sys.argv[2:] or CASES:
        folder = pathlib.Path(sys.argv[1]) / name
        architecture, *options = CASES[name]
        command = [sys.executable, maker, folder, architecture, "exact=true"]
        subprocess.run([*command, *options], check=True)


if __name__ == "__main__":
    main()
