#!/usr/bin/env python3
"""Makes small folders like those of Qwen3-Embedding, EmbeddingGemma and
Qwen3-Reranker, with random weights and tokenizers of a few hundred pieces, and
writes what sentence-transformers computes with them:

    make_sentence_goldens.py tests/golden/sentences

Each folder gets a golden.json: embeddings of texts, or scores of pairs of
texts, which are those of the model card's own code, too. For
sentences_test. Needs PyPI's torch, transformers (5.23 made the committed
files) and sentence-transformers (6.2).
"""

import json
import pathlib
import shutil
import sys

import sentence_transformers
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

CORPUS = [
    "yes\nno\nyes\nno\nyes\nno\nthe judge of a document says yes or no.",
    "Where do cats sleep? Cats sleep on sofas, and dogs in baskets.",
    "task: search result | query: title: none | text: Instruct: Query: ",
    "Given a web search query, retrieve relevant passages that answer the query",
    "<Instruct>: <Query>: <Document>: meets the requirements",
    "Taxes rose in 1999; Übergrößen, naïve café, 東京の天気, 12345.",
] * 3
TEXTS = [
    "Where do cats sleep?",
    "",
    "Cats sleep on sofas,   and in Übergrößen.\n\nTaxes rose by 12345 東京.",
    "yes",
    "a <|im_end|> b <eos> c",
    "The longest of these texts says of cats and of dogs where they sleep, "
    "what they dream and why nobody asked: sofas, baskets, naïve cafés.",
]
QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def qwen_tokenizer(ends):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=400,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens(["<think>", "</think>"])
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A <|endoftext|>",
            pair="$A <|endoftext|> $B:1 <|endoftext|>:1",
            special_tokens=[("<|endoftext|>", tokenizer.token_to_id("<|endoftext|>"))],
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|endoftext|>" if ends else "<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=128,
    )


def gemma_tokenizer():
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokenizer.train_from_iterator(
        CORPUS[:3] + CORPUS[5:6],
        trainers.BpeTrainer(
            vocab_size=380,
            special_tokens=[
                AddedToken(token, normalized=False, special=True)
                for token in specials
            ]
            + [AddedToken(f"<0x{i:02X}>", normalized=False) for i in range(256)],
            show_progress=False,
        ),
    )
    # The bytes are pieces and not added tokens.
    written = json.loads(tokenizer.to_str())
    written["added_tokens"] = written["added_tokens"][: len(specials)]
    tokenizer = Tokenizer.from_str(json.dumps(written))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>",
        pair="<bos> $A <eos> <bos>:1 $B:1 <eos>:1",
        special_tokens=[("<bos>", 2), ("<eos>", 1)],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=128,
    )


def save(folder, model, tokenizer):
    """As published: of bfloat16, an encoder's tensors without a prefix."""
    shutil.rmtree(folder, ignore_errors=True)
    generator = torch.Generator().manual_seed(len(folder.name))
    with torch.no_grad():
        for parameter in model.parameters():
            deviation = 0.2 if parameter.dim() > 1 else 0.5
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(noise * deviation + (parameter.dim() == 1))
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def write(folder, name, value):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_modules(folder, *modules):
    write(
        folder,
        "modules.json",
        [
            {
                "idx": i,
                "name": str(i),
                "path": "" if i == 0 else f"{i}_{name.rsplit('.', 1)[-1]}",
                "type": f"sentence_transformers.{name}",
            }
            for i, name in enumerate(modules)
        ],
    )


def write_pooling(folder, width, mode):
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens",
             "weightedmean_tokens", "lasttoken"]
    pooling = {f"pooling_mode_{one}": one == mode for one in modes}
    write(
        folder,
        "1_Pooling/config.json",
        {"word_embedding_dimension": width} | pooling | {"include_prompt": True},
    )


def write_golden(folder, runs):
    lines = ",\n".join(json.dumps(run, ensure_ascii=False) for run in runs)
    (folder / "golden.json").write_text(
        '{"sentence-transformers": "%s", "runs": [\n%s\n]}\n'
        % (sentence_transformers.__version__, lines)
    )


def rounded(vector):
    return [float(f"{x:.7g}") for x in vector.tolist()]


def embed(folder, dimensions):
    model = sentence_transformers.SentenceTransformer(
        str(folder), device="cpu", model_kwargs={"dtype": torch.float32}
    )
    runs = []
    for name in [None] + sorted(model.prompts):
        # Each alone: nothing is padded.
        for text in TEXTS:
            vector = model.encode(text, prompt_name=name)
            runs.append({"text": text, "embedding": rounded(vector)})
            if name is not None:
                runs[-1]["prompt_name"] = name
    for text in TEXTS[:3]:
        vector = model.encode(
            text, truncate_dim=dimensions, normalize_embeddings=True
        )
        runs.append({"text": text, "dimensions": dimensions,
                     "embedding": rounded(vector)})
    write_golden(folder, runs)


