#!/usr/bin/env python3
"""Writes the model of golden folders as FOLDER/model.gguf, by llama.cpp.

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36
    pip install torch transformers safetensors sentencepiece gguf
    make_gguf_twins.py UNPACKED/vendor/llama.cpp FOLDER [FOLDER...]

llama.cpp's own converter makes the file, in F32, so golden_test expects the
same numbers of both. A file gets a tokenizer if PRE names its words.
CHANGES has the keys of config.json that the converter knows by other names; it
must not see those that are None.
"""

import json
import logging
import pathlib
import shutil
import sys
import tempfile

CONVERTER = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(CONVERTER), str(CONVERTER / "gguf-py")]
logging.disable(logging.CRITICAL)

import gguf  # noqa: E402
from conversion import (  # noqa: E402
    ModelBase,
    ModelType,
    get_model_architecture,
    get_model_class,
)

NOMIC = {
    "activation_function": "swiglu",
    "causal": False,
    "max_trained_positions": 2048,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "n_positions": 2048,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
}
CHANGES = {
    "falcon_h1.lm": {"head_dim": 16},
    "falcon_h1.scaled": {"head_dim": 10},
    "nemotron_h.dense": {
        "hybrid_override_pattern": "M-*-M",
        "mamba_d_head": 12,
        "num_experts_per_tok": None,
    },
    "nemotron_h.experts": {"mamba_d_head": 12},
    "cohere2.lm": {"rotary_pct": 1.0},
    "eurobert.base": {"classifier_pooling": None},
    "gpt_neox.lm": {"rotary_pct": 0.5},
    "hunyuan_v1_moe.lm": {
        "moe_intermediate_size": [24, 24],
        "moe_topk": [2, 2],
        "num_shared_expert": [1, 1],
    },
    "minimax_m2.lm": {"rotary_dim": 6},
    "exaone.lm": {
        "activation_function": "silu",
        "architectures": ["ExaoneForCausalLM"],
    },
    # The converter knows only the keys of ChatGLM.
    "glm.lm": {
        "attention_dim": 12,
        "layernorm_epsilon": 1.5625e-07,
        "seq_length": 64,
    },
    "phimoe.published": {"architectures": ["PhiMoEForCausalLM"]},
    "gemma3.wrapped": {"architectures": ["Gemma3ForConditionalGeneration"]},
    "granite_hybrid.experts": {
        "layer_types": ["mamba", "attention", "mamba", "attention"]
    },
    "glm4_moe_lite.lm": {"first_k_dense_replace": 1},
    "mistral4.lm": {"architectures": ["Mistral3ForConditionalGeneration"]},
    "qwen3_vl.wrapped": {
        "architectures": ["Qwen3VLForConditionalGeneration"]
    },
    "mpt.lm": {"architectures": ["MPTForCausalLM"]},
    "nomic_bert.base": NOMIC,
    # Transformers' configuration lacks the sizes under their own names.
    "nomic_bert.no_bias": {
        "hidden_size": 32,
        "intermediate_size": 48,
        "max_trained_positions": 2048,
        "n_positions": 2048,
        "num_attention_heads": 2,
        "num_hidden_layers": 4,
        "rope_parameters": {"rope_theta": 10000.0},
    },
    # The keys of the hub's own form.
    "jina_embeddings_v3.base": {
        "architectures": ["XLMRobertaModel"],
        "lora_adaptations": ["none"],
        "position_embedding_type": "rotary",
        "rotary_emb_base": 20000.0,
    },
}
# tokenizer.ggml.pre of folders with a tokenizer; the converter knows only those
# of published models.
PRE = {"dense.prompt_excluded": "default", "qwen3.embedding": "qwen2"}
# Files whose queries, keys and values are one tensor.
FUSED = {"glm.lm"}
# Values that the converter leaves out, since llama.cpp assumes published ones.
ADDITIONS = {
    "gemma3.embedding": ("sliding_window_pattern", "layer_types"),
    "gemma3_text.embed": ("sliding_window_pattern", "layer_types"),
    "lfm2_moe.lm": ("expert_weights_scale", "routed_scaling_factor"),
    "mistral4.lm": ("attn_temperature_scale", "llama_4_scaling_beta"),
    "starcoder2.lm": ("sliding_window", "sliding_window"),
}


def add(writer, name, config):
    key, source = ADDITIONS[name]
    value = config.get(source, config["rope_parameters"].get(source))
    if source == "layer_types":
        value = [kind == "sliding_attention" for kind in value]
    getattr(writer, f"add_{key}")(value)


def changed(config, folder):
    config = config | CHANGES.get(folder.name, {})
    for key, value in CHANGES.get(folder.name, {}).items():
        if value is None:
            config.pop(key, None)
    return config


def convert(folder):
    with tempfile.TemporaryDirectory() as temporary:
        copy = pathlib.Path(temporary) / folder.name
        shutil.copytree(folder, copy)
        (copy / "model.gguf").unlink(missing_ok=True)
        path = copy / "config.json"
        config = json.loads(path.read_text())
        config = changed(config, folder)
        path.write_text(json.dumps(config))
        if not (copy / "tokenizer.json").exists():
            # Gemma's vocabulary is cut to this size.
            text = config.get("text_config", config)
            pieces = {str(i): i for i in range(text["vocab_size"])}
            (copy / "tokenizer.json").write_text(
                json.dumps(
                    {
                        "model": {"type": "WordPiece", "vocab": pieces},
                        "added_tokens": [],
                    }
                )
            )

        def set_vocab(self):
            if types := self.hparams.get("type_vocab_size"):
                self.gguf_writer.add_token_type_count(types)
            if folder.name in ADDITIONS:
                add(self.gguf_writer, folder.name, config)

        # The converter's reader of config.json drops keys that it renames.
        hparams = ModelBase.load_hparams(copy, False)
        hparams = changed(hparams, folder)
        known = get_model_class(
            get_model_architecture(hparams, ModelType.TEXT), mmproj=False
        )
        known.no_mtp = True
        if folder.name in PRE:
            known.get_vocab_base_pre = lambda self, _: PRE[folder.name]
        converter = type(
            known.__name__,
            (known,),
            {"model_arch": known.model_arch}
            | ({} if folder.name in PRE else {"set_vocab": set_vocab}),
        )
        instance = converter(
            copy,
            gguf.LlamaFileType.ALL_F32,
            folder / "model.gguf",
            eager=True,
            sentence_transformers_dense_modules=True,
            hparams=hparams,
            fuse_qkv=folder.name in FUSED,
        )
        if hasattr(instance, "impl"):  # Mistral 3 and 4
            type(instance.impl).set_vocab = set_vocab
        instance.write()
        # The converter puts adapters into files of their own.
        for adapter in folder.glob("lora-*.gguf"):
            adapter.unlink()


for path in sys.argv[2:]:
    convert(pathlib.Path(path))
