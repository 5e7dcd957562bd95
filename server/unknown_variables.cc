#include "server/unknown_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/nearest.h"

namespace trivium {
namespace {

constexpr std::string_view kPrefix = "TRIVIUM_";

bool BelongsToOthers(std::string_view name) {
  name.remove_prefix(kPrefix.size());
  // TRIVIUM_SERVICE_HOST, TRIVIUM_SERVICE_PORT_GRPC, TRIVIUM_PORT,
  // TRIVIUM_PORT_50051_TCP_ADDR.
  const bool kubernetes = name.starts_with("SERVICE_HOST") ||
                          name.starts_with("SERVICE_PORT") || name == "PORT" ||
                          (name.starts_with("PORT_") && name.size() > 5 &&
                           name[5] >= '0' && name[5] <= '9');
  return kubernetes || name == "ADDRESS" || name == "TOKEN" ||
         name.starts_with("CLIENT_");
}

}  // namespace

std::vector<std::string> UnknownVariables(const std::vector<std::string>& known,
                                          const char* const* environment) {
  std::vector<std::string> sentences;
  for (; *environment != nullptr; ++environment) {
    std::string_view name = *environment;
    name = name.substr(0, name.find('='));
    if (!name.starts_with(kPrefix) || BelongsToOthers(name) ||
        std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    sentences.push_back(
        fmt::format("the environment variable {} belongs to no option and is "
                    "ignored; did you mean {}?",
                    name, Nearest(name, known)));
  }
  return sentences;
}

}  // namespace trivium
