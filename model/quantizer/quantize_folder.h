#ifndef TRIVIUM_MODEL_QUANTIZER_QUANTIZE_FOLDER_H_
#define TRIVIUM_MODEL_QUANTIZER_QUANTIZE_FOLDER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace trivium {

// Writes a model once in four bits, so that no later start rounds it:
//
//   config.json, tokenizer, other files ── copied; of a GGUF file, made
//   matrices of the layers ── rounded ── model.safetensors, pack-quantized
//   all other tensors ── as they are ──┘
//   all of it ── read as a server reads it ── renamed to its name
//
// The folder has compressed-tensors' format for weights of four bits, a scale
// for each group of columns, symmetric (FourBitWriter), which vLLM and
// Transformers read, too. Rows are not rotated, as --precision int4 rotates
// them: a file's numbers are multiplied as they are.

struct QuantizeOptions {
  int group_size = 32;  // columns that share a scale: 32, 64 or 128
};

struct QuantizeReport {
  int matrices = 0;
  int64_t rounded = 0;  // numbers of these matrices
  int64_t kept = 0;     // numbers of the other tensors
  int64_t bytes = 0;    // of the file of weights
};

// Reads the model at `from`, a folder or a GGUF file, and writes the folder
// `to`, which must not exist. `go_on` is called now and then with the part of
// the work that is done, in [0, 1], and may end it by returning false.
//
// INVALID_ARGUMENT says what is wrong with the model, or why it cannot be
// quantized: it is in four bits already, it has no matrices that can be. Others
// are NewFolder's, UNAVAILABLE for a file that cannot be written, and
// CANCELLED. After an error nothing is left of `to`.
absl::StatusOr<QuantizeReport> QuantizeFolder(
    const std::string& from, const std::string& to,
    const QuantizeOptions& options, absl::FunctionRef<bool(double)> go_on);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_QUANTIZE_FOLDER_H_
