// A block's best logits are found without sorting it. One pass computes the
// logits, their maximum and the maximum of each of up to 16 lanes. With top_k
// of at most 16, the top_k-th greatest lane maximum is a bound that at least
// top_k logits reach, so FindAtLeast skips nearly all others. Once top_k
// candidates exist, the worst of them is the bound, and a block below it is
// skipped.
//
// A watched logit is taken out of its block (set to -infinity) and reported
// separately. Each block's sum of exponentials is relative to the block's
// maximum; Finish adds the blocks' sums in order.
#include "model/kernels/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/candidates.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/product_row-inl.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_CANDIDATES_CC_
#define TRIVIUM_MODEL_KERNELS_CANDIDATES_CC_
namespace trivium {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The maximum of a block's numbers, and the maximum of each lane. Number i is
// in lane i modulo the number of lanes.
struct Maxima {
  static constexpr int kLanes = 16;
  float all;
  float lanes[kLanes];  // -infinity for lanes that the CPU lacks
};

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns sum(exp(x - max)).
float SumExp(const float* HWY_RESTRICT x, int n, float max) {
  const F32 d;
  const auto shift = hn::Set(d, max);
  RowSum sum;
  MapVectors(
      x, n,
      [&](hn::Vec<F32> v) HWY_ATTR { return Exp(F32(), hn::Sub(v, shift)); },
      [&](int, auto some, hn::Vec<F32> e) TRIVIUM_INLINE_LAMBDA {
        auto& place = PlaceOf(some, sum);
        place = hn::Add(place, some.Mask(F32(), e));
      });
  return sum.Get();
}

// Sets y to the row's numbers and computes their maxima; y may be row.f32.
void MaximaOfNumbers(const ProductRow& row, float* y, Maxima* maxima) {
  const F32 d;
  const auto lowest = hn::Set(d, -kInfinity);
  auto max = lowest;
  ForEachNumber(row, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    some.Store(v, d, y + i);
    max = hn::Max(max, some.MaskOr(d, v, lowest));
  });
  maxima->all = hn::GetLane(hn::MaxOfLanes(d, max));
  std::fill_n(maxima->lanes, Maxima::kLanes, -kInfinity);
  hn::StoreU(max, d, maxima->lanes);
}

// Returns the index of the first of x[begin..n) that is at least `bound`, or n.
int FindAtLeast(const float* HWY_RESTRICT x, int begin, int n, float bound) {
  const F32 d;
  const auto limit = hn::Set(d, bound);
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = begin;
  for (; i + lanes <= n; i += lanes) {
    const intptr_t found =
        hn::FindFirstTrue(d, hn::Ge(hn::LoadU(d, x + i), limit));
    if (found >= 0) return i + static_cast<int>(found);
  }
  while (i < n && !(x[i] >= bound)) ++i;
  return i;
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(SumExp);
HWY_EXPORT(MaximaOfNumbers);
HWY_EXPORT(FindAtLeast);

namespace {

bool Better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

// Returns a bound that at least `count` of the block's numbers reach. Reorders
// the lanes.
float BestReach(size_t count, Maxima* maxima) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  if (count > Maxima::kLanes) return kLowest;
  float* last = maxima->lanes + count - 1;
  std::nth_element(maxima->lanes, last, std::end(maxima->lanes),
                   std::greater<>());
  return std::max(kLowest, *last);
}

}  // namespace

void RowCandidates::Start(int top_k, std::span<const int32_t> watched) {
  top_k_ = static_cast<size_t>(top_k);
  watched_ = watched;
  next_watched_ = 0;
  best_.clear();
  watched_logits_.clear();
  sums_.clear();
}

bool RowCandidates::Watches(int first_token, int n) const {
  return next_watched_ < watched_.size() &&
         watched_[next_watched_] < first_token + n;
}

void RowCandidates::Add(int first_token, const ProductRow& product,
                        float* scratch, float* all) {
  const int n = product.n;
  Maxima maxima;
  HWY_DYNAMIC_DISPATCH(MaximaOfNumbers)(product, scratch, &maxima);
  if (all != nullptr) std::copy_n(scratch, n, all);
  while (next_watched_ < watched_.size() &&
         watched_[next_watched_] < first_token) {
    ++next_watched_;
  }
  const bool watches = Watches(first_token, n);
  for (; Watches(first_token, n); ++next_watched_) {
    float& logit = scratch[watched_[next_watched_] - first_token];
    watched_logits_.push_back(logit);
    logit = -kInfinity;
  }
  if (watches) {
    HWY_DYNAMIC_DISPATCH(MaximaOfNumbers)
    ({.f32 = scratch, .n = n}, scratch, &maxima);
  }
  const float max = maxima.all;
  if (max == -kInfinity) return;  // every token of the block is watched
  sums_.push_back({max, HWY_DYNAMIC_DISPATCH(SumExp)(scratch, n, max)});
  if (top_k_ == 0) return;
  const bool full = best_.size() == top_k_;
  if (full && max <= best_.front().logit) return;
  float bound = max;
  if (top_k_ > 1) {
    bound = full ? best_.front().logit : BestReach(top_k_, &maxima);
  }
  Collect(first_token, std::span(scratch, static_cast<size_t>(n)), bound);
}

void RowCandidates::Collect(int first_token, std::span<const float> logits,
                            float bound) {
  const int n = static_cast<int>(logits.size());
  for (int i = 0;; ++i) {
    // Tokens come in ascending order, so one that equals the worst candidate
    // loses by its id.
    if (best_.size() == top_k_) bound = std::max(bound, best_.front().logit);
    i = HWY_DYNAMIC_DISPATCH(FindAtLeast)(logits.data(), i, n, bound);
    if (i >= n) return;
    Keep({first_token + i, logits[i]});
    if (top_k_ == 1) return;  // the block's maximum is added
  }
}

void RowCandidates::Keep(const Candidate& candidate) {
  if (best_.size() == top_k_) {
    if (!Better(candidate, best_.front())) return;
    std::pop_heap(best_.begin(), best_.end(), Better);
    best_.back() = candidate;
  } else {
    best_.push_back(candidate);
  }
  std::push_heap(best_.begin(), best_.end(), Better);
}

void RowCandidates::Append(const RowCandidates& next) {
  for (const Candidate& candidate : next.best_) Keep(candidate);
  watched_logits_.insert(watched_logits_.end(), next.watched_logits_.begin(),
                         next.watched_logits_.end());
  sums_.insert(sums_.end(), next.sums_.begin(), next.sums_.end());
}

void RowCandidates::Finish() {
  std::sort_heap(best_.begin(), best_.end(), Better);
  float max = -kInfinity;
  for (const BlockSum& block : sums_) max = std::max(max, block.max);
  float sum = 0;
  for (const BlockSum& block : sums_) {
    sum += block.sum * std::exp(block.max - max);
  }
  rest_log_sum_exp_ = sums_.empty() ? -kInfinity : max + std::log(sum);
}

}  // namespace trivium
#endif  // HWY_ONCE
