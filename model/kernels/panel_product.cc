#include "model/kernels/panel_product.h"

#include <algorithm>
#include <cstring>

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/panel_product.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/vector-inl.h"

// Packed weights are panels of 64 columns. In a panel lie the first values of K
// of all columns, then the next...: one value each of floats, four of bytes, so
// that 4 vectors of 16 lanes have a step of K. A group of up to 6 rows of x
// meets a panel at once: each step of a row, in all lanes, times the 4 vectors,
// into 24 registers of sums. That is 10 loads for 24 multiplications, which
// never wait if the panel is in the caches; so while one is multiplied, the
// next is fetched.
#ifndef TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_CC_
#define TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_CC_
namespace trivium {

constexpr int kMostRows = 6;
constexpr int kLineBytes = 64;

template <class Weight, class Value, class Sum>
struct PanelProductCall {
  using W = Weight;
  using X = Value;
  using Y = Sum;
  static constexpr int kStep = 4 / sizeof(W);  // values of K in a lane

  const W* packed;
  int n, k;
  const X* x;
  int rows;
  int begin, end;  // columns
  Y* y;
};
using FloatCall = PanelProductCall<float, float, float>;
using ByteCall = PanelProductCall<int8_t, uint8_t, int32_t>;

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3

HWY_INLINE hn::Vec<F32> AddProducts(hn::Vec<F32> sum, float x, hn::Vec<F32> w) {
  return hn::MulAdd(hn::Set(F32(), x), w, sum);
}
HWY_INLINE VI32 AddProducts(VI32 sum, int32_t x, VI32 w) {
  return AddDots<true>(sum, hn::Set(I32(), x), w);
}

// Rows [row, row + kRows) of x times a panel, `columns` of which there are.
// Meanwhile kFetches lines a step come in from `fetch`.
template <int kRows, int kFetches, class Call>
HWY_INLINE void MultiplyPanel(const Call& call, int row, int column,
                              const char* fetch) {
  using Y = typename Call::Y;
  using D = hn::CappedTag<Y, 16>;
  using V = hn::Vec<D>;
  constexpr int kVectors = 4, kLanes = 16;
  const D d;
  V sum[kRows][kVectors];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const size_t k = static_cast<size_t>(call.k);
  const auto* panel = reinterpret_cast<const Y*>(call.packed + column * k);
  const auto* x = call.x + row * k;
  for (size_t i = 0; i < k; i += Call::kStep) {
    HWY_UNROLL(8)
    for (int f = 0; f < kFetches; ++f, fetch += kLineBytes) {
      __builtin_prefetch(fetch, /*rw=*/0, /*locality: the second cache*/ 2);
    }
    V w[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      w[v] = hn::Load(d, panel + v * kLanes);
    }
    panel += kPanelColumns;
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      Y step;  // one float, or four bytes
      std::memcpy(&step, x + r * k + i, sizeof(step));
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = AddProducts(sum[r][v], step, w[v]);
      }
    }
  }
  const int columns = call.n - column;
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    Y* y = call.y + static_cast<size_t>(row + r) * call.n + column;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      const int left = columns - v * kLanes;
      if (left >= kLanes) {
        hn::StoreU(sum[r][v], d, y + v * kLanes);
      } else if (left > 0) {
        hn::BlendedStore(sum[r][v], hn::FirstN(d, static_cast<size_t>(left)), d,
                         y + v * kLanes);
      }
    }
  }
}

template <int kFetches, class Call>
HWY_INLINE void MultiplyRows(const Call& call, int row, int count, int column,
                             const char* fetch) {
  switch (count) {
    case 1:
      return MultiplyPanel<1, kFetches>(call, row, column, fetch);
    case 2:
      return MultiplyPanel<2, kFetches>(call, row, column, fetch);
    case 3:
      return MultiplyPanel<3, kFetches>(call, row, column, fetch);
    case 4:
      return MultiplyPanel<4, kFetches>(call, row, column, fetch);
    case 5:
      return MultiplyPanel<5, kFetches>(call, row, column, fetch);
    default:
      return MultiplyPanel<kMostRows, kFetches>(call, row, column, fetch);
  }
}

