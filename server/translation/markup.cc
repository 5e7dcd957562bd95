// Parse turns the pieces of a text into plain_, runs_ and tags_. These
// invariants hold from then on:
//   - runs_ cover all bytes of plain_, in order, and none is empty there;
//   - tags_ ascend in the text, and so do their places in plain_;
//   - the tags of pairs are nested.
// So a binary search finds the run or the tags at a byte of plain_.
//
// Place plans where the tags go (markup_placing.cc), then writes the result
// (markup_writer.cc, markdown_writer.cc).
#include "server/translation/markup.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/markdown_writer.h"
#include "server/translation/markup_lexer.h"
#include "server/translation/markup_plan.h"
#include "server/translation/markup_scripts.h"
#include "server/translation/markup_writer.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

// Returns the character of an entity without '&' and ';', as "eacute" or
// "#xE9". Returns 0 if it is unknown, and a space for white space.
char32_t Entity(std::string_view name) {
  if (!name.starts_with('#')) return NamedEntity(name);
  name.remove_prefix(1);
  const bool hex = name.starts_with('x') || name.starts_with('X');
  if (hex) name.remove_prefix(1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(
      name.data(), name.data() + name.size(), value, hex ? 16 : 10);
  const bool number = error == std::errc() && end == name.data() + name.size();
  if (!number || value < ' ' || value > 0x10FFFF ||
      (value >= 0xD800 && value < 0xE000)) {
    return value == '\t' || value == '\n' || value == '\r' ? U' ' : 0;
  }
  return value;
}

absl::StatusOr<std::vector<MarkupPiece>> PiecesOf(MarkupFormat format,
                                                  std::string_view text) {
  switch (format) {
    case MarkupFormat::kXml:
      return XmlPieces(text);
    case MarkupFormat::kMarkdown:
      return MarkdownPieces(text);
    case MarkupFormat::kHtml:
      break;
  }
  return HtmlPieces(text);
}

}  // namespace

absl::StatusOr<Markup> Markup::Parse(MarkupFormat format, std::string text) {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<MarkupPiece> all,
                           PiecesOf(format, text));
  const std::vector<MarkupPiece> pieces = WithScripts(text, std::move(all));
  Markup markup;
  markup.format_ = format;
  markup.text_ = std::move(text);
  std::vector<size_t> tag_of(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (format == MarkupFormat::kHtml && markup.RunsTogether(pieces, i)) {
      markup.AddRun("\n", {pieces[i].span.begin, pieces[i].span.begin});
    }
    tag_of[i] = markup.tags_.size();
    markup.Add(pieces[i]);
    if (pieces[i].kind != MarkupPiece::Kind::kClose) continue;
    const size_t open = tag_of[pieces[i].partner], close = tag_of[i];
    markup.tags_[open].partner = static_cast<uint32_t>(close);
    markup.tags_[close].partner = static_cast<uint32_t>(open);
    if (markup.tags_[open].raw) {
      markup.raw_.push_back(
          {markup.tags_[open].plain, markup.tags_[close].plain});
    }
  }
  return markup;
}

bool Markup::RunsTogether(const std::vector<MarkupPiece>& pieces,
                          size_t i) const {
  using Kind = MarkupPiece::Kind;
  if (i == 0 || pieces[i - 1].kind != Kind::kClose || plain_.empty()) {
    return false;
  }
  const size_t first = i;
  while (i < pieces.size() && pieces[i].kind == Kind::kOpen) ++i;
  if (i == pieces.size() || pieces[i].kind != Kind::kText) return false;
  const std::string_view next = pieces[i].span.Of(text_);
  if (next.empty()) return false;
  const size_t size = FirstCodePoint(next).size;
  if (!u_isupper(FirstCharacter(next)) || size == next.size() ||
      !u_islower(FirstCharacter(next.substr(size)))) {
    return false;
  }
  const UChar32 last = FirstCharacter(std::string_view(plain_).substr(
      plain_.size() - LastCharacterSize(plain_)));
  constexpr std::string_view kEnds = ".:;!?";
  if (u_isalnum(last)) return first < i;
  return last < 0x80 && kEnds.find(static_cast<char>(last)) != kEnds.npos;
}

