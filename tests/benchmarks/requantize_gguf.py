"""A GGUF file with its matrices made Q8_0: requantize_gguf.py FROM TO.

What llama-quantize --allow-requantize makes of a file of another quantization,
and what peers read as int8.
"""

import sys

import gguf
import numpy as np


def copy_field(writer, field):
    types = field.types
    value = field.contents()
    if types[0] == gguf.GGUFValueType.ARRAY:
        writer.add_key_value(field.name, value, types[0], sub_type=types[-1])
    else:
        writer.add_key_value(field.name, value, types[0])


def main():
    source, target = sys.argv[1:]
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    skipped = {"general.architecture", "general.file_type"}
    for name, field in reader.fields.items():
        if name not in skipped and not name.startswith("GGUF."):
            copy_field(writer, field)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    kind = gguf.GGMLQuantizationType.Q8_0
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        if len(tensor.shape) < 2:
            writer.add_tensor(tensor.name, values.astype(np.float32))
        else:
            writer.add_tensor(tensor.name, gguf.quantize(values, kind),
                              raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
