// Decides where the tags go in a translation:
//   1. GrowTree makes a tree of the sentence's elements, single tags and opaque
//      pieces, in the order of the source.
//   2. Each source word belongs to the innermost element around it
//      (FindSourceWords). Each word of the translation belongs to the element
//      of the source word that it aligns with best (FindOwners).
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
#include "server/translation/markup_plan.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

constexpr int kNone = -1;
constexpr size_t kNoTag = MarkupNode::kNoTag;

}  // namespace

class MarkupPlacing {
 public:
  MarkupPlacing(const Markup& markup, const Markup::Sentence& sentence,
                std::string_view translation)
      : markup_(markup), sentence_(sentence), translation_(translation) {}

  MarkupPlan Run(std::span<const AlignedWords> given) {
    GrowTree();
    std::vector<AlignedWords> words(given.begin(), given.end());
    std::vector<size_t> places;
    for (size_t i = sentence_.first_tag; i < sentence_.last_tag; ++i) {
      places.push_back(tag(i).plain);
    }
    const std::vector<size_t> cuts = AlignPartsOfWords(
        markup_.plain_, sentence_.plain, places, translation_, &words);
    AlignNumbers(markup_.plain_, sentence_.plain, translation_, &words);
    FindSourceWords(WholeOf(words, &AlignedWords::source, sentence_.plain));
    targets_ = WordsOf(
        translation_, cuts,
        WholeOf(words, &AlignedWords::target, {0, translation_.size()}));
    FindOwners(words);
    nodes_[0].end = static_cast<int>(targets_.size());
    Assign(0);
    DropLostObjects();
    return {std::move(nodes_), std::move(targets_), std::move(dropped_)};
  }

 private:
  using Kind = MarkupPiece::Kind;
  using Node = MarkupNode;
  static constexpr std::string_view kObject = Markup::kObject;

  struct Link {
    int source = 0;  // word
    float weight = 0;
  };

  const Markup::Tag& tag(size_t i) const { return markup_.tags_[i]; }
  bool IsInside(size_t i) const {
    return i >= sentence_.first_tag && i < sentence_.last_tag;
  }

  int AddNode(std::vector<int>* path) {
    const int id = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    nodes_[path->back()].children.push_back(id);
    return id;
  }

  void GrowTree() {
    nodes_.emplace_back().plain = sentence_.plain;
    nodes_[0].raw = markup_.IsRaw(sentence_.plain.begin);
    std::vector<int> path = {0};
    // Elements that began in earlier sentences: the outermost one ends last, so
    // going backwards finds parents before their children.
    for (size_t i = sentence_.last_tag; i-- > sentence_.first_tag;) {
      if (tag(i).kind != Kind::kClose || IsInside(tag(i).partner)) continue;
      const int id = AddNode(&path);
      nodes_[id].begins_before = true;
      nodes_[id].plain.begin = sentence_.plain.begin;
      nodes_[id].raw = tag(tag(i).partner).raw;
      path.push_back(id);
    }
    if (path.size() > 1) nodes_[0].raw = false;
    for (size_t i = sentence_.first_tag; i < sentence_.last_tag; ++i) {
      const Markup::Tag& one = tag(i);
      if (one.kind == Kind::kClose) {
        Node& node = nodes_[path.back()];
        node.close = i;
        node.plain.end = one.plain;
        node.last = static_cast<int>(nodes_.size()) - 1;
        path.pop_back();
        continue;
      }
      const int id = AddNode(&path);
      Node& node = nodes_[id];
      node.open = i;
      node.last = id;
      node.plain = {one.plain, one.plain};
      if (one.kind == Kind::kOpen) {
        node.raw = one.raw;
        // The sentence begins in this raw text but may go on outside of it.
        if (one.raw && one.plain <= sentence_.plain.begin) {
          nodes_[0].raw = false;
        }
        node.ends_after = !IsInside(one.partner);
        path.push_back(id);
      } else if (one.kind == Kind::kOpaque) {
        node.opaque = true;
        node.plain.end += kObject.size();
      }
    }
    for (const int id : path) {
      nodes_[id].last = static_cast<int>(nodes_.size()) - 1;
      nodes_[id].plain.end = sentence_.plain.end;
    }
  }

  // Returns the whole words of one side of the alignment that are within
  // `text`, relative to its begin. They are ascending and disjoint.
  static std::vector<TextSpan> WholeOf(std::span<const AlignedWords> words,
                                       TextSpan AlignedWords::*side,
                                       TextSpan text) {
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
    const auto overlaps = [](TextSpan a, TextSpan b) {
      return b.begin < a.end;
    };
    whole.erase(std::unique(whole.begin(), whole.end(), overlaps), whole.end());
    return whole;
  }

