#!/usr/bin/env python3
"""Makes tests/golden/quantized/NAME: a tiny random model whose linear layers
are quantized by a format's own library, and dequantized.safetensors, the same
tensors as that library dequantizes them.

    make_quantized_goldens.py FOLDER LIBRARIES [NAME...]

LIBRARIES is a folder with the unpacked source of PyPI's autoawq 0.2.9,
auto_gptq 0.7.1 and hqq 0.2.8.post1, of which single files are used, since the
packages need a GPU. Needs PyPI's torch, transformers (5.24 made the committed
files), safetensors, accelerate, termcolor, compressed-tensors 0.20.0 and
bitsandbytes 0.50.2. The tests themselves need none of them.
"""

import importlib
import json
import pathlib
import sys
import types

import torch
import transformers
from safetensors.torch import load_file, save_file

SIZES = {
    "vocab_size": 48,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "moe_intermediate_size": 32,
    "num_experts": 3,
    "num_local_experts": 3,
    "num_experts_per_tok": 2,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
}


def library(folder, package, module):
    """A module of a package whose __init__ is not run."""
    path = next(folder.glob(f"**/{package}"))
    parts = module.split(".")
    name, here = package, path
    for part in [None, *parts[:-1]]:
        if part is not None:
            name, here = f"{name}.{part}", here / part
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [str(here)]
    return importlib.import_module(f"{package}.{module}")


