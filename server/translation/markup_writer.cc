#include "server/translation/markup_writer.h"

#include <algorithm>
#include <utility>

#include "server/translation/markup_lexer.h"

namespace trivium {

MarkupWriter::MarkupWriter(const Markup& markup,
                           const Markup::Sentence& sentence,
                           std::string_view translation, const MarkupPlan& plan)
    : markup_(markup),
      sentence_(sentence),
      translation_(translation),
      nodes_(plan.nodes),
      words_(plan.words),
      dropped_(plan.dropped) {}

std::string MarkupWriter::Run() {
  raw_ = nodes_[0].raw;
  Write(0);
  EmitWords(nodes_[0].end);
  Emit(translation_.size());
  End();
  return std::move(out_);
}

void MarkupWriter::AddText(TextSpan span) {
  out_ += markup_.Escaped(translation_, span, raw_);
}

void MarkupWriter::AddTag(int id, bool open) {
  const size_t i = open ? nodes_[id].open : nodes_[id].close;
  if (i != Node::kNoTag) out_ += BytesOf(tag(i));
}

// Writes the translation from at_ up to byte `end`. WriteOpaque moves at_ past
// the words that it replaces.
void MarkupWriter::Emit(size_t end) {
  if (end <= at_) return;
  AddText({at_, end});
  at_ = end;
}

// Writes the words before the gap, each with the space before it, and leaves
// out dropped ones.
void MarkupWriter::EmitWords(int gap) {
  for (; written_ < gap; ++written_) {
    const TextSpan word = words_[written_].span;
    if (word.begin < at_) continue;
    if (dropped_[written_]) {
      at_ = word.end;
    } else {
      Emit(word.end);
    }
  }
}

// Returns the end of the word before the gap.
size_t MarkupWriter::EndBefore(int gap) const {
  return gap == 0 ? 0 : words_[gap - 1].span.end;
}
// Returns the begin of the word after the gap, or the last word's end.
size_t MarkupWriter::BeginAt(int gap) const {
  if (gap < static_cast<int>(words_.size())) return words_[gap].span.begin;
  return words_.empty() ? 0 : words_.back().span.end;
}

// Writes a node's children and the words up to the last of them. The words
// before the node must be written already.
void MarkupWriter::Write(int id) {
  std::vector<int> order = nodes_[id].children;
  // The order of children at one gap: those that began in an earlier sentence,
  // those that attach to the word before, others without words, those with
  // words, and those that end in a later sentence.
  const auto rank = [this](int child) {
    const Node& node = nodes_[child];
    if (node.begins_before) return 0;
    if (node.ends_after) return 4;
    if (node.begin < node.end) return 3;
    return node.leans_left ? 1 : 2;
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(nodes_[a].begin, rank(a)) <
           std::pair(nodes_[b].begin, rank(b));
  });
  for (const int child : order) {
    const Node& node = nodes_[child];
    EmitWords(node.begin);
    if (node.opaque) {
      WriteOpaque(child);
      continue;
    }
    const bool at_end =
        node.begin == node.end && node.begin == nodes_[id].end && id != 0;
    Emit(node.leans_left || at_end ? EndBefore(node.begin)
                                   : BeginAt(node.begin));
    if (tag(node.open == Node::kNoTag ? node.close : node.open).kind ==
        Kind::kVoid) {
      WriteVoid(child);
      continue;
    }
    AddTag(child, /*open=*/true);
    const bool raw = std::exchange(raw_, node.raw);
    Write(child);
    EmitWords(node.end);
    raw_ = raw;
    AddTag(child, /*open=*/false);
  }
}

// Writes a single tag, with a space on each side where the source has one.
void MarkupWriter::WriteVoid(int id) {
  const Node& node = nodes_[id];
  const TextSpan span = tag(node.open).span();
  const std::string_view text = markup_.text_;
  const auto is_blank = [text](size_t at) {
    return at < text.size() && IsBlankByte(text[at]);
  };
  const bool before = is_blank(span.begin - 1), after = is_blank(span.end);
  if (before && !out_.empty() && !IsBlankByte(out_.back())) AddSpace();
  AddTag(id, /*open=*/true);
  const bool touches = node.begin < static_cast<int>(words_.size()) &&
                       at_ == words_[node.begin].span.begin;
  if (before && after && touches) AddSpace();
}

// Writes an opaque piece instead of its word, a U+FFFC of the translation. If
// it has none, the piece becomes a word of its own.
void MarkupWriter::WriteOpaque(int id) {
  const Node& node = nodes_[id];
  if (node.begin < node.end) {
    Emit(words_[node.begin].span.begin);
    AddTag(id, /*open=*/true);
    at_ = words_[node.begin].span.end;
    return;
  }
  const auto is_space = [this](size_t at) {
    return at >= sentence_.plain.begin && at < sentence_.plain.end &&
           markup_.plain_[at] == ' ';
  };
  Emit(EndBefore(node.begin));
  if (node.begin > 0 && is_space(node.plain.begin - 1)) AddSpace();
  AddTag(id, /*open=*/true);
  if (node.begin == 0 && !words_.empty() && is_space(node.plain.end)) {
    AddSpace();
  }
}

}  // namespace trivium
