#ifndef TRIVIUM_MODEL_HUB_FILE_CHOICE_H_
#define TRIVIUM_MODEL_HUB_FILE_CHOICE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/hub/hub_name.h"
#include "model/hub/listing.h"

namespace trivium {

// The files of a repository that a model is loaded from. They are fetched in
// this order, and checked after `first`.
struct FileChoice {
  // Configuration, tokenizer, sentence-transformers' modules.
  std::vector<HubFile> first;
  // Says which other files have weights (ReadShards); unset: none does.
  std::optional<HubFile> index;
  std::vector<HubFile> weights;
  // The model is this file alone; empty: it is the folder.
  std::string gguf;
};

// Chooses from the files of a repository, which has either a Hugging Face
// folder (safetensors before pytorch_model.bin) or GGUF files. Of several of
// those, it takes the one whose name has the quant, or else Q4_K_M.
// NOT_FOUND lists the GGUF files if none or several fit, or says that there is
// no model.
absl::StatusOr<FileChoice> ChooseFiles(const HubName& name,
                                       const std::vector<HubFile>& files);

// Returns the files beside `index` that its text names.
absl::StatusOr<std::vector<HubFile>> ReadShards(
    const HubName& name, const HubFile& index, std::string_view text,
    const std::vector<HubFile>& files);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_FILE_CHOICE_H_