void Markup::Add(const MarkupPiece& piece) {
  using Kind = MarkupPiece::Kind;
  switch (piece.kind) {
    case Kind::kText:
      return AddText(piece.span, /*escaped=*/true);
    case Kind::kRawText:
      return AddText(piece.span, /*escaped=*/false);
    case Kind::kEscape:
      return AddRun(std::string_view(text_).substr(piece.span.end - 1, 1),
                    piece.span);
    case Kind::kSpace:
      return AddSpace(piece.span);
    case Kind::kBreak:
      if (!plain_.ends_with('\n')) AddRun("\n", piece.span);
      return;
    case Kind::kOpaque:
    case Kind::kOpen:
    case Kind::kClose:
    case Kind::kVoid:
      tags_.push_back({.kind = piece.kind,
                       .raw = piece.raw,
                       .begin = static_cast<uint32_t>(piece.span.begin),
                       .end = static_cast<uint32_t>(piece.span.end),
                       .plain = static_cast<uint32_t>(plain_.size()),
                       .written = piece.written});
      if (piece.kind == Kind::kOpaque) {
        opaque_.push_back({plain_.size(), plain_.size() + kObject.size()});
        AddRun(kObject, piece.span);
      }
  }
}

void Markup::AddRun(std::string_view plain, TextSpan source) {
  const size_t size = source.end - source.begin;
  if (!runs_.empty() && plain.size() == size) {
    Run& last = runs_.back();
    if (last.plain_size == last.source_size &&
        last.source + last.source_size == source.begin) {
      last.plain_size += size;
      last.source_size += size;
      plain_ += plain;
      return;
    }
  }
  runs_.push_back({.plain = static_cast<uint32_t>(plain_.size()),
                   .source = static_cast<uint32_t>(source.begin),
                   .plain_size = static_cast<uint32_t>(plain.size()),
                   .source_size = static_cast<uint32_t>(size)});
  plain_ += plain;
}

void Markup::AddSpace(TextSpan span) {
  if (plain_.empty() || plain_.back() == ' ' || plain_.back() == '\n') return;
  AddRun(" ", span);
}

void Markup::AddText(TextSpan span, bool escaped) {
  const std::string_view text = text_;
  size_t begin = span.begin;  // begin of the bytes not yet added
  const auto add_before = [&](size_t end) {
    if (begin < end) {
      AddRun(text.substr(begin, end - begin), {begin, end});
    }
  };
  for (size_t at = span.begin; at < span.end;) {
    if (IsBlankByte(text[at])) {
      add_before(at);
      size_t end = at + 1;
      while (end < span.end && IsBlankByte(text[end])) ++end;
      AddSpace({at, end});
      begin = at = end;
      continue;
    }
    if (escaped && text[at] == '&') {
      add_before(at);
      begin = at;
      if (const size_t size = AddEscape(at, span.end); size > 0) {
        begin = at = at + size;
        continue;
      }
    }
    ++at;
  }
  add_before(span.end);
}

size_t Markup::AddEscape(size_t at, size_t end) {
  constexpr size_t kMostBytes = 34;  // of any entity, with '&' and ';'
  const std::string_view rest =
      std::string_view(text_).substr(at, std::min(end - at, kMostBytes));
  size_t size = 1;
  while (size < rest.size() && (absl::ascii_isalnum(rest[size]) ||
                                (size == 1 && rest[size] == '#'))) {
    ++size;
  }
  const bool ended = size < rest.size() && rest[size] == ';';
  if (size == 1) return 0;
  const char32_t value = Entity(rest.substr(1, size - 1));
  // HTML allows old names without the ';'.
  if (!ended && (value == 0 || size == rest.size())) return 0;
  const TextSpan whole = {at, at + size + (ended ? 1 : 0)};
  if (value == 0) {
    Add({.kind = MarkupPiece::Kind::kOpaque, .span = whole});
  } else if (value == ' ') {
    AddRun(" ", whole);
  } else {
    std::string decoded;
    AppendUtf8(value, &decoded);
    if (decoded == kNoBreakSpace && no_break_space_.empty()) {
      no_break_space_ = whole.Of(text_);
    }
    AddRun(decoded, whole);
  }
  return whole.end - at;
}

