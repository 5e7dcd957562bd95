// The check of an attempt: while the output is written, check_ gets the same
// Markdown together with the elements around the sentence, and tags_ and plain_
// get the tags and the text that a parser should find in it. Parsing check_
// must give just these.
//
// check_ stands for the whole text around the sentence, so it has:
//   - the tags that touch the sentence, outside of it;
//   - the other half of each element that begins or ends elsewhere, with an "x"
//     as its contents;
//   - a letter or a dot for the character beside the sentence, since only its
//     class decides whether a delimiter opens or closes;
//   - "](x)" as the end of links that refer to a definition elsewhere.
#include "server/translation/markdown_writer.h"

#include <unicode/uchar.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/markdown_escapes.h"
#include "server/translation/markup_writer.h"

namespace trivium {
namespace {

// Markdown counts it neither as white space nor as punctuation.
constexpr std::string_view kZeroWidthSpace = "\u200B";

bool StartsWithLetter(std::string_view character) {
  return !character.empty() && u_isalnum(FirstCharacter(character));
}
std::string_view LastOf(std::string_view text) {
  if (text.empty()) return text;
  return text.substr(text.size() - LastCharacterSize(text));
}

bool IsEmphasis(std::string_view tag) {
  return tag.starts_with('*') || tag.starts_with('_');
}
// True unless the tag belongs to a link, an image or HTML.
bool IsDelimiter(std::string_view tag) {
  return IsEmphasis(tag) || tag.starts_with('~') || tag == "==" || tag == "++";
}
// True for "https://a.b" without brackets around it, but not for
// "H<sub>2</sub>O".
bool IsBareLink(std::string_view piece) {
  return !piece.empty() && absl::ascii_isalnum(piece[0]) &&
         piece.find('<') == piece.npos;
}

// Returns the text with each run of white space as one space, and none around.
std::string Collapsed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!absl::ascii_isspace(c)) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

class MarkdownWriter : public MarkupWriter {
 public:
  enum class Style { kAsItWas, kByTurns, kSpaced };

  MarkdownWriter(const Markup& markup, const Markup::Sentence& sentence,
                 std::string_view translation, const MarkupPlan& plan,
                 Style style, PlainMarks plain_marks)
      : MarkupWriter(markup, sentence, translation, plan),
        style_(style),
        plain_marks_(plain_marks),
        marks_(plan.nodes.size(), 0),
        begins_(plan.nodes.size(), 0) {
    BeginCheck();
  }

  // True if the output of Run parses as intended.
  bool IsReadAsMeant() {
    EndCheck();
    if (!AreStruckAsMeant()) return false;
    const absl::StatusOr<Markup> again =
        Markup::Parse(MarkupFormat::kMarkdown, std::move(check_));
    if (!again.ok() || again->tags_.size() != tags_.size()) return false;
    for (size_t i = 0; i < tags_.size(); ++i) {
      const Markup::Tag& tag = again->tags_[i];
      if (tag.kind != tags_[i].first ||
          tag.span().Of(again->text_) != tags_[i].second) {
        return false;
      }
    }
    return Collapsed(again->plain_) == Collapsed(plain_);
  }

 private:
  enum class Last { kNothing, kText, kOpen, kClose, kPiece };

