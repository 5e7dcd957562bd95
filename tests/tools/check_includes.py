#!/usr/bin/env python3
"""Checks the layers of ARCHITECTURE.md: who may include what.

Usage: check_includes.py [ROOT]. Prints one line a violation and exits with 1
if there is any. Also checks that include guards follow the path, and that calls
leave the fields of messages to server/calls/convert.
"""

import pathlib
import re
import sys

# What of the model the layers above it may see.
MODEL = (
    r"model/[a-z_]+\.h",
    r"model/chat_format/.*",
    r"model/tokenizer/tokenizer\.h",
    r"model/search/.*",
)

# Folder -> patterns of the project's headers that it may include, besides its
# own and base/. The longest matching folder counts.
LAYERS = {
    "base": (),
    "model/kernels": (
        r"model/logits\.h",
        r"model/weights/(grouped_row|half)\.h",
    ),
    "model/weights": (),
    "model/weights/quantized": (r"model/weights/[a-z_]+\.h",),
    "model/tokenizer": (),
    "model/jinja": (),
    "model/grammar": (),
    "model/chat_format": (
        r"model/chat_template\.h",
        r"model/grammar/.*",
        r"model/tokenizer/(token_bytes|tokenizer)\.h",
    ),
    "model/search": (r"model/grammar/(constraint|token_trie)\.h", r"model/logits\.h"),
    "model/transformer": (
        r"model/kernels/.*",
        r"model/weights/.*",
        r"model/engine\.h",
        r"model/head_trace\.h",
        r"model/logits\.h",
        r"model/source_checks\.h",
    ),
    "model/families": (
        r"model/transformer/.*",
        r"model/weights/.*",
        r"model/model\.h",
        r"model/search/.*",
        r"model/tokenizer/tokenizer\.h",
    ),
    "model/gguf": (r"model/weights/.*",),
    "model/marian": (r"model/search/decoding\.h", r"model/(tokenizer|weights)/.*"),
    # Above the model: a pull makes the checks of a folder.
    "model/hub": (r"model/[a-z_]+\.h", r"model/gguf/architecture\.h"),
    # Above the model: reads one as a server does, and writes another.
    "model/quantizer": (
        r"model/[a-z_]+\.h",
        r"model/(gguf/gguf_model|marian/marian_model)\.h",
        r"model/tokenizer/sentence_config\.h",
        r"model/transformer/(description|grouped_linear)\.h",
        r"model/weights/.*",
    ),
    "model": (r"model/(?!hub/|quantizer/).*",),
    "server/batching": MODEL,
    "server/observability": (r"server/batching/.*",) + MODEL,
    "server/errors": (),
    # Texts alone; the pipeline around a model, which knows no message, no call
    # and no batcher.
    "server/translation": (),
    "server/translation/pipeline": (
        r"server/translation/[a-z_]+\.h",
        r"server/batching/(request|served_model)\.h",
        r"server/errors/status\.h",
    ) + MODEL,
    # Documents as texts: bytes in, bytes out.
    "server/documents": (
        r"server/errors/status\.h",
        # Where a page can be cut.
        r"server/translation/markup_(elements|lexer)\.h",
    ),
    "server/tracing": (
        r"server/batching/request_phases\.h",
        r"server/observability/(log|metrics|rpc|version)\.h",
    ),
    "server/limits": (
        r"server/batching/(admission|batcher|request)\.h",
        r"server/errors/.*",
        r"server/observability/(held|log|metrics|rpc)\.h",
    ) + MODEL,
    "server/calls": (
        r"server/(batching|errors|limits|observability|tracing|translation)/.*",
        r"server/documents/(document(_segment)?|entities)\.h",
    ) + MODEL,
    "server/adapters": (
        r"server/(calls|errors|limits)/.*",
        r"server/documents/(document(_segment)?|entities)\.h",
        r"server/translation/(language_detection|markup_pieces)\.h",
        # A stored glossary is checked when it comes, as a call's is.
        r"server/translation/pipeline/terminology\.h",
        r"server/translation/pipeline/translation_(options|router)\.h",
        r"server/observability/(ignored_members|log|metrics|rpc|version)\.h",
        r"model/tokenizer/token_bytes\.h",
        # Members that set what a template has a variable for.
        r"model/chat_template\.h",
    ),
    "server/transports/net": (r"server/observability/(log|metrics)\.h",),
    "server/transports/http": (
        r"server/(adapters|calls|errors|limits|page|transports/net)/.*",
        r"server/observability/(log|metrics|rpc|version)\.h",
    ),
    "server/page": (),
    "server/transports/grpc": (
        r"server/(adapters/kserve|calls|errors|limits|transports/net)/.*",
        r"server/observability/(log|metrics)\.h",
    ),
    # A tool around the server: only main() includes it.
    "server/plan": (r"server/.*", r"model/kernels/runtime\.h") + MODEL,
    # The program caps the instruction set before it loads a model.
    "server": (
        r"server/(?!plan/).*",
        r"server/plan/commands\.h",
        r"model/(hub/.*|kernels/runtime\.h)",
    ) + MODEL,
    "client": (
        r"client/.*",
        r"model/hub/.*",
        r"model/quantizer/quantize_folder\.h",
    ),
    "library": (
        r"client/(client|tls)\.h",
        r"server/(batching|calls|errors|limits)/.*",
        r"server/observability/log\.h",
    ) + MODEL,
    "tests": (r".*",),
}

