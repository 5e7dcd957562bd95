// Multiplies blocks as group_layout.h has them. A step's four bytes of a row of
// x are broadcast to all lanes; each lane adds its column's four products to a
// sum. q is the unsigned operand, as VNNI wants it. Where q has a zero (8 or
// 128), sums begin at -zero times the sum of x, so they are exact. With AVX2,
// products of four bits are added in 16 bits: 16 pairs of 2 x 15 x 127 fit.
// Numbers of a table are looked up in a register; theirs are added in 32 bits.
//
// While a block is multiplied with several rows, the next is prefetched.
//
// The bits do not depend on the instruction set.
#include "model/kernels/grouped_product.h"

#include <algorithm>
#include <cstring>

#include "model/kernels/group_layout.h"
#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/grouped_product.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_GROUPED_PRODUCT_CC_
#define TRIVIUM_MODEL_KERNELS_GROUPED_PRODUCT_CC_
namespace trivium {

constexpr int kFetchBytes = 64;  // a cache line

struct GroupedCall {
  const char* block;
  bool has_next;  // another block follows in memory, and is multiplied next
  const char* x;
  size_t x_row_bytes;
  int groups;
  int rows;
  int columns;  // of the block, up to kGroupColumns
  float* y;     // of the block's first column
  int n;        // floats from a row of y to the next
};

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLanes = hn::MaxLanes(F32());
// Vectors of columns, and rows of x, that are multiplied at once: as many as
// the registers hold with their sums.
constexpr int kWide = kLanes < 8 ? 4 : 2;
constexpr int kWideAlone = 4;  // with one row
constexpr int kMostRows = HWY_TARGET == HWY_AVX3 ? 6 : 4;

// Sums of the products of a step of all columns of a vector.
template <bool kVnni, bool kSmallNumbers>
struct StepSums {
#if HWY_TARGET == HWY_AVX2
  static constexpr bool kShort = kSmallNumbers;
#else
  static constexpr bool kShort = false;
#endif

