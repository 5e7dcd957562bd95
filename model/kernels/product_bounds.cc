// A row x is rounded to steps: x = s x' + e, where x' are integers of 8 bits
// and s is the largest |x_k| over 127. A product of two rows is then
//
//   q . d = s_q s_d q' . d' + q . e_d + s_d d' . e_q
//
// and |e_d| <= s_d / 2 sqrt(size), so that, in steps of both,
//
//   |q . d / (s_q s_d) - q' . d'| <= |q| / s_q sqrt(size) / 2 + |e_q| / s_q
//   |d'|
//                                  = slack + slope |d'|
//
// where slack and slope are of the query row alone. RowProduct rounds sums of
// size / 8 + 4 numbers, and the bounds are floats themselves; slack and slope
// have room for both.
//
// What holds:
// - Every row has its own step. So a document is read once, block by block: a
//   block is rounded, and multiplied while a later one comes out of memory.
// - A document's bytes are unsigned, by adding 128. This adds 128 times the
//   sum of q' to every product of a query row, so sums start below zero.
// - Bytes past a row's end are multiplied with zeros and are zero (128)
//   themselves. Rows past the last, up to a whole block, are the last one
//   again, which changes no bound.
#include "model/kernels/product_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/product_bounds.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_PRODUCT_BOUNDS_CC_
#define TRIVIUM_MODEL_KERNELS_PRODUCT_BOUNDS_CC_
namespace trivium {

// Columns and bytes of a row are padded to this.
inline constexpr int kPaddedColumns = 16;
inline constexpr int kPaddedBytes = 64;
static_assert(kBoundedColumns % kPaddedColumns == 0);
// Rows are multiplied in blocks of a divisor of this.
inline constexpr int kBlockRows = 12;
// The same, padded to vectors.
inline constexpr int kBlockLanes = 16;
inline constexpr float kMostSteps = 127;
// Steps of values outside this range are no ordinary numbers.
inline constexpr float kLeastRounded = 1e-15f, kMostRounded = 1e15f;

// A document's rows as bytes [rows, stride].
struct RoundedRows {
  uint8_t* bytes;
  int stride;
  float* steps;    // [rows]
  float* lengths;  // [rows] in steps
};

// Some columns of a query.
struct QueryColumns {
  const int8_t* bytes;  // [quads, stride, 4]
  int quads;
  int stride;
  int columns;            // a multiple of kPaddedColumns
  const int32_t* starts;  // [columns]
  const float* slack;     // [columns]
  const float* slope;     // [columns]
  float* upper;           // [rows, columns]
  float* lower;           // [columns]
};

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows whose sums registers hold.
constexpr int kRowsAtOnce = HWY_TARGET == HWY_AVX3 ? kBlockRows : 4;
static_assert(kBlockRows % kRowsAtOnce == 0);

// Combines the lanes of v until at most four are left, and stores these.
template <class D, class F>
HWY_INLINE void StoreFour(D d, hn::Vec<D> v, F combine, hn::TFromD<D>* four) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return StoreFour(half,
                     combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)),
                     combine, four);
  }
  hn::StoreU(v, d, four);
}

// Stores round(x * by) + 128, in whole vectors.
HWY_INLINE void RoundRow(const float* x, int size, hn::Vec<F32> by,
                         uint8_t* bytes) {
  const F32 d;
  const hn::Rebind<uint8_t, F32> d8;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const I32 d32;
  // Adding this to a number rounds it: 1.5 * 2^23, and 128 for the byte.
  const auto rounder = hn::Set(d, 12582912.0f + 128);
  const auto byte = hn::Set(d32, 0xff);
  const auto round = [&](auto v) HWY_ATTR {
    return hn::And(hn::BitCast(d32, hn::MulAdd(v, by, rounder)), byte);
  };
  int k = 0;
#if HWY_TARGET == HWY_AVX3
  for (; k + 4 * lanes <= size; k += 4 * lanes) {
    StoreBytes({round(hn::LoadU(d, x + k)), round(hn::LoadU(d, x + k + lanes)),
                round(hn::LoadU(d, x + k + 2 * lanes)),
                round(hn::LoadU(d, x + k + 3 * lanes))},
               bytes + k);
  }
#endif
  for (; k < size; k += lanes) {
    const auto v = LoadSome(d, x + k, std::min(lanes, size - k));
    hn::StoreU(hn::DemoteTo(d8, round(v)), d8, bytes + k);
  }
}