template <class Call>
HWY_INLINE void Multiply(const Call& call) {
  // A panel has four lines for each step of K, so as many fetches a step bring
  // in the next one.
  constexpr int kPanelFetches = 4;
  const int groups = (call.rows + kMostRows - 1) / kMostRows;
  const int fetches = groups == 1 ? 4 : groups < 4 ? 2 : 1;
  const size_t quarter =
      sizeof(typename Call::W) * kPanelColumns * call.k / kPanelFetches;
  for (int column = call.begin; column < call.end; column += kPanelColumns) {
    const bool last = column + kPanelColumns >= call.end;
    const char* next = reinterpret_cast<const char*>(
        call.packed + static_cast<size_t>(column + kPanelColumns) * call.k);
    int fetched = last ? kPanelFetches : 0;
    for (int group = 0, row = 0; group < groups; ++group) {
      // Groups of nearly one size.
      const int count = (call.rows - row) / (groups - group);
      const char* fetch = next + fetched * quarter;
      if (fetched == kPanelFetches) {
        MultiplyRows<0>(call, row, count, column, nullptr);
      } else if (fetches == 1) {
        MultiplyRows<1>(call, row, count, column, fetch);
      } else if (fetches == 2) {
        MultiplyRows<2>(call, row, count, column, fetch);
      } else {
        MultiplyRows<4>(call, row, count, column, fetch);
      }
      if (fetched < kPanelFetches) fetched += fetches;
      row += count;
    }
  }
}

bool HasPanels() { return true; }

#else

bool HasPanels() { return false; }
template <class Call>
void Multiply(const Call&) {}

#endif

void MultiplyFloats(const FloatCall& call) { Multiply(call); }
void MultiplyBytes(const ByteCall& call) { Multiply(call); }

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(HasPanels);
HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyBytes);

bool HasFloatPanels() {
  return ActiveIsa() >= Isa::kAvx512 && HWY_DYNAMIC_DISPATCH(HasPanels)();
}
bool HasBytePanels(int k) {
  return k % ByteCall::kStep == 0 && ActiveIsa() >= Isa::kAvx512Vnni &&
         HWY_DYNAMIC_DISPATCH(HasPanels)();
}

size_t PanelsBytes(int n, size_t row_bytes) {
  const int panels = (n + kPanelColumns - 1) / kPanelColumns;
  return static_cast<size_t>(panels) * kPanelColumns * row_bytes;
}

void PackPanels(const void* w, int n, size_t row_bytes, void* packed) {
  constexpr size_t kLane = 4;  // bytes: a float, or four values
  const char* from = static_cast<const char*>(w);
  for (int column = 0; column < n; ++column) {
    const int place = column % kPanelColumns;
    char* to = static_cast<char*>(packed) +
               static_cast<size_t>(column - place) * row_bytes + place * kLane;
    for (size_t i = 0; i < row_bytes; i += kLane) {
      std::memcpy(to, from, kLane);
      from += kLane;
      to += kPanelColumns * kLane;
    }
  }
}

void PanelProduct(const float* packed, int n, int k, const float* x, int rows,
                  int begin, int end, float* y) {
  HWY_DYNAMIC_DISPATCH(MultiplyFloats)
  ({packed, n, k, x, rows, begin, end, y});
}
void PanelProduct(const int8_t* packed, int n, int k, const uint8_t* x,
                  int rows, int begin, int end, int32_t* y) {
  HWY_DYNAMIC_DISPATCH(MultiplyBytes)
  ({packed, n, k, x, rows, begin, end, y});
}

}  // namespace trivium
#endif  // HWY_ONCE
