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

constexpr DocumentFormat kFormats[] = {
    {"docx",
     "application/"
     "vnd.openxmlformats-officedocument.wordprocessingml.document",
     ".docx", ReadDocx},
    {"json", "application/json", ".json", ReadJson},
    {"po", "text/x-gettext-translation", ".po .pot", ReadPo},
    {"pptx",
     "application/"
     "vnd.openxmlformats-officedocument.presentationml.presentation",
     ".pptx", ReadPptx},
    {"srt", "application/x-subrip", ".srt", ReadSrt},
    {"vtt", "text/vtt", ".vtt", ReadVtt},
    {"xliff", "application/xliff+xml", ".xlf .xliff", ReadXliff},
};

}  // namespace

const DocumentFormat* FindDocumentFormat(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kFormats), std::end(kFormats),
      [name](const DocumentFormat& one) { return one.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

const DocumentFormat* DocumentFormatOfFile(std::string_view file_name) {
  const std::string lower = absl::AsciiStrToLower(std::string(file_name));
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
    endings += absl::StrReplaceAll(std::string(one.endings), {{" ", ", "}});
  }
  return endings;
}

}  // namespace trivium
