#ifndef TRIVIUM_MODEL_TRANSFORMER_PACKING_H_
#define TRIVIUM_MODEL_TRANSFORMER_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/transformer/description.h"
#include "model/transformer/formats.h"
#include "model/transformer/linear.h"
#include "model/weights/packed_file.h"

namespace trivium {

class TokenTable;

// Makes the large parts of a Transformer: packs them from the description's
// tensors, or maps them from a file that an earlier load wrote.
// Parts are numbered in the order in which they are made, which is the same for
// every load of a model. Parts that are f32 in every format are small, and
// always come from the tensors.
//
//   Packing packing(file);                       // null: from the tensors
//   packing.MakeLinear(formats, parts);          // for each part
//   PackedFile::Write(path, key, transformer.pieces());
class Packing {
 public:
  explicit Packing(std::shared_ptr<const PackedFile> file = nullptr)
      : file_(std::move(file)) {}

  // The file that parts are mapped from; null: there is none.
  const std::shared_ptr<const PackedFile>& file() const { return file_; }

  // Linear::Create, or what the file has of it. INVALID_ARGUMENT if the file
  // does not have it.
  absl::StatusOr<Linear> MakeLinear(const Formats& formats,
                                    std::span<const LinearTensors> parts,
                                    int64_t begin = 0, int64_t count = 0);
  // The same for a table in memory of its own.
  absl::StatusOr<std::shared_ptr<const TokenTable>> MakeTable(
      const TensorView& tokens, WeightType weights);

 private:
  const std::shared_ptr<const PackedFile> file_;
  int parts_ = 0;
};

// The pieces of one part in a file.
class PartPieces {
 public:
  // The most pieces of a part.
  static constexpr uint64_t kMost = 8;
  static uint64_t Id(int part, uint64_t piece) {
    return static_cast<uint64_t>(part) * kMost + piece;
  }

  PartPieces(std::shared_ptr<const PackedFile> file, int part)
      : file_(std::move(file)), part_(part) {}

  // Returns a view of a piece. INVALID_ARGUMENT if there is none.
  absl::StatusOr<RawBuffer> Buffer(uint64_t piece) const;
  // Copies a piece; leaves `to` empty if there is none. INVALID_ARGUMENT if it
  // does not have `count` numbers.
  absl::Status Copy(uint64_t piece, size_t count,
                    AlignedVector<float>* to) const;

 private:
  const std::shared_ptr<const PackedFile> file_;
  const int part_;
};

// Returns a text that differs where this program, or this CPU, packs small
// matrices of these formats into other bytes.
absl::StatusOr<std::string> DescribePacking(const Formats& formats);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_PACKING_H_
