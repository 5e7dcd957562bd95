// A row x is rounded to steps: x = s x' + e, where x' are integers of 8 bits
// and s is the largest |x_k| over 127. A product of two rows is then
//
//   q . d = s_q s_d q' . d' + q . e_d + s_d d' . e_q
//
// where the last two terms are at most |q| |e_d| + |e_q| (|d| + |e_d|), and
// |e_d| <= s_d / 2 sqrt(size). RowProduct itself rounds sums of size / 8 + 4
// numbers. So if q' . d' of one document row is less than that of another by
// more than twice all this, its product is not the largest.
//
// A document has one step for all rows, so that sums of bytes can be compared
// with one another. Its bytes are unsigned, by adding 128: this adds the same
// number to all sums of a query row.
#include "model/kernels/max_sim.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/max_sim.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_MAX_SIM_CC_
#define TRIVIUM_MODEL_KERNELS_MAX_SIM_CC_
namespace trivium {

// Columns and bytes of a row are padded to this.
inline constexpr int kMaxSimColumns = 16;
inline constexpr int kMaxSimBytes = 64;
// Rows are multiplied in blocks of a divisor of this.
inline constexpr int kMaxSimRows = 12;
// The most columns whose sums are kept at once: texts of tens of thousands of
// tokens may be compared.
inline constexpr int kMaxSimBlock = 64;
static_assert(kMaxSimBlock % kMaxSimColumns == 0);

// The floats of a document.
struct DocumentRows {
  const float* values;
  int rows;
  int size;
};

// The range of a document; `sum` is not finite if a value is not.
struct DocumentRange {
  float most = 0;     // |value|
  float longest = 0;  // square of a row's length
  float sum = 0;      // of the squares of lengths
};

// Documents as bytes [rows, stride] times `columns` columns of a query [quads,
// query_stride, 4].
struct ByteProduct {
  const uint8_t* document;
  int rows;  // a multiple of kMaxSimRows
  int stride;
  const int8_t* query;
  int quads;
  int query_stride;
  int columns;        // a multiple of kMaxSimColumns
  int counted;        // rows whose maxima count
  int32_t* products;  // [rows, columns]
  int32_t* largest;   // [columns]
};

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums of products of kPairs pairs of rows side by side, as each waits for the
// one before it. The order of a sum is that of RowProduct.
template <int kPairs>
HWY_INLINE void ProductsOf(const float* const* a, const float* const* b,
                           int size, float* products) {
  constexpr int kSums = 8;
  const hn::CappedTag<float, kSums> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kSums / kLanes;
  hn::Vec<decltype(d)> at[kPairs][kVectors];
  for (auto& of_pair : at) {
    for (auto& one : of_pair) one = hn::Zero(d);
  }
  int k = 0;
  for (; k + kSums <= size; k += kSums) {
    for (int p = 0; p < kPairs; ++p) {
      for (int v = 0; v < kVectors; ++v) {
        const int i = k + v * kLanes;
        at[p][v] = hn::Add(
            at[p][v], hn::Mul(hn::LoadU(d, a[p] + i), hn::LoadU(d, b[p] + i)));
      }
    }
  }
  for (int p = 0; p < kPairs; ++p) {
    HWY_ALIGN float sums[kSums];
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(at[p][v], d, sums + v * kLanes);
    }
    float rest = 0;
    for (int i = k; i < size; ++i) rest += a[p][i] * b[p][i];
    products[p] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
                  ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
  }
}

float ProductOfRows(const float* a, const float* b, int size) {
  float product;
  ProductsOf<1>(&a, &b, size, &product);
  return product;
}

DocumentRange RangeOf(const DocumentRows& document) {
  const F32 d;
  DocumentRange range;
  auto most = hn::Zero(d);
  for (int row = 0; row < document.rows; ++row) {
    const float* const x =
        document.values + static_cast<size_t>(row) * document.size;
    auto squares = hn::Zero(d);
    ForEachVector(d, document.size, [&](int k, auto some) HWY_ATTR {
      const auto v = some.Load(d, x + k);
      most = hn::Max(most, hn::Abs(v));
      squares = hn::MulAdd(v, v, squares);
    });
    const float square = hn::GetLane(hn::SumOfLanes(d, squares));
    range.longest = std::max(range.longest, square);
    range.sum += square;
  }
  range.most = hn::GetLane(hn::MaxOfLanes(d, most));
  return range;
}

