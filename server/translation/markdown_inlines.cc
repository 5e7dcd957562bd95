// FindBegin parses on trial, with the members that Run uses, and clears them.
// Run does not, so it comes last, and once.
//
// Always:
// - The pieces follow one another without a gap, up to at_. Each report adds
//   its bytes and moves at_, or does not match the text. In that case Run
//   returns false, and its pieces must not be used.
// - open_ has the elements without an end so far: those that md4c reports, and
//   HTML tags, whose ends only the text tells. An HTML end tag finds no partner
//   beyond the innermost element of md4c. The end of such an element forgets
//   the HTML tags in it. So partners nest.
// - The start tag of an inline HTML element is kVoid until its end tag comes.
//   So are marks of ==highlights==.
// - Collapse replaces an element by one piece when open_ has nothing inside it.
//   So `partner` and Open::piece never point to a removed piece.
#include "server/translation/markdown_inlines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/markdown_lexer.h"
#include "server/translation/markup_elements.h"

namespace trivium {
namespace {

using Piece = MarkupPiece;
using Report = MarkdownReport;

// Maximum number of open HTML tags in which an end tag looks for its partner.
constexpr size_t kMostOpenTags = 100;
// Maximum number of offsets tried as the begin of a block.
constexpr int kMostBegins = 300;

}  // namespace

size_t MarkdownInlines::FindBegin(size_t from) {
  const size_t text =
      std::find_if(reports_.begin(), reports_.end(), [](const Report& one) {
        return one.HasPlace();
      })->span.begin;
  if (reports_.front().HasPlace()) {
    const bool escape = text > from && text_[text - 1] == '\\' &&
                        absl::ascii_ispunct(text_[text]);
    return escape ? text - 1 : text;
  }
  int tries = 0;
  for (size_t at = text; at-- > from && tries < kMostBegins;) {
    constexpr std::string_view kBegins = "*_~[!<`";
    if (kBegins.find(text_[at]) == kBegins.npos) continue;
    // A run of these is one delimiter, so only its begin is tried.
    const bool run = text_[at] == '`' || text_[at] == '~';
    if (run && at > from && text_[at - 1] == text_[at]) continue;
    ++tries;
    if (BeginsAt(at)) return at;
  }
  // The block may begin with a link without brackets.
  return BeginsAt(text) ? text : text_.npos;
}

bool MarkdownInlines::Run(size_t begin) {
  at_ = begin;
  for (next_ = 0; next_ < reports_.size(); ++next_) {
    if (!Add(reports_[next_])) return false;
  }
  return true;
}

// True if the bytes between `begin` and the first report with a place match all
// reports before it. Leaves no pieces.
bool MarkdownInlines::BeginsAt(size_t begin) {
  at_ = begin;
  bool found = true;
  for (next_ = 0; found && next_ < reports_.size(); ++next_) {
    const Report& report = reports_[next_];
    if (report.HasPlace()) {
      found = at_ == report.span.begin || IsEscape(report);
      break;
    }
    found = Add(report);
  }
  pieces_.clear();
  open_.clear();
  return found;
}

bool MarkdownInlines::Add(const Report& report) {
  switch (report.what) {
    case Report::What::kText:
      return AddText(report);
    case Report::What::kEntity:
      if (at_ != report.span.begin) return false;
      AddTo(report.span.end, Kind::kText);
      return true;
    case Report::What::kHtml:
      return AddHtml();
    case Report::What::kCode:
      return false;  // outside of code
    case Report::What::kSoftBreak:
    case Report::What::kHardBreak:
      return AddBreak(report.what == Report::What::kHardBreak);
    case Report::What::kEnter:
      return Enter(report.type);
    case Report::What::kLeave:
      return Leave(report.type);
  }
  return false;
}

void MarkdownInlines::AddTo(size_t end, Kind kind) {
  pieces_.push_back({.kind = kind, .span = {at_, end}});
  at_ = end;
}

bool MarkdownInlines::IsEscape(const Report& report) const {
  return report.what == Report::What::kText && at_ + 1 == report.span.begin &&
         text_[at_] == '\\' && absl::ascii_ispunct(text_[at_ + 1]);
}

bool MarkdownInlines::AddText(const Report& report) {
  const TextSpan span = report.span;
  if (!report.HasPlace()) return true;
  if (IsEscape(report)) {
    AddTo(span.begin + 1, Kind::kEscape);
  } else if (at_ < span.begin) {
    if (!IsBlank(text_.substr(at_, span.begin - at_))) return false;
    AddTo(span.begin, Kind::kSpace);
  } else if (at_ > span.begin) {
    return false;
  }
  while (at_ < span.end) {
    const std::optional<MarkdownMark> mark =
        extensions_.Next({at_, span.end}, PlaceInBlock());
    const size_t end = mark ? mark->span.begin : span.end;
    if (at_ < end) AddTo(end, Kind::kRawText);
    if (mark) AddMark(*mark);
  }
  return true;
}

MarkdownExtensions::Place MarkdownInlines::PlaceInBlock() const {
  using Place = MarkdownExtensions::Place;
  if (pieces_.empty()) return Place::kBlock;
  const Piece& last = pieces_.back();
  const bool after_break =
      (last.kind == Kind::kSpace || last.kind == Kind::kBreak) &&
      last.span.Of(text_).find('\n') != text_.npos;
  return after_break ? Place::kLine : Place::kWithin;
}

void MarkdownInlines::AddMark(const MarkdownMark& mark) {
  const size_t end = mark.span.end;
  switch (mark.kind) {
    case MarkdownMark::Kind::kFootnote:
    case MarkdownMark::Kind::kAttributes:
      return AddTo(end, Kind::kVoid);
    case MarkdownMark::Kind::kName:
      return AddTo(end, Kind::kOpaque);
    case MarkdownMark::Kind::kLine:
      // The line before ends as well.
      if (!pieces_.empty()) pieces_.back().kind = Kind::kBreak;
      return AddTo(end, Kind::kBreak);
    case MarkdownMark::Kind::kHighlight:
      break;
  }
  MarkupToken tag;
  tag.name = mark.span.Of(text_);
  const bool open = FindOpen(tag.name).has_value();
  if (open && extensions_.Closes(mark.span.begin)) {
    AddEndTag(end, tag.name);
  } else if (!open && extensions_.Opens(mark.span.begin)) {
    AddStartTag(end, std::move(tag));
  } else {
    AddTo(end, Kind::kRawText);
  }
}

bool MarkdownInlines::AddBreak(bool hard) {
  const size_t end = AfterLineBreak(text_, at_, hard);
  if (end == at_) return false;
  AddTo(end, hard || IsAfterBoldLine() ? Kind::kBreak : Kind::kSpace);
  return true;
}

// True behind a line that is bold as a whole, as a heading is: "> **Warning**".
bool MarkdownInlines::IsAfterBoldLine() const {
  if (pieces_.empty() || pieces_.back().kind != Kind::kClose) return false;
  const size_t open = pieces_.back().partner;
  const std::string_view mark = pieces_[open].span.Of(text_);
  if (mark != "**" && mark != "__") return false;
  return open == 0 ||
         ((pieces_[open - 1].kind == Kind::kSpace ||
           pieces_[open - 1].kind == Kind::kBreak) &&
          pieces_[open - 1].span.Of(text_).find('\n') != text_.npos);
}

bool MarkdownInlines::AddHtml() {
  if (at_ != reports_[next_].span.begin) return false;
  size_t end = reports_[next_].span.end;
  // Joins the reports of all lines: md4c reports a line's end, and sometimes
  // the text before it, without a place.
  while (next_ + 1 < reports_.size() &&
         reports_[next_ + 1].what == Report::What::kHtml &&
         (!reports_[next_ + 1].HasPlace() || !reports_[next_].HasPlace())) {
    ++next_;
    end = std::max(end, reports_[next_].span.end);
  }
  const TextSpan span = {at_, end};
  std::vector<MarkupToken> tokens = LexMarkup(span.Of(text_), false);
  const bool tag =
      !tokens.empty() && (tokens[0].kind == MarkupToken::Kind::kStart ||
                          tokens[0].kind == MarkupToken::Kind::kEnd);
  if (!tag) {
    AddTo(end, Kind::kVoid);
  } else if (tokens[0].kind == MarkupToken::Kind::kStart) {
    AddStartTag(end, std::move(tokens[0]));
  } else {
    AddEndTag(end, tokens[0].name);
  }
  return true;
}

void MarkdownInlines::AddStartTag(size_t end, MarkupToken tag) {
  const ElementRole role = RoleOf(tag.name);
  if (role == ElementRole::kBlock && !tag.untranslated) {
    return AddTo(end, Kind::kBreak);
  }
  open_.push_back({.piece = pieces_.size(),
                   .is_html = true,
                   .name = std::move(tag.name),
                   .untranslated = tag.untranslated});
  AddTo(end, role == ElementRole::kListing ? Kind::kBreak : Kind::kVoid);
}

std::optional<size_t> MarkdownInlines::FindOpen(std::string_view name) const {
  for (size_t far = 1; far <= std::min(open_.size(), kMostOpenTags); ++far) {
    const Open& open = open_[open_.size() - far];
    if (!open.is_html) break;
    if (open.name == name) return open_.size() - far;
  }
  return std::nullopt;
}

void MarkdownInlines::AddEndTag(size_t end, std::string_view name) {
  const ElementRole role = RoleOf(name);
  const std::optional<size_t> found = FindOpen(name);
  if (!found) {
    const bool block =
        role == ElementRole::kBlock || role == ElementRole::kListing;
    return AddTo(end, block ? Kind::kBreak : Kind::kVoid);
  }
  const Open open = open_[*found];
  open_.resize(*found);
  const bool inline_role = role == ElementRole::kInline;
  if (inline_role && !open.untranslated) {
    pieces_[open.piece].kind = Kind::kOpen;
    pieces_[open.piece].partner = pieces_.size();
    AddTo(end, Kind::kClose);
    pieces_.back().partner = open.piece;
    return;
  }
  // The whole element becomes one piece.
  AddTo(end, Kind::kVoid);
  Kind kind = Kind::kVoid;
  if (role == ElementRole::kListing || role == ElementRole::kBlock) {
    kind = Kind::kBreak;
  } else if (role != ElementRole::kObject && HasText(open.piece)) {
    kind = Kind::kOpaque;
  }
  Collapse(open.piece, kind);
}

bool MarkdownInlines::HasText(size_t first) const {
  return std::any_of(
      pieces_.begin() + first, pieces_.end(), [this](const Piece& piece) {
        return piece.kind == Kind::kOpaque || piece.kind == Kind::kEscape ||
               ((piece.kind == Kind::kText || piece.kind == Kind::kRawText) &&
                !IsBlank(piece.span.Of(text_)));
      });
}

void MarkdownInlines::Collapse(size_t first, Kind kind) {
  const size_t begin = pieces_[first].span.begin;
  pieces_.resize(first);
  pieces_.push_back({.kind = kind, .span = {begin, at_}});
}

bool MarkdownInlines::Enter(MD_SPANTYPE type) {
  if (type == MD_SPAN_CODE) return AddCode();
  const std::string_view rest = text_.substr(at_);
  if (type == MD_SPAN_A && !rest.starts_with('[')) return AddAutolink();
  const size_t size = OpenSize(type, rest);
  if (size == 0) return false;
  open_.push_back({.piece = pieces_.size()});
  AddTo(at_ + size, Kind::kOpen);
  return true;
}

size_t MarkdownInlines::OpenSize(MD_SPANTYPE type, std::string_view rest) {
  const auto run = [rest](char c, size_t most) {
    size_t size = 0;
    while (size < std::min(rest.size(), most) && rest[size] == c) ++size;
    return size;
  };
  switch (type) {
    case MD_SPAN_EM:
      return std::max(run('*', 1), run('_', 1));
    case MD_SPAN_STRONG:
      return std::max(run('*', 2), run('_', 2)) == 2 ? 2 : 0;
    case MD_SPAN_DEL:
      return run('~', 2);
    case MD_SPAN_A:
      return run('[', 1);
    case MD_SPAN_IMG:
      return rest.starts_with("![") ? 2 : 0;
    default:
      return 0;
  }
}

bool MarkdownInlines::Leave(MD_SPANTYPE type) {
  while (!open_.empty() && open_.back().is_html) open_.pop_back();
  if (open_.empty()) return false;
  const size_t open = open_.back().piece;
  open_.pop_back();
  const TextSpan opener = pieces_[open].span;
  size_t end = at_;
  std::string written;
  if (type == MD_SPAN_A || type == MD_SPAN_IMG) {
    end = AfterLink(text_, at_, next_place_[next_]);
    if (end == at_) return false;
    const std::string_view tag = text_.substr(at_, end - at_);
    if (tag == "]" || tag == "][]") {
      // The link's text is also the label of its definition, so the translation
      // must write the label.
      const TextSpan label = {opener.end, at_};
      if (label.Of(text_).starts_with('^')) {
        at_ = end;
        Collapse(open, Kind::kVoid);  // a footnote
        return true;
      }
      written = "][" + InOneLine(label.Of(text_)) + "]";
    }
  } else {
    const std::string_view delimiter = opener.Of(text_);
    if (text_.substr(at_, delimiter.size()) != delimiter) return false;
    end = at_ + delimiter.size();
  }
  if (type == MD_SPAN_IMG && !HasText(open)) {
    at_ = end;
    Collapse(open, Kind::kVoid);
    return true;
  }
  pieces_[open].partner = pieces_.size();
  AddTo(end, Kind::kClose);
  pieces_.back().partner = open;
  pieces_.back().written = std::move(written);
  if (type == MD_SPAN_IMG) {
    pieces_[open].image = pieces_.back().image = true;
  }
  return true;
}

TextSpan MarkdownInlines::SkipTo(MD_SPANTYPE type) {
  TextSpan inner = {at_, at_};
  bool first = true;
  for (++next_; next_ < reports_.size(); ++next_) {
    const Report& report = reports_[next_];
    if (report.what == Report::What::kLeave && report.type == type) break;
    if (!report.HasPlace()) continue;
    if (first) inner.begin = report.span.begin;
    first = false;
    inner.end = std::max(inner.end, report.span.end);
  }
  return inner;
}

bool MarkdownInlines::AddCode() {
  size_t ticks = 0;
  while (text_.substr(at_ + ticks).starts_with('`')) ++ticks;
  const TextSpan inner = SkipTo(MD_SPAN_CODE);
  if (ticks == 0 || inner.begin < at_ + ticks) return false;
  const std::string_view fence = text_.substr(at_, ticks);
  const size_t close = text_.find(fence, inner.end);
  if (close == text_.npos) return false;
  AddTo(close + ticks, Kind::kOpaque);
  return true;
}

bool MarkdownInlines::AddAutolink() {
  const bool brackets = text_.substr(at_).starts_with('<');
  const TextSpan inner = SkipTo(MD_SPAN_A);
  // BeginsAt also tries the byte after a '<', which is no link without
  // brackets.
  if (!brackets && at_ > 0 && text_[at_ - 1] == '<') return false;
  if (inner.begin != at_ + (brackets ? 1 : 0) || inner.end <= inner.begin) {
    return false;
  }
  if (brackets && !text_.substr(inner.end).starts_with('>')) return false;
  AddTo(inner.end + (brackets ? 1 : 0), Kind::kOpaque);
  return true;
}

}  // namespace trivium
