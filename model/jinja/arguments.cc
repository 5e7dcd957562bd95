#include "model/jinja/arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace trivium::jinja {

absl::StatusOr<int64_t> Bound::Whole(size_t i, int64_t unset) const {
  if (values_[i] == nullptr) return unset;
  if (values_[i]->IsWhole()) return values_[i]->whole();
  return absl::InvalidArgumentError(fmt::format(
      "a {} is given instead of a whole number", TypeName(*values_[i])));
}

absl::StatusOr<std::optional<TextView>> Bound::Text(size_t i) const {
  if (!IsGiven(i)) return std::nullopt;
  if (values_[i]->Is(Kind::kText)) return values_[i]->text();
  return absl::InvalidArgumentError(
      fmt::format("a {} is given instead of a string", TypeName(*values_[i])));
}

absl::StatusOr<Bound> Bind(const Arguments& arguments,
                           std::initializer_list<std::string_view> names,
                           size_t required) {
  if (arguments.positional.size() > names.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} arguments are given, but at most {} are allowed",
                    arguments.positional.size(), names.size()));
  }
  std::vector<const Value*> values(names.size(), nullptr);
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    values[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          fmt::format("the argument '{}' is unknown", name));
    }
    const Value*& place = values[static_cast<size_t>(found - names.begin())];
    if (place != nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("the argument '{}' is given twice", name));
    }
    place = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values[i] == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("the argument '{}' is missing", names.begin()[i]));
    }
  }
  return Bound(std::move(values));
}

}  // namespace trivium::jinja
