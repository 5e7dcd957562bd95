#include "model/hub/hub_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/status.h"
#include "model/hub/url.h"

namespace trivium {
namespace {

constexpr size_t kLongestToken = 4096;

// Returns the first of the variables that is not empty.
std::string FirstOf(const HubSettings::Variable& variable,
                    std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = variable(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

std::string WithHome(const std::string& path, const std::string& home) {
  return path == "~" || path.starts_with("~/") ? home + path.substr(1) : path;
}

bool IsTrue(std::string text) {
  absl::AsciiStrToUpper(&text);
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

// A token becomes part of a header.
absl::StatusOr<std::string> CleanToken(const std::string& text,
                                       const std::string& origin) {
  const std::string token(absl::StripAsciiWhitespace(text));
  if (std::all_of(token.begin(), token.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      })) {
    return token;
  }
  return absl::InvalidArgumentError(fmt::format(
      "{}: the token has characters that no token has; copy it again from the "
      "hub's page of tokens",
      origin));
}

absl::StatusOr<std::string> FindToken(const HubSettings::Variable& variable,
                                      const std::string& huggingface,
                                      const std::string& home) {
  const std::string given =
      FirstOf(variable, {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (!given.empty()) return CleanToken(given, "HF_TOKEN");
  std::string path = WithHome(FirstOf(variable, {"HF_TOKEN_PATH"}), home);
  const bool named = !path.empty();
  if (!named) {
    if (huggingface.empty()) return "";
    path = huggingface + "/token";
  }
  const absl::StatusOr<std::string> file = ReadFile(path, kLongestToken);
  if (file.ok()) return CleanToken(*file, path);
  if (absl::IsNotFound(file.status()) && !named) return "";
  return absl::InvalidArgumentError(fmt::format(
      "the file of the hub's token: {}", std::string(file.status().message())));
}

}  // namespace

absl::StatusOr<HubSettings> HubSettings::FromEnvironment(
    const Variable& variable) {
  HubSettings settings;
  const std::string home = FirstOf(variable, {"HOME"});
  std::string huggingface = WithHome(FirstOf(variable, {"HF_HOME"}), home);
  if (huggingface.empty()) {
    std::string cache = WithHome(FirstOf(variable, {"XDG_CACHE_HOME"}), home);
    if (cache.empty() && !home.empty()) cache = home + "/.cache";
    if (!cache.empty()) huggingface = cache + "/huggingface";
  }
  settings.cache = WithHome(
      FirstOf(variable, {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}), home);
  if (settings.cache.empty() && !huggingface.empty()) {
    settings.cache = huggingface + "/hub";
  }
  if (settings.cache.empty()) {
    return absl::InvalidArgumentError(
        "there is no folder to keep models of a hub in; set HF_HOME or "
        "HF_HUB_CACHE");
  }
  std::string endpoint = FirstOf(variable, {"HF_ENDPOINT"});
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) settings.endpoint = endpoint;
  if (const auto url = ParseUrl(settings.endpoint); !url.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("HF_ENDPOINT: {}", std::string(url.status().message())));
  }
  TRIVIUM_ASSIGN_OR_RETURN(settings.token,
                           FindToken(variable, huggingface, home));
  settings.offline = IsTrue(FirstOf(variable, {"HF_HUB_OFFLINE"}));
  settings.https_proxy = FirstOf(
      variable, {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"});
  // Not HTTP_PROXY: as in curl, since CGI lets clients set it.
  settings.http_proxy =
      FirstOf(variable, {"http_proxy", "ALL_PROXY", "all_proxy"});
  settings.no_proxy = FirstOf(variable, {"NO_PROXY", "no_proxy"});
  return settings;
}

absl::StatusOr<HubSettings> HubSettings::FromEnvironment() {
  return FromEnvironment(
      [](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace trivium
