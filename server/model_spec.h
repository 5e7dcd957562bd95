#ifndef TRIVIUM_SERVER_MODEL_SPEC_H_
#define TRIVIUM_SERVER_MODEL_SPEC_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model.h"

namespace trivium {

// The value of a --model:
// [NAME=]FOLDER[,precision=...][,kv=...][,shortlist=on|off]
// [,translate_with=...][,task=...].
struct ModelSpec {
  std::string name;
  // Or hf:OWNER/NAME[@REVISION][:QUANT], which PullModels replaces by a path.
  std::string folder;
  // Each overrides a flag: --precision, --kv-precision, --vocabulary-shortlist,
  // --translate-with.
  std::optional<Precision> precision = std::nullopt;
  std::optional<Precision> kv_precision = std::nullopt;
  std::optional<bool> shortlist = std::nullopt;
  std::optional<std::string_view> translate_with = std::nullopt;  // static
  std::string task = {};  // LoadOptions::task

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Without NAME, the model gets the folder's name, or the name of a hub's
// repository without its owner. The error for an unknown
// setting names the nearest one. A folder whose name ends with ",key=value" can
// be written with a slash after it.
absl::StatusOr<ModelSpec> ParseModelSpec(const std::string& text);

// INVALID_ARGUMENT if a model cannot have this name, which is shown in logs,
// metrics, and answers: it is not UTF-8, or has characters that no terminal
// should be sent.
absl::Status CheckModelName(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_SPEC_H_
