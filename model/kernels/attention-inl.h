// The parts of attention that tiles of all types share. Compiled once for each
// target, hence the toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
#undef TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "model/kernels/attention.h"
#include "model/kernels/vector-inl.h"

// Unrolls loops over arrays of vectors, which must become registers.
#undef TRIVIUM_UNROLL
#define TRIVIUM_UNROLL HWY_UNROLL(8)

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A row is one query of one query head. Rows are computed in groups, of
// kGroupRows if a KV head has so many. Groups that are processed together are
// parts: full groups of one KV head, which share the reading of its keys and
// values, or smaller groups of several heads, because a single sum has too
// little independent work.
constexpr int kGroupRows = 4;
constexpr int kMostParts = 8;
constexpr int kMostRows = kMostParts * kGroupRows;
constexpr int kLeastRows = 8;  // any scratch has room for their weights

// The weights of the rows that are processed together, which stay in the
// second-level cache. More are accepted only of kLeastRows.
constexpr int kMostWeights = 144 << 10;

// Returns the size of a block of keys, a power of two, that stays in the
// first-level cache while all parts of a head read it. `bytes` of a tile are
// read.
constexpr int BlockKeys(size_t bytes) {
  constexpr size_t kMostBytes = 16 << 10;
  int keys = kTileTokens;
  while (2 * keys / kTileTokens * bytes <= kMostBytes) keys *= 2;
  return keys;
}

// The size if no block needs to stay there.
constexpr int kWholeBlock = 1 << 16;

// A sum over keys: that of each key of a tile apart, then of these.
using TileSum = PlacedSum<kTileTokens>;

// Keys rounded down to whole tiles.
constexpr int TileBegin(int key) { return key / kTileTokens * kTileTokens; }

// The memory layout of the weights of all rows of a call. Rows of requested
// weights (call.weights) begin with key 0, others with the first tile that some
// query sees. Later queries see later keys, so the first and the last query
// determine the tiles.
struct WeightLayout {
  int origin;  // key of a row's first weight
  int stride;  // between rows
  int rows;    // of a head that are processed together

  // Floats at the beginning of the scratch. They hold the weights, unless these
  // are requested, and what they are converted to.
  size_t scratch() const { return static_cast<size_t>(rows) * stride; }
};

HWY_INLINE WeightLayout LayoutOf(const AttentionCall& call) {
  WeightLayout layout;
  if (call.weights != nullptr) {
    layout.origin = 0;
    layout.stride = PaddedKeys(call.keys);
  } else {
    layout.origin = TileBegin(SeenKeys(call, 0).begin);
    // An odd number of cache lines: rows a power of two apart would push one
    // another out of a cache.
    layout.stride =
        (PaddedKeys(SeenKeys(call, call.queries - 1).end) - layout.origin) |
        kTileTokens;
  }
  const int rows = call.query_heads / call.shape.heads * call.queries;
  layout.rows =
      std::max(std::min({kMostWeights / layout.stride, rows, kMostRows}) /
                   kGroupRows * kGroupRows,
               kLeastRows);
  return layout;
}

HWY_INLINE bool Sees(const KeyRange& seen, int key) {
  return seen.begin <= key && key < seen.end;
}

// kQueries rows of every KV head...
template <int kQueries>
struct Rows {
  WeightLayout layout;
  bool first;                    // these are the first rows of a head
  const float* query[kQueries];  // of KV head 0 ...
  float* out[kQueries];
  const float* sink[kQueries];  // of KV head 0, or null
  const float* bias[kQueries];  // of KV head 0 and key 0, or null
  size_t bias_stride;           // between query heads
  float soft_cap;               // as in AttentionCall
  float* requested;             // as AttentionCall::weights
  float* scores;                // as AttentionCall
  KeyRange seen[kQueries];      // keys
  KeyRange tiles;               // whole tiles that cover what any row sees
  // Pairs of keys. From any.begin to any.end, some row sees at least one key of
  // each pair; from all.begin to all.end, every row sees both.
  KeyRange any;
  KeyRange all;
};

// ... and those of one KV head.
struct HeadRows {
  int head;
  int query_head;  // the first query head that reads it
  size_t offset;   // of queries and outputs, from those of KV head 0
  float* weights;  // of the first row
  // The converted weights, in the scratch, as far apart as the weights. They
  // take the weights' own place unless these are requested.
  float* converted;
};

