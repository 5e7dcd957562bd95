// Ward's method by nearest-neighbour chains (Müllner 2011): follow the nearest
// neighbours until two clusters are nearest to each other, and merge those. So
// all merges of the tree are found in O(n^2). Their distances never fall from a
// cluster to one that contains it, so taking them by distance cuts the tree at
// one height. The distance of a merged cluster to another one w is
//
//   d(uv, w)^2 = ((|u| + |w|) d(u, w)^2 + (|v| + |w|) d(v, w)^2
//                 - |w| d(u, v)^2) / (|u| + |v| + |w|)
#include "model/token_pooling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/sentence_encoder.h"
#include "model/similarity.h"

namespace trivium {
namespace {

// The squared distances of n clusters.
class Distances {
 public:
  explicit Distances(size_t n) : values_(n * (n - 1) / 2) {}
  float& operator()(size_t a, size_t b) {
    if (a < b) std::swap(a, b);
    return values_[a * (a - 1) / 2 + b];
  }

 private:
  std::vector<float> values_;  // [a (a - 1) / 2 + b] for a > b
};

struct Merge {
  int a, b;  // a row of each cluster
  float distance;
};

// Returns the n - 1 merges of n clusters of one row.
std::vector<Merge> FindMerges(size_t n, Distances* distance) {
  std::vector<float> size(n, 1);  // 0: merged into another
  std::vector<size_t> chain;
  std::vector<Merge> merges;
  for (size_t first = 0; merges.size() + 1 < n;) {
    if (chain.empty()) {
      while (size[first] == 0) ++first;
      chain.push_back(first);
    }
    const size_t last = chain.back();
    // The one before in the chain wins a tie, then the first.
    size_t nearest = chain.size() > 1 ? chain[chain.size() - 2] : n;
    float best = nearest < n ? (*distance)(last, nearest) : 0;
    for (size_t other = 0; other < n; ++other) {
      if (other == last || size[other] == 0) continue;
      const float d = (*distance)(last, other);
      if (nearest < n && !(d < best)) continue;
      nearest = other;
      best = d;
    }
    if (chain.size() < 2 || nearest != chain[chain.size() - 2]) {
      chain.push_back(nearest);
      continue;
    }
    chain.resize(chain.size() - 2);
    const size_t u = std::min(last, nearest), v = std::max(last, nearest);
    merges.push_back({static_cast<int>(u), static_cast<int>(v), best});
    for (size_t w = 0; w < n; ++w) {
      if (w == u || w == v || size[w] == 0) continue;
      float& of_u = (*distance)(u, w);
      of_u = ((size[u] + size[w]) * of_u +
              (size[v] + size[w]) * (*distance)(v, w) - size[w] * best) /
             (size[u] + size[v] + size[w]);
    }
    size[u] += size[v];
    size[v] = 0;
  }
  return merges;
}

// Returns the first row of the cluster of each of n rows, for `count` clusters.
std::vector<int> FindClusters(size_t n, size_t count, Distances* distance) {
  std::vector<Merge> merges = FindMerges(n, distance);
  std::stable_sort(
      merges.begin(), merges.end(),
      [](const Merge& a, const Merge& b) { return a.distance < b.distance; });
  std::vector<int> parent(n);
  for (size_t i = 0; i < n; ++i) parent[i] = static_cast<int>(i);
  const auto root = [&](int row) {
    while (parent[row] != row) row = parent[row] = parent[parent[row]];
    return row;
  };
  for (size_t i = 0; i < n - count; ++i) {
    const int a = root(merges[i].a), b = root(merges[i].b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<int> clusters(n);
  for (size_t i = 0; i < n; ++i) clusters[i] = root(static_cast<int>(i));
  return clusters;
}

}  // namespace

void PoolRows(int count, VectorRows* rows) {
  const int all = rows->rows();
  if (count >= all) return;
  const int kept = count > 1 ? 1 : 0;
  const auto n = static_cast<size_t>(all - kept);
  Distances distance(n);
  for (size_t a = 1; a < n; ++a) {
    for (size_t b = 0; b < a; ++b) {
      const double product =
          DenseProduct(rows->row(kept + static_cast<int>(a)),
                       rows->row(kept + static_cast<int>(b)));
      // A product that is no number counts as far.
      const double d =
          std::isnan(product) ? 2 : std::clamp(1 - product, 0.0, 2.0);
      distance(a, b) = static_cast<float>(d * d);
    }
  }
  const std::vector<int> clusters =
      FindClusters(n, static_cast<size_t>(count - kept), &distance);
  VectorRows pooled;
  pooled.size = rows->size;
  if (kept == 1) {
    const auto first = rows->row(0);
    pooled.values.assign(first.begin(), first.end());
  }
  for (size_t c = 0; c < n; ++c) {
    if (clusters[c] != static_cast<int>(c)) continue;
    std::vector<double> sum(rows->size);
    double members = 0;
    for (size_t i = c; i < n; ++i) {
      if (clusters[i] != static_cast<int>(c)) continue;
      const auto row = rows->row(kept + static_cast<int>(i));
      for (int k = 0; k < rows->size; ++k) sum[k] += row[k];
      ++members;
    }
    std::vector<float> mean(rows->size);
    for (int k = 0; k < rows->size; ++k) {
      mean[k] = static_cast<float>(sum[k] / members);
    }
    NormalizeLength(mean);
    pooled.values.insert(pooled.values.end(), mean.begin(), mean.end());
  }
  *rows = std::move(pooled);
}

}  // namespace trivium