# Headers from outside (and generated ones) -> the folders that may see them, or
# files without their suffixes.
OUTSIDE = {
    r"(oneapi/)?dnnl.*|hwy/.*|[a-z]*mmintrin\.h|immintrin\.h": ("model/kernels",),
    r"sentencepiece.*": ("model/tokenizer",),
    r"yaml\.h": ("model/marian",),
    r"zip\.h": ("model/weights", "server/documents", "client/commands"),
    r"prometheus/.*": ("server/observability",),
    r"spdlog/.*": ("server",),
    r"(grpc|grpcpp)/.*|.*\.grpc\.pb\.h": ("server/transports/grpc", "client"),
    r"microhttpd\.h": (
        "server/transports/http/daemon", "server/transports/http/http_api"),
    r"nghttp2/.*": ("server/transports/grpc/header_fields",),
    r"httplib\.h": ("server/tracing", "client/load", "model/hub"),
    r"opentelemetry/.*": ("server/tracing",),
    r"histedit\.h": ("client/commands",),
    r"re2/.*": ("server/translation", "server/documents"),
    # TLS; and hashes and random numbers.
    r"openssl/.*": (
        "server/transports/net", "server/limits/crypto", "model/hub/file_hash"),
    r"google/.*": (
        "server/adapters", "server/calls", "server/errors", "server/transports",
        "client", "library"),
    # Calls get the API's messages by way of convert's headers.
    r"trivium/.*": (
        "server/adapters", "server/calls/convert", "server/calls/call_translation",
        "server/errors", "server/transports", "client", "library"),
    r"kserve/.*": ("server/adapters/kserve",),
    r"xds/.*": ("server/calls",),
    r"CLI/.*": ("server", "client"),
    r"gtest/.*|gmock/.*|benchmark/.*": (),
}
# Of "server" itself, not of the folders below it.
TOP_ONLY = {
    r"CLI/.*": ("server",),
}

# Files of calls that may use the fields of messages although they are not in
# convert/: those about translations, and a message that is not the API's.
MAY_USE_FIELDS = (
    "server/calls/call_translation", "server/calls/document_items",
    "server/calls/document_job",
    "server/calls/load_reports", "server/calls/translate")
# Uses of fields that a line shows: an accessor that only messages have, or any
# function of a member that, by its name, is a message.
FIELD = re.compile(
    r"(?:\.|->)(?:set|mutable|add|has|clear)_(?!value\()\w+\("
    r"|\b(?:request|response)_(?:\.|->)\w+\(|\brequest\(\)\.\w+\(")

FOLDERS = ("base", "model", "server", "client", "library", "tests")
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^">]+)[">]')


def is_in(folder, parent):
    return folder == parent or folder.startswith(parent + "/")


def layer_of(folder):
    matching = [layer for layer in LAYERS if is_in(folder, layer)]
    return max(matching, key=len)


def allowed(path, header):
    """True if the file at `path` may include `header`."""
    folder = str(path.parent)
    if is_in(folder, "tests"):
        return True
    layer = layer_of(folder)
    if header.split("/")[0] in FOLDERS and "/" in header:
        own = is_in(str(pathlib.PurePath(header).parent), layer)
        if header.startswith("base/") or (own and layer != "server"):
            return True
        return any(re.fullmatch(p, header) for p in LAYERS[layer])
    for pattern, layers in OUTSIDE.items():
        if re.fullmatch(pattern, header):
            top_only = TOP_ONLY.get(pattern, ())
            return any(
                folder == one if one in top_only
                else is_in(str(path.with_suffix("")), one)
                for one in layers
            )
    return True


def uses_fields(path, line):
    """True if the file at `path` must not use the fields that `line` uses."""
    return (str(path.parent) == "server/calls"
            and str(path.with_suffix("")) not in MAY_USE_FIELDS
            and not line.lstrip().startswith("//")
            and FIELD.search(line) is not None)


def guard_of(path):
    return "TRIVIUM_" + re.sub(r"[^A-Za-z0-9]", "_", str(path)).upper() + "_"


def check(root):
    problems = []
    for top in FOLDERS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            relative = path.relative_to(root)
            text = path.read_text(encoding="utf-8")
            folder = str(relative.parent)
            for number, line in enumerate(text.splitlines(), 1):
                match = INCLUDE.match(line)
                if match and not allowed(relative, match[1]):
                    problems.append(
                        f"{relative}:{number}: {layer_of(folder)} may not "
                        f"include {match[1]}"
                    )
                if uses_fields(relative, line):
                    problems.append(
                        f"{relative}:{number}: server/calls/convert reads and "
                        f"writes the fields of messages: {line.strip()}"
                    )
            # Highway includes a file of per-target code many times.
            per_target = path.name.endswith("-inl.h")
            if path.suffix == ".h" and not per_target:
                guard = guard_of(relative)
                if f"#ifndef {guard}\n#define {guard}\n" not in text:
                    problems.append(f"{relative}:1: its include guard must be {guard}")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
