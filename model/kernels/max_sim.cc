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
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>

#include "hwy/cache_control.h"
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
// The most columns whose bounds are kept at once: texts of tens of thousands of
// tokens may be compared.
inline constexpr int kMaxSimBlock = 64;
static_assert(kMaxSimBlock % kMaxSimColumns == 0);
// Half a step, and the rounding of the multiplication by 1 / step.
inline constexpr double kHalfStep = 0.5001;

// Steps of a row whose largest |value| is `most`.
inline constexpr float kMaxSimSteps = 127;
// Steps of values outside this range are no ordinary numbers.
inline constexpr float kMaxSimLeast = 1e-15f, kMaxSimMost = 1e15f;
// The rows of a block, padded to vectors.
inline constexpr int kMaxSimRowLanes = 16;

// The floats of a document.
struct DocumentRows {
  const float* values;
  int rows;
  int size;
};

// A document rounded to bytes.
struct DocumentBytes {
  uint8_t* bytes;  // [rows, stride], 128 more than the number of steps
  int stride;
  float* steps;    // [rows]
  float* lengths;  // [rows] in steps
};

// Columns of a query, of which `count` are rows.
struct QueryColumns {
  const int8_t* bytes;  // [quads, stride, 4]
  int quads;
  int stride;
  int columns;  // a multiple of kMaxSimColumns
  int count;
  const int32_t* starts;  // [columns]
  const float* slack;     // [columns]
  const float* slope;     // [columns]
  const float* rows;      // [count, size] unrounded
};

// Bounds of products, in steps of the query's rows.
struct ProductBounds {
  float* upper;  // [rows, columns]
  float* lower;  // [columns] the largest of a column
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
    HWY_UNROLL(4)  // or sums are kept in memory
    for (int p = 0; p < kPairs; ++p) {
      HWY_UNROLL(4)
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

// Combines lanes of v until at most four are left, and stores these.
template <class D, class F>
HWY_INLINE void StoreFour(D d, hn::Vec<D> v, F combine, hn::TFromD<D>* four) {
#if HWY_TARGET != HWY_SCALAR  // which has no halves
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return StoreFour(half,
                     combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)),
                     combine, four);
  }
#endif
  hn::StoreU(v, d, four);
}

