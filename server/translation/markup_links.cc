#include "server/translation/markup_links.h"

#include <algorithm>
#include <utility>

namespace trivium {
namespace {

using Link = MarkupLinks::Link;

// Merges the links to the same source word, adding up their weights. Returns
// the source word of the same kind with the highest weight, or kNone.
int BestSource(const std::vector<Word>& sources, WordKind kind,
               std::vector<Link>* links) {
  std::sort(links->begin(), links->end(),
            [](const Link& a, const Link& b) { return a.source < b.source; });
  std::vector<Link> sums;
  for (const Link& link : *links) {
    if (sums.empty() || sums.back().source != link.source) {
      sums.push_back({link.source, 0});
    }
    sums.back().weight += link.weight;
  }
  *links = std::move(sums);
  const Link* best = nullptr;
  for (const Link& link : *links) {
    if (sources[link.source].kind != kind) continue;
    if (best == nullptr || link.weight > best->weight) best = &link;
  }
  return best == nullptr ? MarkupLinks::kNone : best->source;
}

}  // namespace

MarkupLinks LinkWords(std::span<const AlignedWords> words,
                      const std::vector<Word>& sources,
                      const std::vector<Word>& targets) {
  MarkupLinks all;
  all.links.resize(targets.size());
  size_t first = 0;
  for (const AlignedWords& one : words) {
    const auto source = std::partition_point(
        sources.begin(), sources.end(),
        [&one](const Word& word) { return word.span.begin < one.source.end; });
    if (source == sources.begin() ||
        (source - 1)->span.end <= one.source.begin) {
      continue;
    }
    const int index = static_cast<int>(source - sources.begin()) - 1;
    while (first < targets.size() &&
           targets[first].span.end <= one.target.begin) {
      ++first;
    }
    for (size_t t = first;
         t < targets.size() && targets[t].span.begin < one.target.end; ++t) {
      if ((targets[t].kind == WordKind::kObject) !=
          (sources[index].kind == WordKind::kObject)) {
        continue;
      }
      all.links[t].push_back({index, one.weight});
    }
  }
  all.source_of_target.assign(targets.size(), MarkupLinks::kNone);
  all.dropped.assign(targets.size(), false);
  all.first_target.assign(sources.size(), MarkupLinks::kNone);
  all.last_target.assign(sources.size(), MarkupLinks::kNone);
  for (size_t t = 0; t < targets.size(); ++t) {
    const int source = BestSource(sources, targets[t].kind, &all.links[t]);
    all.source_of_target[t] = source;
    if (source == MarkupLinks::kNone) continue;
    if (targets[t].kind == WordKind::kObject &&
        all.first_target[source] != MarkupLinks::kNone) {
      // An opaque piece is written once, so a second U+FFFC is dropped.
      all.source_of_target[t] = MarkupLinks::kNone;
      all.dropped[t] = true;
      continue;
    }
    if (all.first_target[source] == MarkupLinks::kNone) {
      all.first_target[source] = static_cast<int>(t);
    }
    all.last_target[source] = static_cast<int>(t);
  }
  return all;
}

}  // namespace trivium
