// Decides where the tags go in a translation:
//   1. GrowMarkupTree makes a tree of the sentence's elements, single tags and
//   opaque
//      pieces, in the order of the source.
//   2. Each source word belongs to the innermost element around it. Each word
//      of the translation belongs to the element of the source word that it
//      aligns with best (LinkWords).
//   3. From the root down, each element gets an interval of its parent's words,
//      disjoint from its siblings' (Assign). It is the run with the largest
//      number of own words minus others.
//   4. A node without words of its own goes into a gap between words. But an
//      element that has words in the source gets the nearest free word, and so
//      does any of Markdown, since Markdown has no emphasis around nothing.
//
// A tag within a word keeps its place if the translation has the same word once
// (AlignPartsOfWords): both are cut there. A number keeps its tags if the
// translation has its digits once (AlignNumbers).
//
// Intervals are nested as the tree is, so the tags of the translation are
// nested as in the source. Enclosing all of an element's words would not do:
// one misaligned word could stretch it over the whole sentence.
//
// The time is proportional to the words times the elements around each, at most
// kMostMarkupDepth.
#include <algorithm>
#include <utility>

#include "server/translation/aligned_numbers.h"
#include "server/translation/cut_words.h"
#include "server/translation/markup_links.h"
#include "server/translation/markup_plan.h"
#include "server/translation/markup_tree.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

constexpr int kNone = MarkupLinks::kNone;
constexpr size_t kNoTag = MarkupNode::kNoTag;

// Returns the whole words of one side of the alignment that are within
// `text`, relative to its begin. They are ascending and disjoint.
std::vector<TextSpan> WholeOf(std::span<const AlignedWords> words,
                              TextSpan AlignedWords::*side, TextSpan text) {
  std::vector<TextSpan> whole;
  for (const AlignedWords& one : words) {
    const TextSpan span = one.*side;
    if (!one.whole || span.begin < text.begin || span.end > text.end) {
      continue;
    }
    whole.push_back({span.begin - text.begin, span.end - text.begin});
  }
  const auto begins_before = [](TextSpan a, TextSpan b) {
    return a.begin < b.begin;
  };
  std::sort(whole.begin(), whole.end(), begins_before);
  const auto overlaps = [](TextSpan a, TextSpan b) { return b.begin < a.end; };
  whole.erase(std::unique(whole.begin(), whole.end(), overlaps), whole.end());
  return whole;
}

}  // namespace

class MarkupPlacing {
 public:
  MarkupPlacing(const Markup& markup, const Markup::Sentence& sentence,
                std::string_view translation)
      : markup_(markup), sentence_(sentence), translation_(translation) {}

  MarkupPlan Run(std::span<const AlignedWords> given) {
    std::vector<AlignedWords> words(given.begin(), given.end());
    std::vector<size_t> places;
    for (size_t i = sentence_.first_tag; i < sentence_.last_tag; ++i) {
      places.push_back(tag(i).plain);
    }
    const std::vector<size_t> cuts = AlignPartsOfWords(
        markup_.plain_, sentence_.plain, places, translation_, &words);
    AlignNumbers(markup_.plain_, sentence_.plain, translation_, &words);
    MarkupTree tree =
        GrowMarkupTree(markup_, sentence_,
                       WholeOf(words, &AlignedWords::source, sentence_.plain));
    nodes_ = std::move(tree.nodes);
    sources_ = std::move(tree.words);
    owner_of_source_ = std::move(tree.owners);
    targets_ = WordsOf(
        translation_, cuts,
        WholeOf(words, &AlignedWords::target, {0, translation_.size()}));
    links_ = LinkWords(words, sources_, targets_);
    dropped_ = links_.dropped;
    nodes_[0].end = static_cast<int>(targets_.size());
    Assign(0);
    DropLostObjects();
    return {std::move(nodes_), std::move(targets_), std::move(dropped_)};
  }

 private:
  using Node = MarkupNode;

