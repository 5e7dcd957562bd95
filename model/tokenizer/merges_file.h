#ifndef TRIVIUM_MODEL_TOKENIZER_MERGES_FILE_H_
#define TRIVIUM_MODEL_TOKENIZER_MERGES_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "model/tokenizer/bpe_model.h"

namespace trivium {

// Reads a merges.txt: two pieces on each line, with a space between.
absl::StatusOr<BpeModel::Merges> LoadMerges(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_MERGES_FILE_H_