// Rounds kRows rows from `first` on, of which those from document.rows on do
// not exist; false if one cannot be rounded. Rows do each step together, as
// each step waits for the one before.
template <bool kVnni, int kRows>
HWY_INLINE bool RoundRows(const DocumentRows& document, int first,
                          const DocumentBytes& rounded) {
  const F32 d;
  const I32 d32;
  const hn::Rebind<uint8_t, F32> d8;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int rows = std::min(kRows, document.rows - first);
  const float* const x =
      document.values + static_cast<size_t>(first) * document.size;
  uint8_t* const y =
      rounded.bytes + static_cast<size_t>(first) * rounded.stride;
  HWY_ALIGN int32_t partial[4 * kMaxSimRowLanes] = {};
  for (int r = 0; r < rows; ++r) {
    // As integers, infinity and NaN are more than numbers.
    auto most = hn::Zero(d32);
    ForEachVector(d, document.size, [&](int k, auto some) HWY_ATTR {
      most = hn::Max(
          most,
          hn::BitCast(d32, hn::Abs(some.Load(
                               d, x + static_cast<size_t>(r) * document.size +
                                      k))));
    });
    StoreFour(
        d32, most, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); },
        partial + 4 * r);
  }
  HWY_ALIGN float factors[kMaxSimRowLanes];
  const auto all = hn::Set(d, kMaxSimSteps);
  for (int r = 0; r < kRows; r += lanes) {
    VI32 a, b, c, e;
    hn::LoadInterleaved4(d32, partial + 4 * r, a, b, c, e);
    const auto most =
        hn::BitCast(d, hn::Max(hn::Max(a, b), hn::Max(c, e)));
    const auto zero = hn::Eq(most, hn::Zero(d));
    if (!hn::AllTrue(d, hn::Or(zero, hn::And(hn::Gt(most, hn::Set(d, kMaxSimLeast)), hn::Lt(most, hn::Set(d, kMaxSimMost)))))) return false;
    hn::Store(hn::IfThenZeroElse(zero, hn::Div(all, most)), d, factors + r);
    hn::StoreU(hn::Div(most, all), d, rounded.steps + first + r);
  }
  const auto middle = hn::Set(d, 128.0f);
  const auto middles = hn::Set(d32, static_cast<int32_t>(0x80808080));
  for (int r = 0; r < rows; ++r) {
    const float* const of_row = x + static_cast<size_t>(r) * document.size;
    uint8_t* const bytes = y + static_cast<size_t>(r) * rounded.stride;
    const auto by = hn::Set(d, factors[r]);
    const auto round = [&](auto v) HWY_ATTR {
      return hn::NearestInt(hn::MulAdd(v, by, middle));
    };
    int k = 0;
#if HWY_TARGET == HWY_AVX3
    for (; k + 4 * lanes <= document.size; k += 4 * lanes) {
      StoreBytes({round(hn::LoadU(d, of_row + k)),
                  round(hn::LoadU(d, of_row + k + lanes)),
                  round(hn::LoadU(d, of_row + k + 2 * lanes)),
                  round(hn::LoadU(d, of_row + k + 3 * lanes))},
                 bytes + k);
    }
#endif
    for (; k < document.size; k += lanes) {
      const int count = std::min(lanes, document.size - k);
      hn::StoreU(hn::DemoteTo(d8, round(LoadSome(d, of_row + k, count))), d8,
                 bytes + k);
    }
    for (; k < rounded.stride; ++k) bytes[k] = 128;
  }
  for (int r = 0; r < rows; ++r) {
    const auto* const quads = reinterpret_cast<const int32_t*>(
        y + static_cast<size_t>(r) * rounded.stride);
    // (x + 128) x - 128 x
    auto squares = hn::Zero(d32);
    auto sums = hn::Zero(d32);
    for (int k = 0; k < rounded.stride / 4; k += lanes) {
      const auto v = hn::LoadU(d32, quads + k);
      const auto numbers = hn::Xor(v, middles);
      squares = AddDots<kVnni>(squares, v, numbers);
      sums = AddDots<kVnni>(sums, middles, numbers);
    }
    StoreFour(
        d32, hn::Sub(squares, sums),
        [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); },
        partial + 4 * r);
  }
  for (int r = 0; r < kRows; r += lanes) {
    VI32 a, b, c, e;
    hn::LoadInterleaved4(d32, partial + 4 * r, a, b, c, e);
    const auto squares = hn::Add(hn::Add(a, b), hn::Add(c, e));
    hn::StoreU(hn::Sqrt(hn::ConvertTo(d, squares)), d,
               rounded.lengths + first + r);
  }
  return true;
}

// Bounds of the products of kRows rows from `row` on, of which `end` and later
// ones do not count, with kColumns vectors of columns from `column` on.
template <bool kVnni, int kRows, int kColumns>
HWY_INLINE void BoundBlock(const DocumentBytes& document, int row, int end,
                           const QueryColumns& query, int column,
                           const float* ahead, const ProductBounds& bounds) {
  const F32 d;
  const I32 d32;
  const int lanes = static_cast<int>(hn::Lanes(d));
  VI32 sums[kRows][kColumns];
  for (auto& of_row : sums) {
    for (int c = 0; c < kColumns; ++c) {
      of_row[c] = hn::LoadU(d32, query.starts + column + c * lanes);
    }
  }
  const auto* const x = reinterpret_cast<const int32_t*>(
      document.bytes + static_cast<size_t>(row) * document.stride);
  const auto* const q = reinterpret_cast<const int32_t*>(query.bytes);
  const int stride = document.stride / 4;
  for (int quad = 0; quad < query.quads; ++quad) {
    if (ahead != nullptr) {
      HWY_UNROLL(3)
      for (int i = 0; i < kRows / 4; ++i) {
        hwy::Prefetch(ahead + quad * 4 * kRows + i * 16);
      }
    }
    VI32 of_query[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      of_query[c] = hn::LoadU(
          d32, q + static_cast<size_t>(quad) * query.stride + column +
                   c * lanes);
    }
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      const auto of_row =
          hn::Set(d32, x[static_cast<size_t>(r) * stride + quad]);
      for (int c = 0; c < kColumns; ++c) {
        sums[r][c] = AddDots<kVnni>(sums[r][c], of_row, of_query[c]);
      }
    }
  }
  hn::Vec<F32> slack[kColumns], slope[kColumns], lower[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    const int at = column + c * lanes;
    slack[c] = hn::LoadU(d, query.slack + at);
    slope[c] = hn::LoadU(d, query.slope + at);
    lower[c] = hn::LoadU(d, bounds.lower + at);
  }
  HWY_UNROLL(12)
  for (int r = 0; r < kRows; ++r) {
    if (row + r >= end) break;
    const auto step = hn::Set(d, document.steps[row + r]);
    const auto length = hn::Set(d, document.lengths[row + r]);
    float* const y = bounds.upper +
                     static_cast<size_t>(row + r) * query.columns + column;
    for (int c = 0; c < kColumns; ++c) {
      const auto sum = hn::ConvertTo(d, sums[r][c]);
      const auto error = hn::MulAdd(length, slope[c], slack[c]);
      hn::StoreU(hn::Mul(hn::Add(sum, error), step), d, y + c * lanes);
      lower[c] = hn::Max(lower[c], hn::Mul(hn::Sub(sum, error), step));
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    hn::StoreU(lower[c], d, bounds.lower + column + c * lanes);
  }
}