def make_qwen_embedding(folder):
    tokenizer = qwen_tokenizer(ends=True)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=True,
    )
    save(folder, transformers.Qwen3Model(config), tokenizer)
    write_modules(folder, "models.Transformer", "models.Pooling",
                  "models.Normalize")
    write_pooling(folder, 48, "lasttoken")
    write(
        folder,
        "config_sentence_transformers.json",
        {
            "prompts": {
                "query": "Instruct: Given a web search query, retrieve relevant "
                "passages that answer the query\nQuery:",
                "document": "",
            },
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    )
    embed(folder, 16)


def make_gemma_embedding(folder):
    tokenizer = gemma_tokenizer()
    config = transformers.Gemma3TextConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=3,
        num_key_value_heads=1,
        head_dim=16,
        query_pre_attn_scalar=16,
        max_position_embeddings=128,
        sliding_window=8,
        layer_types=["sliding_attention"] * 2 + ["full_attention"],
        use_bidirectional_attention=True,
    )
    save(folder, transformers.Gemma3TextModel(config), tokenizer)
    write_modules(folder, "models.Transformer", "models.Pooling",
                  "models.Dense", "models.Dense", "models.Normalize")
    write(folder, "sentence_bert_config.json",
          {"max_seq_length": 128, "do_lower_case": False})
    write_pooling(folder, 48, "mean_tokens")
    generator = torch.Generator().manual_seed(7)
    for path, (wide, narrow) in {"2_Dense": (48, 96), "3_Dense": (96, 40)}.items():
        write(
            folder,
            f"{path}/config.json",
            {"in_features": wide, "out_features": narrow, "bias": False,
             "activation_function": "torch.nn.modules.linear.Identity"},
        )
        weight = torch.randn(narrow, wide, generator=generator) * 0.2
        save_file({"linear.weight": weight}, folder / path / "model.safetensors")
    write(
        folder,
        "config_sentence_transformers.json",
        {
            "prompts": {
                "query": "task: search result | query: ",
                "document": "title: none | text: ",
            },
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    )
    embed(folder, 16)


TEMPLATE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements "
    "based on the Query and the Instruct provided. Note that the answer can "
    'only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    '<Instruct>: {{ messages | selectattr("role", "eq", "system") | '
    'map(attribute="content") | first | default("Given a web search query, '
    'retrieve relevant passages that answer the query") }}\n'
    '<Query>: {{ messages | selectattr("role", "eq", "query") | '
    'map(attribute="content") | first }}\n'
    '<Document>: {{ messages | selectattr("role", "eq", "document") | '
    'map(attribute="content") | first }}<|im_end|>\n'
    '<|im_start|>assistant\n<think>\n\n</think>\n{{ "\\n" }}'
)


@torch.no_grad()
def card_score(model, tokenizer, prompt, query, document):
    """P(yes), as https://huggingface.co/Qwen/Qwen3-Reranker-0.6B has it."""
    prefix, suffix = TEMPLATE.split("<Instruct>")[0], (
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    pair = (f"<Instruct>: {prompt}\n<Query>: {query}\n<Document>: {document}")
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)
    ids = encode(prefix) + encode(pair) + encode(suffix)
    logits = model(torch.tensor([ids])).logits[0, -1]
    both = torch.stack(
        [logits[tokenizer.convert_tokens_to_ids(word)] for word in ("no", "yes")]
    )
    return torch.nn.functional.log_softmax(both, dim=0)[1].exp().item()


def make_reranker(folder):
    tokenizer = qwen_tokenizer(ends=False)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=512,
        tie_word_embeddings=True,
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.model_max_length = 512
    save(folder, transformers.Qwen3ForCausalLM(config), tokenizer)
    write_modules(folder, "base.modules.transformer.Transformer",
                  "cross_encoder.modules.logit_score.LogitScore")
    write(
        folder,
        "1_LogitScore/config.json",
        {"true_token_id": tokenizer.convert_tokens_to_ids("yes"),
         "false_token_id": tokenizer.convert_tokens_to_ids("no")},
    )
    output = {"method": "forward", "method_output_name": "logits"}
    write(
        folder,
        "sentence_bert_config.json",
        {
            "transformer_task": "text-generation",
            "modality_config": {
                "text": output,
                "message": output | {"format": "flat"},
            },
            "module_output_name": "causal_logits",
        },
    )
    web = "Given a web search query, retrieve relevant passages that answer the query"
    write(
        folder,
        "config_sentence_transformers.json",
        {
            "model_type": "CrossEncoder",
            "prompts": {"web": web, "judge": "the judge of a document says"},
            "default_prompt_name": None,
            "activation_fn": "torch.nn.modules.activation.Sigmoid",
        },
    )
    ranker = sentence_transformers.CrossEncoder(
        str(folder), device="cpu", model_kwargs={"dtype": torch.float32}
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32
    )
    runs = []
    for name in (None, "judge"):
        for query in (TEXTS[0], TEXTS[2]):
            # Of text that spells special tokens each has an opinion of its own.
            documents = [text for text in TEXTS[1:] if "<" not in text]
            scores = [
                ranker.predict((query, text), prompt_name=name).item()
                for text in documents
            ]
            prompt = ranker.prompts[name] if name else web
            for document, score in zip(documents, scores):
                card = card_score(model, tokenizer, prompt, query, document)
                assert abs(card - score) < 1e-5, (card, score)
            runs.append({"query": query, "documents": documents,
                         "scores": scores})
            if name is not None:
                runs[-1]["prompt_name"] = name
    write_golden(folder, runs)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    parent = pathlib.Path(sys.argv[1])
    for make, name in [
        (make_qwen_embedding, "qwen3.embedding"),
        (make_gemma_embedding, "gemma3.embedding"),
        (make_reranker, "qwen3.reranker"),
    ]:
        make(parent / name)
        print(name)


if __name__ == "__main__":
    main()
