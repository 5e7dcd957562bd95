"""Text-to-text folders as CTranslate2 models.

ct2-transformers-converter needs torch and transformers; this fills the same
specifications (ctranslate2_specs.py) and lets CTranslate2 quantize and write
them.
"""

import json
import pathlib
import shutil

import ctranslate2

import ctranslate2_specs
import marian_folder

# The first tokens of a folder without vocab.json.
FIRST_TOKENS = {
    "marian": ["</s>", "<unk>"],
    "t5": ["<pad>", "</s>", "<unk>"],
    "bart": ["<s>", "<pad>", "</s>", "<unk>"],
}


def vocabulary(folder, config):
    """The tokens by id."""
    size = config["vocab_size"]
    path = pathlib.Path(folder, "vocab.json")
    if not path.is_file():
        first = FIRST_TOKENS[config["model_type"]]
        return first + [f"t{i}" for i in range(len(first), size)]
    pieces = json.loads(path.read_text(encoding="utf-8"))
    return sorted(pieces, key=pieces.get)[:size]


def convert(folder, output, quantization):
    """Writes the model; quantization None is f32."""
    folder, output = pathlib.Path(folder), pathlib.Path(output)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = marian_folder.read_safetensors(folder / "model.safetensors")
    spec = ctranslate2_specs.FAMILIES[config["model_type"]](config, tensors)
    tokens = vocabulary(folder, config)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.eos_token = "</s>"
    spec.config.unk_token = "<unk>"
    spec.config.decoder_start_token = tokens[config["decoder_start_token_id"]]
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    spec.save(str(output))


class Translator:
    """A converted model that reads and writes ids."""

    def __init__(self, folder, converted, compute_type, threads, one_by_one):
        """`threads` in parallel: as translators of one thread each, or (when
        one_by_one) as one translator whose products use them all."""
        config = json.loads(pathlib.Path(folder, "config.json").read_text())
        self._tokens = vocabulary(folder, config)
        self._ids = {token: i for i, token in enumerate(self._tokens)}
        self._translator = ctranslate2.Translator(
            str(converted),
            device="cpu",
            compute_type=compute_type,
            inter_threads=1 if one_by_one else threads,
            intra_threads=threads if one_by_one else 1,
        )

    def translate(self, sources, beam, batch, new_tokens, max_new_tokens,
                  no_repeat_ngram_size=0):
        """Ids of the best hypotheses, the end token left out."""
        results = self._translator.translate_batch(
            [[self._tokens[i] for i in ids] for ids in sources],
            beam_size=beam,
            max_batch_size=batch,
            max_decoding_length=new_tokens or max_new_tokens,
            min_decoding_length=new_tokens or 1,
            length_penalty=1.0,
            no_repeat_ngram_size=no_repeat_ngram_size,
            return_scores=False,
        )
        return [[self._ids[t] for t in r.hypotheses[0]] for r in results]
