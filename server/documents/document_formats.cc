#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "server/documents/document.h"
#include "server/documents/readers.h"

namespace trivium {
namespace {

constexpr DocumentFormat kFormats[] = {
    {"docx",
     "application/"
     "vnd.openxmlformats-officedocument.wordprocessingml.document",
     " .docx ", ReadDocx},
    {"html", "text/html", " .htm .html .xhtml ", ReadHtml},
    {"json", "application/json", " .json ", ReadJson},
    {"markdown", "text/markdown", " .md .markdown ", ReadMarkdown},
    {"po", "text/x-gettext-translation", " .po .pot ", ReadPo},
    {"pptx",
     "application/"
     "vnd.openxmlformats-officedocument.presentationml.presentation",
     " .pptx ", ReadPptx},
    {"srt", "application/x-subrip", " .srt ", ReadSrt},
    {"text", "text/plain", " .txt ", ReadPlainText},
    {"vtt", "text/vtt", " .vtt ", ReadVtt},
    {"xliff", "application/xliff+xml", " .xlf .xliff ", ReadXliff},
};

}  // namespace

std::span<const DocumentFormat> DocumentFormats() { return kFormats; }

const DocumentFormat* FindDocumentFormat(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kFormats), std::end(kFormats),
      [name](const DocumentFormat& one) { return one.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

const DocumentFormat* DocumentFormatOfFile(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == file_name.npos) return nullptr;
  std::string ending = " ";
  ending += absl::AsciiStrToLower(std::string(file_name.substr(dot)));
  ending += ' ';
  const auto found =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&ending](const DocumentFormat& one) {
                     return one.endings.find(ending) != one.endings.npos;
                   });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string DocumentFormatNames() {
  std::string names;
  for (const DocumentFormat& one : kFormats) {
    if (!names.empty()) names += ", ";
    names += one.name;
  }
  return names;
}

}  // namespace trivium