void Markup::Edit(const std::vector<TextEdit>& edits) {
  const EditedText edited(plain_, edits);
  std::vector<Run> runs;
  const auto add = [&runs](size_t plain_size, size_t source,
                           size_t source_size) {
    if (plain_size == 0) return;
    const uint32_t plain =
        runs.empty() ? 0 : runs.back().plain + runs.back().plain_size;
    runs.push_back({plain, static_cast<uint32_t>(source),
                    static_cast<uint32_t>(plain_size),
                    static_cast<uint32_t>(source_size)});
  };
  auto edit = edits.begin();
  for (const Run& run : runs_) {
    const size_t run_end = run.plain + run.plain_size;
    if (run.plain_size != run.source_size) {
      // Such a run stands for one character.
      if (edit == edits.end() || edit->span.begin >= run_end) {
        add(run.plain_size, run.source, run.source_size);
      } else if (edit->span.begin <= run.plain) {
        // The first run of an edit gets what replaces it.
        const bool first = edit->span.begin == run.plain;
        add(first ? edit->replacement.size() : 0, run.source, run.source_size);
      }
    } else {
      size_t at = run.plain;
      for (auto inner = edit;
           inner != edits.end() && inner->span.begin < run_end; ++inner) {
        const size_t begin = std::max<size_t>(inner->span.begin, run.plain);
        const size_t end = std::min<size_t>(inner->span.end, run_end);
        add(begin - at, run.source + (at - run.plain), begin - at);
        if (begin == inner->span.begin) {
          add(inner->replacement.size(), run.source + (begin - run.plain),
              end - begin);
        }
        at = end;
      }
      add(run_end - at, run.source + (at - run.plain), run_end - at);
    }
    while (edit != edits.end() && edit->span.end <= run_end) ++edit;
  }
  runs_ = std::move(runs);
  for (Tag& tag : tags_) {
    tag.plain = static_cast<uint32_t>(edited.InEdited(tag.plain));
  }
  for (std::vector<TextSpan>* const spans : {&opaque_, &raw_}) {
    for (TextSpan& span : *spans) {
      span = {edited.InEdited(span.begin), edited.InEdited(span.end)};
    }
  }
  plain_ = edited.text();
}

bool Markup::IsLink(size_t tag) const {
  const std::string_view bytes = tags_[tag].span().Of(text_);
  const auto is_named = [bytes](std::string_view name) {
    if (bytes.size() <= name.size() + 1 || bytes[0] != '<') return false;
    for (size_t i = 0; i < name.size(); ++i) {
      if (absl::ascii_tolower(bytes[i + 1]) != name[i]) return false;
    }
    const char next = bytes[name.size() + 1];
    return next == '>' || IsBlankByte(next);
  };
  return bytes == "[" || is_named("a") || is_named("button");
}

bool Markup::IsAroundLink(size_t tag) const {
  const Tag& outer = tags_[tag];
  while (!IsLink(tag)) {
    const size_t end = tags_[tag].partner;
    ++tag;
    if (tag == end || tags_[tag].kind != MarkupPiece::Kind::kOpen ||
        tags_[tag].plain != outer.plain ||
        tags_[tags_[tag].partner].plain != tags_[outer.partner].plain) {
      return false;
    }
  }
  return true;
}