  static HWY_INLINE VI32 Start(int32_t first) {
    return kShort ? hn::Zero(I32()) : hn::Set(I32(), first);
  }
  static HWY_INLINE VI32 Add(VI32 sum, VI32 q, VI32 x) {
#if HWY_TARGET == HWY_AVX2
    if constexpr (kShort) {
      const hn::Repartition<int16_t, I32> d16;
      const auto pairs =
          hn::Vec<decltype(d16)>{_mm256_maddubs_epi16(q.raw, x.raw)};
      return hn::BitCast(I32(), hn::Add(hn::BitCast(d16, sum), pairs));
    }
#endif
    return AddDots<kVnni>(sum, q, x);
  }
  static HWY_INLINE VI32 Finish(VI32 sum, int32_t first) {
#if HWY_TARGET == HWY_AVX2
    if constexpr (kShort) {
      const hn::Repartition<int16_t, I32> d16;
      const auto ones = hn::Set(d16, int16_t{1});
      return hn::Add(VI32{_mm256_madd_epi16(sum.raw, ones.raw)},
                     hn::Set(I32(), first));
    }
#endif
    return sum;
  }
};

// Makes the unsigned operand of the four numbers of each lane.
template <GroupForm kForm>
struct Operands {
  HWY_INLINE VI32 operator()(VI32 numbers) const { return numbers; }
};
template <GroupForm kForm>
requires(HasTable(kForm)) struct Operands<kForm> {
  using U8 = hn::Repartition<uint8_t, I32>;

  HWY_INLINE Operands() {
    alignas(16) uint8_t entries[16];
    for (int i = 0; i < 16; ++i) {
      entries[i] = static_cast<uint8_t>(TableOf(kForm)[i] + TableZero(kForm));
    }
    table = hn::LoadDup128(U8(), entries);
  }
  HWY_INLINE VI32 operator()(VI32 numbers) const {
    return hn::BitCast(I32(),
                       hn::TableLookupBytes(table, hn::BitCast(U8(), numbers)));
  }

  hn::Vec<U8> table;
};

HWY_INLINE hn::Vec<F32> LoadHalves(const char* from) {
  const hn::Rebind<hwy::float16_t, F32> d16;
  return hn::PromoteTo(
      F32(), hn::Load(d16, reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE hn::Vec<F32> LoadByteNumbers(const char* from) {
  const hn::Rebind<uint8_t, I32> d8;
  return hn::ConvertTo(
      F32(), hn::PromoteTo(
                 I32(), hn::Load(d8, reinterpret_cast<const uint8_t*>(from))));
}

// Mxfp4Scale() of bytes.
HWY_INLINE hn::Vec<F32> LoadPowers(const char* from) {
  const I32 d32;
  const hn::Rebind<uint8_t, I32> d8;
  const auto e =
      hn::PromoteTo(d32, hn::Load(d8, reinterpret_cast<const uint8_t*>(from)));
  const auto one = hn::Set(d32, 1);
  return hn::BitCast(
      F32(), hn::IfThenElse(hn::Gt(e, one), hn::ShiftLeft<23>(hn::Sub(e, one)),
                            hn::ShiftLeft<21>(hn::Add(e, one))));
}

// Multiplies kRows rows of x with kVectors vectors of columns from `column` on.
// Meanwhile prefetches, of each group of the next block, `fetches` cache lines
// from `fetch` on.
template <bool kVnni, GroupForm kForm, int kRows, int kVectors>
HWY_INLINE void MultiplyGroups(const GroupedCall& call, int row, int column,
                               const char* fetch, int fetches) {
  constexpr bool kFourBits = kForm != GroupForm::kScale8;
  constexpr bool kHasMinimums = kForm == GroupForm::kMinimum4 ||
                                kForm == GroupForm::kParts4 ||
                                kForm == GroupForm::kZero4;
  constexpr int kZero = kHasMinimums      ? 0
                        : HasTable(kForm) ? TableZero(kForm)
                        : kFourBits       ? 8
                                          : 128;
  using Sums = StepSums<kVnni, kFourBits && !HasTable(kForm)>;
  const F32 d;
  const I32 d32;
  const hn::RebindToUnsigned<I32> du32;
  using V = hn::Vec<F32>;

  V y[kRows][kVectors];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) y[r][v] = hn::Zero(d);
  }
  const char* const x = call.x + row * call.x_row_bytes;
  const size_t scales_at = static_cast<size_t>(call.groups) * kGroupNumbers;
  const size_t parts = static_cast<size_t>(call.groups) * sizeof(float);
  const char* from = call.block;
  const char* head = from;
  const Operands<kForm> to_operand;
  V scale_of_parts[kVectors], minimum_of_parts[kVectors];
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    scale_of_parts[v] = minimum_of_parts[v] = hn::Zero(d);
  }
  for (int group = 0; group < call.groups; ++group) {
    if (HeadBytes(kForm) > 0 && group % kPartsOfBlock == 0) {
      head = from;
      from += HeadBytes(kForm);
    }
    for (int i = 0; i < fetches; ++i) {
      __builtin_prefetch(fetch + i * kFetchBytes, /*rw=*/0,
                         /*locality: the second cache*/ 2);
    }
    fetch += GroupBytes(kForm);
    const char* const of_group = x + static_cast<size_t>(group) * kGroupNumbers;
    const char* const scales_of_x = x + scales_at + group * sizeof(float);
    int32_t first[kRows];
    VI32 sum[kRows][kVectors];
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      first[r] = 0;
      if constexpr (kZero != 0) {
        int32_t sum_of_x;
        std::memcpy(&sum_of_x, scales_of_x + r * call.x_row_bytes + 2 * parts,
                    sizeof(sum_of_x));
        first[r] = -kZero * sum_of_x;
      }
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Sums::Start(first[r]);
    }
    constexpr int kParts = kFourBits ? 4 : 8;
    constexpr int kSteps = kFourBits ? 2 : 1;
    HWY_UNROLL(8)
    for (int part = 0; part < kParts; ++part) {
      VI32 q[2][kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const auto both =
            hn::Load(d32, reinterpret_cast<const int32_t*>(
                              from + part * kStep + 4 * (column + v * kLanes)));
        if constexpr (kFourBits) {
          const auto low = hn::Set(d32, 0x0f0f0f0f);
          q[0][v] = to_operand(hn::And(both, low));
          q[1][v] = to_operand(hn::And(
              hn::BitCast(d32, hn::ShiftRight<4>(hn::BitCast(du32, both))),
              low));
        } else {
          q[0][v] = both;
        }
      }
      HWY_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        HWY_UNROLL(2)
        for (int step = 0; step < kSteps; ++step) {
          int32_t four;
          std::memcpy(
              &four,
              of_group + r * call.x_row_bytes + 4 * (part * kSteps + step),
              sizeof(four));
          const auto all = hn::Set(d32, four);
          HWY_UNROLL(8)
          for (int v = 0; v < kVectors; ++v) {
            sum[r][v] = Sums::Add(sum[r][v], q[step][v], all);
          }
        }
      }
    }
    const char* const scales = from + NumberBytes(kForm);
    V scale[kVectors], minimum[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      const int at = column + v * kLanes;
      if constexpr (kForm == GroupForm::kParts4) {
        if (group % kPartsOfBlock == 0) {
          scale_of_parts[v] = LoadHalves(head + 2 * at);
          minimum_of_parts[v] = LoadHalves(head + kHalves + 2 * at);
        }
        scale[v] = hn::Mul(scale_of_parts[v], LoadByteNumbers(scales + at));
        minimum[v] = hn::Neg(hn::Mul(
            minimum_of_parts[v], LoadByteNumbers(scales + kGroupColumns + at)));
      } else if constexpr (kForm == GroupForm::kCurveParts4) {
        if (group % kPartsOfBlock == 0) {
          scale_of_parts[v] = LoadHalves(head + 2 * at);
        }
        scale[v] =
            hn::Mul(scale_of_parts[v],
                    hn::Sub(LoadByteNumbers(scales + at), hn::Set(d, 32.0f)));
      } else if constexpr (kForm == GroupForm::kFp4) {
        scale[v] = LoadPowers(scales + at);
      } else {
        scale[v] = LoadHalves(scales + 2 * at);
        if constexpr (kForm == GroupForm::kMinimum4) {
          minimum[v] = LoadHalves(scales + kHalves + 2 * at);
        } else if constexpr (kForm == GroupForm::kZero4) {
          minimum[v] = hn::Neg(
              hn::Mul(scale[v], LoadByteNumbers(scales + kHalves + at)));
        }
      }
    }
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      float scale_of_x, scaled_sum;
      const char* const of_row = scales_of_x + r * call.x_row_bytes;
      std::memcpy(&scale_of_x, of_row, sizeof(float));
      std::memcpy(&scaled_sum, of_row + parts, sizeof(float));
      const auto of_x = hn::Set(d, scale_of_x);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const auto dot = hn::ConvertTo(d, Sums::Finish(sum[r][v], first[r]));
        y[r][v] = hn::MulAdd(hn::Mul(dot, of_x), scale[v], y[r][v]);
        if constexpr (kHasMinimums) {
          y[r][v] = hn::MulAdd(hn::Set(d, scaled_sum), minimum[v], y[r][v]);
        }
      }
    }
    from += GroupBytes(kForm);
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    float* const to = call.y + static_cast<size_t>(row + r) * call.n + column;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      const int left = call.columns - column - v * kLanes;
      if (left >= kLanes) {
        hn::StoreU(y[r][v], d, to + v * kLanes);
      } else if (left > 0) {
        StoreFirst(y[r][v], hn::FirstN(d, static_cast<size_t>(left)), d,
                   to + v * kLanes);
      }
    }
  }
}

