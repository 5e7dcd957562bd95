// Packed weights are panels of columns:
//
//   AVX-512  64 columns, four vectors of 16 lanes
//   AVX2     16 columns, two vectors of 8 lanes
//   Arm      16 columns, four vectors of 4 lanes
//
// A step of K is four bytes of each column: one float or four int8 values. A
// panel holds the first step of all its columns, then the second, and so on.
//
// A group of up to 6 rows of x is multiplied with one panel at once: each step
// of a row is broadcast to all lanes and multiplied with the vectors, into 24
// or 12 registers of sums. With AVX-512 that is 10 loads for 24
// multiplications, which never wait if the panel is in the caches. So while one
// panel is multiplied, the next is prefetched.
//
// VNNI adds the four products of a lane to its sum. Without it, bytes are
// widened to 16 bits and two products are added at once; this is exact, too,
// and does twice as many products as floats in the same time. Each step is then
// stored as the first two values of all columns, followed by the other two, and
// x is widened beforehand.
#include "model/kernels/panel_product.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/panel_product.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_CC_
#define TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_CC_
namespace trivium {

constexpr int kMostRows = 6;
constexpr int kLineBytes = 64;
constexpr size_t kStepBytes = 4;  // bytes of a column of W

struct PanelCall {
  const char* packed;
  int n;
  int steps;  // steps of K
  const char* x;
  size_t x_row_bytes;
  int rows;
  int begin, end;  // columns [begin, end)
  void* y;         // floats or int32_t
};

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLanes = hn::MaxLanes(F32());
constexpr int kVectors = HWY_TARGET == HWY_AVX2 ? 2 : 4;
constexpr int kColumns = kVectors * kLanes;          // columns of a panel
constexpr int kMostChains = kPanelColumns / kLanes;  // with one or two rows

// The operands of one lane: kWBytes of a column of W, kParts of which are a
// step, and four bytes of a row of x.
struct Floats {
  using D = F32;
  static constexpr int kParts = 1, kWBytes = 4;

  static HWY_INLINE hn::Vec<D> Load(const char* w) {
    return hn::Load(D(), reinterpret_cast<const float*>(w));
  }
  static HWY_INLINE hn::Vec<D> Add(hn::Vec<D> sum, hn::Vec<D> x, hn::Vec<D> w) {
    return hn::MulAdd(x, w, sum);
  }
};
struct BytePairs {
  using D = I32;
  static constexpr int kParts = 2, kWBytes = 2;

  static HWY_INLINE hn::Vec<D> Load(const char* w) {
    const hn::Repartition<int16_t, D> d16;
    const hn::Rebind<int8_t, decltype(d16)> d8;
    return hn::BitCast(
        D(),
        hn::PromoteTo(d16, hn::Load(d8, reinterpret_cast<const int8_t*>(w))));
  }
  static HWY_INLINE hn::Vec<D> Add(hn::Vec<D> sum, hn::Vec<D> x, hn::Vec<D> w) {
#if HWY_ARCH_X86
    // Left alone, the compiler adds both parts' products first and runs out of
    // registers.
    hn::Vec<D> products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
        : "+v"(sum.raw), "=&v"(products.raw)
        : "v"(x.raw), "v"(w.raw));
    return sum;
#else
    const auto first = [](hn::Vec<D> pair) HWY_ATTR {
      return hn::ShiftRight<16>(hn::ShiftLeft<16>(pair));
    };
    sum = hn::Add(sum, hn::Mul(first(x), first(w)));
    return hn::Add(sum, hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(w)));
#endif
  }
};
#if HWY_TARGET == HWY_AVX3
struct ByteQuads {
  using D = I32;
  static constexpr int kParts = 1, kWBytes = 4;

  static HWY_INLINE hn::Vec<D> Load(const char* w) {
    return hn::Load(D(), reinterpret_cast<const int32_t*>(w));
  }
  static HWY_INLINE hn::Vec<D> Add(hn::Vec<D> sum, hn::Vec<D> x, hn::Vec<D> w) {
    return AddDots<true>(sum, x, w);
  }
};
#endif