  const Markup::Tag& tag(size_t i) const { return markup_.tags_[i]; }
  // Returns the child of node `id` that a word belongs to, or one of these.
  static constexpr int kNeutral = -1;  // belongs to no child
  static constexpr int kNothing = -2;  // does not count, as it is not aligned
  int ChildOf(int id, int source) const {
    if (source == kNone) return kNothing;
    const int owner = owner_of_source_[source];
    const Node& node = nodes_[id];
    if (owner <= id || owner > node.last) return kNeutral;
    return *(
        std::upper_bound(node.children.begin(), node.children.end(), owner) -
        1);
  }
  // The same for a word of the translation. Punctuation that belongs to no
  // child does not count.
  int ChildAt(int id, int target) const {
    const int child = ChildOf(id, links_.source_of_target[target]);
    return child == kNeutral && targets_[target].kind == WordKind::kPunctuation
               ? kNothing
               : child;
  }

  // Distributes the words of a node among its children, and theirs in turn. The
  // node's own words must be known.
  void Assign(int id) {
    if (nodes_[id].children.empty()) return;
    const std::vector<int> children = nodes_[id].children;
    int begin = nodes_[id].begin, end = nodes_[id].end;
    Node& first = nodes_[children.front()];
    if (first.begins_before) {
      first.begin = begin;
      first.end = BestCut(id, children.front(), begin, end, 1);
      while (NeedsWord(first) && first.end < end) ++first.end;
      begin = first.end;
    }
    Node& last = nodes_[children.back()];
    if (last.ends_after) {
      last.end = end;
      last.begin = BestCut(id, children.back(), end, begin, -1);
      while (NeedsWord(last) && last.begin > begin) --last.begin;
      end = last.begin;
    }
    std::vector<int> apart;
    for (const int child : children) {
      if (!nodes_[child].begins_before && !nodes_[child].ends_after) {
        apart.push_back(child);
      }
    }
    std::vector<int> score(apart.size(), 0);
    BestRuns(id, apart, begin, end, &score);
    BestWords(id, apart, begin, end, &score);
    for (size_t i = 0; i < apart.size(); ++i) {
      if (IsLostScript(nodes_[apart[i]])) score[i] = 0;
    }
    std::vector<int> placed;  // with words, of which they share none
    for (size_t i = 0; i < apart.size(); ++i) {
      if (score[i] > 0) placed.push_back(apart[i]);
    }
    std::sort(placed.begin(), placed.end(), [this](int a, int b) {
      return nodes_[a].begin < nodes_[b].begin;
    });
    for (size_t i = 0; i < apart.size(); ++i) {
      if (score[i] == 0) FindGap(apart[i], placed, begin, end);
    }
    std::vector<bool> taken(end - begin);
    for (const int child : apart) {
      for (int t = nodes_[child].begin; t < nodes_[child].end; ++t) {
        taken[t - begin] = true;
      }
    }
    for (const int child : apart) {
      if (NeedsWord(nodes_[child]) || LostWords(nodes_[child])) {
        TakeWord(begin, &taken, &nodes_[child]);
      }
      if (LostWords(nodes_[child])) TakeSiblingsWord(apart, child);
    }
    if (markup_.format_ == MarkupFormat::kMarkdown) {
      for (const int child : children) LeavePunctuation(&nodes_[child]);
    }
    for (const int child : children) Assign(child);
  }

  // True if an element of Markdown needs another word: if it has none or, when
  // it begins or ends in another sentence, if it has only punctuation.
  bool NeedsWord(const Node& node) const {
    if (markup_.format_ != MarkupFormat::kMarkdown) return false;
    if (node.close == kNoTag && !node.ends_after) return false;
    if (!node.begins_before && !node.ends_after) return node.begin == node.end;
    return std::all_of(
        targets_.begin() + node.begin, targets_.begin() + node.end,
        [](const Word& word) { return word.kind == WordKind::kPunctuation; });
  }

