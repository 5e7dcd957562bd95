#ifndef TRIVIUM_SERVER_DOCUMENTS_DOCUMENT_H_
#define TRIVIUM_SERVER_DOCUMENTS_DOCUMENT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trivium {

// The way to read a document.
struct DocumentOptions {
  // Language of the translation, as BCP 47. It is written into documents whose
  // format has a place for it. May be empty.
  std::string target_language = "";
  // Encoding of documents without a byte order mark, in formats that do not
  // declare it. Empty: UTF-8.
  std::string encoding = "";
  // PO and XLIFF: also translate texts that have a translation.
  bool retranslate = false;
  // PO: mark the entries that get a translation as fuzzy.
  bool mark_fuzzy = false;
  // JSON: translate keys, too.
  bool keys = false;
  // JSON: translate only values under keys with these names. Empty: all.
  std::vector<std::string> only_keys = {};
  // CSV and TSV: translate only these columns, by their names or by numbers
  // from 1. Empty: all.
  std::vector<std::string> columns = {};
  // CSV and TSV: the first row has no names of columns.
  bool no_header = false;
};

// The text of a segment as it is translated. Equal ones are translated once.
struct SegmentText {
  enum class Format {
    kPlain,
    kHtml,    // tags that only number the segment's marks (document_segment.h)
    kMarkup,  // the document's own markup, which the translator keeps
  };

  std::string text;
  Format format = Format::kPlain;

  bool operator==(const SegmentText&) const = default;
  template <typename H>
  friend H AbslHashValue(H state, const SegmentText& text) {
    return H::combine(std::move(state), text.text,
                      static_cast<int>(text.format));
  }
  // False if there is nothing to translate.
  bool HasLetters() const;
};

// The most texts and marks of a document. Each takes hundreds of bytes of
// memory, however short it is.
inline constexpr size_t kMostDocumentItems = 500'000;
// The most bytes of all of them, each as it is written and as it is read. A
// format may hold a text several times.
inline constexpr size_t kMostDocumentItemBytes = size_t{512} << 20;

struct DocumentSegment;
// Translations of segments, one for each; nullopt: it stays as it is.
using Translations = std::span<const std::optional<std::string>>;

// A document as texts between bytes that do not change:
//
//   auto document = format.read(bytes, options);
//   for (const DocumentSegment* one : document->segments()) ... one->sent ...
//   document->Render(translations)   // the translated document's bytes
//
// A segment whose translation equals its text is written as it was read. So
// every byte outside of translated texts is the original's. Immutable.
class Document {
 public:
  virtual ~Document() = default;

  // In the document's order. They live as long as the document.
  virtual std::vector<const DocumentSegment*> segments() const = 0;

  // Its bytes as UTF-8, unpacked.
  virtual size_t bytes() const = 0;
  // The most bytes of its translation: a short text that occurs again and again
  // may have a long one. Scripts of three bytes for a letter, and their escapes
  // in JSON, take up to eight times the bytes of English.
  size_t MostRenderedBytes() const { return (1 << 20) + 16 * bytes(); }

  // Returns the document with translations that DocumentSegment::Parts accepts.
  // INVALID_ARGUMENT if the document's encoding lacks one of their characters,
  // or if they are longer than MostRenderedBytes.
  virtual absl::StatusOr<std::string> Render(
      Translations translations) const = 0;
};

// INVALID_ARGUMENT if a translated document has more bytes than it may.
absl::Status CheckRenderedBytes(size_t bytes, size_t most);

// The options of DocumentOptions that a format may have, as bits.
enum DocumentOption : unsigned {
  kEncodingOption = 1,
  kRetranslateOption = 2,
  kMarkFuzzyOption = 4,
  kKeysOption = 8,      // keys and only_keys
  kColumnsOption = 16,  // columns and no_header
};

// The markup of texts of SegmentText::Format::kMarkup.
enum class DocumentMarkup { kHtml, kMarkdown, kXml };

// A format of documents.
struct DocumentFormat {
  std::string_view name;  // "po"
  std::string_view type;  // "text/x-gettext-translation"
  // The ends of its files' names, with spaces between them: ".po .pot". One
  // that begins with a slash is a whole name: "/strings.xml".
  std::string_view endings;
  absl::StatusOr<std::unique_ptr<Document>> (*read)(
      std::string_view data, const DocumentOptions& options);
  unsigned options = 0;  // bits of DocumentOption
  DocumentMarkup markup = DocumentMarkup::kHtml;
};

// `name`: a format's, or an ending of its files, "md". Null: there is no such
// format.
const DocumentFormat* FindDocumentFormat(std::string_view name);
// Returns the format that a file's name ends with, or null. The name may have
// folders in front.
const DocumentFormat* DocumentFormatOfFile(std::string_view file_name);
// The ends of all such files' names: ".docx, .json, ...".
std::string DocumentFileEndings();
// "docx, html, ...": for messages.
std::string DocumentFormatNames();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_DOCUMENT_H_