template <bool kVnni>
HWY_INLINE bool BoundAll(const DocumentRows& document,
                         const QueryColumns& query, bool round,
                         const DocumentBytes& rounded,
                         const ProductBounds& bounds) {
  // Registers hold so many sums.
  constexpr int kRows = HWY_TARGET == HWY_AVX3 ? kMaxSimRows : 4;
  static_assert(kMaxSimRows % kRows == 0);
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  std::fill_n(bounds.lower, query.columns,
              -std::numeric_limits<float>::infinity());
  for (int row = 0; row < document.rows; row += kRows) {
    const int end = std::min(row + kRows, document.rows);
    if (round && !RoundRows<kVnni, kRows>(document, row, rounded)) return false;
    const float* ahead =
        round ? document.values +
                    static_cast<size_t>(std::min(end, document.rows - kRows)) *
                        document.size
              : nullptr;
    int column = 0;
    for (; column + 2 * lanes <= query.columns; column += 2 * lanes) {
      BoundBlock<kVnni, kRows, 2>(rounded, row, end, query, column, ahead,
                                  bounds);
      ahead = nullptr;
    }
    for (; column < query.columns; column += lanes) {
      BoundBlock<kVnni, kRows, 1>(rounded, row, end, query, column, ahead,
                                  bounds);
      ahead = nullptr;
    }
  }
  std::fill(bounds.lower + query.count, bounds.lower + query.columns,
            std::numeric_limits<float>::infinity());
  return true;
}

// Bounds all products of a document with columns of a query, and rounds it
// first if `round`; false if it cannot be rounded.
bool BoundProducts(const DocumentRows& document, const QueryColumns& query,
                   bool vnni, bool round, const DocumentBytes& rounded,
                   const ProductBounds& bounds) {
  return HWY_TARGET == HWY_AVX3 && vnni
             ? BoundAll<true>(document, query, round, rounded, bounds)
             : BoundAll<false>(document, query, round, rounded, bounds);
}

