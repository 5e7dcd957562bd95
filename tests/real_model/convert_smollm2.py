#!/usr/bin/env python3
"""Makes a Hugging Face folder, in f32, of the GGUF file that
tests/real_model/fetch_smollm2 gets, as Transformers reads it:

    convert_smollm2.py build/smollm2.gguf build/smollm2
    TRIVIUM_SMOLLM2=build/smollm2 TRIVIUM_SMOLLM2_STEP=1 \\
        build/dev/bin/real_model_test --gtest_filter='SmolLm2*'

then compares all answers with those of that folder. What it needs is what
make_chat_expected.py does.
"""

import pathlib
import sys

import torch
import transformers
from make_chat_expected import read_chat_tokenizer


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    # What was read of a GGUF file is not saved; the same numbers are.
    del model.config.quantization_config
    plain = transformers.AutoModelForCausalLM.from_config(model.config)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(sys.argv[2])
    read_chat_tokenizer(path).save_pretrained(sys.argv[2])


if __name__ == "__main__":
    main()
