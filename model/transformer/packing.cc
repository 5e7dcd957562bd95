#include "model/transformer/packing.h"

#include <cstring>
#include <optional>
#include <utility>

#include "base/status.h"
#include "model/transformer/embeddings.h"

namespace trivium {

absl::StatusOr<RawBuffer> PartPieces::Buffer(uint64_t piece) const {
  const auto bytes = file_->Find(Id(part_, piece));
  if (!bytes) {
    return absl::InvalidArgumentError("the packed file lacks a piece");
  }
  return RawBuffer(file_, *bytes);
}

absl::Status PartPieces::Copy(uint64_t piece, size_t count,
                              AlignedVector<float>* to) const {
  const auto bytes = file_->Find(Id(part_, piece));
  if (!bytes) return absl::OkStatus();
  if (bytes->size() != count * sizeof(float)) {
    return absl::InvalidArgumentError("packed numbers have another size");
  }
  to->resize(count);
  std::memcpy(to->data(), bytes->data(), bytes->size());
  return absl::OkStatus();
}

absl::StatusOr<Linear> Packing::MakeLinear(const Formats& formats,
                                           std::span<const LinearTensors> parts,
                                           int64_t begin, int64_t count) {
  const int part = parts_++;
  TRIVIUM_ASSIGN_OR_RETURN(Linear linear,
                           file_ == nullptr
                               ? Linear::Create(formats, parts, begin, count)
                               : Linear::Read(formats, parts, begin, count,
                                              PartPieces(file_, part)));
  linear.set_part(part);
  return linear;
}

absl::StatusOr<std::shared_ptr<const TokenTable>> Packing::MakeTable(
    const TensorView& tokens, WeightType weights) {
  const int part = parts_++;
  if (file_ == nullptr) {
    auto table = std::make_shared<TokenTable>(tokens, weights);
    table->set_part(part);
    return table;
  }
  return TokenTable::Read(tokens, weights, PartPieces(file_, part));
}

absl::StatusOr<std::string> DescribePacking(const Formats& formats) {
  // More columns than a panel or a strip has; rows that fill groups.
  constexpr int kRows = 70, kColumns = 256;
  std::vector<float> values(static_cast<size_t>(kRows) * kColumns);
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  TensorView tensor;
  tensor.shape = {kRows, kColumns};
  tensor.data = std::as_bytes(std::span(values));
  const LinearTensors part = {.weight = &tensor};
  std::string text;
  for (const Formats& one : {formats, OutputFormats(formats)}) {
    TRIVIUM_ASSIGN_OR_RETURN(Linear linear,
                             Linear::Create(one, std::span(&part, 1)));
    linear.set_part(0);
    std::vector<PackedPiece> pieces;
    linear.AddPieces(&pieces);
    for (const PackedPiece& piece : pieces) {
      text.append(reinterpret_cast<const char*>(piece.bytes.data()),
                  piece.bytes.size());
    }
  }
  return PackedFile::Key::Of(text).Hex();
}

}  // namespace trivium
