// The nodes are in the order of the source, so each follows its parent.
#include "server/translation/markup_tree.h"

#include <algorithm>
#include <utility>

namespace trivium {

class MarkupTreeGrower {
 public:
  MarkupTreeGrower(const Markup& markup, const Markup::Sentence& sentence)
      : markup_(markup), sentence_(sentence) {}

  MarkupTree Run(const std::vector<TextSpan>& whole) {
    GrowTree();
    FindWords(whole);
    return {std::move(nodes_), std::move(words_), std::move(owners_)};
  }

 private:
  using Kind = MarkupPiece::Kind;
  using Node = MarkupNode;

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
        node.plain.end += Markup::kObject.size();
      }
    }
    for (const int id : path) {
      nodes_[id].last = static_cast<int>(nodes_.size()) - 1;
      nodes_[id].plain.end = sentence_.plain.end;
    }
  }

  // Finds the source's words and the innermost node around each.
  void FindWords(const std::vector<TextSpan>& whole) {
    const TextSpan plain = sentence_.plain;
    std::vector<size_t> cuts;
    for (size_t i = sentence_.first_tag; i < sentence_.last_tag; ++i) {
      const size_t at =
          std::clamp<size_t>(tag(i).plain, plain.begin, plain.end);
      cuts.push_back(at - plain.begin);
      if (tag(i).kind == Kind::kOpaque) {
        cuts.push_back(at - plain.begin + Markup::kObject.size());
      }
    }
    words_ = WordsOf(plain.Of(markup_.plain_), cuts, whole);
    for (Word& word : words_) {
      word.span.begin += plain.begin;
      word.span.end += plain.begin;
    }
    owners_.resize(words_.size());
    // Nodes are in the order of their begins.
    std::vector<int> path = {0};
    int next = 1;
    for (size_t i = 0; i < words_.size(); ++i) {
      const size_t at = words_[i].span.begin;
      for (; next < static_cast<int>(nodes_.size()) &&
             nodes_[next].plain.begin <= at;
           ++next) {
        while (nodes_[path.back()].last < next) path.pop_back();
        path.push_back(next);
      }
      while (nodes_[path.back()].plain.end <= at && path.size() > 1) {
        path.pop_back();
      }
      owners_[i] = path.back();
    }
  }

  const Markup& markup_;
  const Markup::Sentence& sentence_;
  std::vector<Node> nodes_;
  std::vector<Word> words_;
  std::vector<int> owners_;  // [words_]
};

MarkupTree GrowMarkupTree(const Markup& markup,
                          const Markup::Sentence& sentence,
                          const std::vector<TextSpan>& whole) {
  return MarkupTreeGrower(markup, sentence).Run(whole);
}

}  // namespace trivium
