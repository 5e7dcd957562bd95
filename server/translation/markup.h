#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/translation/markup_pieces.h"
#include "server/translation/sentences.h"

namespace trivium {

// That words of a translation, bytes of its text, stand for words of what was
// translated, bytes of Markup::plain().
struct AlignedWords {
  TextSpan target;
  TextSpan source;
  float weight = 0;  // over 0; more: surer
  // They are the same, and a word each, into which no tag comes.
  bool whole = false;
};

// A text with markup, taken apart: what is there to translate, and for each
// translated sentence of that the markup put back.
//
//   auto markup = Markup::Parse(MarkupFormat::kHtml, "<p>A <b>red</b> hat.");
//   markup->plain()               // "\nA red hat."
//   const TextSpan span = {1, 11};  // a sentence of it
//   const Markup::Sentence sentence = markup->In(span);
//   sentence.source.Of(text)      // "A <b>red</b> hat."
//   markup->Place(sentence, "Ein roter Hut.", words)
//   // "Ein <b>roter</b> Hut."
//
// Bytes of the text that are in no sentence are none of its business, and stay
// as they are: whoever joins the sentences copies them. Immutable.
class Markup {
 public:
  // U+FFFC, the object replacement character.
  static constexpr std::string_view kObject = "\uFFFC";

  // `text` has less than 4 GiB. INVALID_ARGUMENT, without naming it, as
  // functions of markup_pieces.h.
  static absl::StatusOr<Markup> Parse(MarkupFormat format, std::string text);

  const std::string& text() const { return text_; }

  // Without tags, entities decoded, a space for each run of white space, a line
  // break for each piece that ends sentences, and U+FFFC for each piece that is
  // not to be translated.
  const std::string& plain() const { return plain_; }
  // Of plain(), those U+FFFC: ascending.
  const std::vector<TextSpan>& opaque() const { return opaque_; }
  bool IsOpaque(size_t plain) const;

  // The text's bytes of a span of plain().
  TextSpan InText(TextSpan plain) const;

  // What the text has of a sentence and the tags that are the sentence's own:
  // those within, and around it those whose partner is within.
  struct Sentence {
    TextSpan plain;
    TextSpan source;  // of the text
    // Whether there is anything to place.
    bool marked() const { return first_tag < last_tag; }
    // Of the text's tags [first_tag, last_tag); an opaque piece is one.
    size_t first_tag = 0;
    size_t last_tag = 0;
  };
  // Of a span of plain() that is not empty and has no white space around, or
  // line break within.
  Sentence In(TextSpan plain) const;
  // Whether Place looks at words other than of opaque pieces.
  bool NeedsWords(const Sentence& sentence) const;

  // The translation with the sentence's tags, each as often as in the text,
  // which is once, and nested as there; escaped. An element encloses the words
  // that stand for its own, of several runs of such the longest; what stands
  // for nothing goes where its neighbours went. U+FFFC stands for an opaque
  // piece where `words` says so.
  std::string Place(const Sentence& sentence, std::string_view translation,
                    std::span<const AlignedWords> words) const;

 private:
  friend class MarkupPlacing;
  friend class MarkupWriter;
  friend class MarkdownWriter;

  // Bytes of the text and what plain() has of them: as many, the same, or
  // others in their place.
  struct Run {
    uint32_t plain = 0;
    uint32_t source = 0;
    uint32_t plain_size = 0;
    uint32_t source_size = 0;
  };
  struct Tag {
    MarkupPiece::Kind kind;  // kOpen, kClose, kVoid or kOpaque
    bool raw = false;
    uint32_t begin = 0, end = 0;  // of the text
    uint32_t plain = 0;           // before this byte of plain()
    uint32_t partner = 0;         // of kOpen and kClose: its index
    std::string written = {};     // in a translation; empty: its bytes

    TextSpan span() const { return {begin, end}; }
  };

  Markup() = default;

  void Add(const MarkupPiece& piece);
  void AddText(TextSpan span, bool escaped);
  void AddSpace(TextSpan span);
  void AddRun(std::string_view plain, TextSpan source);
  // Adds what the entity at `at` stands for, and returns its bytes; 0: there is
  // none.
  size_t AddEscape(size_t at, size_t end);
  const Run& RunAt(size_t plain) const;
  // The translation's bytes as the format writes them.
  std::string Escaped(std::string_view translation, TextSpan span,
                      bool raw) const;
  bool IsRaw(size_t plain) const;

  MarkupFormat format_ = MarkupFormat::kHtml;
  std::string text_;
  std::string plain_;
  std::vector<Run> runs_;  // ascending; they have all of plain()
  std::vector<Tag> tags_;  // in the text's order
  std::vector<TextSpan> opaque_;
  std::vector<TextSpan> raw_;  // of plain(): without escapes
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_H_
