#include "server/documents/text_document.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <unicode/ucnv.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kUtf8[] = "utf-8";

struct Mark {
  std::string_view bytes;
  const char* encoding;
};
// Those of UTF-32 first, since UTF-16's begins one of them.
constexpr Mark kMarks[] = {
    {std::string_view("\xEF\xBB\xBF"), kUtf8},
    {std::string_view("\xFF\xFE\0\0", 4), "UTF-32LE"},
    {std::string_view("\0\0\xFE\xFF", 4), "UTF-32BE"},
    {std::string_view("\xFF\xFE"), "UTF-16LE"},
    {std::string_view("\xFE\xFF"), "UTF-16BE"},
};

struct ConverterCloser {
  void operator()(UConverter* converter) const { ucnv_close(converter); }
};
using Converter = std::unique_ptr<UConverter, ConverterCloser>;

Converter OpenConverter(const std::string& encoding) {
  UErrorCode error = U_ZERO_ERROR;
  return Converter(encoding.empty() ? nullptr
                                    : ucnv_open(encoding.c_str(), &error));
}

bool IsUtf8Name(const std::string& encoding) {
  const Converter converter = OpenConverter(encoding);
  UErrorCode error = U_ZERO_ERROR;
  return converter != nullptr &&
         std::string_view(ucnv_getName(converter.get(), &error)) == "UTF-8";
}

// Lists of lines take more memory than short lines do.
constexpr size_t kMostLines = 2'000'000;

absl::Status CheckLines(std::string_view text) {
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    lines += text[at] == '\n' ||
             (text[at] == '\r' && !text.substr(at + 1).starts_with('\n'));
  }
  if (lines <= kMostLines) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("it has more than {} lines; split it", kMostLines));
}

absl::Status NotIn(std::string_view body, size_t at, size_t bom,
                   const std::string& encoding) {
  return absl::InvalidArgumentError(fmt::format(
      "line {}: byte {} is not {}; name the document's encoding, or save it as "
      "UTF-8",
      std::count(body.begin(), body.begin() + static_cast<long>(at), '\n') + 1,
      at + bom, encoding));
}

size_t FirstNotUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint first = FirstCodePoint(text.substr(at));
    if (!first.well_formed) break;
    at += first.size;
  }
  return at;
}

absl::StatusOr<std::string> ToUtf8(std::string_view body, size_t bom,
                                   const std::string& encoding) {
  const Converter converter = OpenConverter(encoding);
  if (converter == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("its encoding '{}' is unknown; save the document as UTF-8",
                    Shorten(encoding)));
  }
  UErrorCode error = U_ZERO_ERROR;
  ucnv_setToUCallBack(converter.get(), UCNV_TO_U_CALLBACK_STOP, nullptr,
                      nullptr, nullptr, &error);
  std::string out;
  const char* source = body.data();
  const char* const end = body.data() + body.size();
  UChar buffer[4096];
  while (U_SUCCESS(error)) {
    UChar* target = buffer;
    ucnv_toUnicode(converter.get(), &target, buffer + 4096, &source, end,
                   nullptr, true, &error);
    icu::UnicodeString(buffer, static_cast<int32_t>(target - buffer))
        .toUTF8String(out);
    if (error != U_BUFFER_OVERFLOW_ERROR) break;
    error = U_ZERO_ERROR;
  }
  if (U_FAILURE(error)) {
    return NotIn(body, static_cast<size_t>(source - body.data()), bom,
                 encoding);
  }
  return out;
}

class TextDocument final : public Document {
 public:
  TextDocument(DecodedText source, SegmentBuilder builder,
               DecodedText::Missing missing)
      : source_(std::move(source)),
        builder_(std::move(builder)),
        missing_(missing) {
    builder_.Close();
  }

  std::vector<const DocumentSegment*> segments() const override {
    std::vector<const DocumentSegment*> all;
    for (const DocumentSegment& one : builder_.segments()) all.push_back(&one);
    return all;
  }
  size_t bytes() const override { return source_.text.size(); }
  absl::StatusOr<std::string> Render(Translations translations) const override {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string text,
        builder_.Render(translations, MostRenderedBytes()));
    return source_.Encode(text, missing_);
  }

 private:
  const DecodedText source_;
  SegmentBuilder builder_;
  const DecodedText::Missing missing_;
};

}  // namespace

