#!/usr/bin/env python3
"""Makes the golden folders of text towers: models of this folder with the
configuration and the names of tensors that models with eyes wrap around them,
and a few tensors of the eyes. What they compute stays the same.

    make_wrapped_goldens.py        # writes beside itself

Needs only Python.
"""

import json
import pathlib
import shutil
import struct

HERE = pathlib.Path(__file__).parent

# Each: the text model, the folder's model_type, the names of text tensors, and
# those of other towers. The first has the names of 2025's folders; the others
# those that Transformers 5 writes.
WRAPPED = {
    "gemma3.wrapped": (
        "gemma3_text.lm", "gemma3", lambda name: "language_model." + name,
        ["vision_tower.vision_model.post_layernorm.weight",
         "multi_modal_projector.mm_soft_emb_norm.weight"]),
    "mistral3.wrapped": (
        "ministral3.lm", "mistral3",
        lambda name: name.replace("model.", "model.language_model.", 1),
        ["model.vision_tower.ln_pre.weight",
         "model.multi_modal_projector.norm.weight"]),
    "qwen3_vl.wrapped": (
        "qwen3.lm", "qwen3_vl",
        lambda name: name.replace("model.", "model.language_model.", 1),
        ["model.visual.pos_embed.weight"]),
}


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (about["dtype"], about["shape"],
                   data[8 + size + about["data_offsets"][0]:
                        8 + size + about["data_offsets"][1]])
            for name, about in header.items()}


def write(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in sorted(tensors.items()):
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def make(name, text_model, model_type, rename, others):
    source, target = HERE / text_model, HERE / name
    target.mkdir(exist_ok=True)
    for file in ("golden.json", "golden.safetensors", "generation_config.json"):
        shutil.copyfile(source / file, target / file)
    text = json.loads((source / "config.json").read_text())
    config = {"architectures": ["AnyForConditionalGeneration"],
              "model_type": model_type,
              "vision_config": {"hidden_size": 4}}
    for key in ("architectures", "transformers_version", "dtype"):
        text.pop(key, None)
    if model_type == "gemma3":
        # Published folders leave these to the folder and to the class.
        config["eos_token_id"] = text.pop("eos_token_id")
        text.pop("tie_word_embeddings")
    if model_type == "qwen3_vl":
        text["model_type"] = "qwen3_vl_text"
        text["rope_parameters"].update(mrope_section=[4, 2, 2],
                                       mrope_interleaved=True)
    config["text_config"] = text
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors = {rename(name): tensor for name, tensor
               in read(source / "model.safetensors").items()}
    for other in others:
        tensors[other] = ("F32", [2], struct.pack("<2f", 1, 2))
    write(target / "model.safetensors", tensors)


for folder, arguments in WRAPPED.items():
    make(folder, *arguments)
