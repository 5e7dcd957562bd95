"""Writes a checkpoint as a Hugging Face folder, and loads such a folder.

    python export.py --data build/training/data \\
        --checkpoint build/training/student/checkpoint.pt --output FOLDER

Several checkpoints give their mean, which is often a better model than each of
them ("Model soups", Wortsman et al., 2022). They must come from runs that began
with the same weights and differ in --seed.
"""

import argparse
import json
import pathlib

import safetensors.torch
import torch

import marian
import vocabulary


def load_folder(folder, words, dropout=0.0):
    """Returns the folder's weights, with new rows for the language tokens that
    its vocabulary lacks. These begin as copies of the padding token, which
    starts a decoder."""
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    shape = marian.Shape(
        len(words), config["d_model"], config["encoder_layers"],
        config["decoder_layers"], config["encoder_attention_heads"],
        config["encoder_ffn_dim"])
    model = marian.Marian(shape, dropout, words.padding)
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors = {name.removeprefix("model."): tensor.float()
               for name, tensor in tensors.items()}
    missing = len(words) - len(tensors["shared.weight"])
    start = tensors["shared.weight"][words.padding]
    tensors["shared.weight"] = torch.cat(
        [tensors["shared.weight"], start.repeat(missing, 1)])
    tensors["final_logits_bias"] = torch.cat(
        [tensors["final_logits_bias"], torch.zeros(1, missing)], 1)
    model.load_state_dict(tensors)
    return model


def load_checkpoint(path, words):
    """Returns the averaged weights, in evaluation mode."""
    return load_mean([path], words)


def load_mean(paths, words):
    """Returns the mean of several checkpoints' averaged weights."""
    states = [torch.load(path, map_location="cpu", weights_only=True)
              for path in paths]
    shape = states[0]["shape"]
    for path, state in zip(paths, states):
        if state["shape"] != shape:
            raise SystemExit(f"{path} has another shape than {paths[0]}")
    model = marian.Marian(marian.Shape(**shape), 0.0, words.padding)
    model.load_state_dict({
        name: torch.stack([state["average"][name] for state in states]).mean(0)
        for name in states[0]["average"]})
    return model.eval()


def config_of(shape, words):
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": shape.vocabulary,
        "decoder_vocab_size": shape.vocabulary,
        "d_model": shape.d_model,
        "encoder_layers": shape.encoder_layers,
        "decoder_layers": shape.decoder_layers,
        "encoder_attention_heads": shape.heads,
        "decoder_attention_heads": shape.heads,
        "encoder_ffn_dim": shape.ffn,
        "decoder_ffn_dim": shape.ffn,
        "activation_function": "swish",
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_position_embeddings": marian.Marian.LONGEST,
        "normalize_before": False,
        "add_final_layer_norm": False,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "eos_token_id": words.end,
        "forced_eos_token_id": words.end,
        "pad_token_id": words.padding,
        "decoder_start_token_id": words.padding,
        "bos_token_id": None,
        "use_cache": True,
        "dtype": "float16",
    }


def generation_config_of(words):
    never = [words.padding, *words.languages.values()]
    return {
        "bad_words_ids": [[i] for i in never],
        "decoder_start_token_id": words.padding,
        "eos_token_id": words.end,
        "forced_eos_token_id": words.end,
        "pad_token_id": words.padding,
        # The best value from 0 to 3 on the validation pairs.
        "length_penalty": 0.5,
        "max_length": marian.Marian.LONGEST,
        "num_beams": 4,
        "renormalize_logits": True,
    }


TOKENIZER_CONFIG = {
    "tokenizer_class": "MarianTokenizer",
    # The server's target language if a call names none.
    "target_lang": "de",
    "model_max_length": marian.Marian.LONGEST,
    "eos_token": vocabulary.END,
    "unk_token": vocabulary.UNKNOWN,
    "pad_token": vocabulary.PADDING,
}


def write_folder(model, words, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words.write(folder)
    for name, content in (
            ("config.json", config_of(model.shape, words)),
            ("generation_config.json", generation_config_of(words)),
            ("tokenizer_config.json", TOKENIZER_CONFIG)):
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")
    tensors = {}
    for name, tensor in model.state_dict().items():
        prefix = "" if name == "final_logits_bias" else "model."
        tensors[prefix + name] = tensor.half().contiguous()
    # Last and at once: distil.py --wait begins when it is there.
    new = folder / "model.new"
    safetensors.torch.save_file(tensors, new, {"format": "pt"})
    new.chmod(0o644)  # other users may serve it
    new.replace(folder / "model.safetensors")


def main():
    parser = argparse.ArgumentParser(
        description="Writes a checkpoint's averaged weights, or the mean of "
        "several, as a Marian folder.")
    parser.add_argument("--data", required=True,
                        help="folder that prepare.py wrote")
    parser.add_argument("--checkpoint", required=True, nargs="+")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    words = vocabulary.Vocabulary.of_folder(options.data)
    write_folder(load_mean(options.checkpoint, words), words, options.output)
    size = (options.output / "model.safetensors").stat().st_size
    print(f"{options.output}: {size / 1e6:.1f} MB of weights")


if __name__ == "__main__":
    main()
