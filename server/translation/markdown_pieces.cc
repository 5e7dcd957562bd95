// Parses Markdown with md4c. Blocks follow one another, and each piece begins
// where the last one ended:
//   1. md4c reports a block's events one by one; they are collected.
//   2. When a block begins or ends, MarkdownInlines finds the collected events
//      in the text.
//   3. The bytes up to the block's text become a kBreak piece.
// If the text does not match the events, the block is not translated: its bytes
// belong to the next kBreak piece.
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

// Maximum number of pieces, the same as for HTML.
constexpr size_t kMostPieces = kMostMarkupTokens;
// Maximum number of md4c's reports. md4c pads each row of a table to its full
// width, so a short text can cause many.
constexpr size_t kMostReports = 2'000'000;
// Maximum size of all links' targets and titles. md4c copies a definition for
// each link that refers to it.
constexpr size_t kMostLinkBytes = size_t{64} << 20;

// Collects md4c's reports and turns them into pieces.
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

  // Returns the span of the text that md4c points to. Empty if md4c made up the
  // characters.
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

  // Turns the reports since the last block's begin or end into pieces.
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

  // True if the only text is in images' descriptions, as in a row of badges.
  // Then each description is a text of its own.
  bool IsOfImages(const std::vector<Piece>& pieces) const {
    int open = 0;
    bool any = false;
    for (const Piece& piece : pieces) {
      if (piece.image) {
        open += piece.kind == Kind::kOpen ? 1 : -1;
        any = true;
        // The translation must write its label.
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
  const size_t body_;  // offset past the front matter
  const ParsedMarkdown parsed_;
  size_t done_;  // end of the pieces so far
  size_t at_;    // end of md4c's reports so far
  bool verbatim_ = false;
  bool too_many_ = false;
  size_t count_ = 0;
  size_t link_bytes_ = 0;
  int depth_ = 0;                   // of nested spans
  std::optional<size_t> too_deep_;  // end of the last text before
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
