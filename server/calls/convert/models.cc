#include "server/calls/convert/models.h"

#include <fmt/format.h>

#include <optional>

#include "base/status.h"
#include "model/translator_prompts.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxFolderBytes = 4096;

absl::Status CheckLength(const char* field, const std::string& text,
                         size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::OkStatus();
  return InvalidField(field, fmt::format("has {} bytes; it has at most {}",
                                         text.size(), max_bytes));
}

absl::StatusOr<std::string> ReadServedName(const std::string& name) {
  if (name.empty()) return InvalidField("name", "is empty; name the model");
  TRIVIUM_RETURN_IF_ERROR(CheckLength("name", name, kMaxNameBytes));
  return name;
}

absl::StatusOr<std::optional<Precision>> ReadPrecision(v1::Precision precision,
                                                       const char* field) {
  switch (precision) {
    case v1::PRECISION_UNSPECIFIED:
      return std::optional<Precision>();
    case v1::PRECISION_F32:
      return Precision::kF32;
    case v1::PRECISION_BF16:
      return Precision::kBf16;
    case v1::PRECISION_INT8:
      return Precision::kInt8;
    case v1::PRECISION_INT4:
      return Precision::kInt4;
    default:
      return InvalidField(field, "is not one that this server knows");
  }
}

}  // namespace

const std::string& ReadName(const v1::GetModelRequest& in) { return in.name(); }

absl::StatusOr<ModelControl::LoadOrder> ReadOrder(
    const v1::LoadModelRequest& in) {
  if (in.folder().empty()) {
    return InvalidField("folder", "is empty; name a folder of --model-root");
  }
  TRIVIUM_RETURN_IF_ERROR(CheckLength("folder", in.folder(), kMaxFolderBytes));
  TRIVIUM_RETURN_IF_ERROR(CheckLength("name", in.name(), kMaxNameBytes));
  ModelControl::LoadOrder order{.folder = in.folder(), .name = in.name()};
  TRIVIUM_ASSIGN_OR_RETURN(order.precision,
                           ReadPrecision(in.precision(), "precision"));
  TRIVIUM_ASSIGN_OR_RETURN(order.kv_precision,
                           ReadPrecision(in.kv_precision(), "kv_precision"));
  if (order.kv_precision == Precision::kInt4) {
    return InvalidField("kv_precision",
                        "is INT4, which keys and values do not have; "
                        "give F32, BF16 or INT8");
  }
  if (in.has_vocabulary_shortlist())
    order.shortlist = in.vocabulary_shortlist();
  if (!in.translate_with().empty()) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckLength("translate_with", in.translate_with(), kMaxNameBytes));
    const absl::StatusOr<std::string_view> name =
        ParseTranslateWith(in.translate_with());
    if (!name.ok()) {
      return InvalidField("translate_with",
                          std::string(name.status().message()));
    }
    order.translate_with = *name;
  }
  return order;
}

absl::StatusOr<std::string> ReadOrder(const v1::ReloadModelRequest& in) {
  return ReadServedName(in.name());
}

absl::StatusOr<std::string> ReadOrder(const v1::UnloadModelRequest& in) {
  return ReadServedName(in.name());
}

void AddModel(const ServedModel& model, const RequestLimits& limits,
              v1::ListModelsResponse* out) {
  *out->add_models() = ConvertModel(model, limits);
}

}  // namespace trivium