  // Begins check_ with what precedes the sentence and affects its parsing: the
  // elements that begin or end right beside it, the begins of its own elements,
  // and the character before it.
  void BeginCheck() {
    const auto opens_around = [this](size_t i, size_t at) {
      return tag(i).kind == Kind::kOpen && tag(i).end == at &&
             tag(i).partner >= sentence_.last_tag;
    };
    const auto closes_around = [this](size_t i, size_t at) {
      return tag(i).kind == Kind::kClose && tag(i).begin == at &&
             tag(i).partner < sentence_.first_tag;
    };
    first_tag_ = sentence_.first_tag;
    begin_ = sentence_.source.begin;
    while (first_tag_ > 0 && opens_around(first_tag_ - 1, begin_)) {
      begin_ = tag(--first_tag_).begin;
    }
    last_tag_ = sentence_.last_tag;
    end_ = sentence_.source.end;
    while (last_tag_ < markup_.tags_.size() && closes_around(last_tag_, end_)) {
      end_ = tag(last_tag_++).end;
    }
    for (size_t i = last_tag_; i-- > sentence_.last_tag;) {
      if (tag(i).partner < first_tag_) PutOpen(tag(i).partner, "x ");
    }
    for (const Node& node : nodes_) {
      if (node.begins_before) PutOpen(tag(node.close).partner, "x ");
    }
    PutBeside(LastOf(std::string_view(markup_.text_).substr(0, begin_)));
    for (size_t i = first_tag_; i < sentence_.first_tag; ++i) PutOpen(i, "");
  }
  // Ends check_ likewise.
  void EndCheck() {
    for (size_t id = nodes_.size(); id-- > 0;) {
      if (nodes_[id].ends_after) PutClose(tag(nodes_[id].open).partner, " x");
    }
    for (size_t i = sentence_.last_tag; i < last_tag_; ++i) PutClose(i, "");
    const std::string_view after = std::string_view(markup_.text_).substr(end_);
    PutBeside(after.empty() ? after
                            : after.substr(0, FirstCodePoint(after).size));
    for (size_t i = sentence_.first_tag; i-- > first_tag_;) {
      if (tag(i).partner >= last_tag_) PutClose(tag(i).partner, " x");
    }
    // A block of links without any text would give no pieces at all.
    Put(" x");
  }
  void PutOpen(size_t i, std::string_view text) {
    const std::string_view bytes = BytesOf(tag(i));
    if (IsEmphasis(bytes)) around_ = bytes[0];
    PutTag(Kind::kOpen, bytes);
    Put(text);
  }
  void PutClose(size_t i, std::string_view text) {
    Put(text);
    PutTag(Kind::kClose, CheckedClose(tag(i)));
  }
  void PutBeside(std::string_view character) {
    if (character.empty() || IsBlank(character)) return;
    Put(StartsWithLetter(character) ? "x" : ".");
  }
  void Put(std::string_view text) {
    check_ += text;
    plain_ += text;
  }
  // A backslash before a tag is one only if there are two.
  void DoubleBackslash() {
    const size_t last = out_.find_last_not_of('\\') + 1;
    if (last_ != Last::kText || (out_.size() - last) % 2 == 0) return;
    out_ += '\\';
    check_ += '\\';
  }
  void PutTag(Kind kind, std::string_view bytes) {
    if (bytes.starts_with('~')) struck_.push_back(check_.size());
    tags_.push_back({kind, std::string(bytes)});
    check_ += bytes;
  }
  // True if each "~" opens or closes by the rule for "*". md4c does not apply
  // that rule to "~", but other parsers do.
  bool AreStruckAsMeant() const {
    const std::string_view text = check_;
    size_t next = 0;
    for (const auto& [kind, bytes] : tags_) {
      if (!bytes.starts_with('~')) continue;
      const size_t at = struck_[next++];
      std::string_view outside = LastOf(text.substr(0, at));
      std::string_view inside = text.substr(at + bytes.size());
      inside = inside.substr(0, FirstCodePoint(inside).size);
      if (kind == Kind::kClose) std::swap(inside, outside);
      if (IsBlank(inside) ||
          (!StartsWithLetter(inside) && StartsWithLetter(outside) &&
           inside != kZeroWidthSpace)) {
        return false;
      }
    }
    return true;
  }

  // Returns a closing tag's bytes for check_, where links have no definitions.
  std::string CheckedClose(const Markup::Tag& tag) const {
    const std::string_view bytes = BytesOf(tag);
    if (!tag.written.empty() || bytes.starts_with("][")) return "](x)";
    return std::string(bytes);
  }

  void Space() {
    out_ += ' ';
    Put(" ");
  }
  void AddSpace() override {
    Space();
    last_ = Last::kText;
  }

  void AddText(TextSpan span) override {
    const std::string_view text = span.Of(translation_);
    const std::string_view first = text.substr(0, FirstCodePoint(text).size);
    constexpr std::string_view kAfterLinks = ".,;:!?)\"'";
    if ((last_ == Last::kClose && style_ == Style::kSpaced &&
         StartsWithLetter(first)) ||
        (after_bare_link_ && !IsBlank(first) &&
         kAfterLinks.find(first) == kAfterLinks.npos)) {
      Space();
    }
    const std::string escaped =
        EscapeMarkdown(translation_, span, plain_marks_);
    out_ += escaped;
    check_ += escaped;
    plain_ += text;
    Note(Last::kText);
  }

  void Note(Last last) {
    last_ = last;
    after_bare_link_ = false;
  }

  void AddTag(int id, bool open) override {
    const size_t i = open ? nodes_[id].open : nodes_[id].close;
    if (i == Node::kNoTag) return;
    switch (tag(i).kind) {
      case Kind::kOpen:
        return Open(id);
      case Kind::kClose:
        return Close(id);
      default:
        return AddPiece(tag(i));
    }
  }

  bool TouchesLetter() const {
    return last_ == Last::kText && StartsWithLetter(LastOf(out_));
  }

  void Open(int id) {
    std::string bytes(BytesOf(tag(nodes_[id].open)));
    DoubleBackslash();
    if (IsDelimiter(bytes) && style_ == Style::kSpaced &&
        (TouchesLetter() || last_ == Last::kClose || last_ == Last::kPiece)) {
      Space();
    }
    if (IsEmphasis(bytes)) {
      marks_[id] = MarkOf(id, bytes[0]);
      bytes.assign(bytes.size(), marks_[id]);
      open_.push_back(id);
    }
    if (IsDelimiter(bytes) && last_ == Last::kClose &&
        out_.ends_with(bytes[0])) {
      Space();  // else the two would be one delimiter
    }
    if (bytes.starts_with('[') && last_ == Last::kText && out_.ends_with('!')) {
      // Without the backslash it would be an image.
      out_.insert(out_.size() - 1, 1, '\\');
      check_.insert(check_.size() - 1, 1, '\\');
    }
    out_ += bytes;
    PutTag(Kind::kOpen, bytes);
    begins_[id] = out_.size();
    Note(Last::kOpen);
  }

