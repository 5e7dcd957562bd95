#include "server/rpc/environment.h"

#include <fmt/format.h>

#include "server/rpc/status.h"

namespace trivium {

absl::StatusOr<const ServedModel*> FindModel(const Environment& environment,
                                             const std::string& name) {
  if (name.empty()) return &environment.models.front();
  std::string names;
  for (const ServedModel& model : environment.models) {
    if (model.name == name) return &model;
    names += (names.empty() ? "" : ", ") + model.name;
  }
  return absl::NotFoundError(fmt::format("no model is named '{}'; there is: {}",
                                         Shorten(name), Shorten(names, 500)));
}

}  // namespace trivium
