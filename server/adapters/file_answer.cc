#include "server/adapters/file_answer.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "server/documents/document.h"

namespace trivium {
namespace {

constexpr size_t kMostNameBytes = 100;

std::string_view TypeOfFile(const std::string& name) {
  const DocumentFormat* const format = DocumentFormatOfFile(name);
  return format == nullptr ? "application/octet-stream" : format->type;
}

}  // namespace

std::string PlainFileName(const std::string& name) {
  std::string plain = name.substr(name.find_last_of("/\\") + 1);
  for (char& c : plain) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.') c = '_';
  }
  if (plain.size() > kMostNameBytes) {
    plain = plain.substr(plain.size() - kMostNameBytes);
  }
  return plain;
}

HttpAnswer FileAnswer(const std::string& name, std::string data) {
  const std::string plain = PlainFileName(name);
  return {.type = std::string(TypeOfFile(plain)),
          .body = std::move(data),
          .headers = {{"Content-Disposition",
                       fmt::format("attachment; filename=\"{}\"", plain)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-store"}}};
}

}  // namespace trivium
