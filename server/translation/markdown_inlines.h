#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_INLINES_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_INLINES_H_

#include <md4c.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/markdown_extensions.h"
#include "server/translation/markup_lexer.h"
#include "server/translation/markup_pieces.h"
#include "server/translation/sentences.h"

namespace trivium {

// One event that md4c reports within a block's text.
struct MarkdownReport {
  enum class What {
    kText,
    kEntity,
    kHtml,
    kCode,
    kSoftBreak,
    kHardBreak,
    kEnter,
    kLeave
  };
  What what = What::kText;
  TextSpan span = {};             // of kText to kCode; empty if not in the text
  MD_SPANTYPE type = MD_SPAN_EM;  // of kEnter and kLeave

  // True if the report points to bytes of the text.
  bool HasPlace() const { return span.begin < span.end; }
};

// Finds the pieces of a block's text. md4c reports each text with pointers into
// the source, and between which texts an element begins or ends, but not at
// which byte. The bytes between two texts are the delimiters of all elements
// that begin and end there, in order. So the delimiters are found by parsing on
// from one text to the next.
class MarkdownInlines {
 public:
  // Both arguments must outlive this object.
  MarkdownInlines(std::string_view text,
                  const std::vector<MarkdownReport>& reports)
      : text_(text),
        reports_(reports),
        next_place_(reports.size()),
        extensions_(text, EndOf(reports)) {
    size_t place = text.size();
    for (size_t i = reports.size(); i-- > 0;) {
      next_place_[i] = place;
      if (reports[i].HasPlace()) place = reports[i].span.begin;
    }
  }

  // Returns the offset where the bytes of the reports begin, or npos if they
  // are not found. If several offsets fit, returns the last. At least one
  // report must have a place, and no place may be before `from`.
  size_t FindBegin(size_t from);
  // Finds the pieces of all reports, from `begin` on. Returns false if the text
  // does not match the reports.
  bool Run(size_t begin);

  // The pieces that Run found, and the offset just past the last one.
  std::vector<MarkupPiece>& pieces() { return pieces_; }
  size_t end() const { return at_; }

 private:
  using Kind = MarkupPiece::Kind;
  struct Open {
    size_t piece = 0;
    bool is_html = false;
    std::string name = {};
    bool untranslated = false;
  };

  static size_t EndOf(const std::vector<MarkdownReport>& reports) {
    size_t end = 0;
    for (const MarkdownReport& one : reports) {
      end = std::max(end, one.span.end);
    }
    return end;
  }
  bool BeginsAt(size_t begin);
  bool Add(const MarkdownReport& report);
  void AddTo(size_t end, Kind kind);
  bool IsEscape(const MarkdownReport& report) const;
  bool AddText(const MarkdownReport& report);
  MarkdownExtensions::Place PlaceInBlock() const;
  void AddMark(const MarkdownMark& mark);
  bool AddBreak(bool hard);
  bool IsAfterBoldLine() const;
  // Adds a tag or comment, which may span several lines.
  bool AddHtml();
  void AddStartTag(size_t end, MarkupToken tag);
  // Returns the index in open_ of the HTML tag that an end tag ends.
  std::optional<size_t> FindOpen(std::string_view name) const;
  void AddEndTag(size_t end, std::string_view name);
  bool HasText(size_t first) const;
  // Replaces all pieces from `first` on by a single one.
  void Collapse(size_t first, Kind kind);
  bool Enter(MD_SPANTYPE type);
  static size_t OpenSize(MD_SPANTYPE type, std::string_view rest);
  bool Leave(MD_SPANTYPE type);
  // Skips the reports up to the end of an element and returns the span of its
  // contents.
  TextSpan SkipTo(MD_SPANTYPE type);
  bool AddCode();
  // Adds "<https://a.b>", or the same without brackets.
  bool AddAutolink();

  const std::string_view text_;
  const std::vector<MarkdownReport>& reports_;
  // [reports]: begin of the next report with a place, or the text's size.
  std::vector<size_t> next_place_;
  MarkdownExtensions extensions_;
  size_t next_ = 0;  // the report being added
  size_t at_ = 0;    // end of the pieces so far
  std::vector<MarkupPiece> pieces_;
  std::vector<Open> open_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_INLINES_H_
