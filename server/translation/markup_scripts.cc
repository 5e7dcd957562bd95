#include "server/translation/markup_scripts.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/markup_lexer.h"

namespace trivium {
namespace {

using Kind = MarkupPiece::Kind;

enum class Script { kNone, kSub, kSup };

Script ScriptOf(std::string_view tag) {
  if (tag.size() < 5 || tag[0] != '<') return Script::kNone;
  if (tag[4] != '>' && !IsBlankByte(tag[4])) return Script::kNone;
  const std::string name = absl::AsciiStrToLower(std::string(tag.substr(1, 3)));
  if (name == "sub") return Script::kSub;
  return name == "sup" ? Script::kSup : Script::kNone;
}

// Calls `see` for each character of a text.
template <typename See>
void ForEach(std::string_view text, const See& see) {
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    see(FirstCharacter(text));
  }
}

int CountLetters(std::string_view text) {
  int letters = 0;
  ForEach(text, [&](UChar32 c) { letters += u_isalpha(c) ? 1 : 0; });
  return letters;
}

// True for the stems of formulas, such as "CO", "x", "10", "km" and "mc": the
// words of languages have more letters, or a vowel among two.
bool IsStem(std::string_view text) {
  constexpr std::string_view kVowels = "aeiouyAEIOUY";
  if (text.empty()) return false;
  int letters = 0, capitals = 0;
  bool vowel = false;
  ForEach(text, [&](UChar32 c) {
    if (!u_isalpha(c)) return;
    ++letters;
    if (u_isupper(c)) ++capitals;
    vowel = vowel ||
            (c < 0x80 && kVowels.find(static_cast<char>(c)) != kVowels.npos);
  });
  if (letters <= 1) return true;
  constexpr int kMostLetters = 6;
  // "NaCl" has a capital inside, "Na" and "Fe" are short.
  if (capitals == letters || capitals > 1) return letters <= kMostLetters;
  return letters == 2 && !vowel;
}

// Returns the size of the letters, digits and brackets at the end of a text.
size_t StemSize(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    const size_t size = LastCharacterSize(text.substr(0, begin));
    const UChar32 c = FirstCharacter(text.substr(begin - size));
    if (!u_isalnum(c) && c != ')' && c != '(') break;
    begin -= size;
  }
  // A bracket that the stem does not close is the sentence's.
  const size_t close = text.rfind(')');
  while (begin < text.size() && text[begin] == '(' &&
         (close == text.npos || close < begin)) {
    ++begin;
  }
  return text.size() - begin;
}

// Returns the size of the letters and digits at the begin of a text.
size_t WordSize(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && u_isalnum(FirstCharacter(text.substr(end)))) {
    end += FirstCodePoint(text.substr(end)).size;
  }
  return end;
}

bool IsTextPiece(Kind kind) {
  return kind == Kind::kText || kind == Kind::kRawText;
}

class Scripts {
 public:
  Scripts(std::string_view text, std::vector<MarkupPiece> pieces)
      : text_(text), pieces_(std::move(pieces)) {}

  std::vector<MarkupPiece> Run() {
    std::vector<size_t> new_index(pieces_.size());
    for (size_t i = 0; i < pieces_.size();) {
      new_index[i] = out_.size();
      if (IsScript(i)) {
        i = AddScript(i);
        continue;
      }
      out_.push_back(pieces_[i++]);
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].kind != Kind::kOpen && pieces_[i].kind != Kind::kClose) {
        continue;
      }
      // The index of a piece that went into another one is not used.
      const size_t at = new_index[i];
      if (at < out_.size() && out_[at].span == pieces_[i].span) {
        out_[at].partner = new_index[pieces_[i].partner];
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view Of(size_t i) const { return pieces_[i].span.Of(text_); }

  // True if <sub> or <sup> begins at a piece, and holds digits, signs, or a
  // single letter.
  bool IsScript(size_t i) const {
    const MarkupPiece& open = pieces_[i];
    if (open.kind != Kind::kOpen || ScriptOf(Of(i)) == Script::kNone) {
      return false;
    }
    int letters = 0;
    bool blank = true;
    for (size_t inner = i + 1; inner < open.partner; ++inner) {
      const Kind kind = pieces_[inner].kind;
      if (kind == Kind::kBreak || kind == Kind::kOpaque) return false;
      if (IsTextPiece(kind)) {
        letters += CountLetters(Of(inner));
        blank = blank && IsBlank(Of(inner));
      }
    }
    return letters <= 1 && !blank;
  }

  // Adds the script at a piece, with what makes a formula of it. Returns the
  // index of the first piece after it.
  size_t AddScript(size_t i) {
    const Script script = ScriptOf(Of(i));
    size_t begin = pieces_[i].span.begin;
    const bool after_text = !out_.empty() && IsTextPiece(out_.back().kind) &&
                            out_.back().span.end == begin;
    const std::string_view before =
        after_text ? out_.back().span.Of(text_) : std::string_view();
    const std::string_view stem =
        before.substr(before.size() - StemSize(before));
    const bool formula =
        IsStem(stem) ||
        (script == Script::kSub && stem.size() == 2 && CountLetters(stem) == 2);
    size_t next = pieces_[i].partner + 1;
    if (!formula) {
      out_.push_back(
          {.kind = Kind::kVoid, .span = {begin, pieces_[next - 1].span.end}});
      return next;
    }
    begin -= stem.size();
    out_.back().span.end = begin;
    if (out_.back().span.begin == begin) out_.pop_back();
    size_t end = pieces_[next - 1].span.end;
    // The formula goes on with letters and further scripts.
    while (next < pieces_.size()) {
      if (IsScript(next)) {
        next = pieces_[next].partner + 1;
        end = pieces_[next - 1].span.end;
        continue;
      }
      if (!IsTextPiece(pieces_[next].kind)) break;
      const size_t size = WordSize(Of(next));
      if (size > 0 && !IsStem(Of(next).substr(0, size))) break;
      end += size;
      pieces_[next].span.begin += size;
      if (pieces_[next].span.begin < pieces_[next].span.end) break;
      ++next;
    }
    out_.push_back({.kind = Kind::kOpaque, .span = {begin, end}});
    return next;
  }

  const std::string_view text_;
  std::vector<MarkupPiece> pieces_;
  std::vector<MarkupPiece> out_;
};

}  // namespace

std::vector<MarkupPiece> WithScripts(std::string_view text,
                                     std::vector<MarkupPiece> pieces) {
  const bool any = std::any_of(
      pieces.begin(), pieces.end(), [text](const MarkupPiece& piece) {
        return piece.kind == Kind::kOpen &&
               ScriptOf(piece.span.Of(text)) != Script::kNone;
      });
  if (!any) return pieces;
  return Scripts(text, std::move(pieces)).Run();
}

}  // namespace trivium
