#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_FILE_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The contents of a .gguf file (ggml's docs/gguf.md): metadata, as a JSON
// object of names like "llama.block_count", and tensors, which are views of the
// file.
struct GgufFile {
  nlohmann::json metadata;
  TensorMap tensors;
};

// Reads a GGUF file of version 2 or 3, little-endian:
//   "GGUF", version u32, tensors u64, values u64
//   each value: name, type u32, value. A text is its length u64 and bytes; a
//     list is the type u32 of its elements, their number u64, and the elements
//   each tensor: name, dimensions u32, each size u64 (innermost first), type
//     u32, offset u64 from the beginning of the data
//   the data, from the next multiple of general.alignment on
// Every length is checked against the remaining bytes before anything is
// allocated. UNIMPLEMENTED names a version, byte order or tensor type that is
// not supported; INVALID_ARGUMENT names what is broken. The caller adds the
// file.
absl::StatusOr<GgufFile> ReadGguf(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_FILE_H_
