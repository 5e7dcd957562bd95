#include "server/adapters/text_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "base/utf8.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kTextsOnly[] =
    "and models here read texts only; send the text of the file";

// The type of a file's bytes, as in "text/plain".
bool IsTextType(std::string_view type) {
  constexpr std::array<std::string_view, 7> kTexts = {
      "application/json",   "application/xml",        "application/yaml",
      "application/x-yaml", "application/javascript", "application/sql",
      "application/toml"};
  return type.empty() || type.starts_with("text/") || type.ends_with("+json") ||
         type.ends_with("+xml") ||
         std::find(kTexts.begin(), kTexts.end(), type) != kTexts.end();
}

}  // namespace

std::string ReadTextFile(const char* name, JsonFields* fields) {
  const std::string file = fields->String(name).value_or("");
  std::string_view data = file;
  std::string_view type;
  if (data.starts_with("data:")) {
    constexpr std::string_view kBase64 = ";base64,";
    const size_t end = data.find(kBase64);
    if (end == data.npos) {
      fields->Fail(name, "is a data URL without \";base64,\"");
      return "";
    }
    type = data.substr(5, end - 5);
    type = type.substr(0, type.find(';'));  // without "charset="
    data.remove_prefix(end + kBase64.size());
  }
  if (!IsTextType(type)) {
    fields->Fail(name, fmt::format("is a file of type {}, {}",
                                   Shorten(std::string(type)), kTextsOnly));
    return "";
  }
  std::string text;
  if (!absl::Base64Unescape({data.data(), data.size()}, &text)) {
    fields->Fail(name, "is not base64");
    return "";
  }
  // A PDF may have no other bytes than those of a text.
  if (!IsUtf8(text) || text.find('\0') != text.npos ||
      text.starts_with("%PDF-")) {
    fields->Fail(name, fmt::format("is no text in UTF-8, {}", kTextsOnly));
    return "";
  }
  return text;
}

void AppendDocument(std::initializer_list<std::string_view> parts,
                    std::string* text) {
  constexpr std::string_view kBlankLine = "\n\n";
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (!text->empty() && !text->ends_with(kBlankLine)) *text += kBlankLine;
    text->append(part).append(kBlankLine);
  }
}

}  // namespace trivium