// ... which together are a part.
template <int kQueries>
struct Part {
  const Rows<kQueries>* rows;
  HeadRows head;
};

// Returns how many of `count` parts are of one head.
template <int kQueries>
constexpr int PartsOfHead(int count) {
  return kQueries == kGroupRows ? count : 1;
}

// Caps scores[begin..end), and what else their vectors hold.
HWY_INLINE void CapScores(int begin, int end, float soft_cap,
                          float* HWY_RESTRICT scores) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = begin / lanes * lanes; i < end; i += lanes) {
    hn::StoreU(SoftCap(d, hn::LoadU(d, scores + i), soft_cap), d, scores + i);
  }
}

// Sets weights = exp(weights + bias - max) over [begin, end), and zero in the
// rest of their first and last tile. Returns 1 / their sum, which has a place
// for each key of a tile. A sink, if any, counts in the sum but is not stored.
HWY_INLINE float Exponentials(int begin, int end, const float* bias,
                              const float* sink, float* HWY_RESTRICT weights) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int first = TileBegin(begin);
  const int last = TileBegin(end - 1);
  if (bias != nullptr) {
    for (int i = first; i < end; i += lanes) {
      const auto sum =
          hn::Add(hn::LoadU(d, weights + i), hn::LoadU(d, bias + i));
      hn::StoreU(sum, d, weights + i);
    }
  }
  const auto below = [&](int i, int bound) HWY_ATTR {
    return hn::FirstN(d, static_cast<size_t>(std::max(bound - i, 0)));
  };
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  // Weights before `begin` become exp(-87), which adds nothing to a sum of 1 or
  // more.
  for (int i = first; HWY_UNLIKELY(i < begin); i += lanes) {
    hn::BlendedStore(least, below(i, begin), d, weights + i);
  }
  auto max = least;
  for (int i = last; i < end; i += lanes) {
    max = hn::Max(
        max, hn::IfThenElse(below(i, end), hn::LoadU(d, weights + i), least));
  }
  for (int i = first; i < last; i += lanes) {
    max = hn::Max(max, hn::LoadU(d, weights + i));
  }
  max = hn::MaxOfLanes(d, max);
  float of_sink = 0;
  if (sink != nullptr) {
    const auto logit = hn::Set(d, *sink);
    max = hn::Max(max, logit);
    of_sink = hn::GetLane(Exp(d, hn::Sub(logit, max)));
  }
  TileSum sum;
  const auto exponentials = [&](int i) HWY_ATTR {
    return Exp(d, hn::Sub(hn::LoadU(d, weights + i), max));
  };
  for (int tile = first; tile < last; tile += kTileTokens) {
    TRIVIUM_UNROLL
    for (int v = 0; v < TileSum::kVectors; ++v) {
      const auto e = exponentials(tile + v * lanes);
      sum.at[v] = hn::Add(sum.at[v], e);
      hn::StoreU(e, d, weights + tile + v * lanes);
    }
  }
  TRIVIUM_UNROLL
  for (int v = 0; v < TileSum::kVectors; ++v) {
    const int i = last + v * lanes;
    const auto e = hn::IfThenElseZero(below(i, end), exponentials(i));
    sum.at[v] = hn::Add(sum.at[v], e);
    hn::StoreU(e, d, weights + i);
  }
  for (int i = first; HWY_UNLIKELY(i < begin); i += lanes) {
    hn::BlendedStore(hn::Zero(d), below(i, begin), d, weights + i);
  }
  return 1.0f / (sum.Get() + of_sink);
}

// Copies the requested scores of a head's rows, before they become weights.
template <int kQueries>
HWY_NOINLINE void CopyScores(const Rows<kQueries>& rows, const float* weights) {
  float* const scores = rows.scores + (weights - rows.requested);
  for (int q = 0; q < kQueries; ++q) {
    const size_t row = static_cast<size_t>(q) * rows.layout.stride;
    for (int i = rows.seen[q].begin; i < rows.seen[q].end; ++i) {
      scores[row + i] = weights[row + i];
    }
  }
}

