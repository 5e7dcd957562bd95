#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_INLINES_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_INLINES_H_

#include <md4c.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/markup_lexer.h"
#include "server/translation/markup_pieces.h"
#include "server/translation/sentences.h"

namespace trivium {

// What md4c reports of a block's text.
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
  TextSpan span = {};  // of kText to kCode; empty: nothing of the text
  MD_SPANTYPE type = MD_SPAN_EM;  // of kEnter and kLeave

  bool HasPlace() const { return span.begin < span.end; }
};

// The pieces of a block's text. md4c tells what a text says with pointers into
// it, and between which texts an element begins or ends, but not where. What is
// between two texts are the delimiters of all that begins and ends there, in
// order; so they are found by reading on from one text to the next.
class MarkdownInlines {
 public:
  // Both outlive it.
  MarkdownInlines(std::string_view text,
                  const std::vector<MarkdownReport>& reports)
      : text_(text), reports_(reports), next_place_(reports.size()) {
    size_t place = text.size();
    for (size_t i = reports.size(); i-- > 0;) {
      next_place_[i] = place;
      if (reports[i].HasPlace()) place = reports[i].span.begin;
    }
  }

  // Where the bytes of the reports begin, of which one has a place, and none is
  // before `from`; of several places the last. npos: nowhere.
  size_t FindBegin(size_t from);
  // From `begin` on; false: the text has something else there.
  bool Run(size_t begin);

  // What Run has found, and where that ends.
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

  bool BeginsAt(size_t begin);
  bool Add(const MarkdownReport& report);
  void AddTo(size_t end, Kind kind);
  bool IsEscape(const MarkdownReport& report) const;
  bool AddText(const MarkdownReport& report);
  // "[^1]", of which md4c knows nothing, and where the text begins, "[^1]:".
  std::optional<TextSpan> NextFootnote(TextSpan span) const;
  bool AddBreak(bool hard);
  // A tag or comment, which may have several lines.
  bool AddHtml();
  void AddStartTag(size_t end, MarkupToken tag);
  void AddEndTag(size_t end, std::string_view name);
  bool HasText(size_t first) const;
  // Makes one of all pieces from `first` on.
  void Collapse(size_t first, Kind kind);
  bool Enter(MD_SPANTYPE type);
  static size_t OpenSize(MD_SPANTYPE type, std::string_view rest);
  bool Leave(MD_SPANTYPE type);
  // What is in an element, up to its end.
  TextSpan SkipTo(MD_SPANTYPE type);
  bool AddCode();
  // "<https://a.b>", or without brackets.
  bool AddAutolink();

  const std::string_view text_;
  const std::vector<MarkdownReport>& reports_;
  // [reports]: where the next text is; the end of all where there is none.
  std::vector<size_t> next_place_;
  size_t next_ = 0;  // the report that is added
  size_t at_ = 0;    // the pieces reach up to here
  std::vector<MarkupPiece> pieces_;
  std::vector<Open> open_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_INLINES_H_
