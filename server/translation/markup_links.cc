#include "server/translation/markup_links.h"

#include <algorithm>
#include <utility>

namespace trivium {
namespace {

using Link = MarkupLinks::Link;

constexpr float kCertain = AlignedWords::kCertain;

// Merges the links to the same source word, adding up their weights. Returns
// the source word of the same kind, or known without attention, with the
// highest weight, or MarkupLinks::kNone.
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
    // "2." stands for "2nd".
    if (sources[link.source].kind != kind && link.weight < kCertain) continue;
    if (best == nullptr || link.weight > best->weight) best = &link;
  }
  return best == nullptr ? MarkupLinks::kNone : best->source;
}

// Drops what attention says of source words whose translation is known: of
// "rufen Sie 112 an" only the number stands for "112".
void DropUncertain(std::vector<std::vector<Link>>* links, size_t sources) {
  std::vector<bool> known(sources, false);
  for (const std::vector<Link>& all : *links) {
    for (const Link& link : all) {
      if (link.weight >= kCertain) known[link.source] = true;
    }
  }
  for (std::vector<Link>& all : *links) {
    std::erase_if(all, [&known](const Link& link) {
      return known[link.source] && link.weight < kCertain;
    });
  }
}

// Gives source words that no word stands for one that another source word can
// spare. Attention lags: of "the house is", it gives "ist" to "house" and to
// "is" in equal parts, so that "is" would have no word, and "house" two.
class UnlinkedWords {
 public:
  UnlinkedWords(const std::vector<Word>& sources,
                const std::vector<Word>& targets, MarkupLinks* all)
      : sources_(sources), targets_(targets), all_(*all) {}

  void Link() {
    // [sources]: the best weight of the words that stand for it.
    std::vector<float> best(sources_.size(), 0);
    for (size_t t = 0; t < targets_.size(); ++t) {
      const int source = all_.source_of_target[t];
      if (source != MarkupLinks::kNone) {
        best[source] = std::max(best[source], Weight(t, source));
      }
    }
    // [sources]: the best word that may be spared for it.
    std::vector<size_t> spare(sources_.size(), targets_.size());
    for (size_t t = 0; t < targets_.size(); ++t) {
      const int owner = all_.source_of_target[t];
      if (owner == MarkupLinks::kNone || targets_[t].kind != WordKind::kWord)
        continue;
      const float own = Weight(t, owner);
      if (own >= best[owner]) continue;  // its owner's best
      for (const MarkupLinks::Link& link : all_.links[t]) {
        if (best[link.source] > 0 || link.weight < kLeastShare * own ||
            !IsWhole(static_cast<size_t>(link.source))) {
          continue;
        }
        size_t& found = spare[link.source];
        if (found == targets_.size() ||
            link.weight > Weight(found, link.source)) {
          found = t;
        }
      }
    }
    std::vector<bool> taken(targets_.size(), false);
    for (size_t s = 0; s < sources_.size(); ++s) {
      if (spare[s] == targets_.size() || taken[spare[s]]) continue;
      taken[spare[s]] = true;
      all_.source_of_target[spare[s]] = static_cast<int>(s);
    }
  }

 private:
  // The least share of a word's weight that its owner has.
  static constexpr float kLeastShare = 0.5f;

  // False for the parts of a word that a tag cuts.
  bool IsWhole(size_t source) const {
    const auto is_word = [this](size_t s) {
      return sources_[s].kind == WordKind::kWord;
    };
    const TextSpan span = sources_[source].span;
    return is_word(source) &&
           !(source > 0 && is_word(source - 1) &&
             sources_[source - 1].span.end == span.begin) &&
           !(source + 1 < sources_.size() && is_word(source + 1) &&
             sources_[source + 1].span.begin == span.end);
  }

  float Weight(size_t target, int source) const {
    for (const MarkupLinks::Link& link : all_.links[target]) {
      if (link.source == source) return link.weight;
    }
    return 0;
  }

  const std::vector<Word>& sources_;
  const std::vector<Word>& targets_;
  MarkupLinks& all_;
};

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
  DropUncertain(&all.links, sources.size());
  all.source_of_target.assign(targets.size(), MarkupLinks::kNone);
  all.dropped.assign(targets.size(), false);
  all.first_target.assign(sources.size(), MarkupLinks::kNone);
  all.last_target.assign(sources.size(), MarkupLinks::kNone);
  for (size_t t = 0; t < targets.size(); ++t) {
    all.source_of_target[t] =
        BestSource(sources, targets[t].kind, &all.links[t]);
  }
  UnlinkedWords(sources, targets, &all).Link();
  for (size_t t = 0; t < targets.size(); ++t) {
    const int source = all.source_of_target[t];
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
