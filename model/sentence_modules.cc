#include "model/sentence_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

constexpr std::string_view kRouter = "Router";

std::string TextAt(const json& object, const std::string& key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

// Returns the module of a class whose files are at `path` below `folder`.
// `file` names it.
absl::StatusOr<SentenceModule> ReadModule(const std::string& file,
                                          const std::string& folder,
                                          const std::string& type,
                                          const std::string& path) {
  if (path.find("..") != path.npos || path.rfind('/', 0) == 0) {
    return UnusableModules(
        file, fmt::format("path {} leads out of the model's folder", path));
  }
  return SentenceModule{.type = type.substr(type.rfind('.') + 1),
                        .folder = path.empty() ? folder : folder + "/" + path};
}

// Reads the list of a Router's route "query" or "document".
absl::StatusOr<ModuleList> ReadRoute(const std::string& file,
                                     const std::string& folder,
                                     const json& config, const char* route) {
  const json structure = config.value("structure", json::object());
  const json types = config.value("types", json::object());
  const json names =
      structure.is_object() ? structure.value(route, json()) : json();
  if (!names.is_array() || names.empty()) {
    return UnusableModules(
        file, fmt::format("the Router has no list of modules named "
                          "\"{}\"; it needs query and document",
                          route));
  }
  ModuleList list;
  for (const json& name : names) {
    const std::string path = name.is_string() ? name.get<std::string>() : "";
    const std::string type = TextAt(types, path);
    if (path.empty() || type.empty()) {
      return UnusableModules(file,
                             fmt::format("structure.{} names a module that "
                                         "types does not have",
                                         route));
    }
    TRIVIUM_ASSIGN_OR_RETURN(list.emplace_back(),
                             ReadModule(file, folder, type, path));
  }
  return list;
}

// Reads the Router whose files are in `folder`, which is the first module.
absl::StatusOr<SentenceModules> ReadRouter(const std::string& folder) {
  const std::string file = folder + "/router_config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  const json parameters = config.value("parameters", json::object());
  const std::string standard = TextAt(parameters, "default_route");
  if (standard != "query" && standard != "document") {
    return UnusableModules(file,
                           fmt::format("default_route is \"{}\"; it must be "
                                       "query or document",
                                       standard));
  }
  if (parameters.contains("route_mappings") &&
      !parameters["route_mappings"].empty()) {
    return UnusableModules(file, "route_mappings are not supported");
  }
  SentenceModules modules;
  (standard == "query" ? modules.document : modules.query) = 1;
  modules.lists.resize(2);
  TRIVIUM_ASSIGN_OR_RETURN(modules.lists[modules.query],
                           ReadRoute(file, folder, config, "query"));
  TRIVIUM_ASSIGN_OR_RETURN(modules.lists[modules.document],
                           ReadRoute(file, folder, config, "document"));
  return modules;
}

}  // namespace

absl::Status UnusableModules(const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format(
      "{}: {}; remove modules.json to use the model without its modules", file,
      what));
}

absl::StatusOr<SentenceModules> ReadSentenceModules(const std::string& folder) {
  const std::string file = folder + "/modules.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json given, ReadJsonList(file));
  constexpr size_t kMostModules = 16;
  SentenceModules modules;
  modules.lists.resize(1);
  for (const json& one : given) {
    TRIVIUM_ASSIGN_OR_RETURN(
        SentenceModule module,
        ReadModule(file, folder, TextAt(one, "type"), TextAt(one, "path")));
    if (module.type == kRouter && &one == &given.front()) {
      TRIVIUM_ASSIGN_OR_RETURN(modules, ReadRouter(module.folder));
      continue;
    }
    for (ModuleList& list : modules.lists) list.push_back(module);
  }
  for (const ModuleList& list : modules.lists) {
    if (list.size() <= kMostModules) continue;
    return UnusableModules(file,
                           fmt::format("it has {} modules, and at most {} are "
                                       "served",
                                       list.size(), kMostModules));
  }
  return modules;
}

bool ReadsTable(const ModuleList& list) {
  return !list.empty() && (list.front().type == kStaticEmbedding ||
                           list.front().type == kSparseStaticEmbedding);
}

}  // namespace trivium
