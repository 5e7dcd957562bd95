#include "model/sentence_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// The kinds of texts, as sentence-transformers' `task`; empty: none is given.
constexpr std::array<std::string_view, 3> kTasks = {"", "query", "document"};

// Returns the route of a Router for texts of `task`: route_mappings first, then
// the route of that name, then that of texts. Where sentence-transformers
// refuses a text, it takes the default route, and without one that of
// documents.
std::string FindRoute(const json& structure, const json& parameters,
                      std::string_view task) {
  const json mappings = parameters.value("route_mappings", json::object());
  const std::string own =
      task.empty() ? "None" : fmt::format("'{}'", std::string(task));
  // A pair of Python as str() writes it.
  for (const std::string& key :
       {fmt::format("({}, 'text')", own), fmt::format("({}, None)", own),
        std::string("(None, 'text')"), std::string("(None, None)")}) {
    if (std::string route = TextAt(mappings, key); !route.empty()) return route;
  }
  for (const std::string& route :
       {std::string(task), std::string("text"),
        TextAt(parameters, "default_route"), std::string("document")}) {
    if (structure.contains(route)) return route;
  }
  return "";
}

// Adds the modules that the Router in `folder` has for texts of `task`.
absl::Status AddRoute(const std::string& folder, std::string_view task,
                      ModuleList* list) {
  const std::string file = folder + "/router_config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  const auto object = [&](const char* key) {
    const json found = config.value(key, json::object());
    return found.is_object() ? found : json::object();
  };
  const json structure = object("structure"), types = object("types");
  const std::string route = FindRoute(structure, object("parameters"), task);
  const auto names = structure.find(route);
  if (names == structure.end() || !names->is_array()) {
    return UnusableModules(
        file, fmt::format("the Router has no list of modules for {}; it needs "
                          "the routes query and document, or a default_route",
                          task.empty()      ? "texts"
                          : task == "query" ? "queries"
                                            : "documents"));
  }
  for (const json& name : *names) {
    const std::string path = name.is_string() ? name.get<std::string>() : "";
    const std::string type = TextAt(types, path);
    if (path.empty() || type.empty()) {
      return UnusableModules(file,
                             fmt::format("structure.{} names a module that "
                                         "types does not have",
                                         route));
    }
    TRIVIUM_ASSIGN_OR_RETURN(list->emplace_back(),
                             ReadModule(file, folder, type, path));
  }
  return absl::OkStatus();
}

// Returns the index of `list` in `lists`, after adding it if it is new.
int IndexOf(const ModuleList& list, std::vector<ModuleList>* lists) {
  const auto found = std::find(lists->begin(), lists->end(), list);
  const auto index = static_cast<int>(found - lists->begin());
  if (found == lists->end()) lists->push_back(list);
  return index;
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
  std::array<ModuleList, kTasks.size()> of_task;
  for (const json& one : given) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const SentenceModule module,
        ReadModule(file, folder, TextAt(one, "type"), TextAt(one, "path")));
    const bool router = module.type == kRouter;
    modules.routed |= router;
    for (size_t task = 0; task < kTasks.size(); ++task) {
      if (router) {
        TRIVIUM_RETURN_IF_ERROR(
            AddRoute(module.folder, kTasks[task], &of_task[task]));
      } else {
        of_task[task].push_back(module);
      }
    }
  }
  IndexOf(of_task[0], &modules.lists);
  modules.query = IndexOf(of_task[1], &modules.lists);
  modules.document = IndexOf(of_task[2], &modules.lists);
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
