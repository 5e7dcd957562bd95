"""The models of compare_retrieval: MiniLM's shape as an embedder and as a
reranker, random weights, as folders for this server and as ONNX in int8 for
fastembed."""

import json
import logging
import warnings

import encoder_folder

EMBEDDER, RANKER = "minilm", "minilm-ranker"


def write_tokenizer(folder):
    """tokenizer.json and what fastembed reads beside it."""
    import tokenizers
    vocabulary = (folder / "vocab.txt").read_text().split()
    made = tokenizers.BertWordPieceTokenizer(
        {word: i for i, word in enumerate(vocabulary)}, lowercase=True)
    made.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]",
               "sep_token": "[SEP]", "mask_token": "[MASK]"}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        **special, "tokenizer_class": "BertTokenizer", "do_lower_case": True,
        "model_max_length": 512, "max_length": 512}))


def write_onnx(folder, name):
    """model.onnx in int8, from PyTorch by ONNX Runtime's own fusions for BERT
    and its dynamic quantization."""
    import onnx
    import onnxruntime.quantization
    import onnxruntime.transformers.optimizer
    import torch
    import transformers
    logging.getLogger().setLevel(logging.ERROR)
    ranks = name == RANKER
    load = (transformers.AutoModelForSequenceClassification if ranks
            else transformers.AutoModel)
    model = load.from_pretrained(folder, attn_implementation="eager",
                                 dtype=torch.float32).eval()

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            out = self.model(input_ids=input_ids,
                             attention_mask=attention_mask,
                             token_type_ids=token_type_ids)
            return out.logits if ranks else out.last_hidden_state

    ids = torch.tensor([[2, 7, 8, 3, 0], [2, 7, 8, 9, 3]])
    names = ["input_ids", "attention_mask", "token_type_ids", "output"]
    axes = {name: {0: "texts", 1: "tokens"} for name in names[:3]}
    axes["output"] = {0: "texts"} if ranks else {0: "texts", 1: "tokens"}
    plain, fused = folder / "plain.onnx", folder / "fused.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Wrapped(), (ids, (ids > 0).long(), torch.zeros_like(ids)),
            str(plain), input_names=names[:3], output_names=names[3:],
            dynamic_axes=axes, opset_version=17, dynamo=False)
        shape = encoder_folder.SHAPES[name]
        optimized = onnxruntime.transformers.optimizer.optimize_model(
            str(plain), model_type="bert", num_heads=shape.heads,
            hidden_size=shape.d_model, opt_level=0)
        optimized.save_model_to_file(str(fused))
        onnxruntime.quantization.quantize_dynamic(
            str(fused), str(folder / "model.onnx"), per_channel=True,
            weight_type=onnxruntime.quantization.QuantType.QInt8,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    plain.unlink()
    fused.unlink()


def write(root):
    """The folders by name, unless they are there."""
    folders = {}
    for name in (EMBEDDER, RANKER):
        folder = folders[name] = root / name
        if (folder / "model.onnx").is_file():
            continue
        encoder_folder.write_random(folder, encoder_folder.SHAPES[name])
        write_tokenizer(folder)
        write_onnx(folder, name)
    return folders