std::vector<TextSpan> Markup::LinksOf(TextSpan plain) const {
  using Kind = MarkupPiece::Kind;
  std::vector<TextSpan> links;
  size_t at = plain.begin;
  const auto between = std::partition_point(
      tags_.begin(), tags_.end(),
      [plain](const Tag& tag) { return tag.plain < plain.begin; });
  for (size_t i = between - tags_.begin();
       i < tags_.size() && tags_[i].plain < plain.end; ++i) {
    const Tag& tag = tags_[i];
    if (tag.kind == Kind::kVoid) continue;
    if (tag.kind == Kind::kClose && tag.plain == plain.begin) continue;
    if (tag.kind != Kind::kOpen) return {};
    const size_t end = tags_[tag.partner].plain;
    // The element is around the whole sentence.
    if (tag.plain == plain.begin && end >= plain.end) continue;
    const TextSpan inner = WithoutWhiteSpace(plain_, {tag.plain, end});
    if (inner.begin >= inner.end) {
      i = tag.partner;
      continue;
    }
    if (inner.end > plain.end || !IsAroundLink(i) ||
        !WordsBetween(plain_, {at, inner.begin}, {}).empty()) {
      return {};
    }
    links.push_back(inner);
    at = inner.end;
    i = tag.partner;
  }
  if (links.size() < 2 || !WordsBetween(plain_, {at, plain.end}, {}).empty()) {
    return {};
  }
  return links;
}

bool Markup::IsOpaque(size_t plain) const {
  const auto found = std::partition_point(
      opaque_.begin(), opaque_.end(),
      [plain](TextSpan span) { return span.begin < plain; });
  return found != opaque_.end() && found->begin == plain;
}

bool Markup::IsRaw(size_t plain) const {
  const auto found = std::partition_point(
      raw_.begin(), raw_.end(),
      [plain](TextSpan span) { return span.end <= plain; });
  return found != raw_.end() && found->begin <= plain;
}

const Markup::Run& Markup::RunAt(size_t plain) const {
  return *(std::partition_point(
               runs_.begin(), runs_.end(),
               [plain](const Run& run) { return run.plain <= plain; }) -
           1);
}

TextSpan Markup::InText(TextSpan plain) const {
  const Run& first = RunAt(plain.begin);
  const Run& last = RunAt(plain.end - 1);
  const auto same = [](const Run& run) {
    return run.plain_size == run.source_size;
  };
  return {
      first.source + (same(first) ? plain.begin - first.plain : 0),
      last.source + (same(last) ? plain.end - last.plain : last.source_size)};
}

Markup::Sentence Markup::In(TextSpan plain) const {
  using Kind = MarkupPiece::Kind;
  const std::string_view text = plain_;
  // Includes the white space around the sentence.
  const auto is_space = [](std::string_view c) {
    return c != "\n" && u_isUWhiteSpace(FirstCharacter(c));
  };
  TextSpan wide = plain;
  while (wide.begin > 0) {
    const size_t size = LastCharacterSize(text.substr(0, wide.begin));
    if (!is_space(text.substr(wide.begin - size, size))) break;
    wide.begin -= size;
  }
  while (wide.end < text.size()) {
    const size_t size = FirstCodePoint(text.substr(wide.end)).size;
    if (!is_space(text.substr(wide.end, size))) break;
    wide.end += size;
  }
  const auto first_at = [this](size_t place) {
    return static_cast<size_t>(std::partition_point(tags_.begin(), tags_.end(),
                                                    [place](const Tag& tag) {
                                                      return tag.plain < place;
                                                    }) -
                               tags_.begin());
  };
  Sentence sentence;
  sentence.plain = plain;
  sentence.source = InText(plain);
  sentence.first_tag = first_at(plain.begin + 1);
  for (size_t i = first_at(wide.begin); i < sentence.first_tag; ++i) {
    const Tag& tag = tags_[i];
    const size_t end =
        tag.kind == Kind::kOpen ? tags_[tag.partner].plain : plain.begin;
    if ((end > plain.begin && end < plain.end) ||
        (tag.kind == Kind::kOpaque && tag.plain == plain.begin)) {
      sentence.first_tag = i;
    }
  }
  sentence.last_tag = std::max(first_at(plain.end), sentence.first_tag);
  for (size_t i = sentence.last_tag;
       i < tags_.size() && tags_[i].plain <= wide.end; ++i) {
    const Tag& tag = tags_[i];
    const bool ends =
        tag.kind == Kind::kClose && tags_[tag.partner].plain < plain.end;
    // A tag that a translation writes differently belongs to the sentence even
    // if its element contains other sentences.
    if (ends && (tag.partner >= sentence.first_tag || !tag.written.empty())) {
      sentence.last_tag = i + 1;
    }
  }
  if (sentence.marked()) {
    TextSpan& source = sentence.source;
    source.begin =
        std::min(source.begin, size_t{tags_[sentence.first_tag].begin});
    source.end = std::max(source.end, size_t{tags_[sentence.last_tag - 1].end});
  }
  return sentence;
}

