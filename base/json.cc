// One pass over the text checks depth and memory before anything is parsed. It
// need not know whether the text is valid JSON: up to the first error, the
// parser and this pass see the same brackets, commas and strings, and after an
// error the parser creates nothing.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/status.h"

namespace trivium {

namespace {

using nlohmann::json;

// Memory of nlohmann's values including the allocator's share, rounded up: an
// element of a growing list, a container, a string, a node of an object.
constexpr size_t kPlaceBytes = 32;
constexpr size_t kContainerBytes = 64;
constexpr size_t kStringBytes = 48;
constexpr size_t kKeyBytes = 64;

// Returns the text with what Python writes for numbers that JSON does not know
// as Transformers 5 writes it: {"__float__":"Infinity"}.
std::string WithNamedNumbers(std::string_view text) {
  constexpr std::string_view kNames[] = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      result += text.substr(i++, 2);
      continue;
    }
    if (c == '"') in_string = !in_string;
    std::string_view found;
    for (const std::string_view name : kNames) {
      if (!in_string && text.substr(i).starts_with(name)) found = name;
      if (!found.empty()) break;
    }
    if (found.empty()) {
      result += c;
      continue;
    }
    result += R"({"__float__":")";
    result += found;
    result += R"("})";
    i += found.size() - 1;
  }
  return result;
}

absl::StatusOr<json> Read(const std::string& path, const JsonLimits& limits) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text,
                           ReadFile(path, limits.bytes));
  absl::StatusOr<json> value = ParseJson(text, limits);
  if (value.ok()) return value;
  if (text.find("Infinity") != text.npos || text.find("NaN") != text.npos) {
    absl::StatusOr<json> named = ParseJson(WithNamedNumbers(text), limits);
    if (named.ok()) return named;
  }
  return absl::InvalidArgumentError(
      fmt::format("{}: {}; check that it is the right file, and fetch it again",
                  path, std::string(value.status().message())));
}

// "64 MiB", or "300 KiB".
std::string Size(size_t bytes) {
  return bytes >= size_t{1} << 20 ? fmt::format("{} MiB", bytes >> 20)
                                  : fmt::format("{} KiB", bytes >> 10);
}

}  // namespace

absl::Status CheckJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes of JSON, but at most {} are allowed",
                    text.size(), limits.bytes));
  }
  int depth = 0;
  size_t memory = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '{':
      case '[':
        if (++depth > kMaxJsonDepth) {
          return absl::InvalidArgumentError(fmt::format(
              "is nested deeper than {} levels at byte {}", kMaxJsonDepth, at));
        }
        memory += kContainerBytes + kPlaceBytes;
        break;
      case '}':
      case ']':
        depth = std::max(depth - 1, 0);
        break;
      case ',':
        memory += kPlaceBytes;
        break;
      case ':':
        memory += kKeyBytes;
        break;
      case '"': {
        const size_t begin = at++;
        while (at < text.size() && text[at] != '"') {
          at += text[at] == '\\' ? 2 : 1;
        }
        memory += kStringBytes + (at - begin);
        break;
      }
      default:
        break;
    }
    if (memory > limits.memory) {
      return absl::InvalidArgumentError(
          fmt::format("needs more than {} of memory from byte {} on",
                      Size(limits.memory), at));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<json> ParseJson(std::string_view text,
                               const JsonLimits& limits) {
  TRIVIUM_RETURN_IF_ERROR(CheckJson(text, limits));
  json value = json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                           /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return absl::InvalidArgumentError("is not JSON");
  }
  return value;
}

absl::StatusOr<json> ReadJsonFile(const std::string& path,
                                  const JsonLimits& limits) {
  TRIVIUM_ASSIGN_OR_RETURN(json value, Read(path, limits));
  if (!value.is_object()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a JSON object; fetch the file again", path));
  }
  return value;
}

absl::StatusOr<json> ReadJsonList(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(json value, Read(path, kConfigJson));
  if (!value.is_array()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a JSON list; fetch the file again", path));
  }
  return value;
}

}  // namespace trivium