// The cache lines of each group of the next block that are still to be
// prefetched.
struct NextBlock {
  const char* at;
  int lines;    // left
  int at_once;  // with each group of a pass over this block
};

template <bool kVnni, GroupForm kForm, int kVectors, int kRows>
HWY_NOINLINE void MultiplyRows(const GroupedCall& call, int row,
                               NextBlock* next) {
  for (int column = 0; column < call.columns; column += kVectors * kLanes) {
    const int fetches = std::min(next->lines, next->at_once);
    MultiplyGroups<kVnni, kForm, kRows, kVectors>(call, row, column, next->at,
                                                  fetches);
    next->at += fetches * kFetchBytes;
    next->lines -= fetches;
  }
}

template <bool kVnni, GroupForm kForm>
void MultiplyBlock(const GroupedCall& call) {
  // Groups of rows of nearly equal size.
  const int parts = (call.rows + kMostRows - 1) / kMostRows;
  const int passes = parts * (kGroupColumns / (kWide * kLanes));
  constexpr int kLines = static_cast<int>(GroupBytes(kForm)) / kFetchBytes;
  NextBlock next = {.at = call.block + call.groups * GroupBytes(kForm) +
                          (call.groups + kPartsOfBlock - 1) / kPartsOfBlock *
                              HeadBytes(kForm),
                    // A single row reads memory as fast as it can anyway.
                    .lines = call.has_next && call.rows > 1 ? kLines : 0,
                    .at_once = (kLines + passes - 1) / passes};
  for (int part = 0, row = 0; part < parts; ++part) {
    const int count = (call.rows - row) / (parts - part);
    switch (count) {
      case 1:
        MultiplyRows<kVnni, kForm, kWideAlone, 1>(call, row, &next);
        break;
      case 2:
        MultiplyRows<kVnni, kForm, kWide, 2>(call, row, &next);
        break;
      case 3:
        MultiplyRows<kVnni, kForm, kWide, 3>(call, row, &next);
        break;
      case 4:
        MultiplyRows<kVnni, kForm, kWide, 4>(call, row, &next);
        break;
      default:
        if constexpr (kMostRows > 4) {
          if (count == 5) {
            MultiplyRows<kVnni, kForm, kWide, 5>(call, row, &next);
          } else {
            MultiplyRows<kVnni, kForm, kWide, 6>(call, row, &next);
          }
        }
        break;
    }
    row += count;
  }
}

