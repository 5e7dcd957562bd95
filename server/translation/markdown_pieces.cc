// Markdown by md4c. Where a block's text is not found in it as it should be
// (markdown_inlines.h), the block is not translated.
#include <fmt/format.h>
#include <md4c.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/markdown_inlines.h"
#include "server/translation/markdown_lexer.h"
#include "server/translation/markup_lexer.h"
#include "server/translation/markup_pieces.h"

namespace trivium {
namespace {

using Piece = MarkupPiece;
using Kind = MarkupPiece::Kind;
using Report = MarkdownReport;

// As many as tags of HTML.
constexpr size_t kMostPieces = kMostMarkupTokens;
// Of md4c's reports: it fills up the rows of tables, however wide, ...
constexpr size_t kMostReports = 2'000'000;
// ... and makes a definition anew for each link that names it.
constexpr size_t kMostLinkBytes = size_t{64} << 20;

// All pieces, from md4c's reports.
class MarkdownReader {
 public:
  explicit MarkdownReader(std::string_view text)
      : text_(text),
        body_(AfterFrontMatter(text)),
        parsed_(text.substr(body_)),
        done_(0),
        at_(body_) {}

  absl::StatusOr<std::vector<Piece>> Run() {
    MD_PARSER parser = {};
    parser.flags = MD_DIALECT_GITHUB;
    parser.enter_block = [](MD_BLOCKTYPE type, void*, void* self) {
      return static_cast<MarkdownReader*>(self)->EnterBlock(type);
    };
    parser.leave_block = [](MD_BLOCKTYPE, void*, void* self) {
      return static_cast<MarkdownReader*>(self)->LeaveBlock();
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return static_cast<MarkdownReader*>(self)->EnterSpan(type, detail);
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
      return static_cast<MarkdownReader*>(self)->LeaveSpan(type);
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size,
                     void* self) {
      return static_cast<MarkdownReader*>(self)->Text(type, text, size);
    };
    const int failed =
        md_parse(parsed_.text().data(),
                 static_cast<MD_SIZE>(parsed_.text().size()), &parser, this);
    if (too_many_) {
      return absl::InvalidArgumentError(
          fmt::format("has more than {} elements and texts between them; send "
                      "it in parts",
                      kMostPieces));
    }
    if (too_deep_) return TooDeepMarkup(*too_deep_);
    if (failed != 0) return absl::ResourceExhaustedError("md4c has no memory");
    if (done_ < text_.size()) AddBreak(text_.size());
    return std::move(pieces_);
  }

 private:
  int EnterBlock(MD_BLOCKTYPE type) {
    EndInlines();
    verbatim_ = type == MD_BLOCK_CODE || type == MD_BLOCK_HTML;
    return Count();
  }
  int LeaveBlock() {
    EndInlines();
    verbatim_ = false;
    return Count();
  }

  int EnterSpan(MD_SPANTYPE type, const void* detail) {
    if (type == MD_SPAN_A) {
      const auto& link = *static_cast<const MD_SPAN_A_DETAIL*>(detail);
      link_bytes_ += link.href.size + link.title.size;
    } else if (type == MD_SPAN_IMG) {
      const auto& image = *static_cast<const MD_SPAN_IMG_DETAIL*>(detail);
      link_bytes_ += image.src.size + image.title.size;
    }
    too_many_ |= link_bytes_ > kMostLinkBytes;
    if (++depth_ > kMostMarkupDepth && !too_deep_) {
      too_deep_ = at_;
      for (const Report& report : reports_) {
        too_deep_ = std::max(*too_deep_, report.span.end);
      }
    }
    return Add({.what = Report::What::kEnter, .type = type});
  }
  int LeaveSpan(MD_SPANTYPE type) {
    --depth_;
    return Add({.what = Report::What::kLeave, .type = type});
  }

  int Count() {
    too_many_ |= ++count_ > kMostReports || pieces_.size() > kMostPieces;
    return too_many_ || too_deep_ ? 1 : 0;
  }

  int Add(Report report) {
    reports_.push_back(report);
    return Count();
  }