// Sets bytes to round(value * factor) + 128. Writes whole vectors.
void ToBytes(const DocumentRows& document, float factor, int stride,
             uint8_t* bytes) {
  const F32 d;
  const hn::RebindToSigned<decltype(d)> d32;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto by = hn::Set(d, factor);
  const auto middle = hn::Set(d32, 128);
  for (int row = 0; row < document.rows; ++row) {
    const float* const x =
        document.values + static_cast<size_t>(row) * document.size;
    uint8_t* const y = bytes + static_cast<size_t>(row) * stride;
    ForEachVector(d, document.size, [&](int k, auto some) HWY_ATTR {
      const auto steps = hn::NearestInt(hn::Mul(some.Load(d, x + k), by));
      hn::StoreU(hn::DemoteTo(d8, hn::Add(steps, middle)), d8, y + k);
    });
  }
}

// kColumns vectors of columns from `column` on.
template <bool kVnni, int kColumns>
HWY_INLINE void MultiplyColumns(const ByteProduct& product, int column) {
  const I32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Registers hold so many sums.
  constexpr int kRows = HWY_TARGET == HWY_AVX3 ? kMaxSimRows : 4;
  static_assert(kMaxSimRows % kRows == 0);
  VI32 largest[kColumns];
  for (auto& one : largest) {
    one = hn::Set(d, std::numeric_limits<int32_t>::min());
  }
  for (int row = 0; row < product.rows; row += kRows) {
    VI32 sums[kRows][kColumns];
    for (auto& of_row : sums) {
      for (auto& sum : of_row) sum = hn::Zero(d);
    }
    const auto* const x = reinterpret_cast<const int32_t*>(
        product.document + static_cast<size_t>(row) * product.stride);
    const auto* const q = reinterpret_cast<const int32_t*>(product.query);
    const int stride = product.stride / 4;
    for (int quad = 0; quad < product.quads; ++quad) {
      VI32 of_query[kColumns];
      for (int c = 0; c < kColumns; ++c) {
        of_query[c] =
            hn::LoadU(d, q + static_cast<size_t>(quad) * product.query_stride +
                             column + c * lanes);
      }
      HWY_UNROLL(12)
      for (int r = 0; r < kRows; ++r) {
        const auto of_row =
            hn::Set(d, x[static_cast<size_t>(r) * stride + quad]);
        for (int c = 0; c < kColumns; ++c) {
          sums[r][c] = AddDots<kVnni>(sums[r][c], of_row, of_query[c]);
        }
      }
    }
    const int counted = std::min(kRows, product.counted - row);
    for (int r = 0; r < kRows; ++r) {
      int32_t* const y = product.products +
                         static_cast<size_t>(row + r) * product.columns +
                         column;
      for (int c = 0; c < kColumns; ++c) {
        hn::StoreU(sums[r][c], d, y + c * lanes);
        if (r < counted) largest[c] = hn::Max(largest[c], sums[r][c]);
      }
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    hn::StoreU(largest[c], d, product.largest + column + c * lanes);
  }
}

template <bool kVnni>
HWY_INLINE void MultiplyAllColumns(const ByteProduct& product) {
  const int lanes = static_cast<int>(hn::Lanes(I32()));
  int column = 0;
  for (; column + 2 * lanes <= product.columns; column += 2 * lanes) {
    MultiplyColumns<kVnni, 2>(product, column);
  }
  for (; column < product.columns; column += lanes) {
    MultiplyColumns<kVnni, 1>(product, column);
  }
}

void MultiplyBytes(const ByteProduct& product, bool vnni) {
  if (HWY_TARGET == HWY_AVX3 && vnni) {
    MultiplyAllColumns<true>(product);
  } else {
    MultiplyAllColumns<false>(product);
  }
}

// Sets best[i] to the largest product of row i of `query` with the document
// rows whose sum of bytes is above bound[i].
void BestOfCandidates(const ByteProduct& product, const int32_t* bound,
                      const float* query, const DocumentRows& document,
                      float* best) {
  constexpr int kPairs = 4;
  const I32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // A vector's columns are stored at a time, after less than kPairs others.
  int32_t column[kPairs + hn::MaxLanes(d)];
  const float* row[kPairs + hn::MaxLanes(d)];
  int waiting = 0;
  const auto multiply = [&](auto count) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    const float* of_query[kCount];
    for (int p = 0; p < kCount; ++p) {
      of_query[p] = query + static_cast<size_t>(column[waiting - kCount + p]) *
                                document.size;
    }
    float products[kCount];
    ProductsOf<kCount>(of_query, row + waiting - kCount, document.size,
                       products);
    for (int p = 0; p < kCount; ++p) {
      float& of_column = best[column[waiting - kCount + p]];
      of_column = std::max(of_column, products[p]);
    }
    waiting -= kCount;
  };
  for (int j = 0; j < product.counted; ++j) {
    const int32_t* const y =
        product.products + static_cast<size_t>(j) * product.columns;
    const float* const of_document =
        document.values + static_cast<size_t>(j) * document.size;
    for (int c = 0; c < product.columns; c += lanes) {
      const auto above = hn::Gt(hn::LoadU(d, y + c), hn::LoadU(d, bound + c));
      if (hn::AllFalse(d, above)) continue;
      // CompressStore is slow on Zen 4.
      hn::StoreU(hn::Compress(hn::Iota(d, c), above), d, column + waiting);
      const auto count = static_cast<int>(hn::CountTrue(d, above));
      for (int p = 0; p < count; ++p) row[waiting + p] = of_document;
      waiting += count;
      while (waiting >= kPairs) {
        multiply(std::integral_constant<int, kPairs>());
      }
    }
  }
  while (waiting > 0) multiply(std::integral_constant<int, 1>());
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(ProductOfRows);
HWY_EXPORT(RangeOf);
HWY_EXPORT(ToBytes);
HWY_EXPORT(MultiplyBytes);
HWY_EXPORT(BestOfCandidates);

namespace {

// Sums of bytes of longer rows might not fit into 32 bits.
constexpr int kMostSize = 1 << 15;
// Steps of values outside this range are no ordinary numbers.
constexpr float kLeast = 1e-15f, kMost = 1e15f;
constexpr float kSteps = 127;
// Half a step, and the rounding of the multiplication by 1 / step.
constexpr double kHalfStep = 0.5001;

constexpr int RoundUp(int n, int to) { return (n + to - 1) / to * to; }

}  // namespace

float RowProduct(const float* a, const float* b, int size) {
  return HWY_DYNAMIC_DISPATCH(ProductOfRows)(a, b, size);
}

MaxSimQuery::MaxSimQuery(const float* rows, int count, int size)
    : count_(count),
      size_(size),
      rows_(rows, rows + static_cast<size_t>(count) * size) {
  if (count > 0 && size > 0 && size <= kMostSize) Pack();
}

void MaxSimQuery::Pack() {
  columns_ = RoundUp(count_, kMaxSimColumns);
  const int quads = RoundUp(size_, 4) / 4;
  const size_t bytes = static_cast<size_t>(quads) * columns_ * 4;
  bytes_.assign(bytes, 0);
  slack_.assign(columns_, 0);
  slope_.assign(columns_, 0);
  const double root = std::sqrt(static_cast<double>(size_));
  // RowProduct's, with room.
  const double rounding = (size_ / 8 + 16) * 0x1p-23;
  for (int i = 0; i < count_; ++i) {
    const float* const row = &rows_[static_cast<size_t>(i) * size_];
    float most = 0;
    double length = 0;
    for (int k = 0; k < size_; ++k) {
      most = std::max(most, std::fabs(row[k]));
      length += double{row[k]} * row[k];
    }
    if (most == 0 && length == 0) most = kSteps;
    if (!std::isfinite(length) || !(most > kLeast) || !(most < kMost)) return;
    length = std::sqrt(length);
    const double step = double{most} / kSteps;
    double errors = 0;
    for (int k = 0; k < size_; ++k) {
      const double steps = std::nearbyint(row[k] / step);
      const double error = row[k] - step * steps;
      errors += error * error;
      bytes_[(static_cast<size_t>(k / 4) * columns_ + i) * 4 + k % 4] =
          static_cast<int8_t>(steps);
    }
    errors = std::sqrt(errors) * (1 + 1e-6);
    // + 2: the sums are whole numbers, and these are floats.
    slack_[i] = static_cast<float>(
        2 * kHalfStep * root * (length + errors) / step * (1 + 1e-6) + 2);
    slope_[i] = static_cast<float>(2 * (errors + rounding * length) / step *
                                   (1 + 1e-6));
  }
  packed_ = true;
}

double MaxSimQuery::ComparePlainly(const float* document, int rows) const {
  double sum = 0;
  for (int i = 0; i < count_; ++i) {
    const float* const row = &rows_[static_cast<size_t>(i) * size_];
    float best = RowProduct(row, document, size_);
    for (int j = 1; j < rows; ++j) {
      best = std::max(
          best,
          RowProduct(row, document + static_cast<size_t>(j) * size_, size_));
    }
    sum += best;
  }
  return sum;
}

void MaxSimQuery::SetBounds(int first, int columns, float steps,
                            const int32_t* largest, int32_t* bound) const {
  for (int i = 0; i < columns; ++i) {
    const int column = first + i;
    const float below = slack_[column] + slope_[column] * steps;
    constexpr float kAll = 0x1p30f;
    bound[i] =
        column < count_
            ? largest[i] - static_cast<int32_t>(below < kAll ? below : kAll) - 1
            : std::numeric_limits<int32_t>::max();
  }
}

double MaxSimQuery::Compare(const float* document, int rows) const {
  if (count_ == 0 || rows == 0) return 0;
  const DocumentRows of_document = {document, rows, size_};
  DocumentRange range;
  // A few rows are compared as quickly as they are rounded.
  if (packed_ && rows >= 4) range = HWY_DYNAMIC_DISPATCH(RangeOf)(of_document);
  if (!std::isfinite(range.sum) || !(range.most > kLeast) ||
      !(range.most < kMost)) {
    return ComparePlainly(document, rows);
  }
  const int stride = RoundUp(size_, kMaxSimBytes);
  const int padded = RoundUp(rows, kMaxSimRows);
  // Columns are a whole number of cache lines of sums.
  static_assert(kMaxSimColumns * sizeof(int32_t) == kMaxSimBytes);
  const int most_columns = std::min(columns_, kMaxSimBlock);
  const size_t sum_bytes =
      static_cast<size_t>(padded + 2) * most_columns * sizeof(int32_t);
  const size_t filled = static_cast<size_t>(rows) * stride;
  const size_t all = static_cast<size_t>(padded) * stride;
  size_t size = sum_bytes + all + kMaxSimBytes;
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(size);
  void* aligned = memory.get();
  std::align(kMaxSimBytes, sum_bytes + all, aligned, size);
  auto* const sums = static_cast<int32_t*>(aligned);
  auto* const bytes = static_cast<uint8_t*>(aligned) + sum_bytes;
  // The bytes after a row's end are multiplied with zeros, and the rows after
  // the last do not count; they must only be numbers.
  if (stride != size_) std::fill_n(bytes, filled, uint8_t{0});
  std::fill(bytes + filled, bytes + all, uint8_t{0});
  HWY_DYNAMIC_DISPATCH(ToBytes)
  (of_document, kSteps / range.most, stride, bytes);
  // The rounding of the squares' sum is far below a thousandth.
  const float steps = 1.001f * std::sqrt(range.longest) / (range.most / kSteps);
  std::vector<float> best(count_, -std::numeric_limits<float>::infinity());
  for (int first = 0; first < count_; first += kMaxSimBlock) {
    const int columns = std::min(columns_ - first, kMaxSimBlock);
    const ByteProduct product = {
        .document = bytes,
        .rows = padded,
        .stride = stride,
        .query = bytes_.data() + static_cast<size_t>(first) * 4,
        .quads = RoundUp(size_, 4) / 4,
        .query_stride = columns_,
        .columns = columns,
        .counted = rows,
        .products = sums,
        .largest = sums + static_cast<size_t>(padded) * columns};
    HWY_DYNAMIC_DISPATCH(MultiplyBytes)
    (product, ActiveIsa() >= Isa::kAvx512Vnni);
    int32_t* const bound = product.largest + columns;
    SetBounds(first, columns, steps, product.largest, bound);
    HWY_DYNAMIC_DISPATCH(BestOfCandidates)
    (product, bound, rows_.data() + static_cast<size_t>(first) * size_,
     of_document, best.data() + first);
  }
  double sum = 0;
  for (const float one : best) sum += one;
  return sum;
}

}  // namespace trivium
#endif  // HWY_ONCE