template <bool kVnni>
void MultiplyForm(GroupForm form, const GroupedCall& call) {
  switch (form) {
    case GroupForm::kScale4:
      return MultiplyBlock<kVnni, GroupForm::kScale4>(call);
    case GroupForm::kMinimum4:
      return MultiplyBlock<kVnni, GroupForm::kMinimum4>(call);
    case GroupForm::kParts4:
      return MultiplyBlock<kVnni, GroupForm::kParts4>(call);
    case GroupForm::kZero4:
      return MultiplyBlock<kVnni, GroupForm::kZero4>(call);
    case GroupForm::kCurve4:
      return MultiplyBlock<kVnni, GroupForm::kCurve4>(call);
    case GroupForm::kCurveParts4:
      return MultiplyBlock<kVnni, GroupForm::kCurveParts4>(call);
    case GroupForm::kFp4:
      return MultiplyBlock<kVnni, GroupForm::kFp4>(call);
    case GroupForm::kScale8:
      return MultiplyBlock<kVnni, GroupForm::kScale8>(call);
  }
}

void MultiplyGrouped(bool vnni, GroupForm form, const GroupedCall& call) {
#if HWY_TARGET == HWY_AVX3
  if (vnni) return MultiplyForm<true>(form, call);
#endif
  MultiplyForm<false>(form, call);
}

// Loads up to `count` numbers of x from `at` on, in an order if there is one.
HWY_INLINE hn::Vec<F32> LoadNumbers(const float* HWY_RESTRICT x,
                                    const int32_t* HWY_RESTRICT order, int at,
                                    int count) {
  const F32 d;
  const I32 d32;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  if (count <= 0) return hn::Zero(d);
  if (order == nullptr) {
    return count >= lanes ? hn::LoadU(d, x + at) : LoadSome(d, x + at, count);
  }
  if (count >= lanes) {
    return hn::GatherIndex(d, x, hn::LoadU(d32, order + at));
  }
  // The places behind the last read x[0].
  return hn::IfThenElseZero(
      hn::FirstN(d, static_cast<size_t>(count)),
      hn::GatherIndex(d, x, LoadSome(d32, order + at, count)));
}

// The parts of a row that QuantizeGroups makes.
struct QuantizedRow {
  int8_t* numbers;
  float* scales;
  float* scaled_sums;
  int32_t* sums;
};

constexpr int kGroupVectors = kGroupNumbers / kLanes;