def affine(weight, bits, group, symmetric=False):
    """Scales and zeros [out, groups] of a weight [out, in]; the last group may be short."""
    top = 2**bits - 1
    padding = -weight.shape[1] % group
    padded = torch.nn.functional.pad(weight.float(), (0, padding))
    groups = padded.reshape(weight.shape[0], -1, group)
    if symmetric:
        scale = groups.abs().amax(-1) / (top // 2)
        zero = torch.full_like(scale, (top + 1) // 2)
    else:
        low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
        scale = (high - low) / top
        zero = torch.round(-low / scale)
    return scale.half(), zero


def awq(weight, libraries, group):
    gemm = library(libraries, "awq", "modules.linear.gemm")
    packing = library(libraries, "awq", "utils.packing_utils")
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight.data = weight
    scale, zero = affine(weight, 4, group)
    made = gemm.WQLinear_GEMM.from_linear(
        linear, 4, group, scales=scale.T.contiguous(), zeros=zero.T.half().contiguous()
    )
    plain = packing.dequantize_gemm(made.qweight, made.qzeros, made.scales, 4, group)
    parts = {"qweight": made.qweight, "qzeros": made.qzeros, "scales": made.scales}
    return parts, plain.T


def order_of(inputs):
    """An order that all matrices with so many inputs share, as Q, K and V do."""
    return torch.randperm(inputs, generator=torch.Generator().manual_seed(inputs))


def gptq(
    weight, libraries, bits, group, shuffled=False, shared=False, symmetric=False, v2=False
):
    old = library(libraries, "auto_gptq", "nn_modules.qlinear.qlinear_cuda_old")
    # qlinear_cuda unpacks by g_idx, qlinear_cuda_old does not.
    if shuffled:
        old = library(libraries, "auto_gptq", "nn_modules.qlinear.qlinear_cuda")
    out, inputs = weight.shape
    size = inputs if group == -1 else group
    layer = old.QuantLinear(bits, group, inputs, out, bias=False)
    linear = torch.nn.Linear(inputs, out, bias=False)
    linear.weight.data = weight.float()
    index = torch.arange(inputs) // size
    if shuffled:
        index = index[order_of(inputs) if shared else torch.randperm(inputs)]
    order = torch.argsort(index, stable=True)
    scale, zero = affine(weight[:, order], bits, size, symmetric)
    zero = zero.clamp(min=1)  # what AutoGPTQ's zero - 1 needs
    layer.pack(linear, scale.float(), zero, index.int())
    layer.eval()
    with torch.no_grad():
        plain = layer.half()(torch.eye(inputs, dtype=torch.float16))
    zeros = layer.qzeros
    if v2:
        zeros = zeros + 0x11111111
    parts = {"qweight": layer.qweight, "qzeros": zeros, "scales": layer.scales}
    parts["g_idx"] = layer.g_idx.int()
    return parts, plain.T


def compressed(weight, format, weights, activations=None, bf16=False):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    scheme = QuantizationScheme(
        targets=["Linear"],
        weights=QuantizationArgs(**weights),
        input_activations=QuantizationArgs(**activations) if activations else None,
    )
    args = scheme.weights
    dtype = torch.bfloat16 if bf16 else torch.float16
    out, inputs = weight.shape
    strategy = args.strategy
    rows, columns = out, 1
    if strategy in ("group", "tensor_group"):
        columns = inputs // args.group_size
    elif strategy == "tensor":
        rows = 1
    elif strategy == "block":
        rows, columns = (-(-n // b) for n, b in zip(weight.shape, args.block_structure))
    padded = torch.zeros(-(-out // rows) * rows, -(-inputs // columns) * columns, dtype=torch.float)
    if strategy == "block":
        high, wide = args.block_structure
        padded = torch.zeros(rows * high, columns * wide)
    padded[:out, :inputs] = weight.float()
    blocks = padded.reshape(rows, padded.shape[0] // rows, columns, -1)
    state = {"weight": weight.to(dtype)}
    if args.type == "float":
        top = 448 if args.num_bits == 8 else 6
        scale = blocks.abs().amax((1, 3)) / top
        if format == "nvfp4-pack-quantized":
            whole = 448 * 6 / weight.abs().max().float()
            state["weight_global_scale"] = whole.reshape(1)
            scale = (scale * whole).to(torch.float8_e4m3fn).float()
        elif args.group_size == 32:
            scale = 2 ** torch.ceil(torch.log2(scale))
    elif args.symmetric:
        scale = blocks.abs().amax((1, 3)) / (2 ** (args.num_bits - 1) - 1)
    else:
        low, high = blocks.amin((1, 3)), blocks.amax((1, 3))
        scale = (high - low) / (2**args.num_bits - 1)
        zero = torch.round(-low / scale) - 2 ** (args.num_bits - 1)
        state["weight_zero_point"] = zero.to(torch.int8)
    state["weight_scale"] = scale if scale.shape != (1, 1) else scale.reshape(1)
    if format != "nvfp4-pack-quantized":
        state["weight_scale"] = state["weight_scale"].to(dtype)
    compressor = BaseCompressor.get_value_from_registry(format)
    parts = compressor.compress(state, scheme)
    plain = compressor.decompress(dict(parts), scheme)["weight"]
    return parts, plain


def fp8(weight, block):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize

    out, inputs = weight.shape
    high, wide = block or (out, inputs)
    blocks = weight.float().reshape(out // high, high, inputs // wide, wide)
    scale = blocks.abs().amax((1, 3)) / 448
    numbers = (blocks / scale[:, None, :, None]).reshape(out, inputs)
    numbers = numbers.to(torch.float8_e4m3fn)
    plain = Fp8Dequantize(None)._dequantize_one(numbers, scale, torch.float32)
    if block is None:
        return {"weight": numbers, "weight_scale": scale.reshape(())}, plain
    return {"weight": numbers, "weight_scale_inv": scale}, plain


def bits_and_bytes(weight, kind, nested):
    from bitsandbytes import functional

    if kind == "int8":
        codes, scales, _ = functional.int8_vectorwise_quant(weight)
        plain = functional.int8_vectorwise_dequant(codes, scales)
        format = torch.tensor(0, dtype=torch.uint8)
        return {"weight": codes, "SCB": scales, "weight_format": format}, plain
    codes, state = functional.quantize_4bit(
        weight, blocksize=64, compress_statistics=nested, quant_type=kind
    )
    plain = functional.dequantize_4bit(codes, state)
    if weight.shape[1] % state.blocksize != 0:
        # Of such rows the CPU's kernel takes other blocks than it quantized.
        from bitsandbytes.backends.default.ops import _dequantize_4bit_compute

        absmax = state.absmax
        if nested:
            absmax = functional.dequantize_blockwise(absmax, state.state2) + state.offset
        plain = _dequantize_4bit_compute(
            codes.reshape(-1), absmax, state.code, state.blocksize, state.shape, state.dtype
        )
    parts = {f"weight.{key}": value for key, value in state.as_dict(packed=True).items()}
    return {"weight": codes} | parts, plain


def hqq(weight, libraries, bits, axis, group):
    quantize = library(libraries, "hqq", "core.quantize")
    codes, meta = quantize.Quantizer.quantize(
        weight,
        nbits=bits,
        group_size=group,
        axis=axis,
        device="cpu",
        compute_dtype=torch.float16,
        optimize=False,
    )
    codes, meta = quantize.Quantizer.to_inplace(
        codes, meta | {"compute_dtype": torch.float16}, "cpu"
    )
    plain = quantize.Quantizer.dequantize(codes, meta)
    encode = quantize.encode_safetensor_type
    parts = {key: encode(value) for key, value in meta.items()}
    return {"W_q": codes} | {key: value for key, value in parts.items() if value is not None}, plain


def cases(libraries):
    """NAME -> (architecture, quantization_config, weight -> parts and plain) and, for
    some, settings beside SIZES."""

    def gptq_config(bits, group, **more):
        return {"quant_method": "gptq", "bits": bits, "group_size": group} | more

    def packed(format, weights, activations=None, bf16=False, ignore=("lm_head",)):
        group = {"weights": weights, "input_activations": activations, "targets": ["Linear"]}
        config = {
            "quant_method": "compressed-tensors",
            "format": format,
            "quantization_status": "compressed",
            "ignore": list(ignore),
            "config_groups": {"group_0": group},
        }
        return config, lambda w: compressed(w, format, weights, activations, bf16)

    llama, ints, reals = "LlamaForCausalLM", {"type": "int"}, {"type": "float"}
    w4 = ints | {"num_bits": 4, "strategy": "group", "group_size": 32}
    w8 = ints | {"num_bits": 8, "strategy": "channel"}
    f8 = reals | {"num_bits": 8}
    nf4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    int8 = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    awq_config = {
        "quant_method": "awq",
        "bits": 4,
        "group_size": 32,
        "version": "gemm",
        "zero_point": True,
    }
    blocks = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [32, 16]}
    return {
        "awq.llama": (llama, awq_config, lambda w: awq(w, libraries, 32)),
        "awq.phi3": ("Phi3ForCausalLM", awq_config, lambda w: awq(w, libraries, 32)),
        "gptq.b4": (llama, gptq_config(4, 32), lambda w: gptq(w, libraries, 4, 32)),
        "gptq.b4_shuffled": (
            "Glm4ForCausalLM",
            gptq_config(4, 32, desc_act=True, sym=False),
            lambda w: gptq(w, libraries, 4, 32, shuffled=True),
        ),
        "gptq.b4_desc_act": (
            llama,
            gptq_config(4, 64, desc_act=True, sym=False, static_groups=False),
            lambda w: gptq(w, libraries, 4, 64, shuffled=True, shared=True),
        ),
        # AutoGPTQ orders the indices of static groups back.
        "gptq.b4_static_groups": (
            llama,
            gptq_config(4, 32, desc_act=True, sym=True, static_groups=True),
            lambda w: gptq(w, libraries, 4, 32, symmetric=True),
        ),
        "gptq.b4_v2": (
            llama,
            gptq_config(4, -1, sym=True, checkpoint_format="gptq_v2"),
            lambda w: gptq(w, libraries, 4, -1, symmetric=True, v2=True),
        ),
        "gptq.b2": (llama, gptq_config(2, 32), lambda w: gptq(w, libraries, 2, 32)),
        "gptq.b3": (llama, gptq_config(3, 32), lambda w: gptq(w, libraries, 3, 32)),
        "gptq.b8": (llama, gptq_config(8, 32), lambda w: gptq(w, libraries, 8, 32)),
        "ct.w4": (llama, *packed("pack-quantized", w4)),
        "ct.w4_experts": (
            "Qwen3MoeForCausalLM",
            *packed("pack-quantized", w4 | {"symmetric": False}, bf16=True),
        ),
        # Rows of one group, which is no whole number of 32.
        "ct.w4_odd": (
            llama,
            *packed(
                "pack-quantized",
                ints | {"num_bits": 4, "strategy": "channel", "symmetric": False},
            ),
            {"hidden_size": 72, "head_dim": 18, "intermediate_size": 100},
        ),
        # The embeddings and the output, too.
        "ct.w4_untied": (
            llama,
            *packed("pack-quantized", w4, ignore=()),
            {"tie_word_embeddings": False},
        ),
        "ct.w8": (llama, *packed("pack-quantized", w8 | {"symmetric": False})),
        "ct.w8a8": (
            llama,
            *packed(
                "int-quantized", w8, ints | {"num_bits": 8, "strategy": "token", "dynamic": True}
            ),
        ),
        "ct.w8_zeros": (llama, *packed("naive-quantized", w8 | {"symmetric": False}, bf16=True)),
        "ct.fp8": (llama, *packed("float-quantized", f8 | {"strategy": "channel"}, bf16=True)),
        "ct.fp8_tensor": (
            llama,
            *packed("float-quantized", f8 | {"strategy": "tensor"}, bf16=True),
        ),
        "ct.fp8_block": (
            llama,
            *packed(
                "float-quantized",
                f8 | {"strategy": "block", "block_structure": [40, 24]},
                bf16=True,
            ),
        ),
        "ct.nvfp4": (
            llama,
            *packed(
                "nvfp4-pack-quantized",
                reals | {"num_bits": 4, "strategy": "tensor_group", "group_size": 16},
                bf16=True,
            ),
        ),
        "ct.mxfp4": (
            llama,
            *packed(
                "mxfp4-pack-quantized",
                reals | {"num_bits": 4, "strategy": "group", "group_size": 32},
                bf16=True,
            ),
        ),
        "fp8.block": (llama, blocks, lambda w: fp8(w, (32, 16))),
        "fp8.tensor": (llama, {"quant_method": "fp8"}, lambda w: fp8(w, None)),
        "bnb.nf4": (llama, nf4, lambda w: bits_and_bytes(w.bfloat16(), "nf4", False)),
        "bnb.nf4_nested": (llama, nf4, lambda w: bits_and_bytes(w.bfloat16(), "nf4", True)),
        "bnb.fp4": (
            llama,
            nf4 | {"bnb_4bit_quant_type": "fp4"},
            lambda w: bits_and_bytes(w, "fp4", False),
        ),
        "bnb.int8": (llama, int8, lambda w: bits_and_bytes(w, "int8", False)),
        "hqq.b4": (llama, {"quant_method": "hqq"}, lambda w: hqq(w, libraries, 4, 1, 32)),
        "hqq.b4_axis0": (llama, {"quant_method": "hqq"}, lambda w: hqq(w, libraries, 4, 0, 64)),
        "hqq.b3": (llama, {"quant_method": "hqq"}, lambda w: hqq(w, libraries, 3, 1, 32)),
        "hqq.b2": (llama, {"quant_method": "hqq"}, lambda w: hqq(w, libraries, 2, 0, 16)),
        "hqq.b8": (llama, {"quant_method": "hqq"}, lambda w: hqq(w, libraries, 8, 1, 32)),
    }


def make(folder, architecture, quantization, quantize, settings=None):
    torch.manual_seed(0)
    model_class = getattr(transformers, architecture)
    known = model_class.config_class().to_dict()
    sizes = {key: value for key, value in SIZES.items() if key in known}
    sizes |= {"tie_word_embeddings": True} | (settings or {})
    config = model_class.config_class(**sizes)
    config.architectures = [architecture]
    model = model_class(config).half()
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    stored = load_file(folder / "model.safetensors")
    packed, plain = {}, {}
    for name, weight in sorted(stored.items()):
        plainly = ".gate.weight" in name or ("embed" in name and sizes["tie_word_embeddings"])
        if weight.dim() == 2 and not plainly:
            weight = torch.randn(weight.shape).half() / weight.shape[1] ** 0.5 * 1.5
            parts, value = quantize(weight)
            module = name.removesuffix("weight")
            packed |= {module + key: part.contiguous() for key, part in parts.items()}
            plain[name] = value.contiguous().clone()
        else:
            if weight.dim() > 1:
                weight = torch.randn(weight.shape).half() / weight.shape[1] ** 0.5 * 1.5
            packed[name] = plain[name] = weight
    save_file(packed, folder / "model.safetensors", metadata={"format": "pt"})
    save_file(plain, folder / "dequantized.safetensors", metadata={"format": "pt"})
    written = json.loads((folder / "config.json").read_text())
    written["quantization_config"] = quantization
    (folder / "config.json").write_text(json.dumps(written, indent=1) + "\n")
    print(folder)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, known = pathlib.Path(sys.argv[1]), cases(pathlib.Path(sys.argv[2]))
    for name in sys.argv[3:] or known:
        make(root / name, *known[name])
