#include "server/translation/unusual_spaces.h"

#include <algorithm>
#include <string>

#include "server/translation/characters.h"
#include "server/translation/cut_words.h"
#include "server/translation/numbers.h"

namespace trivium {
namespace {

constexpr size_t kLongestCompared = 64;  // bytes of a word
// Each is looked for in the whole translation. A text with more has them for
// no reason that a reader would miss.
constexpr size_t kMostSpaces = 64;

bool HasSpaceAt(std::string_view text, size_t at) {
  return u_isUWhiteSpace(FirstCharacter(text.substr(at)));
}

// True for what may stand around a word without being a part of it. The sign of
// "5 %" and "§ 5" is a part.
bool IsAroundWord(UChar32 c) {
  return u_ispunct(c) && c != '%' && c != 0x2030 && c != 0xA7;
}

// Returns the word that ends at `end`, without marks before it.
TextSpan WordUntil(std::string_view text, size_t end) {
  TextSpan word = {end, end};
  while (word.begin > 0 && end - word.begin < kLongestCompared) {
    const size_t size = LastCharacterSize(text.substr(0, word.begin));
    if (HasSpaceAt(text, word.begin - size)) break;
    word.begin -= size;
  }
  while (word.begin < end && IsAroundWord(FirstCharacter(word.Of(text)))) {
    word.begin += FirstCodePoint(word.Of(text)).size;
  }
  return word;
}

// Returns the word that begins at `begin`, without marks behind it.
TextSpan WordFrom(std::string_view text, size_t begin) {
  TextSpan word = {begin, begin};
  while (word.end < text.size() && word.end - begin < kLongestCompared &&
         !HasSpaceAt(text, word.end)) {
    word.end += FirstCodePoint(text.substr(word.end)).size;
  }
  while (begin < word.end) {
    const size_t size = LastCharacterSize(word.Of(text));
    if (!IsAroundWord(FirstCharacter(text.substr(word.end - size)))) break;
    word.end -= size;
  }
  return word;
}

class SpaceFinder {
 public:
  SpaceFinder(std::string_view source, std::string_view translation)
      : source_(source),
        translation_(translation),
        // The digits are the same in any style.
        read_(NumbersIn(source, NumberStyle())),
        written_(NumbersIn(translation, NumberStyle())) {}

  // Adds the edit for a space of the source, if its place is clear.
  void Find(const TextEdit& space) {
    const TextSpan left = WordUntil(source_, space.span.begin);
    const TextSpan right = WordFrom(source_, space.span.end);
    if (left.begin == left.end || right.begin == right.end) return;
    size_t at = BetweenSame(left.Of(source_), right.Of(source_));
    if (at == kNone) at = BesideNumber(space.span);
    if (at == kNone) at = BesideSame(left, right);
    if (at != kNone) edits_.push_back({{at, at + 1}, space.replacement});
  }

  std::vector<TextEdit> Edits() {
    std::sort(edits_.begin(), edits_.end(), [](const auto& a, const auto& b) {
      return a.span.begin < b.span.begin;
    });
    return std::move(edits_);
  }

 private:
  static constexpr size_t kNone = std::string_view::npos;

  // Returns `at` if the translation has a " " there that no edit has replaced.
  size_t FreeSpace(size_t at) const {
    const bool taken =
        std::any_of(edits_.begin(), edits_.end(),
                    [at](const auto& edit) { return edit.span.begin == at; });
    return at < translation_.size() && translation_[at] == ' ' && !taken
               ? at
               : kNone;
  }

  bool IsAlnumAt(size_t at) const {
    return at < translation_.size() &&
           u_isalnum(FirstCharacter(translation_.substr(at)));
  }

  bool IsAlnumBefore(size_t at) const {
    return at > 0 &&
           IsAlnumAt(at - LastCharacterSize(translation_.substr(0, at)));
  }

  // Returns the first free space between two words of the source.
  size_t BetweenSame(std::string_view left, std::string_view right) const {
    const std::string both = std::string(left) + " " + std::string(right);
    for (size_t at = translation_.find(both); at != kNone;
         at = translation_.find(both, at + 1)) {
      if (IsAlnumBefore(at) || IsAlnumAt(at + both.size())) continue;
      if (const size_t space = FreeSpace(at + left.size()); space != kNone) {
        return space;
      }
    }
    return kNone;
  }

  // Returns the space within, behind or before the first number that has the
  // digits of the source's number there.
  size_t BesideNumber(TextSpan space) const {
    for (const WrittenNumber& number : read_) {
      if (number.span.end < space.begin || number.span.begin > space.end) {
        continue;
      }
      const std::string digits = DigitsOf(source_, number);
      for (const WrittenNumber& other : written_) {
        if (DigitsOf(translation_, other) != digits) continue;
        const size_t at = SpaceOf(number, other, space);
        if (at != kNone) return at;
      }
    }
    return kNone;
  }

  // Returns the free space of `written` that is where `space` is of `read`.
  size_t SpaceOf(const WrittenNumber& read, const WrittenNumber& written,
                 TextSpan space) const {
    if (read.span.end == space.begin) return FreeSpace(written.span.end);
    if (read.span.begin == space.end) {
      return written.span.begin == 0 ? kNone
                                     : FreeSpace(written.span.begin - 1);
    }
    for (size_t i = 0; i + 1 < read.runs.size(); ++i) {
      if (read.runs[i].end == space.begin && i < written.runs.size()) {
        return FreeSpace(written.runs[i].end);
      }
    }
    return kNone;
  }

  // Returns the free space before the right word or behind the left one, if
  // both texts have that word once.
  size_t BesideSame(TextSpan left, TextSpan right) const {
    const auto only = [this](std::string_view word) {
      return OnlyWord(source_, word) == kNone ? kNone
                                              : OnlyWord(translation_, word);
    };
    if (const size_t at = only(right.Of(source_)); at != kNone && at > 0) {
      if (const size_t space = FreeSpace(at - 1); space != kNone) return space;
    }
    const size_t at = only(left.Of(source_));
    return at == kNone ? kNone : FreeSpace(at + (left.end - left.begin));
  }

  const std::string_view source_, translation_;
  const std::vector<WrittenNumber> read_, written_;
  std::vector<TextEdit> edits_;
};

}  // namespace

std::vector<TextEdit> UnusualSpaceEdits(std::string_view source,
                                        const std::vector<TextEdit>& spaces,
                                        std::string_view translation) {
  if (spaces.empty() || spaces.size() > kMostSpaces) return {};
  SpaceFinder finder(source, translation);
  for (const TextEdit& space : spaces) finder.Find(space);
  return finder.Edits();
}

}  // namespace trivium
