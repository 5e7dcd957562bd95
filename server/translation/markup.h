#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/translation/markdown_escapes.h"
#include "server/translation/markup_pieces.h"
#include "server/translation/sentences.h"
#include "server/translation/text_edits.h"

namespace trivium {

// Aligns words of a translation with words of its source. `target` is a span of
// the translation's bytes, `source` one of Markup::plain().
struct AlignedWords {
  TextSpan target;
  TextSpan source;
  // Above 0; higher means more certain. What is known without attention has
  // kCertain, which is more than any attention adds up to.
  static constexpr float kCertain = 1000;
  float weight = 0;
  // True if both spans have the same text and each is a single word, which no
  // tag may split.
  bool whole = false;
};

// A parsed text with markup. It offers the plain text to translate, and puts
// the markup back into each translated sentence.
//
//   auto markup = Markup::Parse(MarkupFormat::kHtml, "<p>A <b>red</b> hat.");
//   markup->plain()               // "\nA red hat."
//   const TextSpan span = {1, 11};  // a sentence of it
//   const Markup::Sentence sentence = markup->In(span);
//   sentence.source.Of(text)      // "A <b>red</b> hat."
//   markup->Place(sentence, "Ein roter Hut.", words)
//   // "Ein <b>roter</b> Hut."
//
// Bytes of the text outside of all sentences stay as they are; the caller
// copies them when it joins the sentences.
class Markup {
 public:
  // U+FFFC, the object replacement character.
  static constexpr std::string_view kObject = "\uFFFC";

  // Parses a text of less than 4 GiB. Returns INVALID_ARGUMENT for the reasons
  // in markup_pieces.h; the message does not name the text.
  static absl::StatusOr<Markup> Parse(MarkupFormat format, std::string text);

  const std::string& text() const { return text_; }

  // The text without tags and with entities decoded. It has a space for each
  // run of white space, a line break for each piece that ends sentences, and
  // U+FFFC for each opaque piece, which is not translated.
  const std::string& plain() const { return plain_; }
  // The spans of plain() with the U+FFFC of opaque pieces, ascending.
  const std::vector<TextSpan>& opaque() const { return opaque_; }
  // True if an opaque piece begins at byte `plain` of plain().
  bool IsOpaque(size_t plain) const;

  // Edits plain(); the text stays. The edits must ascend and not overlap. None
  // may overlap an opaque piece.
  void Edit(const std::vector<TextEdit>& edits);

  // Returns the contents of the links of a sentence, spans of plain(), if it
  // consists of at least two links with no letters between them, as menus do.
  // Else returns none.
  std::vector<TextSpan> LinksOf(TextSpan plain) const;

  // Returns the span of the text for a span of plain() that is not empty.
  TextSpan InText(TextSpan plain) const;

  // A sentence in the text, with its own tags: the tags within it, and those
  // around it whose partner is within it.
  struct Sentence {
    TextSpan plain;
    TextSpan source;  // of the text
    // True if there are tags to place.
    bool marked() const { return first_tag < last_tag; }
    // The sentence's tags are [first_tag, last_tag) of the text's. An opaque
    // piece counts as a tag.
    size_t first_tag = 0;
    size_t last_tag = 0;
  };
  // Returns the sentence at a span of plain(). The span must not be empty,
  // begin or end with white space, or contain a line break.
  Sentence In(TextSpan plain) const;
  // True if Place uses the alignment of words other than opaque pieces.
  bool NeedsWords(const Sentence& sentence) const;

  // Returns the translation, escaped, with each of the sentence's tags once and
  // nested as in the text. An element encloses the words that align with its
  // own; if they form several runs, the longest. A tag or element without such
  // words goes where its neighbours went. A U+FFFC of the translation that
  // `words` aligns with an opaque piece is replaced by it.
  std::string Place(const Sentence& sentence, std::string_view translation,
                    std::span<const AlignedWords> words) const;

 private:
  friend class MarkupPlacing;
  friend class MarkupTreeGrower;
  friend class MarkupWriter;
  friend class MarkdownWriter;

  // A run of the text's bytes and the bytes of plain() that stand for it. If
  // the sizes are equal, they correspond byte by byte; otherwise only as a
  // whole.
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
    uint32_t plain = 0;           // position: before this byte of plain()
    uint32_t partner = 0;         // of kOpen and kClose: the other's index
    std::string written = {};     // replaces its bytes in a translation

    TextSpan span() const { return {begin, end}; }
  };

  Markup() = default;

  // True if the element of a start tag is a link.
  bool IsLink(size_t tag) const;
  // True if it is one, or has nothing but one.
  bool IsAroundLink(size_t tag) const;

  // True if piece `i`, or an element that begins there, has a word that would
  // run into the one before, since only the page's style parts them:
  // "<b>Name:</b>Ann", "<span>Home</span><span>Events</span>". Each is a text
  // of its own. But "Java<b>Script</b>" is one word.
  bool RunsTogether(const std::vector<MarkupPiece>& pieces, size_t i) const;
  void Add(const MarkupPiece& piece);
  void AddText(TextSpan span, bool escaped);
  void AddSpace(TextSpan span);
  void AddRun(std::string_view plain, TextSpan source);
  // Adds the character that the entity at `at` stands for. Returns the entity's
  // size in bytes, or 0 if there is none.
  size_t AddEscape(size_t at, size_t end);
  const Run& RunAt(size_t plain) const;
  // Returns a span of the translation, escaped as the format requires.
  std::string Escaped(std::string_view translation, TextSpan span,
                      bool raw) const;
  bool IsRaw(size_t plain) const;
  PlainMarks PlainMarksIn(const Sentence& sentence) const;  // of Markdown

  MarkupFormat format_ = MarkupFormat::kHtml;
  std::string text_;
  std::string plain_;
  std::vector<Run> runs_;  // ascending; they cover all of plain()
  std::vector<Tag> tags_;  // in the text's order
  std::vector<TextSpan> opaque_;
  std::vector<TextSpan> raw_;  // spans of plain() without escapes
  // The text's entity for U+00A0, if it has one.
  std::string no_break_space_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_H_
