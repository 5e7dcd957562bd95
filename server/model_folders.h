#ifndef TRIVIUM_SERVER_MODEL_FOLDERS_H_
#define TRIVIUM_SERVER_MODEL_FOLDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/model_spec.h"

namespace trivium {

// Finds the folder or .gguf file `folder` below `root`, as --model-root and
// clients name them. The model gets the folder's name. Links are followed when
// the model is read, so that a link can be switched to another version of a
// model; but no link may lead out of `root`.
// INVALID_ARGUMENT: not below `root`, or does not exist, or `root` is empty.
// FAILED_PRECONDITION: `root` cannot be read.
absl::StatusOr<ModelSpec> FindModelFolder(const std::string& root,
                                          const std::string& folder);

// Returns the FindModelFolder of each folder and .gguf file directly in `root`
// that looks like a model, sorted by name. Leaves out names that begin with a
// dot, and links that lead out of `root`.
absl::StatusOr<std::vector<ModelSpec>> ListModelFolders(
    const std::string& root);

// Returns the one spelling of a folder: absolute, with the links of its parents
// resolved.
std::string AbsoluteFolder(const std::string& folder);

// Bytes of a model's weight files. If there are several formats, those of the
// largest one.
int64_t WeightFileBytes(const std::string& folder);

// Names, sizes and times of a model's files, without hidden ones. The text
// changes if any of them does.
std::string FingerprintOfFolder(const std::string& folder);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_FOLDERS_H_