// Rounds kRowsAtOnce rows from `first` on; false if one cannot be rounded. All
// rows take a step before one takes the next, since each step waits for the one
// before it.
template <bool kVnni>
HWY_INLINE bool RoundRows(const DocumentRows& document, int first,
                          const RoundedRows& rounded) {
  const F32 d;
  const I32 d32;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto row_of = [&](int r) HWY_ATTR {
    return document.values +
           static_cast<size_t>(std::min(first + r, document.rows - 1)) *
               document.size;
  };
  const auto bytes_of = [&](int r) HWY_ATTR {
    return rounded.bytes + static_cast<size_t>(first + r) * rounded.stride;
  };

  HWY_ALIGN int32_t fours[4 * kBlockLanes] = {};
  for (int r = 0; r < kRowsAtOnce; ++r) {
    const float* const x = row_of(r);
    // Infinity and NaN, read as integers, are more than all numbers.
    auto most = hn::Zero(d32);
    ForEachVector(d, document.size, [&](int k, auto some) HWY_ATTR {
      most = hn::Max(most, hn::BitCast(d32, hn::Abs(some.Load(d, x + k))));
    });
    StoreFour(
        d32, most, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); },
        fours + 4 * r);
  }
  HWY_ALIGN float factors[kBlockLanes];
  const auto steps = hn::Set(d, kMostSteps);
  for (int r = 0; r < kRowsAtOnce; r += lanes) {
    VI32 a, b, c, e;
    hn::LoadInterleaved4(d32, fours + 4 * r, a, b, c, e);
    const auto most = hn::BitCast(d, hn::Max(hn::Max(a, b), hn::Max(c, e)));
    const auto zero = hn::Eq(most, hn::Zero(d));
    const auto usual = hn::And(hn::Gt(most, hn::Set(d, kLeastRounded)),
                               hn::Lt(most, hn::Set(d, kMostRounded)));
    if (!hn::AllTrue(d, hn::Or(zero, usual))) return false;
    hn::Store(hn::IfThenZeroElse(zero, hn::Div(steps, most)), d, factors + r);
    hn::StoreU(hn::Div(most, steps), d, rounded.steps + first + r);
  }
  for (int r = 0; r < kRowsAtOnce; ++r) {
    if (rounded.stride != document.size) {
      std::fill_n(bytes_of(r) + rounded.stride - kPaddedBytes, kPaddedBytes,
                  uint8_t{128});
    }
    RoundRow(row_of(r), document.size, hn::Set(d, factors[r]), bytes_of(r));
  }
  const auto middle = hn::Set(d32, static_cast<int32_t>(0x80808080));
  for (int r = 0; r < kRowsAtOnce; ++r) {
    const auto* const quads = reinterpret_cast<const int32_t*>(bytes_of(r));
    // d' . d' = (d' + 128) . d' - 128 . d'
    auto more = hn::Zero(d32);
    auto less = hn::Zero(d32);
    for (int k = 0; k < rounded.stride / 4; k += lanes) {
      const auto bytes = hn::LoadU(d32, quads + k);
      const auto numbers = hn::Xor(bytes, middle);
      more = AddDots<kVnni>(more, bytes, numbers);
      less = AddDots<kVnni>(less, middle, numbers);
    }
    StoreFour(
        d32, hn::Sub(more, less),
        [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); }, fours + 4 * r);
  }
  for (int r = 0; r < kRowsAtOnce; r += lanes) {
    VI32 a, b, c, e;
    hn::LoadInterleaved4(d32, fours + 4 * r, a, b, c, e);
    const auto squares = hn::Add(hn::Add(a, b), hn::Add(c, e));
    hn::StoreU(hn::Sqrt(hn::ConvertTo(d, squares)), d,
               rounded.lengths + first + r);
  }
  return true;
}