// Converts the scores of a part to weights without the factor `inverse`
// [kQueries], which the caller applies.
template <int kQueries>
HWY_INLINE void Softmax(const Part<kQueries>& part, float* inverse) {
  const Rows<kQueries>& rows = *part.rows;
  const HeadRows& head = part.head;
  if (HWY_UNLIKELY(rows.scores != nullptr)) {
    CopyScores<kQueries>(rows, head.weights);
  }
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    const int origin = rows.layout.origin;
    float* const weights = head.weights + q * rows.layout.stride;
    if (HWY_UNLIKELY(rows.soft_cap > 0)) {
      CapScores(rows.seen[q].begin - origin, rows.seen[q].end - origin,
                rows.soft_cap, weights);
    }
    inverse[q] = Exponentials(
        rows.seen[q].begin - origin, rows.seen[q].end - origin,
        rows.bias[q] == nullptr
            ? nullptr
            : rows.bias[q] + head.query_head * rows.bias_stride + origin,
        rows.sink[q] == nullptr ? nullptr : rows.sink[q] + head.query_head,
        weights);
  }
}

// Scales a part's requested weights so that those of a row and its sink sum to
// 1; unseen keys get zero.
template <int kQueries>
HWY_INLINE void Normalize(const Part<kQueries>& part, const float* inverse) {
  const Rows<kQueries>& rows = *part.rows;
  float* weights = part.head.weights;
  for (int q = 0; q < kQueries; ++q, weights += rows.layout.stride) {
    const KeyRange seen = rows.seen[q];
    for (int i = 0; i < seen.begin; ++i) weights[i] = 0;
    for (int i = seen.begin; i < seen.end; ++i) weights[i] *= inverse[q];
    for (int i = seen.end; i < rows.layout.stride; ++i) weights[i] = 0;
  }
}

// A number that a generic lambda knows at compile time.
template <int kValue>
using Constant = std::integral_constant<int, kValue>;

// Calls add(pair, key, Constant<all>) for each pair of keys `key` and key + 1
// of `keys` of which some row sees one, in order; `all` is true if every row
// sees both. `pair` points to their numbers, of type T: they begin `offset`
// numbers after a tile's begin, and pairs are `stride` apart.
template <class T, int kQueries, class F>
HWY_INLINE void ForPairs(const AttentionCall& call, const Rows<kQueries>& rows,
                         const KeyRange& keys, size_t offset, int stride,
                         F add) {
  constexpr int kTile = kTileTokens;
  const auto run = [&](int first, int last, auto all) TRIVIUM_INLINE_LAMBDA {
    unsigned key = std::max(first, keys.begin);
    const unsigned end = std::min(last, keys.end);
    while (key < end) {
      const T* pair = reinterpret_cast<const T*>(call.tiles[key / kTile]) +
                      offset + key % kTile / 2 * stride;
      const unsigned stop = std::min(end, (key / kTile + 1) * kTile);
      for (; key < stop; key += 2, pair += stride) add(pair, key, all);
    }
  };
  if (HWY_UNLIKELY(rows.any.begin < rows.all.begin)) {
    run(rows.any.begin, rows.all.begin, Constant<false>());
  }
  run(rows.all.begin, rows.all.end, Constant<true>());
  if (rows.all.end < rows.any.end) {
    run(rows.all.end, rows.any.end, Constant<false>());
  }
}

// Calls process(p, tiles) for each part and each block of tiles, counted from
// key 0, of which it sees some: for all parts, then for the next block. A block
// has `together` keys if parts are of one head and see many, `apart` if they
// are of several.
template <int kQueries, class F>
HWY_INLINE void ForBlocks(const Part<kQueries>* parts, int count, int together,
                          int apart, F process) {
  KeyRange all = parts[0].rows->tiles;
  if constexpr (kQueries < kGroupRows) {  // parts have the same rows
    for (int begin = all.begin, end; begin < all.end; begin = end) {
      end = std::min(all.end, (begin / apart + 1) * apart);
      for (int p = 0; p < count; ++p) process(p, KeyRange{begin, end});
    }
  } else {
    for (int p = 1; p < count; ++p) {
      all.begin = std::min(all.begin, parts[p].rows->tiles.begin);
      all.end = std::max(all.end, parts[p].rows->tiles.end);
    }
    // A few blocks fit the second-level cache together, so they count as one.
    const int size =
        all.end - all.begin > 4 * together ? together : kWholeBlock;
    for (int begin = all.begin, end; begin < all.end; begin = end) {
      end = std::min(all.end, (begin / size + 1) * size);
      for (int p = 0; p < count; ++p) {
        const KeyRange& seen = parts[p].rows->tiles;
        const KeyRange tiles = {std::max(begin, seen.begin),
                                std::min(end, seen.end)};
        if (tiles.begin < tiles.end) process(p, tiles);
      }
    }
  }
}