// Rounds the numbers of a group; returns the sums of each lane.
HWY_INLINE VI32 RoundGroup(const hn::Vec<F32> (&values)[kGroupVectors],
                           float inverse, int8_t* HWY_RESTRICT numbers) {
  const hn::Rebind<int8_t, F32> d8;
  auto sums = hn::Zero(I32());
  HWY_UNROLL(8)
  for (int i = 0; i < kGroupVectors; ++i) {
    // NearestInt makes the least integer of a number that is not finite.
    const auto q = hn::Max(
        hn::Min(hn::NearestInt(hn::Mul(values[i], hn::Set(F32(), inverse))),
                hn::Set(I32(), 127)),
        hn::Set(I32(), -127));
    sums = hn::Add(sums, q);
    hn::StoreU(hn::DemoteTo(d8, q), d8, numbers + i * kLanes);
  }
  return sums;
}

void QuantizeGroup(const float* HWY_RESTRICT x,
                   const int32_t* HWY_RESTRICT order, int k, int group,
                   const QuantizedRow& row) {
  const F32 d;
  const int at = group * kGroupNumbers;
  hn::Vec<F32> values[kGroupVectors];
  auto most = hn::Zero(d), nothing = hn::Zero(d);
  HWY_UNROLL(8)
  for (int i = 0; i < kGroupVectors; ++i) {
    const int begin = at + i * kLanes;
    values[i] = LoadNumbers(x, order, begin, k - begin);
    most = hn::Max(most, hn::Abs(values[i]));
    // NaN if a value is infinite or no number, else zero.
    nothing = hn::MulAdd(values[i], hn::Zero(d), nothing);
  }
  const float greatest = hn::GetLane(hn::MaxOfLanes(d, most));
  const float not_finite = hn::GetLane(hn::SumOfLanes(d, nothing));
  // The inverse of smaller numbers is infinite.
  const float inverse = greatest > 1e-30f ? 127 / greatest : 0.0f;
  const VI32 sums = RoundGroup(values, inverse, row.numbers + at);
  const int32_t sum = hn::GetLane(hn::SumOfLanes(I32(), sums));
  const float scale = (inverse > 0 ? greatest / 127 : 0.0f) + not_finite;
  row.scales[group] = scale;
  row.scaled_sums[group] = scale * static_cast<float>(sum);
  row.sums[group] = sum;
}

#if HWY_TARGET != HWY_SCALAR
constexpr int kTogether = 4;  // groups: a quad of results

// Combines the lanes of each vector: result i is that of of[i].
template <class D, typename Combine>
HWY_INLINE hn::Vec<hn::Full128<hn::TFromD<D>>> CombineLanes(
    D d, const hn::Vec<D> (&of)[kTogether], const Combine& combine) {
  const hn::Repartition<uint64_t, D> d64;
  const hn::Full128<hn::TFromD<D>> quad;
  // Each 128 bits of `first` have two lanes of of[0] and of of[1].
  const auto first =
      hn::BitCast(d64, combine(hn::InterleaveLower(d, of[0], of[1]),
                               hn::InterleaveUpper(d, of[0], of[1])));
  const auto last =
      hn::BitCast(d64, combine(hn::InterleaveLower(d, of[2], of[3]),
                               hn::InterleaveUpper(d, of[2], of[3])));
  alignas(64) hn::TFromD<D> lanes[kLanes];
  hn::Store(combine(hn::BitCast(d, hn::InterleaveLower(d64, first, last)),
                    hn::BitCast(d, hn::InterleaveUpper(d64, first, last))),
            d, lanes);
  auto all = hn::Load(quad, lanes);
  for (int i = kTogether; i < kLanes; i += kTogether) {
    all = combine(all, hn::Load(quad, lanes + i));
  }
  return all;
}

