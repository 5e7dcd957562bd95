"""Reads and writes Marian folders with numpy alone."""

import json
import math
import pathlib
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16}

# The shape of the OPUS-MT models: d 512, 6 + 6 layers, vocabulary 58,101.
OPUS_MT = {"d_model": 512, "layers": 6, "ffn": 2048, "heads": 8, "vocabulary": 58101}


def read_safetensors(path):
    """Name -> f32 array."""
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.frombuffer(
            data[8 + size + begin : 8 + size + end], DTYPES[entry["dtype"]]
        )
        tensors[name] = array.reshape(entry["shape"]).astype(np.float32)
    return tensors


def write_safetensors(path, tensors):
    """Writes f16 arrays."""
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": "F16",
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def sinusoidal_positions(positions, d_model):
    """Marian's table: sines in the first half, cosines in the second."""
    angles = np.arange(positions)[:, None] / np.power(
        10000.0, 2 * np.arange(d_model // 2) / d_model
    )
    return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)


def write_random(folder, shape, seed=1):
    """Writes a Marian folder with random weights: for speed, not for text."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    d, ffn, vocabulary = shape["d_model"], shape["ffn"], shape["vocabulary"]
    pad = vocabulary - 1
    config = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "activation_function": "swish",
        "d_model": d,
        "encoder_layers": shape["layers"],
        "decoder_layers": shape["layers"],
        "encoder_attention_heads": shape["heads"],
        "decoder_attention_heads": shape["heads"],
        "encoder_ffn_dim": ffn,
        "decoder_ffn_dim": ffn,
        "max_position_embeddings": 512,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "vocab_size": vocabulary,
        "decoder_vocab_size": vocabulary,
        "eos_token_id": 0,
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
    }
    generation = {
        "bad_words_ids": [[pad]],
        "decoder_start_token_id": pad,
        "eos_token_id": 0,
        "pad_token_id": pad,
        "max_length": 512,
        "num_beams": 4,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=1))

    random = np.random.default_rng(seed)
    tensors = {}

    def linear(name, out, into):
        scale = math.sqrt(1.0 / into)
        tensors[name + ".weight"] = random.normal(0, scale, (out, into))
        tensors[name + ".bias"] = random.normal(0, 0.02, out)

    def norm(name):
        tensors[name + ".weight"] = np.ones(d)
        tensors[name + ".bias"] = np.zeros(d)

    def attention(name):
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear(f"{name}.{part}", d, d)
        norm(name + "_layer_norm")

    tensors["model.shared.weight"] = random.normal(0, d**-0.5, (vocabulary, d))
    tensors["model.shared.weight"][pad] = 0
    tensors["final_logits_bias"] = np.zeros((1, vocabulary))
    for stack in ("encoder", "decoder"):
        for i in range(shape["layers"]):
            layer = f"model.{stack}.layers.{i}"
            attention(layer + ".self_attn")
            if stack == "decoder":
                attention(layer + ".encoder_attn")
            linear(layer + ".fc1", ffn, d)
            linear(layer + ".fc2", d, ffn)
            norm(layer + ".final_layer_norm")
    write_safetensors(
        folder / "model.safetensors",
        {name: array.astype(np.float16) for name, array in tensors.items()},
    )
