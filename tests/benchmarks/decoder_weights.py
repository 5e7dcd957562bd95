"""What a token of a GGUF model multiplies and reads, for the limits of
compare_decoders.

Keys, values, states and the softmax do not count, so limits are a little too
high.
"""

import collections
from dataclasses import dataclass, field

import gguf

# Bits that a weight takes as this engine keeps it: see "Four bits" in
# docs/models.md.
KEPT_BITS = {"Q4_0": 4.5, "Q4_1": 5, "Q4_K": 4.63, "IQ4_NL": 4.5,
             "IQ4_XS": 4.31, "MXFP4": 4.25}
BESIDE_FOUR_BITS, INT8 = 8.5, 8
WITH_MINIMUMS = {"Q4_1", "Q4_K"}
# Tables of which a token needs a row.
TABLES = {"token_embd", "per_layer_token_embd", "position_embd"}


@dataclass
class DecoderWeights:
    # Weights that a token multiplies in the layers, and those of the output,
    # once a sequence and step, by how they are multiplied: "int8", "groups",
    # "minimums".
    layers: collections.Counter = field(default_factory=collections.Counter)
    output: collections.Counter = field(default_factory=collections.Counter)
    layer_bits: float = 0
    output_bits: float = 0

    def bytes(self):
        return (self.layer_bits + self.output_bits) / 8


def seconds(weights, peaks):
    """What multiplying these once takes, in nothing but multiplications."""
    return sum(2 * count / peaks[kind] for kind, count in weights.items())


def metadata(reader, name, default):
    architecture = reader.fields["general.architecture"].contents()
    found = reader.fields.get(f"{architecture}.{name}")
    return found.contents() if found else default


def read(path, precision):
    reader = gguf.GGUFReader(path)
    share = (metadata(reader, "expert_used_count", 1)
             / metadata(reader, "expert_count", 1))
    kinds = {tensor.tensor_type.name for tensor in reader.tensors}
    keeps_four = precision == "auto" and kinds & KEPT_BITS.keys()
    has_output = any(t.name == "output.weight" for t in reader.tensors)
    found = DecoderWeights()
    for tensor in reader.tensors:
        name = tensor.name.split(".")[0]
        is_output = name == ("output" if has_output else "token_embd")
        if len(tensor.shape) < 2 or (name in TABLES and not is_output):
            continue
        used = int(tensor.n_elements) * (share if "_exps" in tensor.name else 1)
        bits = used * (KEPT_BITS.get(tensor.tensor_type.name, BESIDE_FOUR_BITS)
                       if keeps_four else INT8)
        kind = ("int8" if not keeps_four
                else "minimums" if tensor.tensor_type.name in WITH_MINIMUMS
                else "groups")
        if is_output:
            found.output[kind], found.output_bits = used, bits
        else:
            found.layers[kind] += used
            found.layer_bits += bits
    return found
