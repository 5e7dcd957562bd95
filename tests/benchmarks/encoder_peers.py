"""Others that run the same encoder: ONNX Runtime, OpenVINO and PyTorch, each in
f32 and in what it has below that. A peer takes a padded batch and gives the
mean of each sentence's token vectors, normalized."""

import hashlib
import json
import logging
import shutil
import sys
import warnings

# NNCF patches PyTorch's operators where PyTorch is loaded first.
import nncf
import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization
import onnxruntime.transformers.optimizer
import openvino
import torch
import transformers

VERSIONS = {module.__name__: module.__version__.split("-")[0].split("+")[0]
            for module in (onnxruntime, openvino, nncf, torch, transformers)}
nncf.set_log_level(logging.ERROR)
logging.getLogger().setLevel(logging.ERROR)  # ONNX Runtime's quantizer
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
# What NNCF looks at to find the ranges of activations.
CALIBRATION_SENTENCES = 16


class MeanStates(torch.nn.Module):
    """The states of all tokens."""
    auto_class = transformers.AutoModel

    def __init__(self, folder, attention):
        super().__init__()
        self.model = self.auto_class.from_pretrained(
            folder, attn_implementation=attention, dtype=torch.float32)
        self.eval()

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids,
                          attention_mask=attention_mask).last_hidden_state

    @staticmethod
    def embeddings(states, mask):
        """The normalized means. states [sentences, longest, d_model]"""
        sums = np.einsum("stc,st->sc", states, mask.astype(np.float32))
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


class Splade(MeanStates):
    """The weights of the vocabulary; no [tokens, vocabulary] leaves it."""
    auto_class = transformers.AutoModelForMaskedLM

    def forward(self, input_ids, attention_mask):
        logits = self.model(input_ids=input_ids,
                            attention_mask=attention_mask).logits
        weights = torch.log1p(torch.relu(logits))
        return (weights * attention_mask[:, :, None]).amax(1)

    @staticmethod
    def embeddings(weights, mask):
        return weights


def model_class(folder):
    config = json.loads((folder / "config.json").read_text())
    masked = config["architectures"][0].endswith("ForMaskedLM")
    return Splade if masked else MeanStates


