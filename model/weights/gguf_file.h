#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_FILE_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"
#include "nlohmann/json.hpp"

namespace trivium {

// What a .gguf file holds (docs/gguf.md of ggml): metadata, a JSON object of
// names like "llama.block_count", and tensors, which are views of the file.
struct GgufFile {
  nlohmann::json metadata;
  TensorMap tensors;
};

// Reads a GGUF file of version 2 or 3, little-endian:
//   "GGUF", version u32, tensors u64, values u64
//   values: name, type u32, value; a text is its length u64 and its bytes, a
//   list the type of its values u32, their number u64 and they
//   tensors: name, dimensions u32, each u64 with the innermost first, type u32,
//   offset u64 from the data's beginning, which is the next multiple of
//   general.alignment
// Every length is held against the bytes that are left, before anything is made
// of it. UNIMPLEMENTED names a version, an order of bytes or a tensor's type
// that is not read, INVALID_ARGUMENT what is broken; the caller adds the file.
absl::StatusOr<GgufFile> ReadGguf(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_FILE_H_