  // True for <sub> and <sup> around a part of a word that the translation does
  // not have: "the 1<sup>st</sup>" becomes "der erste".
  bool IsLostScript(const Node& node) const {
    if (node.open == kNoTag) return false;
    const std::string_view name = tag(node.open).span().Of(markup_.text_);
    if (!name.starts_with("<sup") && !name.starts_with("<sub")) return false;
    const TextSpan word = WordAround(markup_.plain_, node.plain.begin);
    const std::string_view written = word.Of(markup_.plain_);
    const TextSpan ordinal = OrdinalOf(translation_, written);
    return word.begin < word.end &&
           OnlyWord(translation_, written) == translation_.npos &&
           ordinal.begin == ordinal.end;
  }

  // True if an element within the sentence has words in the source, and none in
  // the translation.
  bool LostWords(const Node& node) const {
    if (node.close == kNoTag || node.begins_before || node.ends_after ||
        node.begin != node.end) {
      return false;
    }
    return !IsLostScript(node) &&
           !WordsBetween(markup_.plain_, node.plain, {}).empty();
  }

  // Gives a child that stands in a gap the nearest word that is free and not
  // punctuation. `taken` tells which words from `begin` on are not free.
  void TakeWord(int begin, std::vector<bool>* taken, Node* node) {
    constexpr int kFarthest = 50;
    const int end = begin + static_cast<int>(taken->size());
    for (int far = 0; far < kFarthest; ++far) {
      for (const int word : {node->begin + far, node->begin - 1 - far}) {
        if (word < begin || word >= end || (*taken)[word - begin] ||
            targets_[word].kind != WordKind::kWord) {
          continue;
        }
        (*taken)[word - begin] = true;
        node->begin = word;
        node->end = word + 1;
        return;
      }
    }
  }

  // Gives a child without words the word of a sibling at its side that has
  // several, the nearest in the source. `children` are ascending.
  void TakeSiblingsWord(const std::vector<int>& children, int child) {
    Node& node = nodes_[child];
    const auto at = static_cast<ptrdiff_t>(IndexOf(children, child));
    const auto count = static_cast<ptrdiff_t>(children.size());
    constexpr ptrdiff_t kFarthest = 8;
    for (ptrdiff_t far = 1; far <= kFarthest; ++far) {
      for (const ptrdiff_t i : {at - far, at + far}) {
        if (i < 0 || i >= count) continue;
        Node& other = nodes_[children[i]];
        std::vector<int> words;
        for (int t = other.begin; t < other.end; ++t) {
          if (targets_[t].kind == WordKind::kWord) words.push_back(t);
        }
        if (words.size() < 2) continue;
        if (i < at) {
          node.begin = words.back();
          node.end = other.end;
          other.end = words[words.size() - 2] + 1;
        } else {
          node.begin = other.begin;
          node.end = words.front() + 1;
          other.begin = words[1];
        }
        return;
      }
    }
  }

  // Moves punctuation at a node's border out of it if a letter follows or
  // precedes directly: there, Markdown's delimiters neither open nor close.
  void LeavePunctuation(Node* node) const {
    if (node->begin == node->end) return;
    const auto is_letter = [this](int word) {
      return targets_[word].kind == WordKind::kWord;
    };
    while (!node->begins_before && node->end - node->begin > 1 &&
           node->begin > 0 && !is_letter(node->begin) &&
           is_letter(node->begin - 1) &&
           targets_[node->begin - 1].span.end ==
               targets_[node->begin].span.begin) {
      ++node->begin;
    }
    while (!node->ends_after && node->end - node->begin > 1 &&
           node->end < static_cast<int>(targets_.size()) &&
           !is_letter(node->end - 1) && is_letter(node->end) &&
           targets_[node->end - 1].span.end == targets_[node->end].span.begin) {
      --node->end;
    }
  }