bool Markup::NeedsWords(const Sentence& sentence) const {
  return std::any_of(
      tags_.begin() + sentence.first_tag, tags_.begin() + sentence.last_tag,
      [](const Tag& tag) { return tag.kind != MarkupPiece::Kind::kOpaque; });
}

std::string Markup::Escaped(std::string_view translation, TextSpan span,
                            bool raw) const {
  constexpr std::string_view kRawEnd = "]]>";
  const std::string_view text = span.Of(translation);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (raw) {
      // The usual way to write "]]>" in CDATA: one section ends between the
      // brackets, and another begins.
      if (text.substr(i).starts_with(kRawEnd)) {
        out += "]]]]><![CDATA[>";
        i += kRawEnd.size() - 1;
      } else {
        out += c;
      }
      continue;
    }
    if (!no_break_space_.empty() && text.substr(i).starts_with(kNoBreakSpace)) {
      out += no_break_space_;
      i += kNoBreakSpace.size() - 1;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

PlainMarks Markup::PlainMarksIn(const Sentence& sentence) const {
  PlainMarks plain;
  bool escaped = false;  // a bracket
  size_t tag = sentence.first_tag;
  for (size_t at = sentence.source.begin; at < sentence.source.end; ++at) {
    while (tag < sentence.last_tag && tags_[tag].end <= at) ++tag;
    if (tag < sentence.last_tag && tags_[tag].begin <= at) {
      at = tags_[tag].end - 1;
      continue;
    }
    const auto is_bracket = [&](size_t place) {
      return place < text_.size() &&
             (text_[place] == '[' || text_[place] == ']');
    };
    if (text_[at] == '\\') {
      ++at;
      escaped = escaped || is_bracket(at);
    } else {
      plain.brackets = plain.brackets || is_bracket(at);
      plain.bars = plain.bars || text_[at] == '|';
    }
  }
  // It may be that this one would name a link.
  if (escaped) plain.brackets = false;
  return plain;
}

std::string Markup::Place(const Sentence& sentence,
                          std::string_view translation,
                          std::span<const AlignedWords> words) const {
  if (!sentence.marked() && format_ == MarkupFormat::kMarkdown) {
    return EscapeMarkdown(translation, {0, translation.size()},
                          PlainMarksIn(sentence));
  }
  if (!sentence.marked()) {
    return Escaped(translation, {0, translation.size()},
                   IsRaw(sentence.plain.begin));
  }
  const MarkupPlan plan = PlanMarkup(*this, sentence, translation, words);
  if (format_ == MarkupFormat::kMarkdown) {
    return WriteMarkdown(*this, sentence, translation, plan,
                         PlainMarksIn(sentence));
  }
  return MarkupWriter(*this, sentence, translation, plan).Run();
}

}  // namespace trivium