  // Finds the source's words and the innermost node around each.
  void FindSourceWords(const std::vector<TextSpan>& whole) {
    const TextSpan plain = sentence_.plain;
    std::vector<size_t> cuts;
    for (size_t i = sentence_.first_tag; i < sentence_.last_tag; ++i) {
      const size_t at =
          std::clamp<size_t>(tag(i).plain, plain.begin, plain.end);
      cuts.push_back(at - plain.begin);
      if (tag(i).kind == Kind::kOpaque) {
        cuts.push_back(at - plain.begin + kObject.size());
      }
    }
    sources_ = WordsOf(plain.Of(markup_.plain_), cuts, whole);
    for (Word& word : sources_) {
      word.span.begin += plain.begin;
      word.span.end += plain.begin;
    }
    owner_of_source_.resize(sources_.size());
    // Nodes are in the order of their begins.
    std::vector<int> path = {0};
    int next = 1;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const size_t at = sources_[i].span.begin;
      for (; next < static_cast<int>(nodes_.size()) &&
             nodes_[next].plain.begin <= at;
           ++next) {
        while (nodes_[path.back()].last < next) path.pop_back();
        path.push_back(next);
      }
      while (nodes_[path.back()].plain.end <= at && path.size() > 1) {
        path.pop_back();
      }
      owner_of_source_[i] = path.back();
    }
  }

  // Links the words of the translation to the source's, and selects the best
  // source word of each.
  void FindOwners(std::span<const AlignedWords> words) {
    links_.resize(targets_.size());
    size_t first = 0;
    for (const AlignedWords& one : words) {
      const auto source = std::partition_point(
          sources_.begin(), sources_.end(), [&one](const Word& word) {
            return word.span.begin < one.source.end;
          });
      if (source == sources_.begin() ||
          (source - 1)->span.end <= one.source.begin) {
        continue;
      }
      const int index = static_cast<int>(source - sources_.begin()) - 1;
      while (first < targets_.size() &&
             targets_[first].span.end <= one.target.begin) {
        ++first;
      }
      for (size_t t = first;
           t < targets_.size() && targets_[t].span.begin < one.target.end;
           ++t) {
        if ((targets_[t].kind == WordKind::kObject) !=
            (sources_[index].kind == WordKind::kObject)) {
          continue;
        }
        links_[t].push_back({index, one.weight});
      }
    }
    source_of_target_.assign(targets_.size(), kNone);
    dropped_.assign(targets_.size(), false);
    first_target_.assign(sources_.size(), kNone);
    last_target_.assign(sources_.size(), kNone);
    for (size_t t = 0; t < targets_.size(); ++t) {
      const int source = BestSource(targets_[t].kind, &links_[t]);
      source_of_target_[t] = source;
      if (source == kNone) continue;
      if (targets_[t].kind == WordKind::kObject &&
          first_target_[source] != kNone) {
        // An opaque piece is written once, so a second U+FFFC is dropped.
        source_of_target_[t] = kNone;
        dropped_[t] = true;
        continue;
      }
      if (first_target_[source] == kNone) {
        first_target_[source] = static_cast<int>(t);
      }
      last_target_[source] = static_cast<int>(t);
    }
  }

  // Merges the links to the same source word, adding up their weights. Returns
  // the source word of the same kind with the highest weight, or kNone.
  int BestSource(WordKind kind, std::vector<Link>* links) const {
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
      if (sources_[link.source].kind != kind) continue;
      if (best == nullptr || link.weight > best->weight) best = &link;
    }
    return best == nullptr ? kNone : best->source;
  }

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
    const int child = ChildOf(id, source_of_target_[target]);
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

  // True for <sub> and <sup> around a part of a word that the translation
  // writes in another way: "10<sup>th</sup>" becomes "10.".
  bool IsLostScript(const Node& node) const {
    if (node.open == kNoTag) return false;
    const std::string_view name = tag(node.open).span().Of(markup_.text_);
    if (!name.starts_with("<sup") && !name.starts_with("<sub")) return false;
    const TextSpan word = WordAround(markup_.plain_, node.plain.begin);
    return word.begin < word.end &&
           OnlyWord(translation_, word.Of(markup_.plain_)) == translation_.npos;
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
      for (const Link& link : links_[t]) {
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
    // Tries the neighbours in the source, then those farther away.
    constexpr int kNeighbours = 8;
    for (int far = 0; far < kNeighbours && gap == kNone; ++far) {
      const auto try_next = [&] {
        const int source = next + far;
        if (source >= static_cast<int>(sources_.size())) return;
        const int target = first_target_[source];
        if (target != kNone && inside(target)) gap = target;
      };
      const auto try_before = [&] {
        const int source = before - far;
        if (source < 0) return;
        const int target = last_target_[source];
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
          source_of_target_[t] != kNone && !kept[t]) {
        dropped_[t] = true;
      }
    }
  }

  const Markup& markup_;
  const Markup::Sentence& sentence_;
  const std::string_view translation_;
  std::vector<Node> nodes_;
  std::vector<Word> sources_;                    // in Markup::plain()
  std::vector<int> owner_of_source_;             // [sources_]: node
  std::vector<Word> targets_;                    // in the translation
  std::vector<std::vector<Link>> links_;         // [targets_]
  std::vector<int> source_of_target_;            // [targets_]: or kNone
  std::vector<bool> dropped_;                    // [targets_]
  std::vector<int> first_target_, last_target_;  // [sources_]: or kNone
};

MarkupPlan PlanMarkup(const Markup& markup, const Markup::Sentence& sentence,
                      std::string_view translation,
                      std::span<const AlignedWords> words) {
  return MarkupPlacing(markup, sentence, translation).Run(words);
}

}  // namespace trivium
