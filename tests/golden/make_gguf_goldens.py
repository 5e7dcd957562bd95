#!/usr/bin/env python3
"""Writes the model of golden folders as a GGUF file, FOLDER/model.gguf.

    pip install gguf==0.19.0 safetensors
    make_gguf_goldens.py FOLDER [FOLDER...]

In F32, with the names, values and orders that llama.cpp's
convert_hf_to_gguf.py gives them, so that golden_test expects the same numbers
of both.
"""

import json
import pathlib
import sys

import gguf
import numpy
from safetensors.numpy import load_file

ARCHITECTURES = {
    "gemma3_text": gguf.MODEL_ARCH.GEMMA3,
    "gpt2": gguf.MODEL_ARCH.GPT2,
    "gpt_oss": gguf.MODEL_ARCH.GPT_OSS,
    "llama": gguf.MODEL_ARCH.LLAMA,
    "mistral": gguf.MODEL_ARCH.LLAMA,
    "mixtral": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "qwen3": gguf.MODEL_ARCH.QWEN3,
    "qwen3_moe": gguf.MODEL_ARCH.QWEN3MOE,
    "smollm3": gguf.MODEL_ARCH.SMOLLM3,
}


def interleave(weight, heads):
    """The two halves of each head's rows in turns."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1)
    return halves.swapaxes(1, 2).reshape(weight.shape)


def change(config, name, weight):
    """What the converter does to a tensor of that name."""
    kind = config["model_type"]
    if kind in ("llama", "mistral", "mixtral", "smollm3"):
        if "q_proj" in name:
            return interleave(weight, config["num_attention_heads"])
        if "k_proj" in name:
            return interleave(weight, config["num_key_value_heads"])
    if kind == "gemma3_text" and name.endswith("norm.weight"):
        return weight + 1
    if kind == "gpt2" and ".c_" in name and name.endswith(".weight"):
        return weight.T
    return weight


def join_experts(tensors):
    """One tensor of the experts' that differ in their numbers only."""
    joined, experts = {}, {}
    for name, weight in tensors.items():
        head, found, tail = name.partition(".experts.")
        if not found:
            joined[name] = weight
            continue
        number, _, tail = tail.partition(".")
        experts.setdefault(f"{head}.experts.{tail}", {})[int(number)] = weight
    for name, weights in experts.items():
        joined[name] = numpy.stack([weights[i] for i in range(len(weights))])
    return joined


def split_experts(tensors):
    """GPT-OSS's, of which inputs come first, and gates stand beside what they
    gate."""
    split = {}
    for name, weight in tensors.items():
        if ".experts." not in name:
            split[name + ".weight" * name.endswith(".sinks")] = weight
            continue
        head, _, part = name.rpartition(".")
        kind = ".bias" if part.endswith("_bias") else ".weight"
        part = part.removesuffix("_bias")
        if kind == ".weight":
            weight = weight.swapaxes(1, 2)
        if part == "gate_up_proj":
            split[f"{head}.gate_proj{kind}"] = weight[:, 0::2]
            split[f"{head}.up_proj{kind}"] = weight[:, 1::2]
        else:
            split[f"{head}.{part}{kind}"] = weight
    return split


def describe(writer, config):
    get = config.get
    heads = get("num_attention_heads") or get("n_head")
    width = get("hidden_size") or get("n_embd")
    writer.add_block_count(get("num_hidden_layers") or get("n_layer"))
    writer.add_context_length(
        get("max_position_embeddings") or get("n_positions")
    )
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(
        get("intermediate_size") or get("n_inner") or 4 * width
    )
    writer.add_head_count(heads)
    writer.add_vocab_size(get("vocab_size"))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    if config["model_type"] == "gpt2":
        writer.add_layer_norm_eps(get("layer_norm_epsilon"))
        return
    head_size = get("head_dim") or width // heads
    writer.add_head_count_kv(get("num_key_value_heads"))
    writer.add_layer_norm_rms_eps(get("rms_norm_eps"))
    writer.add_key_length(head_size)
    writer.add_value_length(head_size)
    rope = config["rope_parameters"]
    if config["model_type"] == "gemma3_text":
        writer.add_rope_freq_base(rope["full_attention"]["rope_theta"])
        writer.add_sliding_window(get("sliding_window"))
        writer.add_sliding_window_pattern(
            [kind == "sliding_attention" for kind in get("layer_types")]
        )
        return
    if get("sliding_window") and config["model_type"] in ("mistral", "mixtral"):
        # What the converter leaves out.
        writer.add_sliding_window(get("sliding_window"))
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(head_size)
    if experts := get("num_local_experts") or get("num_experts"):
        writer.add_expert_count(experts)
        writer.add_expert_used_count(get("num_experts_per_tok"))
    if config["model_type"] == "gpt_oss":
        writer.add_expert_feed_forward_length(get("intermediate_size"))
        writer.add_sliding_window(get("sliding_window"))
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(
            rope["original_max_position_embeddings"]
        )
    if get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(get("moe_intermediate_size"))


def convert(folder):
    config = json.loads((folder / "config.json").read_text())
    architecture = ARCHITECTURES[config["model_type"]]
    layers = config.get("num_hidden_layers") or config["n_layer"]
    names = gguf.get_tensor_name_map(architecture, layers)
    writer = gguf.GGUFWriter(
        folder / "model.gguf", gguf.MODEL_ARCH_NAMES[architecture]
    )
    describe(writer, config)
    tensors = {
        name: change(config, name, weight)
        for name, weight in load_file(folder / "model.safetensors").items()
    }
    if config["model_type"] == "gpt_oss":
        tensors = split_experts(tensors)
    else:
        tensors = join_experts(tensors)
    for name, weight in sorted(tensors.items()):
        gguf_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        writer.add_tensor(
            gguf_name, numpy.ascontiguousarray(weight, numpy.float32)
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


for path in sys.argv[1:]:
    convert(pathlib.Path(path))
