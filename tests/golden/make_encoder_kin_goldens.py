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