def padded(sentences):
    """Ids and mask, [sentences, longest]."""
    longest = max(map(len, sentences))
    ids = np.zeros((len(sentences), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = sentence
        mask[row, : len(sentence)] = 1
    return ids, mask


EXAMPLE = padded([[2, 7, 8, 3], [2, 7, 8, 9, 3]])


def write_onnx(folder, _, out, precisions):
    """fused.onnx and int8.onnx: with ONNX Runtime's own fusions for BERT, and
    its dynamic quantization."""
    config = transformers.AutoConfig.from_pretrained(folder)
    names = ["input_ids", "attention_mask", "states"]
    # Its fusions know the graphs of this exporter and this attention.
    torch.onnx.export(
        model_class(folder)(folder, "eager"),
        tuple(map(torch.tensor, EXAMPLE)),
        str(out / "plain.onnx"), input_names=names[:2], output_names=names[2:],
        dynamic_axes={name: {0: "sentences", 1: "tokens"} for name in names},
        opset_version=17, dynamo=False)
    fused = onnxruntime.transformers.optimizer.optimize_model(
        str(out / "plain.onnx"), model_type="bert",
        num_heads=config.num_attention_heads, hidden_size=config.hidden_size,
        opt_level=0)
    # It knows no other family's attention.
    if (config.model_type in ("bert", "xlm-roberta")
            and fused.get_fused_operator_statistics()["Attention"] == 0):
        sys.exit("ONNX Runtime's optimizer does not know this exporter's "
                 "attention: its figures would be too low")
    fused.save_model_to_file(str(out / "fused.onnx"))
    (out / "plain.onnx").unlink()
    if "int8" in precisions:
        onnxruntime.quantization.quantize_dynamic(
            str(out / "fused.onnx"), str(out / "int8.onnx"), per_channel=True,
            weight_type=onnxruntime.quantization.QuantType.QInt8,
            # Its shape inference does not know its fused operators.
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    if "f32" not in precisions:
        (out / "fused.onnx").unlink()


def write_openvino(folder, sentences, out, precisions):
    """f32.xml and int8.xml, as NNCF quantizes it; without its corrections of
    accuracy, which cost minutes and change no speed."""
    model = openvino.convert_model(
        model_class(folder)(folder, "sdpa"),
        example_input=dict(zip(("input_ids", "attention_mask"),
                               map(torch.tensor, EXAMPLE))),
        input=[("input_ids", [-1, -1], np.int64),
               ("attention_mask", [-1, -1], np.int64)])
    if "f32" in precisions or "bf16" in precisions:
        openvino.save_model(model, out / "f32.xml", compress_to_fp16=False)
    if "int8" not in precisions:
        return
    int8 = nncf.quantize(
        model,
        nncf.Dataset([padded([sentence]) for sentence
                      in sentences[:CALIBRATION_SENTENCES]], list),
        model_type=nncf.ModelType.TRANSFORMER,
        subset_size=CALIBRATION_SENTENCES,
        advanced_parameters=nncf.AdvancedQuantizationParameters(
            disable_bias_correction=True,
            smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(
                matmul=-1, convolution=-1)))
    openvino.save_model(int8, out / "int8.xml", compress_to_fp16=False)


def write_models(folder, sentences, out, precisions, names):
    """What the peers of these names make of the folder, unless `out` has it
    from them."""
    stamp = out / "made_of.json"
    config = json.loads((folder / "config.json").read_text())
    made_of = json.dumps({
        **VERSIONS, "config": config,
        "weights": hashlib.sha256(
            (folder / "model.safetensors").read_bytes()).hexdigest(),
        "calibration": sentences[:CALIBRATION_SENTENCES]})
    if not stamp.is_file() or stamp.read_text() != made_of:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        stamp.write_text(made_of)
    for peer, write in ((OnnxRuntime, write_onnx), (OpenVino, write_openvino)):
        files = [file for precision, file in peer.precisions.items()
                 if precision in precisions]
        if peer.name not in names or all((out / file).is_file()
                                         for file in files):
            continue
        print(f"== Converting the model for {peer.name} into {out}",
              file=sys.stderr)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(folder, sentences, out, precisions)


class OnnxRuntime:
    name = "ONNX Runtime"
    precisions = {"f32": "fused.onnx", "int8": "int8.onnx"}

    def __init__(self, precision, folder, models, threads):
        self.precision, self._pooled = precision, model_class(folder).embeddings
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(
            str(models / self.precisions[precision]), options,
            providers=["CPUExecutionProvider"])

    def __call__(self, ids, mask):
        (states,) = self._session.run(
            None, {"input_ids": ids, "attention_mask": mask})
        return self._pooled(states, mask)


class OpenVino:
    name = "OpenVINO"
    precisions = {"f32": "f32.xml", "bf16": "f32.xml", "int8": "int8.xml"}

    def __init__(self, precision, folder, models, threads):
        self.precision, self._pooled = precision, model_class(folder).embeddings
        # What int8 leaves is in f32.
        model = openvino.Core().compile_model(
            models / self.precisions[precision], "CPU", {
            "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
        })
        self._request = model.create_infer_request()

    def __call__(self, ids, mask):
        return self._pooled(self._request.infer([ids, mask])[0], mask)


class PyTorch:
    name = "PyTorch"
    precisions = ("f32", "bf16", "int8")

    def __init__(self, precision, folder, models, threads):
        self.precision, self._pooled = precision, model_class(folder).embeddings
        torch.set_num_threads(threads)
        self._model = model_class(folder)(folder, "sdpa")
        if precision == "bf16":
            self._model.to(torch.bfloat16)
        elif precision == "int8":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._model = torch.ao.quantization.quantize_dynamic(
                    self._model, {torch.nn.Linear}, torch.qint8)

    @torch.inference_mode()
    def __call__(self, ids, mask):
        states = self._model(torch.from_numpy(ids), torch.from_numpy(mask))
        return self._pooled(states.float().numpy(), mask)


PEERS = (OnnxRuntime, OpenVino, PyTorch)


def make(folder, models, precisions, names, threads):
    """The peers of these names, each in those of `precisions` that it has;
    `models` is what write_models wrote."""
    return [peer(precision, folder, models, threads)
            for precision in precisions for peer in PEERS
            if peer.name in names and precision in peer.precisions]