// Sets best[i] to the largest product of row i of the query with document rows
// whose upper bound is not below the largest lower bound.
void BestOfCandidates(const DocumentRows& document, const QueryColumns& query,
                      const ProductBounds& bounds, float* best) {
  constexpr int kPairs = 4;
  const F32 d;
  const I32 d32;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // A vector's columns are stored at a time, after less than kPairs others.
  int32_t column[kPairs + hn::MaxLanes(d)];
  const float* row[kPairs + hn::MaxLanes(d)];
  int waiting = 0;
  const auto multiply = [&](auto count) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    const float* of_query[kCount];
    for (int p = 0; p < kCount; ++p) {
      of_query[p] =
          query.rows +
          static_cast<size_t>(column[waiting - kCount + p]) * document.size;
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
  for (int j = 0; j < document.rows; ++j) {
    const float* const upper =
        bounds.upper + static_cast<size_t>(j) * query.columns;
    const float* const of_document =
        document.values + static_cast<size_t>(j) * document.size;
    for (int c = 0; c < query.columns; c += lanes) {
      const auto may_be = hn::Ge(hn::LoadU(d, upper + c),
                                 hn::LoadU(d, bounds.lower + c));
      if (hn::AllFalse(d, may_be)) continue;
      // CompressStore is slow on Zen 4.
      hn::StoreU(hn::Compress(hn::Iota(d32, c), hn::RebindMask(d32, may_be)),
                 d32, column + waiting);
      const auto count = static_cast<int>(hn::CountTrue(d, may_be));
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
HWY_EXPORT(BoundProducts);
HWY_EXPORT(BestOfCandidates);

namespace {

// Sums of bytes of longer rows might not fit into 32 bits.
constexpr int kMostSize = 1 << 15;

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
  bytes_.assign(static_cast<size_t>(quads) * columns_ * 4, 0);
  starts_.assign(columns_, 0);
  slack_.assign(columns_, 0);
  slope_.assign(columns_, 0);
  // |e_d| in steps.
  const double document_error =
      kHalfStep * std::sqrt(static_cast<double>(size_));
  // RowProduct's and that of the bounds themselves, with room.
  const double rounding = (size_ / 8 + 32) * 0x1p-23;
  for (int i = 0; i < count_; ++i) {
    const float* const row = &rows_[static_cast<size_t>(i) * size_];
    float most = 0;
    double squares = 0;
    for (int k = 0; k < size_; ++k) {
      most = std::max(most, std::fabs(row[k]));
      squares += double{row[k]} * row[k];
    }
    if (squares == 0 && most == 0) most = kMaxSimSteps;
    if (!std::isfinite(squares) || !(most > kMaxSimLeast) || !(most < kMaxSimMost)) return;
    const double step = double{most} / kMaxSimSteps;
    double error_squares = 0;
    int32_t sum = 0;
    for (int k = 0; k < size_; ++k) {
      const double steps = std::nearbyint(row[k] / step);
      const double error = row[k] / step - steps;
      error_squares += error * error;
      const auto byte = static_cast<int8_t>(steps);
      sum += byte;
      bytes_[(static_cast<size_t>(k / 4) * columns_ + i) * 4 + k % 4] = byte;
    }
    const double length = std::sqrt(squares) / step;
    const double error = std::sqrt(error_squares);
    starts_[i] = -128 * sum;
    slack_[i] = static_cast<float>(
        (1 + rounding) * length * document_error * (1 + 1e-5));
    slope_[i] =
        static_cast<float>((error + rounding * length) * (1 + 1e-5));
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

double MaxSimQuery::Compare(const float* document, int rows) const {
  if (count_ == 0 || rows == 0) return 0;
  // A few rows are compared as quickly as they are rounded.
  if (!packed_ || rows < 4) return ComparePlainly(document, rows);
  const int stride = RoundUp(size_, kMaxSimBytes);
  const size_t padded = RoundUp(rows, kMaxSimRows);
  const size_t most_columns = std::min(columns_, kMaxSimBlock);
  const size_t bytes = padded * stride;
  const size_t numbers = padded + kMaxSimRowLanes;
  const size_t floats = (padded + 1) * most_columns + 2 * numbers;
  size_t size = bytes + floats * sizeof(float) + kMaxSimBytes;
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(size);
  void* aligned = memory.get();
  std::align(kMaxSimBytes, size - kMaxSimBytes, aligned, size);
  // All bounds are aligned to cache lines, too.
  static_assert(kMaxSimColumns * sizeof(float) == kMaxSimBytes);
  auto* const upper =
      reinterpret_cast<float*>(static_cast<std::byte*>(aligned) + bytes);
  const ProductBounds bounds = {.upper = upper,
                                .lower = upper + padded * most_columns};
  const DocumentBytes rounded = {
      .bytes = static_cast<uint8_t*>(aligned),
      .stride = stride,
      .steps = bounds.lower + most_columns,
      .lengths = bounds.lower + most_columns + numbers};
  // Rows after the last are multiplied but do not count.
  std::fill(rounded.bytes + static_cast<size_t>(rows) * stride,
            rounded.bytes + bytes, uint8_t{0});
  const DocumentRows of_document = {document, rows, size_};
  const bool vnni = ActiveIsa() >= Isa::kAvx512Vnni;
  std::vector<float> best(count_, -std::numeric_limits<float>::infinity());
  for (int first = 0; first < count_; first += kMaxSimBlock) {
    const QueryColumns query = {
        .bytes = bytes_.data() + static_cast<size_t>(first) * 4,
        .quads = RoundUp(size_, 4) / 4,
        .stride = columns_,
        .columns = std::min(columns_ - first, kMaxSimBlock),
        .count = std::min(count_ - first, kMaxSimBlock),
        .starts = starts_.data() + first,
        .slack = slack_.data() + first,
        .slope = slope_.data() + first,
        .rows = rows_.data() + static_cast<size_t>(first) * size_};
    if (!HWY_DYNAMIC_DISPATCH(BoundProducts)(of_document, query, vnni,
                                             first == 0, rounded, bounds)) {
      return ComparePlainly(document, rows);
    }
    HWY_DYNAMIC_DISPATCH(BestOfCandidates)
    (of_document, query, bounds, best.data() + first);
  }
  double sum = 0;
  for (const float one : best) sum += one;
  return sum;
}

}  // namespace trivium
#endif  // HWY_ONCE