// Does what QuantizeGroup does for whole groups, in the same bits.
void QuantizeTogether(const float* HWY_RESTRICT x,
                      const int32_t* HWY_RESTRICT order, int k, int group,
                      const QuantizedRow& row) {
  const F32 d;
  const hn::Full128<float> quad;
  hn::Vec<F32> values[kTogether][kGroupVectors];
  hn::Vec<F32> most[kTogether];
  auto nothing = hn::Zero(d);
  HWY_UNROLL(4)
  for (int j = 0; j < kTogether; ++j) {
    most[j] = hn::Zero(d);
    HWY_UNROLL(8)
    for (int i = 0; i < kGroupVectors; ++i) {
      const int begin = (group + j) * kGroupNumbers + i * kLanes;
      values[j][i] = LoadNumbers(x, order, begin, kLanes);
      most[j] = hn::Max(most[j], hn::Abs(values[j][i]));
      nothing = hn::MulAdd(values[j][i], hn::Zero(d), nothing);
    }
  }
  if (!hn::AllTrue(d, hn::Eq(nothing, hn::Zero(d)))) {
    for (int j = 0; j < kTogether; ++j) {
      QuantizeGroup(x, order, k, group + j, row);
    }
    return;
  }
  const auto greatest = CombineLanes(
      d, most,
      [](auto a, auto b) TRIVIUM_INLINE_LAMBDA { return hn::Max(a, b); });
  const auto whole = hn::Set(quad, 127.0f);
  const auto counts = hn::Gt(greatest, hn::Set(quad, 1e-30f));
  alignas(16) float inverse[kTogether];
  hn::Store(hn::IfThenElseZero(counts, hn::Div(whole, greatest)), quad,
            inverse);
  VI32 lanes[kTogether];
  HWY_UNROLL(4)
  for (int j = 0; j < kTogether; ++j) {
    lanes[j] = RoundGroup(values[j], inverse[j],
                          row.numbers + (group + j) * kGroupNumbers);
  }
  const auto sums = CombineLanes(
      I32(), lanes,
      [](auto a, auto b) TRIVIUM_INLINE_LAMBDA { return hn::Add(a, b); });
  const auto scales = hn::IfThenElseZero(counts, hn::Div(greatest, whole));
  hn::StoreU(scales, quad, row.scales + group);
  hn::StoreU(hn::Mul(scales, hn::ConvertTo(quad, sums)), quad,
             row.scaled_sums + group);
  hn::StoreU(sums, hn::Full128<int32_t>(), row.sums + group);
}
#endif

void QuantizeGroups(const float* HWY_RESTRICT x,
                    const int32_t* HWY_RESTRICT order, int k,
                    char* HWY_RESTRICT to) {
  const int groups = GroupsOf(k);
  QuantizedRow row;
  row.numbers = reinterpret_cast<int8_t*>(to);
  row.scales = reinterpret_cast<float*>(to + groups * kGroupNumbers);
  row.scaled_sums = row.scales + groups;
  row.sums = reinterpret_cast<int32_t*>(row.scaled_sums + groups);
  int group = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; (group + kTogether) * kGroupNumbers <= k; group += kTogether) {
    QuantizeTogether(x, order, k, group, row);
  }
#endif
  for (; group < groups; ++group) QuantizeGroup(x, order, k, group, row);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(MultiplyGrouped);
HWY_EXPORT(QuantizeGroups);

size_t GroupedOperandBytes(int k) {
  return static_cast<size_t>(GroupsOf(k)) *
         (kGroupNumbers + 2 * sizeof(float) + sizeof(int32_t));
}

void QuantizeGroups(const float* x, int k, void* row) {
  QuantizeGroups(x, {}, k, row);
}
void QuantizeGroups(const float* x, std::span<const int32_t> order, int k,
                    void* row) {
  HWY_DYNAMIC_DISPATCH(QuantizeGroups)
  (x, order.empty() ? nullptr : order.data(), k, static_cast<char*>(row));
}

void GroupedWeights::Multiply(const void* x, size_t row_bytes, int rows,
                              int begin, int end, float* y) const {
  const bool vnni = ActiveIsa() >= Isa::kAvx512Vnni;
  for (int column = begin; column < end; column += kColumns) {
    const int block = column / kColumns;
    HWY_DYNAMIC_DISPATCH(MultiplyGrouped)
    (vnni, forms_[block],
     {.block = static_cast<const char*>(packed_.data()) + begin_[block],
      .has_next = column + kColumns < end,
      .x = static_cast<const char*>(x),
      .x_row_bytes = row_bytes,
      .groups = GroupsOf(k_),
      .rows = rows,
      .columns = std::min(kColumns, n_ - column),
      .y = y + column,
      .n = n_});
  }
}

}  // namespace trivium
#endif  // HWY_ONCE