  int Text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size) {
    const TextSpan span = PlaceOf({text, size});
    if (verbatim_) {
      at_ = std::max(at_, span.end);
      return Count();
    }
    using What = Report::What;
    switch (type) {
      case MD_TEXT_BR:
        return Add({.what = What::kHardBreak});
      case MD_TEXT_SOFTBR:
        return Add({.what = What::kSoftBreak});
      case MD_TEXT_ENTITY:
        return Add({.what = What::kEntity, .span = span});
      case MD_TEXT_HTML:
        return Add({.what = What::kHtml, .span = span});
      case MD_TEXT_CODE:
        return Add({.what = What::kCode, .span = span});
      default:
        return Add({.what = What::kText, .span = span});
    }
  }

  // Of the text; empty for what md4c says itself.
  TextSpan PlaceOf(std::string_view said) const {
    const std::string_view parsed = parsed_.text();
    const auto begin = reinterpret_cast<uintptr_t>(said.data());
    const auto first = reinterpret_cast<uintptr_t>(parsed.data());
    if (begin < first || begin + said.size() > first + parsed.size()) return {};
    const size_t at = begin - first;
    return {body_ + parsed_.PlaceOf(at),
            body_ + parsed_.PlaceOf(at + said.size())};
  }

  void AddBreak(size_t end) {
    if (done_ < end) {
      pieces_.push_back({.kind = Kind::kBreak, .span = {done_, end}});
    }
    done_ = end;
  }

  // What was reported since the last block ended is a block's text.
  void EndInlines() {
    if (std::any_of(reports_.begin(), reports_.end(),
                    [](const Report& one) { return one.HasPlace(); })) {
      MarkdownInlines inlines(text_, reports_);
      const size_t begin = inlines.FindBegin(at_);
      if (begin != text_.npos && inlines.Run(begin)) {
        AddInlines(begin, inlines.end(), &inlines.pieces());
      } else {
        for (const Report& report : reports_) {
          at_ = std::max(at_, report.span.end);
        }
      }
    }
    reports_.clear();
  }

  void AddInlines(size_t begin, size_t end, std::vector<Piece>* pieces) {
    AddBreak(begin);
    const bool apart = IsOfImages(*pieces);
    const size_t first = pieces_.size();
    for (Piece& piece : *pieces) {
      if (piece.kind == Kind::kOpen || piece.kind == Kind::kClose) {
        piece.partner += first;
        if (apart) piece.kind = Kind::kBreak;
      } else if (apart && piece.kind == Kind::kVoid) {
        piece.kind = Kind::kBreak;
      }
      pieces_.push_back(std::move(piece));
    }
    done_ = at_ = end;
  }

  // Whether pictures' descriptions are all that is said, as of a row of badges:
  // each is a text by itself.
  bool IsOfImages(const std::vector<Piece>& pieces) const {
    int open = 0;
    bool any = false;
    for (const Piece& piece : pieces) {
      if (piece.image) {
        open += piece.kind == Kind::kOpen ? 1 : -1;
        any = true;
        // Its name must be written.
        if (!piece.written.empty()) return false;
      } else if (piece.kind == Kind::kText || piece.kind == Kind::kEscape ||
                 piece.kind == Kind::kOpaque ||
                 (piece.kind == Kind::kRawText &&
                  !IsBlank(piece.span.Of(text_)))) {
        if (open == 0) return false;
      } else if (!piece.written.empty()) {
        return false;
      }
    }
    return any;
  }

  const std::string_view text_;
  const size_t body_;  // where Markdown begins
  const ParsedMarkdown parsed_;
  size_t done_;  // the pieces reach up to here ...
  size_t at_;    // ... and md4c's reports up to here
  bool verbatim_ = false;
  bool too_many_ = false;
  size_t count_ = 0;
  size_t link_bytes_ = 0;
  int depth_ = 0;                   // of spans
  std::optional<size_t> too_deep_;  // behind the last text before
  std::vector<Report> reports_;
  std::vector<Piece> pieces_;
};

}  // namespace

absl::StatusOr<std::vector<MarkupPiece>> MarkdownPieces(std::string_view text) {
  absl::StatusOr<std::vector<Piece>> pieces = MarkdownReader(text).Run();
  if (!pieces.ok()) return pieces;
  int depth = 0;
  for (const Piece& piece : *pieces) {
    if (piece.kind == Kind::kClose) --depth;
    if (piece.kind == Kind::kOpen && ++depth > kMostMarkupDepth) {
      return TooDeepMarkup(piece.span.begin);
    }
  }
  return pieces;
}

}  // namespace trivium