// Sets the upper bounds of kRowsAtOnce rows from `first` on, and raises the
// lower ones, for kColumns vectors of columns from `column` on. Fetches the
// block at `ahead`, if any.
template <bool kVnni, int kColumns>
HWY_INLINE void BoundBlock(const RoundedRows& document, int first,
                           const QueryColumns& query, int column,
                           const float* ahead) {
  const F32 d;
  const I32 d32;
  const int lanes = static_cast<int>(hn::Lanes(d));
  VI32 sums[kRowsAtOnce][kColumns];
  HWY_UNROLL(12)
  for (int r = 0; r < kRowsAtOnce; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      sums[r][c] = hn::LoadU(d32, query.starts + column + c * lanes);
    }
  }
  const auto* const x = reinterpret_cast<const int32_t*>(
      document.bytes + static_cast<size_t>(first) * document.stride);
  const auto* q = reinterpret_cast<const int32_t*>(query.bytes) + column;
  const int stride = document.stride / 4;
  for (int quad = 0; quad < query.quads; ++quad) {
    if (ahead != nullptr) {  // four floats of each row
      HWY_UNROLL(3)
      for (int i = 0; i < kRowsAtOnce / 4; ++i) {
        // The first cache has room for fewer lines on their way.
        __builtin_prefetch(ahead + 16 * i, /*rw=*/0,
                           /*locality: the second cache*/ 2);
      }
      ahead += 4 * kRowsAtOnce;
    }
    VI32 of_query[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      of_query[c] = hn::LoadU(d32, q + c * lanes);
    }
    q += query.stride;
    HWY_UNROLL(12)
    for (int r = 0; r < kRowsAtOnce; ++r) {
      const auto of_row =
          hn::Set(d32, x[static_cast<size_t>(r) * stride + quad]);
      for (int c = 0; c < kColumns; ++c) {
        sums[r][c] = AddDots<kVnni>(sums[r][c], of_row, of_query[c]);
      }
    }
  }
  hn::Vec<F32> slack[kColumns], slope[kColumns], lower[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    slack[c] = hn::LoadU(d, query.slack + column + c * lanes);
    slope[c] = hn::LoadU(d, query.slope + column + c * lanes);
    lower[c] = hn::LoadU(d, query.lower + column + c * lanes);
  }
  HWY_UNROLL(12)
  for (int r = 0; r < kRowsAtOnce; ++r) {
    const auto step = hn::Set(d, document.steps[first + r]);
    const auto length = hn::Set(d, document.lengths[first + r]);
    float* const upper =
        query.upper + static_cast<size_t>(first + r) * query.columns + column;
    for (int c = 0; c < kColumns; ++c) {
      const auto product = hn::ConvertTo(d, sums[r][c]);
      const auto error = hn::MulAdd(length, slope[c], slack[c]);
      hn::StoreU(hn::Mul(hn::Add(product, error), step), d, upper + c * lanes);
      lower[c] = hn::Max(lower[c], hn::Mul(hn::Sub(product, error), step));
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    hn::StoreU(lower[c], d, query.lower + column + c * lanes);
  }
}

template <bool kVnni>
HWY_INLINE bool BoundAllRows(const DocumentRows& document, bool round,
                             const RoundedRows& rounded,
                             const QueryColumns& query) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  for (int first = 0; first < document.rows; first += kRowsAtOnce) {
    if (round && !RoundRows<kVnni>(document, first, rounded)) return false;
    // The next block but one.
    const int next = first + 2 * kRowsAtOnce;
    const float* ahead =
        round && next < document.rows
            ? document.values + static_cast<size_t>(next) * document.size
            : nullptr;
    int column = 0;
    for (; column + 2 * lanes <= query.columns; column += 2 * lanes) {
      BoundBlock<kVnni, 2>(rounded, first, query, column, ahead);
      ahead = nullptr;
    }
    for (; column < query.columns; column += lanes) {
      BoundBlock<kVnni, 1>(rounded, first, query, column, ahead);
      ahead = nullptr;
    }
  }
  return true;
}

