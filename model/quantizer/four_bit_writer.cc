#include "model/quantizer/four_bit_writer.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/mutex.h"
#include "base/parallel.h"
#include "base/status.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"

namespace trivium {
namespace {

constexpr int64_t kInWord = 8;
// Numbers that justify another thread.
constexpr int64_t kLeast = 1 << 18;

std::string ModuleOf(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  return std::string(name.substr(0, name.size() - kWeight.size()));
}

}  // namespace

std::vector<SafetensorsWriter::Entry> FourBitWriter::EntriesOf(
    const std::string& name, const TensorView& matrix, int group_size,
    ScaleType type) {
  const std::string module = ModuleOf(name);
  const int64_t out = matrix.shape[0], in = matrix.shape[1];
  const DType scales = type == ScaleType::kBf16 ? DType::kBf16 : DType::kF16;
  return {{module + ".weight_packed", DType::kI32, {out, in / kInWord}},
          {module + ".weight_scale", scales, {out, in / group_size}},
          {module + ".weight_shape", DType::kI64, {2}}};
}

absl::Status FourBitWriter::Write(const std::string& name,
                                  const TensorView& matrix) {
  const std::string module = ModuleOf(name);
  TRIVIUM_RETURN_IF_ERROR(writer_->Write(
      module + ".weight_shape", 0, std::as_bytes(std::span(matrix.shape))));
  constexpr int64_t kUnit = PackedRows::kRowsAtOnce;
  const int64_t rows = matrix.shape[0], in = matrix.shape[1];
  Mutex mutex;
  absl::Status status;
  ParallelFor(static_cast<int>((rows + kUnit - 1) / kUnit),
              static_cast<int>(kLeast / (in * kUnit) + 1),
              [&](int begin, int end) {
                absl::Status part = WriteRows(module, matrix, begin * kUnit,
                                              std::min(end * kUnit, rows));
                const MutexLock lock(&mutex);
                status.Update(part);
              });
  return status;
}

absl::Status FourBitWriter::WriteRows(const std::string& module,
                                      const TensorView& matrix, int64_t begin,
                                      int64_t end) {
  // Rows that are written at once.
  constexpr int64_t kRows = 8 * PackedRows::kRowsAtOnce;
  const int64_t in = matrix.shape[1];
  const int64_t words = in / kInWord, groups = in / group_size_;
  std::vector<float> values(static_cast<size_t>(kRows * in));
  std::vector<uint32_t> packed(static_cast<size_t>(kRows * words));
  std::vector<uint16_t> scales(static_cast<size_t>(kRows * groups));
  uint8_t q[kMostNumbers];
  for (; begin < end; begin += kRows) {
    const int64_t rows = std::min(kRows, end - begin);
    const auto read = std::span(values).first(static_cast<size_t>(rows * in));
    CopyToF32(matrix, begin * in, read);
    uint32_t* word = packed.data();
    for (int64_t group = 0; group < rows * groups; ++group) {
      const auto x = read.subspan(static_cast<size_t>(group * group_size_),
                                  static_cast<size_t>(group_size_));
      const float scale = RoundTo4Bits(x, type_, q);
      scales[static_cast<size_t>(group)] =
          type_ == ScaleType::kBf16 ? F32ToBf16(scale) : F32ToF16(scale);
      for (int i = 0; i < group_size_; i += kInWord) {
        *word = 0;
        for (int j = 0; j < kInWord; ++j) {
          *word |= uint32_t{q[i + j]} << (4 * j);
        }
        ++word;
      }
    }
    TRIVIUM_RETURN_IF_ERROR(writer_->Write(
        module + ".weight_packed", begin * words * 4,
        std::as_bytes(
            std::span(packed).first(static_cast<size_t>(rows * words)))));
    TRIVIUM_RETURN_IF_ERROR(writer_->Write(
        module + ".weight_scale", begin * groups * 2,
        std::as_bytes(
            std::span(scales).first(static_cast<size_t>(rows * groups)))));
  }
  return absl::OkStatus();
}

}  // namespace trivium
