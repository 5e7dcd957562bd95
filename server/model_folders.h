#ifndef TRIVIUM_SERVER_MODEL_FOLDERS_H_
#define TRIVIUM_SERVER_MODEL_FOLDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/model_spec.h"

namespace trivium {

// The folder or .gguf file `folder` below `root`, both as --model-root and
// clients name them, under its own name. Its links are followed when it is
// read, so that one can be turned to another version of a model, but none may
// lead out of `root`. INVALID_ARGUMENT: not below `root`, or not there.
// FAILED_PRECONDITION: `root` cannot be read.
absl::StatusOr<ModelSpec> FindModelFolder(const std::string& root,
                                          const std::string& folder);

// What FindModelFolder gives for each folder and .gguf file directly in `root`
// that looks like a model, by name. Names that begin with a dot are left out,
// as are links that lead out of `root`.
absl::StatusOr<std::vector<ModelSpec>> ListModelFolders(
    const std::string& root);

// One spelling for each folder: absolute, links of its parents followed.
std::string AbsoluteFolder(const std::string& folder);

// Bytes of a model's weights as files: of several formats, of the one that has
// the most.
int64_t WeightFileBytes(const std::string& folder);

// Names, sizes and times of the files of a model, hidden ones left out: they
// change where these do.
std::string FingerprintOfFolder(const std::string& folder);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_FOLDERS_H_