// Bounds the products of a document with columns of a query, and rounds it
// first if `round`. False if it cannot be rounded.
bool BoundRows(const DocumentRows& document, bool round, bool vnni,
               const RoundedRows& rounded, const QueryColumns& query) {
  return HWY_TARGET == HWY_AVX3 && vnni
             ? BoundAllRows<true>(document, round, rounded, query)
             : BoundAllRows<false>(document, round, rounded, query);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(BoundRows);

namespace {

// Sums of bytes of longer rows might not fit into 32 bits.
constexpr int kMostSize = 1 << 15;
// Half a step, and the rounding of the multiplication by 1 / step.
constexpr double kHalfStep = 0.5001;

constexpr int RoundUp(int n, int to) { return (n + to - 1) / to * to; }

}  // namespace

std::optional<QueryBytes> RoundQuery(const float* rows, int count, int size) {
  if (count == 0 || size == 0 || size > kMostSize) return std::nullopt;
  QueryBytes query;
  query.count = count;
  query.size = size;
  query.columns = RoundUp(count, kPaddedColumns);
  const int quads = RoundUp(size, 4) / 4;
  query.bytes.assign(static_cast<size_t>(quads) * query.columns * 4, 0);
  query.starts.assign(query.columns, 0);
  query.slack.assign(query.columns, 0);
  query.slope.assign(query.columns, 0);
  // |e_d|, in steps.
  const double document_error =
      kHalfStep * std::sqrt(static_cast<double>(size));
  // The rounding of RowProduct and of the bounds, with room.
  const double rounding = (size / 8 + 32) * 0x1p-23;
  constexpr double kRoom = 1 + 1e-5;
  for (int i = 0; i < count; ++i) {
    const float* const row = rows + static_cast<size_t>(i) * size;
    float most = 0;
    double squares = 0;
    for (int k = 0; k < size; ++k) {
      most = std::max(most, std::fabs(row[k]));
      squares += double{row[k]} * row[k];
    }
    if (squares == 0) most = kMostSteps;
    if (!std::isfinite(squares) || !(most > kLeastRounded) ||
        !(most < kMostRounded)) {
      return std::nullopt;
    }
    const double step = double{most} / kMostSteps;
    double errors = 0;
    int32_t sum = 0;
    for (int k = 0; k < size; ++k) {
      const double steps = std::nearbyint(row[k] / step);
      const double error = row[k] / step - steps;
      errors += error * error;
      const auto byte = static_cast<int8_t>(steps);
      sum += byte;
      query
          .bytes[(static_cast<size_t>(k / 4) * query.columns + i) * 4 + k % 4] =
          byte;
    }
    const double length = std::sqrt(squares) / step;
    query.starts[i] = -128 * sum;
    query.slack[i] =
        static_cast<float>((1 + rounding) * length * document_error * kRoom);
    query.slope[i] =
        static_cast<float>((std::sqrt(errors) + rounding * length) * kRoom);
  }
  return query;
}

ProductBounds::ProductBounds(const QueryBytes& query,
                             const DocumentRows& document)
    : query_(query),
      document_(document),
      stride_(RoundUp(query.size, kPaddedBytes)) {
  const size_t rows = RoundUp(document.rows, kBlockRows);
  const size_t most_columns = std::min(query.columns, kBoundedColumns);
  // Each part ends where a cache line does, but the last two.
  static_assert(kPaddedColumns * sizeof(float) == kPaddedBytes);
  const size_t bytes = rows * stride_;
  const size_t floats = (rows + 1) * most_columns + 2 * (rows + kBlockLanes);
  size_t size = bytes + floats * sizeof(float) + kPaddedBytes;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(size);
  void* aligned = memory_.get();
  std::align(kPaddedBytes, size - kPaddedBytes, aligned, size);
  bytes_ = static_cast<uint8_t*>(aligned);
  upper_ = reinterpret_cast<float*>(bytes_ + bytes);
  lower_ = upper_ + rows * most_columns;
  steps_ = lower_ + most_columns;
  lengths_ = steps_ + rows + kBlockLanes;
}

bool ProductBounds::Compute(int first) {
  columns_ = std::min(query_.columns - first, kBoundedColumns);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::fill_n(lower_, columns_, -kInfinity);
  const RoundedRows rounded = {
      .bytes = bytes_, .stride = stride_, .steps = steps_, .lengths = lengths_};
  const QueryColumns columns = {
      .bytes = query_.bytes.data() + static_cast<size_t>(first) * 4,
      .quads = RoundUp(query_.size, 4) / 4,
      .stride = query_.columns,
      .columns = columns_,
      .starts = query_.starts.data() + first,
      .slack = query_.slack.data() + first,
      .slope = query_.slope.data() + first,
      .upper = upper_,
      .lower = lower_};
  if (!HWY_DYNAMIC_DISPATCH(BoundRows)(document_, /*round=*/first == 0,
                                       ActiveIsa() >= Isa::kAvx512Vnni, rounded,
                                       columns)) {
    return false;
  }
  const int count = std::min(query_.count - first, columns_);
  std::fill(lower_ + count, lower_ + columns_, kInfinity);
  return true;
}

}  // namespace trivium
#endif  // HWY_ONCE
