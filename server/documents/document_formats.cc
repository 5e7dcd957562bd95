#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/documents/document.h"
#include "server/documents/readers.h"

namespace trivium {
namespace {

// A format with whole names stands before those that its names end with, too.
constexpr DocumentFormat kFormats[] = {
    {"android", "application/xml", "/strings.xml /arrays.xml /plurals.xml",
     ReadAndroid},
    {"arb", "application/json", ".arb", ReadArb, kEncodingOption},
    {"csv", "text/csv", ".csv", ReadCsv, kEncodingOption | kColumnsOption},
    {"docm", "application/vnd.ms-word.document.macroEnabled.12", ".docm",
     ReadDocx},
    {"docx",
     "application/"
     "vnd.openxmlformats-officedocument.wordprocessingml.document",
     ".docx", ReadDocx},
    {"epub", "application/epub+zip", ".epub", ReadEpub},
    {"html", "text/html", ".html .htm .xhtml", ReadHtml},
    {"json", "application/json", ".json", ReadJson,
     kEncodingOption | kKeysOption},
    {"markdown", "text/markdown", ".md .markdown", ReadMarkdown, 0,
     DocumentMarkup::kMarkdown},
    {"odp", "application/vnd.oasis.opendocument.presentation", ".odp",
     ReadOpenDocument},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet", ".ods",
     ReadOpenDocument},
    {"odt", "application/vnd.oasis.opendocument.text", ".odt",
     ReadOpenDocument},
    {"po", "text/x-gettext-translation", ".po .pot", ReadPo,
     kRetranslateOption | kMarkFuzzyOption},
    {"pptm", "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
     ".pptm", ReadPptx},
    {"pptx",
     "application/"
     "vnd.openxmlformats-officedocument.presentationml.presentation",
     ".pptx", ReadPptx},
    {"properties", "text/x-java-properties", ".properties", ReadProperties,
     kEncodingOption},
    {"srt", "application/x-subrip", ".srt", ReadSrt, kEncodingOption},
    {"strings", "text/plain", ".strings", ReadAppleStrings, kEncodingOption},
    {"text", "text/plain", ".txt", ReadPlainText, kEncodingOption},
    {"ts", "text/vnd.trolltech.linguist", ".ts", ReadQtTranslation,
     kRetranslateOption},
    {"tsv", "text/tab-separated-values", ".tsv", ReadTsv,
     kEncodingOption | kColumnsOption},
    {"vtt", "text/vtt", ".vtt", ReadVtt},
    {"xliff", "application/xliff+xml", ".xlf .xliff", ReadXliff,
     kRetranslateOption},
    {"xlsm", "application/vnd.ms-excel.sheet.macroEnabled.12", ".xlsm",
     ReadXlsx},
    {"xlsx",
     "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
     ".xlsx", ReadXlsx},
    {"xml", "application/xml", ".xml", ReadXml, 0, DocumentMarkup::kXml},
};

}  // namespace

const DocumentFormat* FindDocumentFormat(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kFormats), std::end(kFormats),
      [name](const DocumentFormat& one) { return one.name == name; });
  if (found != std::end(kFormats)) return found;
  // "md" and ".txt" are endings.
  if (name.starts_with('.')) name.remove_prefix(1);
  const bool ending = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  });
  return ending ? DocumentFormatOfFile("." + std::string(name)) : nullptr;
}

const DocumentFormat* DocumentFormatOfFile(std::string_view file_name) {
  const std::string lower = absl::StrReplaceAll(
      absl::AsciiStrToLower("/" + std::string(file_name)), {{"\\", "/"}});
  for (const DocumentFormat& one : kFormats) {
    const std::vector<std::string> endings =
        absl::StrSplit(std::string(one.endings), ' ');
    for (const std::string& ending : endings) {
      if (lower.ends_with(ending)) return &one;
    }
  }
  return nullptr;
}

std::string DocumentFileEndings() {
  std::string endings;
  for (const DocumentFormat& one : kFormats) {
    if (!endings.empty()) endings += ", ";
    endings +=
        absl::StrReplaceAll(std::string(one.endings), {{" ", ", "}, {"/", ""}});
  }
  return endings;
}

std::string DocumentFormatNames() {
  std::string names;
  for (const DocumentFormat& one : kFormats) {
    if (!names.empty()) names += ", ";
    names += one.name;
  }
  return names;
}

absl::Status CheckRenderedBytes(size_t bytes, size_t most) {
  if (bytes <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "its translation has more than {} bytes, far more than the document; "
      "split it, or look for long translations of texts that occur often",
      most));
}

}  // namespace trivium