  // Returns the end of a child whose words start at `begin` and go on in steps
  // of `step`, 1 or -1. It maximizes the child's words minus others.
  int BestCut(int id, int child, int begin, int end, int step) const {
    int best = begin, score = 0, sum = 0;
    for (int at = begin; at != end; at += step) {
      const int whose = ChildAt(id, step > 0 ? at : at - 1);
      if (whose == kNothing) continue;
      sum += whose == child ? 1 : -1;
      if (sum > score) {
        score = sum;
        best = at + step;
      }
    }
    return best;
  }

  // `children` are ascending.
  static size_t IndexOf(const std::vector<int>& children, int child) {
    return std::lower_bound(children.begin(), children.end(), child) -
           children.begin();
  }

  // Gives each child its best run of words in [begin, end), and sets its score,
  // the number of its own words minus others. A run begins and ends with words
  // of the child and has none of its siblings'. The best run has the highest
  // score.
  void BestRuns(int id, const std::vector<int>& children, int begin, int end,
                std::vector<int>* score) {
    int whose = kNeutral, from = 0, sum = 0;
    for (int at = begin; at < end; ++at) {
      const int child = ChildAt(id, at);
      if (child == kNothing) continue;
      if (child == kNeutral) {
        if (--sum < 0) whose = kNeutral;
        continue;
      }
      const size_t i = IndexOf(children, child);
      if (i == children.size() || children[i] != child) {
        whose = kNeutral;  // of a child that already has its words
        continue;
      }
      if (child != whose) {
        whose = child;
        from = at;
        sum = 0;
      }
      ++sum;
      Node& node = nodes_[child];
      const bool goes_on = (*score)[i] > 0 && node.begin == from;
      if (sum > (*score)[i] || (goes_on && sum == (*score)[i])) {
        (*score)[i] = sum;
        node.begin = from;
        node.end = at + 1;
      }
    }
  }

  // Gives each child without a run the word that aligns best with its source
  // words, among the words that no child has. Sets its score to 1.
  void BestWords(int id, const std::vector<int>& children, int begin, int end,
                 std::vector<int>* score) {
    std::vector<bool> taken(end - begin);
    for (size_t i = 0; i < children.size(); ++i) {
      const Node& node = nodes_[children[i]];
      for (int t = node.begin; (*score)[i] > 0 && t < node.end; ++t) {
        taken[t - begin] = true;
      }
    }
    std::vector<float> best(children.size(), 0);
    std::vector<int> word(children.size(), kNone);
    for (int t = begin; t < end; ++t) {
      if (taken[t - begin] || targets_[t].kind != WordKind::kWord) continue;
      for (const MarkupLinks::Link& link : links_.links[t]) {
        const int child = ChildOf(id, link.source);
        const size_t i = IndexOf(children, child);
        if (child < 0 || i == children.size() || children[i] != child ||
            (*score)[i] > 0 || nodes_[child].opaque || link.weight <= best[i]) {
          continue;
        }
        best[i] = link.weight;
        word[i] = t;
      }
    }
    for (size_t i = 0; i < children.size(); ++i) {
      if (word[i] == kNone || taken[word[i] - begin]) continue;
      taken[word[i] - begin] = true;
      (*score)[i] = 1;
      nodes_[children[i]].begin = word[i];
      nodes_[children[i]].end = word[i] + 1;
    }
  }

  // True if the node would begin a block of Markdown at the begin of a line.
  bool BeginsBlock(const Node& node) const {
    if (markup_.format_ != MarkupFormat::kMarkdown) return false;
    const std::string_view bytes = tag(node.open).span().Of(markup_.text_);
    return bytes.starts_with("<!") || bytes.starts_with("<?");
  }

