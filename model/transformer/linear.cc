// The threads of a product divide it by who reads the weights, because weights
// come from memory and activations from caches:
// - with many rows per thread, each thread runs whole rows and reads all
//   weights (CutsRows);
// - with few, each thread computes some columns and reads only their weights
//   (MultiplyTogether). The rows are then finished in a second run, because a
//   row's epilogue needs all its columns. A row's bits are the same either way:
//   sums run over K in an order that the kernel fixes.
#include "model/transformer/linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "model/kernels/grouped_product.h"
#include "model/transformer/grouped_linear.h"
#include "model/transformer/hadamard.h"
#include "model/transformer/packing.h"
#include "model/transformer/weight_rows.h"
#include "model/weights/packed_rows.h"

namespace trivium {
namespace {

// With at least this many rows per thread, threads split the rows, and each
// reads all weights. With fewer, they split the columns, and each reads its own
// weights only.
constexpr int kManyRows = 64;
// Bytes of weights that justify another thread.
constexpr size_t kLeastWeights = 32 << 10;

// Returns the biases of all outputs; none if no part has any.
AlignedVector<float> ReadBias(std::span<const LinearTensors> parts,
                              int64_t begin, int64_t count) {
  AlignedVector<float> bias;
  int64_t first = 0;
  for (const LinearTensors& part : parts) {
    const int64_t rows = RowsOf(part, count);
    if (part.bias != nullptr) {
      if (bias.empty()) bias.assign(OutputsOf(parts, count), 0.0f);
      CopyToF32(*part.bias, begin, std::span(bias).subspan(first, rows));
    }
    first += rows;
  }
  return bias;
}

// The pieces of a Linear in a packed file.
enum Piece : uint64_t { kMatrix, kScale, kOffset, kSmoothing };

// Does what QuantizeWeights does for a row that is quantized already.
void CopyQuantizedWeights(const TensorView& tensor, int64_t row, int8_t* q,
                          float* scale, float* offset) {
  const int64_t in = tensor.shape[1];
  std::memcpy(q, tensor.data.data() + row * in, in);
  CopyToF32(*tensor.row_scales, row, std::span(scale, 1));
  *offset = *scale * static_cast<float>(std::accumulate(q, q + in, int32_t{0}));
}

}  // namespace

void QuantizeWeights(std::span<const float> w, int8_t* q, float* scale,
                     float* offset) {
  float most = 0;
  for (const float value : w) most = std::max(most, std::fabs(value));
  *scale = most / 127;
  int32_t sum = 0;
  const float inverse = most > 0 ? 127 / most : 0;
  for (size_t i = 0; i < w.size(); ++i) {
    q[i] = static_cast<int8_t>(std::lrintf(w[i] * inverse));
    sum += q[i];
  }
  *offset = *scale * static_cast<float>(sum);
}

Operand::Operand(OperandType type, bool hadamard)
    : type_(type), hadamard_(hadamard) {}

void Operand::Resize(int rows, int k) {
  k_ = k;
  row_bytes_ = RowBytes(type_, k);
  // Products may read kMaxMatmulRows rows from any row on.
  data_.Reserve(static_cast<size_t>(rows + kMaxMatmulRows) * row_bytes_);
  scales_.Reserve(rows);
}

void Operand::Set(int row, const float* x) {
  const bool asks = type_ == OperandType::kInt8 && !hadamard_;
  Set(row, x, asks ? RangeOf(x, k_) : Range());
}

void Operand::Set(int row, const float* x, Range range) {
  char* to = data_.data() + static_cast<size_t>(row) * row_bytes_;
  if (hadamard_) {
    static thread_local Buffer<float> hadamard;
    float* const y = hadamard.Reserve(k_);
    range = HadamardRow(x, k_, y);
    x = y;
  }
  switch (type_) {
    case OperandType::kF32:
    case OperandType::kOrderedGroups:
      std::memcpy(to, x, static_cast<size_t>(k_) * sizeof(float));
      break;
    case OperandType::kBf16:
      Bf16Row(x, k_, reinterpret_cast<uint16_t*>(to));
      break;
    case OperandType::kInt8:
      scales_.data()[row] =
          QuantizeRow(x, k_, range, reinterpret_cast<uint8_t*>(to));
      break;
    case OperandType::kInt8Groups:
      QuantizeGroups(x, k_, to);
      break;
  }
}

void Operand::CopyFrom(const Operand& other, int from, int to) {
  std::memcpy(data_.data() + to * row_bytes_,
              other.data_.data() + from * row_bytes_, row_bytes_);
  scales_.data()[to] = other.scales_.data()[from];
}

absl::StatusOr<Linear> Linear::Create(const Formats& formats,
                                      std::span<const LinearTensors> parts,
                                      int64_t begin, int64_t count,
                                      AlignedVector<float> smoothing) {
  const int64_t in = parts.front().weight->shape[1];
  const int64_t out = OutputsOf(parts, count);
  Linear linear;
  linear.bias_ = ReadBias(parts, begin, count);
  if (InGroups(formats.weights)) {
    linear.matrix_ = PackGroups(formats, parts, begin, count);
    return linear;
  }
  if (formats.weights == WeightType::kInt8) {
    linear.scale_.resize(out);
    linear.offset_.resize(out);
  }
  // A few rows at once are converted, to avoid an f32 copy of the whole matrix.
  const RawBuffer buffer(out * in * SizeOf(formats.weights));
  const auto packed = static_cast<char*>(buffer.data());
  int64_t first = 0;
  for (const LinearTensors& part : parts) {
    // Packs row `i` of the part.
    const auto pack = [&](int64_t i, std::span<float> row) {
      const int64_t at = first + i;
      for (size_t j = 0; j < smoothing.size(); ++j) row[j] /= smoothing[j];
      if (formats.hadamard) HadamardWeights(row);
      switch (formats.weights) {
        case WeightType::kF32:
          std::memcpy(&packed[at * in * 4], row.data(), in * 4);
          break;
        case WeightType::kBf16:
          Bf16Row(row.data(), static_cast<int>(in),
                  reinterpret_cast<uint16_t*>(&packed[at * in * 2]));
          break;
        case WeightType::kInt8: {
          const auto q = reinterpret_cast<int8_t*>(&packed[at * in]);
          if (part.weight->row_scales != nullptr && smoothing.empty()) {
            CopyQuantizedWeights(*part.weight, begin + i, q, &linear.scale_[at],
                                 &linear.offset_[at]);
          } else {
            QuantizeWeights(row, q, &linear.scale_[at], &linear.offset_[at]);
          }
          break;
        }
        case WeightType::kGroups:
        case WeightType::kInt4:
          break;  // above
      }
    };
    ForRowsAtOnce(RowsOf(part, count), in, [&](int64_t from, int64_t end) {
      std::vector<float> several(in * PackedRows::kRowsAtOnce);
      for (int64_t i = from; i < end; ++i) {
        const int64_t of_several = (i - from) % PackedRows::kRowsAtOnce;
        if (of_several == 0) {
          const int64_t read = std::min(PackedRows::kRowsAtOnce, end - i);
          CopyToF32(*part.weight, (begin + i) * in,
                    std::span(several).first(read * in));
        }
        pack(i, std::span(several).subspan(of_several * in, in));
      }
    });
    DropRows(*part.weight, begin, RowsOf(part, count));
    first += RowsOf(part, count);
  }
  linear.smoothing_ = std::move(smoothing);
  TRIVIUM_ASSIGN_OR_RETURN(
      linear.matrix_,
      PackedMatrix::Create({formats.weights, formats.operands,
                            static_cast<int>(out), static_cast<int>(in)},
                           packed));
  return linear;
}

absl::StatusOr<Linear> Linear::Read(const Formats& formats,
                                    std::span<const LinearTensors> parts,
                                    int64_t begin, int64_t count,
                                    const PartPieces& pieces) {
  const auto in = static_cast<int>(parts.front().weight->shape[1]);
  const auto out = static_cast<int>(OutputsOf(parts, count));
  Linear linear;
  linear.bias_ = ReadBias(parts, begin, count);
  TRIVIUM_ASSIGN_OR_RETURN(RawBuffer matrix, pieces.Buffer(kMatrix));
  if (InGroups(formats.weights)) {
    TRIVIUM_ASSIGN_OR_RETURN(
        linear.matrix_,
        ReadPackedGroups(formats, parts, count, std::move(matrix)));
    return linear;
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      linear.matrix_,
      PackedMatrix::Create({formats.weights, formats.operands, out, in},
                           std::move(matrix)));
  TRIVIUM_RETURN_IF_ERROR(pieces.Copy(kScale, out, &linear.scale_));
  TRIVIUM_RETURN_IF_ERROR(pieces.Copy(kOffset, out, &linear.offset_));
  TRIVIUM_RETURN_IF_ERROR(pieces.Copy(kSmoothing, in, &linear.smoothing_));
  if (formats.weights == WeightType::kInt8 &&
      (linear.scale_.empty() || linear.offset_.empty())) {
    return absl::InvalidArgumentError("packed bytes lack their scales");
  }
  return linear;
}

void Linear::AddPieces(std::vector<PackedPiece>* pieces) const {
  if (part_ < 0) return;
  pieces->push_back({PartPieces::Id(part_, kMatrix), matrix_->packed()});
  for (const auto& [piece, values] :
       {std::pair(kScale, &scale_), std::pair(kOffset, &offset_),
        std::pair(kSmoothing, &smoothing_)}) {
    if (values->empty()) continue;
    pieces->push_back(
        {PartPieces::Id(part_, piece), std::as_bytes(std::span(*values))});
  }
}

int64_t Linear::bytes() const {
  return matrix_->bytes() +
         static_cast<int64_t>((bias_.size() + scale_.size() + offset_.size() +
                               smoothing_.size()) *
                              sizeof(float));
}

bool Linear::CutsRows(int rows, int threads) const {
  if (matrix_->column_block() >= out()) return true;
  return rows >= threads * kManyRows;
}

absl::Status Linear::MultiplyTogether(const void* x, int rows, int32_t* y,
                                      Workspace* workspace) const {
  workspace->thread(0).padding_rows += matrix_->ComputedRows(rows) - rows;
  if (const size_t bytes = matrix_->prepared_row_bytes(); bytes > 0) {
    char* const prepared = workspace->prepared.Reserve(rows * bytes);
    const size_t row_bytes = matrix_->shape().operand_row_bytes();
    workspace->team().Run(
        rows, Workspace::kLeastRows, [&](int begin, int end, int) {
          matrix_->Prepare(static_cast<const char*>(x) + begin * row_bytes,
                           end - begin, prepared + begin * bytes);
        });
    x = prepared;
  }
  const int block = matrix_->column_block();
  const size_t bytes = block * matrix_->shape().weight_row_bytes();
  return workspace->Run(
      (out() + block - 1) / block, static_cast<int>(kLeastWeights / bytes) + 1,
      [&](int begin, int end, int thread) {
        return matrix_->MultiplyColumns(x, rows, begin * block,
                                        std::min(end * block, out()), y,
                                        &workspace->thread(thread).products);
      });
}

ProductRow Linear::Row(const int32_t* products, int place, const Operand& x,
                       int row) const {
  const int32_t* product = products + static_cast<size_t>(place) * out();
  const float* bias = bias_.empty() ? nullptr : bias_.data();
  if (matrix_->shape().operands != OperandType::kInt8) {
    return {.f32 = reinterpret_cast<const float*>(product),
            .bias = bias,
            .n = out()};
  }
  return {.s32 = product,
          .x = x.scale(row),
          .scale = scale_.data(),
          .offset = offset_.data(),
          .bias = bias,
          .n = out()};
}

}  // namespace trivium