  // Returns the delimiter, "*" or "_", for emphasis that has `mark` in the
  // source.
  char MarkOf(int id, char mark) const {
    const Node& node = nodes_[id];
    if (node.ends_after) return mark;
    if (style_ != Style::kAsItWas) {
      const char outer = open_.empty() ? around_ : marks_[open_.back()];
      mark = outer == '*' ? '_' : '*';
    }
    const size_t end =
        node.begin < node.end ? words_[node.end - 1].span.end : 0;
    const std::string_view after = translation_.substr(end);
    const bool in_word =
        TouchesLetter() ||
        (end > 0 && !after.empty() &&
         StartsWithLetter(after.substr(0, FirstCodePoint(after).size)));
    return in_word && style_ != Style::kSpaced ? '*' : mark;
  }

  void Close(int id) {
    const Markup::Tag& close = tag(nodes_[id].close);
    const std::string_view opener = BytesOf(tag(close.partner));
    DoubleBackslash();
    FillEmpty(id, opener);
    std::string bytes(BytesOf(close));
    if (IsEmphasis(opener) && marks_[id] != 0) {
      bytes.assign(bytes.size(), marks_[id]);
      open_.pop_back();
    }
    out_ += close.written.empty() ? bytes : close.written;
    PutTag(Kind::kClose, IsEmphasis(opener) ? bytes : CheckedClose(close));
    Note(Last::kClose);
  }

  // Adds a zero width space if an element would otherwise not close: if it is
  // empty, or if it began before the sentence and would end after white space.
  void FillEmpty(int id, std::string_view opener) {
    if (!IsDelimiter(opener) && !opener.starts_with("![")) return;
    const bool empty =
        out_.size() == begins_[id] ||
        (nodes_[id].begins_before && absl::ascii_isspace(out_.back()));
    if (!empty) return;
    out_ += kZeroWidthSpace;
    Put(kZeroWidthSpace);
  }

  void AddPiece(const Markup::Tag& piece) {
    const std::string_view bytes = BytesOf(piece);
    DoubleBackslash();
    if ((bytes.starts_with('`') && out_.ends_with('`')) ||
        (IsBareLink(bytes) && !out_.empty() &&
         !absl::ascii_isspace(out_.back()) && last_ != Last::kOpen &&
         !out_.ends_with('(')) ||
        (style_ == Style::kSpaced && last_ == Last::kClose)) {
      Space();
    }
    out_ += bytes;
    PutTag(piece.kind, bytes);
    if (piece.kind == Kind::kOpaque) plain_ += Markup::kObject;
    Note(Last::kPiece);
    after_bare_link_ = IsBareLink(bytes);
  }

  void End() override {
    for (size_t id = 0; id < nodes_.size(); ++id) {
      if (nodes_[id].ends_after) {
        FillEmpty(static_cast<int>(id), BytesOf(tag(nodes_[id].open)));
      }
    }
  }

  const Style style_;
  const PlainMarks plain_marks_;
  std::vector<char> marks_;     // [nodes]: of emphasis; 0 if not open here
  std::vector<size_t> begins_;  // [nodes]: in out_, past the opening tag
  std::vector<int> open_;       // open emphasis
  char around_ = 0;             // of the innermost emphasis around; 0: none
  Last last_ = Last::kNothing;
  bool after_bare_link_ = false;
  // The sentence with the tags around that touch it: a range of Markup's tags,
  // and a range of its text.
  size_t first_tag_ = 0, last_tag_ = 0;
  size_t begin_ = 0, end_ = 0;
  // The Markdown to parse, and the tags and the text to be found in it.
  std::string check_;
  std::vector<std::pair<Kind, std::string>> tags_;
  std::string plain_;
  std::vector<size_t> struck_;  // offsets in check_ of tags of "~"
};

std::string WriteMarkdown(const Markup& markup,
                          const Markup::Sentence& sentence,
                          std::string_view translation, const MarkupPlan& plan,
                          PlainMarks marks) {
  using Style = MarkdownWriter::Style;
  for (const bool again : {false, true}) {
    if (again && !marks.brackets && !marks.bars) break;
    if (again) marks = {};  // with all backslashes
    for (const Style style :
         {Style::kAsItWas, Style::kByTurns, Style::kSpaced}) {
      MarkdownWriter writer(markup, sentence, translation, plan, style, marks);
      std::string out = writer.Run();
      if (writer.IsReadAsMeant()) return out;
    }
  }
  return std::string(sentence.source.Of(markup.text()));
}

}  // namespace trivium