absl::StatusOr<std::string> DecodedText::Encode(std::string_view other,
                                                Missing missing) const {
  if (encoding == kUtf8) return bom + std::string(other);
  const Converter converter = OpenConverter(encoding);
  UErrorCode error = U_ZERO_ERROR;
  if (converter == nullptr ||
      other.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return absl::InternalError("the document's encoding was lost");
  }
  if (missing == Missing::kReference) {
    ucnv_setFromUCallBack(converter.get(), UCNV_FROM_U_CALLBACK_ESCAPE,
                          UCNV_ESCAPE_XML_DEC, nullptr, nullptr, &error);
  } else {
    ucnv_setFromUCallBack(converter.get(), UCNV_FROM_U_CALLBACK_STOP, nullptr,
                          nullptr, nullptr, &error);
  }
  const icu::UnicodeString wide = icu::UnicodeString::fromUTF8(
      icu::StringPiece(other.data(), static_cast<int32_t>(other.size())));
  const UChar* source = wide.getBuffer();
  const UChar* const end = source + wide.length();
  std::string out = bom;
  char buffer[4096];
  while (U_SUCCESS(error)) {
    char* target = buffer;
    ucnv_fromUnicode(converter.get(), &target, buffer + sizeof(buffer), &source,
                     end, nullptr, true, &error);
    out.append(buffer, static_cast<size_t>(target - buffer));
    if (error != U_BUFFER_OVERFLOW_ERROR) break;
    error = U_ZERO_ERROR;
  }
  if (U_SUCCESS(error)) return out;
  UChar units[8];
  int8_t count = 8;
  UErrorCode why = U_ZERO_ERROR;
  ucnv_getInvalidUChars(converter.get(), units, &count, &why);
  std::string lacking;
  if (U_SUCCESS(why)) icu::UnicodeString(units, count).toUTF8String(lacking);
  return absl::InvalidArgumentError(
      fmt::format("the translation has '{}', which {} lacks; save the document "
                  "as UTF-8 first",
                  lacking, encoding));
}

absl::StatusOr<DecodedText> DecodeDocument(std::string_view data,
                                           const std::string& encoding) {
  DecodedText out;
  out.encoding = encoding.empty() ? kUtf8 : encoding;
  for (const Mark& mark : kMarks) {
    if (!data.starts_with(mark.bytes)) continue;
    out.bom = mark.bytes;
    out.encoding = mark.encoding;
    break;
  }
  const std::string_view body = data.substr(out.bom.size());
  if (IsUtf8Name(out.encoding)) out.encoding = kUtf8;
  if (out.encoding == kUtf8) {
    const size_t bad = FirstNotUtf8(body);
    if (bad < body.size()) return NotIn(body, bad, out.bom.size(), kUtf8);
    TRIVIUM_RETURN_IF_ERROR(CheckLines(body));
    out.text = body;
    return out;
  }
  TRIVIUM_ASSIGN_OR_RETURN(out.text,
                           ToUtf8(body, out.bom.size(), out.encoding));
  TRIVIUM_RETURN_IF_ERROR(CheckLines(out.text));
  const auto again = out.Encode(out.text, DecodedText::Missing::kRefuse);
  if (!again.ok() || *again != data) {
    return absl::InvalidArgumentError(
        fmt::format("encoding it as {} does not restore its bytes; save the "
                    "document as UTF-8",
                    Shorten(out.encoding)));
  }
  return out;
}

std::string DeclaredEncoding(std::string_view data, const char* pattern,
                             std::string otherwise) {
  RE2::Options options(RE2::Latin1);
  const std::string head(data.substr(0, 4096));
  std::string found;
  return RE2::PartialMatch(head, RE2(pattern, options), &found) ? found
                                                                : otherwise;
}

std::string XmlEncoding(std::string_view data, std::string otherwise) {
  return DeclaredEncoding(
      data, R"((?i)^<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["'])",
      std::move(otherwise));
}

absl::StatusOr<std::unique_ptr<Document>> NewTextDocument(
    DecodedText source, SegmentBuilder builder, DecodedText::Missing missing) {
  TRIVIUM_RETURN_IF_ERROR(builder.status());
  return std::make_unique<TextDocument>(std::move(source), std::move(builder),
                                        missing);
}

}  // namespace trivium