// Multiplies rows [row, row + kRows) of x with the kPanels panels from `column`
// on. Meanwhile prefetches kFetches cache lines per step from `fetch` on.
template <class Lanes, int kPanels, int kRows, int kFetches>
HWY_INLINE void MultiplyPanels(const PanelCall& call, int row, int column,
                               const char* fetch) {
  constexpr int kWide = kPanels * kVectors;
  const typename Lanes::D d;
  using V = hn::Vec<typename Lanes::D>;
  using Y = hn::TFromD<typename Lanes::D>;
  V sum[kRows][kWide];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kWide; ++v) sum[r][v] = hn::Zero(d);
  }
  const size_t column_bytes = kStepBytes * call.steps;
  const char* w = call.packed + column * column_bytes;
  const char* x = call.x + row * call.x_row_bytes;
  for (int step = 0; step < call.steps; ++step) {
    HWY_UNROLL(8)
    for (int f = 0; f < kFetches; ++f, fetch += kLineBytes) {
      __builtin_prefetch(fetch, /*rw=*/0, /*locality: the second cache*/ 2);
    }
    HWY_UNROLL(2)
    for (int part = 0; part < Lanes::kParts; ++part) {
      V weights[kWide];
      HWY_UNROLL(8)
      for (int v = 0; v < kWide; ++v) {
        weights[v] = Lanes::Load(w + v / kVectors * kColumns * column_bytes +
                                 v % kVectors * kLanes * Lanes::kWBytes);
      }
      w += kColumns * Lanes::kWBytes;
      HWY_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        Y values;  // one float, two 16-bit integers or four bytes
        std::memcpy(&values, x + r * call.x_row_bytes, sizeof(Y));
        const V all = hn::Set(d, values);
        HWY_UNROLL(8)
        for (int v = 0; v < kWide; ++v) {
          sum[r][v] = Lanes::Add(sum[r][v], all, weights[v]);
        }
      }
      x += sizeof(Y);
    }
  }
  const int columns = call.n - column;
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    Y* y = static_cast<Y*>(call.y) + static_cast<size_t>(row + r) * call.n +
           column;
    HWY_UNROLL(8)
    for (int v = 0; v < kWide; ++v) {
      const int left = columns - v * kLanes;
      if (left >= kLanes) {
        hn::StoreU(sum[r][v], d, y + v * kLanes);
      } else if (left > 0) {
        StoreFirst(sum[r][v], hn::FirstN(d, static_cast<size_t>(left)), d,
                   y + v * kLanes);
      }
    }
  }
}

template <class Lanes, int kPanels, int kFetches>
HWY_INLINE void MultiplyRows(const PanelCall& call, int row, int count,
                             int column, const char* fetch) {
  if constexpr (kPanels > 1) {
    MultiplyPanels<Lanes, kPanels, kMostChains / (kPanels * kVectors),
                   kFetches>(call, row, column, fetch);
  } else {
    switch (count) {
      case 1:
        return MultiplyPanels<Lanes, 1, 1, kFetches>(call, row, column, fetch);
      case 2:
        return MultiplyPanels<Lanes, 1, 2, kFetches>(call, row, column, fetch);
      case 3:
        return MultiplyPanels<Lanes, 1, 3, kFetches>(call, row, column, fetch);
      case 4:
        return MultiplyPanels<Lanes, 1, 4, kFetches>(call, row, column, fetch);
      case 5:
        return MultiplyPanels<Lanes, 1, 5, kFetches>(call, row, column, fetch);
      default:
        return MultiplyPanels<Lanes, 1, kMostRows, kFetches>(call, row, column,
                                                             fetch);
    }
  }
}

// Multiplies kPanels panels at once.
template <class Lanes, int kPanels>
HWY_INLINE void MultiplyAll(const PanelCall& call) {
  // Cache lines of the panels per step; as many prefetches per step fetch all
  // of the next panels.
  constexpr int kWidth = kPanels * kColumns;
  constexpr int kMostFetches = kWidth * kStepBytes / kLineBytes;
  const int groups = kPanels > 1 ? 1 : (call.rows + kMostRows - 1) / kMostRows;
  const int fetches = std::min(kMostFetches, groups == 1  ? 4
                                             : groups < 4 ? 2
                                                          : 1);
  const size_t fetch_bytes = static_cast<size_t>(kLineBytes) * call.steps;
  for (int column = call.begin; column < call.end; column += kWidth) {
    const bool last = column + kWidth >= call.end;
    const char* next = call.packed + static_cast<size_t>(column + kWidth) *
                                         kStepBytes * call.steps;
    int fetched = last ? kMostFetches : 0;
    for (int group = 0, row = 0; group < groups; ++group) {
      // Groups of nearly equal size.
      const int count = (call.rows - row) / (groups - group);
      const char* fetch = next + fetched * fetch_bytes;
      if (fetched == kMostFetches) {
        MultiplyRows<Lanes, kPanels, 0>(call, row, count, column, nullptr);
      } else if (fetches == 1) {
        MultiplyRows<Lanes, kPanels, 1>(call, row, count, column, fetch);
      } else if (fetches == 2) {
        MultiplyRows<Lanes, kPanels, 2>(call, row, count, column, fetch);
      } else {
        MultiplyRows<Lanes, kPanels, 4>(call, row, count, column, fetch);
      }
      if (fetched < kMostFetches) fetched += fetches;
      row += count;
    }
  }
}

