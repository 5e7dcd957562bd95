#ifndef TRIVIUM_SERVER_MODEL_SPEC_H_
#define TRIVIUM_SERVER_MODEL_SPEC_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/model.h"

namespace trivium {

// A --model: [NAME=]FOLDER[,precision=...][,kv=...][,shortlist=on|off].
struct ModelSpec {
  std::string name;
  std::string folder;
  std::optional<Precision> precision = std::nullopt;     // --precision
  std::optional<Precision> kv_precision = std::nullopt;  // --kv-precision
  // Unset: --vocabulary-shortlist.
  std::optional<bool> shortlist = std::nullopt;

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Without a name the folder's own is taken. A setting that is none is an error
// that names the nearest; a folder whose name ends with ",key=value" can be
// written with a slash after it.
absl::StatusOr<ModelSpec> ParseModelSpec(const std::string& text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_SPEC_H_
