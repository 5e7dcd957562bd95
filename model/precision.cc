#include "model/precision.h"

#include <fmt/format.h>

#include <utility>

namespace trivium {
namespace {

constexpr std::pair<std::string_view, Precision> kNames[] = {
    {"auto", Precision::kAuto}, {"f32", Precision::kF32},
    {"bf16", Precision::kBf16}, {"int8", Precision::kInt8},
    {"int4", Precision::kInt4},
};

}  // namespace

std::string_view PrecisionName(Precision precision) {
  for (const auto& [name, value] : kNames) {
    if (value == precision) return name;
  }
  return "";
}

absl::StatusOr<Precision> ParsePrecision(std::string_view name) {
  for (const auto& known : kNames) {
    if (known.first == name) return known.second;
  }
  return absl::InvalidArgumentError(fmt::format(
      "precision '{}' is unknown; give auto, f32, bf16, int8 or int4", name));
}

absl::StatusOr<Precision> ParseKvPrecision(std::string_view name) {
  const absl::StatusOr<Precision> precision = ParsePrecision(name);
  if (!precision.ok() || *precision == Precision::kInt4) {
    return absl::InvalidArgumentError(fmt::format(
        "precision '{}' of keys and values is unknown; give auto, f32, bf16 or "
        "int8",
        name));
  }
  return precision;
}

absl::StatusOr<Precision> ResolvePrecision(Precision precision, Isa isa) {
  if (precision == Precision::kAuto) {
    // int8 has not been measured on Arm.
    return isa >= Isa::kAvx2 ? Precision::kInt8 : Precision::kF32;
  }
  if (precision == Precision::kBf16 && isa < Isa::kAvx512Bf16) {
    return absl::FailedPreconditionError(fmt::format(
        "precision bf16 needs a CPU with AVX512_BF16 or AMX and this process "
        "runs at {}; choose f32, int8 or auto",
        IsaName(isa)));
  }
  return precision;
}

Formats FormatsOf(Precision precision, Precision kv_precision) {
  if (kv_precision != Precision::kAuto) {
    Formats formats = FormatsOf(precision, Precision::kAuto);
    formats.decoder_kv = FormatsOf(kv_precision, Precision::kAuto).decoder_kv;
    return formats;
  }
  switch (precision) {
    case Precision::kInt8:
      return kInt8Formats;
    case Precision::kInt4:
      return kInt4Formats;
    case Precision::kBf16:
      return kBf16Formats;
    default:
      return kF32Formats;
  }
}

Precision KvPrecisionOf(const Formats& formats) {
  switch (formats.decoder_kv) {
    case KvType::kInt8:
      return Precision::kInt8;
    case KvType::kBf16:
      return Precision::kBf16;
    case KvType::kF32:
      return Precision::kF32;
  }
  return Precision::kF32;
}

}  // namespace trivium