  // Places a child without words in a gap of [begin, end], but not within one
  // of the siblings `placed`. The gap is before the word that aligns with the
  // next source word, or after the one that aligns with the previous.
  void FindGap(int id, const std::vector<int>& placed, int begin, int end) {
    Node& node = nodes_[id];
    const std::string_view text = markup_.plain_;
    const TextSpan plain = sentence_.plain;
    const auto touches = [&](size_t at, int side) {
      const size_t from = side < 0 ? at - 1 : at;
      return from >= plain.begin && from < plain.end && at > 0 &&
             text[from] != ' ';
    };
    node.leans_left =
        touches(node.plain.begin, -1) && !touches(node.plain.end, 1);
    const int next = static_cast<int>(
        std::partition_point(sources_.begin(), sources_.end(),
                             [&node](const Word& word) {
                               return word.span.begin < node.plain.end;
                             }) -
        sources_.begin());
    const int before =
        static_cast<int>(std::partition_point(sources_.begin(), sources_.end(),
                                              [&node](const Word& word) {
                                                return word.span.end <=
                                                       node.plain.begin;
                                              }) -
                         sources_.begin()) -
        1;
    const auto inside = [&](int gap) { return gap >= begin && gap <= end; };
    int gap = kNone;
    // An element within a word stays with it.
    if (node.plain.begin < node.plain.end && next > before + 1) {
      const int target = links_.first_target[next - 1];
      if (target != kNone && inside(target)) gap = target;
    }
    // Tries the neighbours in the source, then those farther away.
    constexpr int kNeighbours = 8;
    for (int far = 0; far < kNeighbours && gap == kNone; ++far) {
      const auto try_next = [&] {
        const int source = next + far;
        if (source >= static_cast<int>(sources_.size())) return;
        const int target = links_.first_target[source];
        if (target != kNone && inside(target)) gap = target;
      };
      const auto try_before = [&] {
        const int source = before - far;
        if (source < 0) return;
        const int target = links_.last_target[source];
        if (target != kNone && inside(target + 1)) gap = target + 1;
      };
      if (!node.leans_left) try_next();
      if (gap == kNone) try_before();
      if (gap == kNone && node.leans_left) try_next();
    }
    if (gap == kNone) {
      // Keeps the relative position that it has in the source.
      gap = begin + static_cast<int>(int64_t{before + 1} * (end - begin) /
                                     std::max<int64_t>(sources_.size(), 1));
    }
    if (gap == 0 && BeginsBlock(node) && end > 0) {
      gap = 1;
      node.leans_left = true;
    }
    const auto after = std::partition_point(
        placed.begin(), placed.end(),
        [this, gap](int other) { return nodes_[other].begin < gap; });
    if (after != placed.begin()) {
      const int other = *(after - 1);
      if (gap < nodes_[other].end) {
        gap = other > id ? nodes_[other].begin : nodes_[other].end;
      }
    }
    node.begin = node.end = gap;
  }

  // Drops each U+FFFC whose opaque piece did not get it as its word.
  void DropLostObjects() {
    std::vector<bool> kept(targets_.size(), false);
    for (const Node& node : nodes_) {
      if (node.opaque && node.begin < node.end) kept[node.begin] = true;
    }
    for (size_t t = 0; t < targets_.size(); ++t) {
      if (targets_[t].kind == WordKind::kObject &&
          links_.source_of_target[t] != kNone && !kept[t]) {
        dropped_[t] = true;
      }
    }
  }

  const Markup& markup_;
  const Markup::Sentence& sentence_;
  const std::string_view translation_;
  std::vector<Node> nodes_;
  std::vector<Word> sources_;         // in Markup::plain()
  std::vector<int> owner_of_source_;  // [sources_]: node
  std::vector<Word> targets_;         // in the translation
  MarkupLinks links_;
  std::vector<bool> dropped_;  // [targets_]
};

MarkupPlan PlanMarkup(const Markup& markup, const Markup::Sentence& sentence,
                      std::string_view translation,
                      std::span<const AlignedWords> words) {
  return MarkupPlacing(markup, sentence, translation).Run(words);
}

}  // namespace trivium
