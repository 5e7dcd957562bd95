#!/usr/bin/env python3
"""Makes golden cases of encoders with shapes that fit no vector and no tile:
odd head sizes and feed-forward widths, vocabularies of prime size, one layer
and five, texts as long as the positions.

    make_odd_goldens.py FOLDER
    TRIVIUM_GOLDENS=FOLDER build/dev/bin/golden_test

Needs what make_encoder_golden.py needs. The smallest are in tests/golden.
"""

import pathlib
import subprocess
import sys

CASES = {
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    maker = pathlib.Path(__file__).with_name("make_encoder_golden.py")
    for name, arguments in CASES.items():
        subprocess.run([sys.executable, maker, pathlib.Path(sys.argv[1]) / name,
                        *arguments], check=True)


if __name__ == "__main__":
    main()
