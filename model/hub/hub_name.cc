// The rules for repositories are huggingface_hub's validate_repo_id.
#include "model/hub/hub_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "model/path_hint.h"

namespace trivium {
namespace {

constexpr std::string_view kPrefix = "hf:";
constexpr size_t kLongestRepository = 96;
constexpr size_t kLongestRevision = 200;

bool HasOnly(std::string_view text, std::string_view signs) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           signs.find(c) != signs.npos;
  });
}

std::vector<std::string> PartsOf(std::string_view text) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), '/');
}

bool IsRepositoryPart(std::string_view part) {
  constexpr std::string_view kInside = ".-";
  return HasOnly(part, "._-") && kInside.find(part.front()) == kInside.npos &&
         kInside.find(part.back()) == kInside.npos &&
         part.find("--") == part.npos && part.find("..") == part.npos;
}

bool IsRepository(std::string_view text) {
  const std::vector<std::string> parts = PartsOf(text);
  return text.size() <= kLongestRepository && parts.size() <= 2 &&
         std::all_of(parts.begin(), parts.end(), IsRepositoryPart);
}

// A revision is the name of a file below refs/.
bool IsRevision(std::string_view text) {
  const std::vector<std::string> parts = PartsOf(text);
  return text.size() <= kLongestRevision &&
         std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           return HasOnly(part, "._-+") && part.front() != '.';
         });
}

}  // namespace

bool IsHubName(std::string_view text) { return text.starts_with(kPrefix); }

absl::StatusOr<HubName> ParseHubName(std::string_view text) {
  const auto error = [text](std::string_view what) {
    const std::string hint = HubNameHint(text);
    const bool hints = !hint.empty() && hint != text;
    return absl::InvalidArgumentError(fmt::format(
        "'{}' {}; a model of a hub is hf:OWNER/NAME[@REVISION][:QUANT], such "
        "as {}",
        text, what, hints ? hint : "hf:Qwen/Qwen3-0.6B"));
  };
  if (!IsHubName(text)) return error("does not begin with hf:");
  std::string_view rest = text.substr(kPrefix.size());
  HubName name;
  if (const size_t colon = rest.find(':'); colon != rest.npos) {
    name.quant = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!HasOnly(name.quant, "._-")) {
      return error(fmt::format("has the QUANT '{}'", name.quant));
    }
  }
  if (const size_t at = rest.find('@'); at != rest.npos) {
    name.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!IsRevision(name.revision)) {
      return error(fmt::format("has the REVISION '{}'", name.revision));
    }
  }
  name.repository = rest;
  if (!IsRepository(rest)) {
    return error(fmt::format("names the repository '{}'", rest));
  }
  return name;
}

}  // namespace trivium