// Sets the kQueries rows of every KV head that begin with row `first`. The rows
// of a KV head are [query heads that read it, queries].
template <int kQueries>
HWY_INLINE void SetRows(const AttentionCall& call, const WeightLayout& layout,
                        int first, Rows<kQueries>* to) {
  Rows<kQueries>& rows = *to;
  rows.layout = layout;
  rows.first = first == 0;
  rows.bias_stride = call.bias_stride;
  rows.soft_cap = call.soft_cap;
  rows.requested = call.weights;
  rows.scores = call.scores;
  KeyRange any, all;
  int query_head = 0;
  int query = first;
  for (; query >= call.queries; query -= call.queries) ++query_head;
  for (int q = 0; q < kQueries; ++q) {
    const size_t head_offset = query_head * call.shape.head_size;
    rows.query[q] = call.query + query * call.query_stride + head_offset;
    rows.out[q] = call.out + query * call.out_stride + head_offset;
    rows.sink[q] = call.sinks == nullptr ? nullptr : call.sinks + query_head;
    rows.bias[q] =
        call.bias == nullptr ? nullptr : BiasOfQuery(call, query_head, query);
    const KeyRange seen = SeenKeys(call, query);
    rows.seen[q] = seen;
    any = q == 0 ? seen
                 : KeyRange{std::min(any.begin, seen.begin),
                            std::max(any.end, seen.end)};
    all = q == 0 ? seen
                 : KeyRange{std::max(all.begin, seen.begin),
                            std::min(all.end, seen.end)};
    if (++query == call.queries) {
      query = 0;
      ++query_head;
    }
  }
  rows.tiles = {TileBegin(any.begin), PaddedKeys(any.end)};
  rows.any = {any.begin & ~1, any.end};
  rows.all = {(all.begin + 1) & ~1, all.end & ~1};
  if (rows.all.begin >= rows.all.end) {
    rows.all = {(any.end + 1) & ~1, (any.end + 1) & ~1};
  }
}

// Calls attend(Part<kQueries>*, count) for `groups` times kQueries rows of
// every KV head, from row `first` on.
template <int kQueries, class F>
HWY_INLINE void ForHeads(const AttentionCall& call, const WeightLayout& layout,
                         int first, int groups, F attend) {
  constexpr bool kOneHead = kQueries == kGroupRows;  // that of all parts
  Rows<kQueries> rows[kOneHead ? kMostParts : 1];
  for (int g = 0; g < groups; ++g) {
    SetRows(call, layout, first + g * kQueries, &rows[g]);
  }
  const int sharing = call.query_heads / call.shape.heads;
  const size_t head_size = static_cast<size_t>(sharing) * call.shape.head_size;
  const size_t head_rows = static_cast<size_t>(sharing) * call.queries;
  const size_t part_weights = static_cast<size_t>(kQueries) * layout.stride;
  const int most = kOneHead ? groups : kLeastRows / kQueries;
  Part<kQueries> parts[kMostParts];
  const int end_head = std::min(call.end_head, call.shape.heads);
  for (int head = call.begin_head; head < end_head;) {
    int count = 0;
    for (; count < most && head < end_head; ++head) {
      for (int g = 0; g < groups; ++g, ++count) {
        float* const scratch = call.scratch + count * part_weights;
        float* const weights =
            call.weights != nullptr
                ? call.weights + (head * head_rows + first) * layout.stride +
                      g * part_weights
                : scratch;
        parts[count] = {
            &rows[g],
            {head, head * sharing, head * head_size, weights, scratch}};
      }
    }
    attend(static_cast<const Part<kQueries>*>(parts), count);
  }
}

// Calls `attend` for all rows of all KV heads, in groups of four as far as
// possible. Parts do not wait for one another's sums, so one hides another's
// latency.
template <class F>
HWY_INLINE void ForRowsAndHeads(const AttentionCall& call, F attend) {
  const WeightLayout layout = LayoutOf(call);
  const int rows = call.query_heads / call.shape.heads * call.queries;
  int row = 0;
  while (row + kGroupRows <= rows) {
    const int groups = std::min(layout.rows, rows - row) / kGroupRows;
    ForHeads<kGroupRows>(call, layout, row, groups, attend);
    row += groups * kGroupRows;
  }
  if (row + 2 <= rows) {
    ForHeads<2>(call, layout, row, 1, attend);
    row += 2;
  }
  if (row < rows) ForHeads<1>(call, layout, row, 1, attend);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