template <class Lanes>
HWY_INLINE void Multiply(const PanelCall& call) {
  // A multiplication waits for the previous one in its chain of sums. With one
  // or two rows a narrow panel has too few chains, so several panels are
  // multiplied at once.
  if constexpr (2 * kColumns <= kPanelColumns) {
    if (call.rows == 1) return MultiplyAll<Lanes, kMostChains / kVectors>(call);
    if (call.rows == 2) {
      return MultiplyAll<Lanes, kMostChains / kVectors / 2>(call);
    }
  }
  MultiplyAll<Lanes, 1>(call);
}

int PanelColumns() { return kColumns; }
void MultiplyFloats(const PanelCall& call) { Multiply<Floats>(call); }
void MultiplyBytePairs(const PanelCall& call) { Multiply<BytePairs>(call); }
void MultiplyByteQuads(const PanelCall& call) {
#if HWY_TARGET == HWY_AVX3
  Multiply<ByteQuads>(call);
#endif
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(PanelColumns);
HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyBytePairs);
HWY_EXPORT(MultiplyByteQuads);

namespace {

// The same for a whole process: CapIsa() comes before all kernels.
bool HasVnni() { return ActiveIsa() >= Isa::kAvx512Vnni; }

size_t WholeSteps(size_t bytes) {
  return (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
}

// Bytes that justify another thread.
constexpr size_t kLeastToPack = 1 << 20;

// Packs panels: `part_bytes` of K of each column of W, then the next
// `part_bytes`.
void Pack(const void* w, int n, size_t row_bytes, size_t part_bytes,
          void* packed) {
  const int width = HWY_DYNAMIC_DISPATCH(PanelColumns)();
  const auto pack = [&](int column) {
    const char* const from =
        static_cast<const char*>(w) + static_cast<size_t>(column) * row_bytes;
    const int place = column % width;
    char* to = static_cast<char*>(packed) +
               static_cast<size_t>(column - place) * WholeSteps(row_bytes) +
               place * part_bytes;
    for (size_t i = 0; i < row_bytes; i += part_bytes) {
      std::memcpy(to, from + i, std::min(part_bytes, row_bytes - i));
      to += width * part_bytes;
    }
  };
  const size_t least = kLeastToPack / (row_bytes * width) + 1;
  ParallelFor((n + width - 1) / width, static_cast<int>(least),
              [&](int begin, int end) {
                for (int column = begin * width;
                     column < std::min(end * width, n); ++column) {
                  pack(column);
                }
              });
}

// Copies the rows, padded with zeros to whole steps.
template <typename To>
const char* PadRows(const uint8_t* x, int rows, int k, Buffer<char>* scratch) {
  const int padded = static_cast<int>(WholeSteps(k));
  auto* to = reinterpret_cast<To*>(
      scratch->Reserve(sizeof(To) * padded * static_cast<size_t>(rows)));
  for (int row = 0; row < rows; ++row, x += k, to += padded) {
    std::copy_n(x, k, to);
    std::fill(to + k, to + padded, To{0});
  }
  return scratch->data();
}

}  // namespace

size_t PanelsBytes(int n, size_t row_bytes) {
  const int blocks = (n + kPanelColumns - 1) / kPanelColumns;
  return static_cast<size_t>(blocks) * kPanelColumns * WholeSteps(row_bytes);
}

void PackPanels(const float* w, int n, int k, void* packed) {
  Pack(w, n, sizeof(float) * k, kStepBytes, packed);
}
void PackPanels(const int8_t* w, int n, int k, void* packed) {
  Pack(w, n, k, HasVnni() ? kStepBytes : kStepBytes / 2, packed);
}

void PanelProduct(const void* packed, int n, int k, const float* x, int rows,
                  int begin, int end, float* y) {
  HWY_DYNAMIC_DISPATCH(MultiplyFloats)
  ({static_cast<const char*>(packed), n, k, reinterpret_cast<const char*>(x),
    sizeof(float) * k, rows, begin, end, y});
}

void PanelProduct(const void* packed, int n, int k, const uint8_t* x, int rows,
                  int begin, int end, int32_t* y, Buffer<char>* scratch) {
  const size_t padded = WholeSteps(k);
  PanelCall call = {.packed = static_cast<const char*>(packed),
                    .n = n,
                    .steps = static_cast<int>(padded / kStepBytes),
                    .x = reinterpret_cast<const char*>(x),
                    .x_row_bytes = padded,
                    .rows = rows,
                    .begin = begin,
                    .end = end,
                    .y = y};
  if (!HasVnni()) {
    call.x = PadRows<int16_t>(x, rows, k, scratch);
    call.x_row_bytes *= sizeof(int16_t);
    HWY_DYNAMIC_DISPATCH(MultiplyBytePairs)(call);
    return;
  }
  if (padded != static_cast<size_t>(k)) {
    call.x = PadRows<uint8_t>(x, rows, k, scratch);
  }
  HWY_DYNAMIC_DISPATCH(MultiplyByteQuads)(call);
}

}  // namespace trivium
#endif  // HWY_ONCE
