#include "model/grammar/schema_place.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trivium {
namespace {

// Looks for the part that the keys lead to: through members, and through the
// schemas that are joined with the one at hand.
class PlaceSearch {
 public:
  explicit PlaceSearch(const Schema* root)
      : document_(root, &work_), root_(*root) {}

  std::optional<std::string> Find(std::span<const std::string> keys) {
    return Find(root_, "#", keys, 0);
  }

 private:
  // Members and bytes that all searches together may compare. Some schemas join
  // a part of them with itself again and again.
  static constexpr size_t kMostSteps = 200'000;

  bool Take(size_t steps) {
    left_ -= std::min(left_, steps);
    return left_ > 0;
  }

  std::optional<std::string> Find(const Schema& at, const std::string& pointer,
                                  std::span<const std::string> keys,
                                  int depth) {
    if (keys.empty()) return pointer;
    if (!Take(1 + at.size()) || depth > kMostSchemaDepth) return std::nullopt;
    const std::string& key = keys[0];
    const Schema* found = PartAt(at, key);
    if (found == nullptr) found = PartAt(at, UriDecoded(key));
    if (found != nullptr) {
      auto place =
          Find(*found, Below(pointer, key), keys.subspan(1), depth + 1);
      if (place.has_value()) return place;
    }
    if (!at.is_object()) return std::nullopt;
    return FindJoined(at, pointer, keys, depth);
  }

  std::optional<std::string> FindJoined(const Schema& at,
                                        const std::string& pointer,
                                        std::span<const std::string> keys,
                                        int depth) {
    if (const auto reference = at.find("$ref");
        reference != at.end() && reference->is_string()) {
      const auto& text = reference->get_ref<const std::string&>();
      const auto target = document_.Resolve(text, pointer);
      if (Take(text.size()) && target.ok()) {
        auto place = Find(**target, text, keys, depth + 1);
        if (place.has_value()) return place;
      }
    }
    // A choice is joined with what stands beside it.
    if (keys.size() > 2 && (keys[0] == "anyOf" || keys[0] == "oneOf")) {
      auto place = Find(at, pointer, keys.subspan(2), depth + 1);
      if (place.has_value()) return place;
    }
    for (const char* keyword : {"allOf", "anyOf", "oneOf"}) {
      const auto parts = at.find(keyword);
      if (parts == at.end() || !parts->is_array()) continue;
      const std::string list = Below(pointer, keyword);
      // The later schema of two is the one that cannot be joined.
      for (size_t i = parts->size(); i-- > 0 && left_ > 0;) {
        auto place =
            Find((*parts)[i], Below(list, std::to_string(i)), keys, depth + 1);
        if (place.has_value()) return place;
      }
    }
    for (const char* keyword : {"then", "else", "if", "not", "contains",
                                "dependentSchemas", "dependencies"}) {
      const auto part = at.find(keyword);
      if (part == at.end() || !part->is_object()) continue;
      const std::string below = Below(pointer, keyword);
      if (std::string_view(keyword).starts_with("dependen")) {
        for (const auto& [name, schema] : part->items()) {
          auto place = Find(schema, Below(below, name), keys, depth + 1);
          if (place.has_value()) return place;
        }
        continue;
      }
      auto place = Find(*part, below, keys, depth + 1);
      if (place.has_value()) return place;
    }
    return std::nullopt;
  }

  WorkBudget work_{0};  // Resolve takes none
  const SchemaDocument document_;
  const Schema& root_;
  size_t left_ = kMostSteps;
};

}  // namespace

absl::Status WithPlaceIn(const Schema& root, const absl::Status& error) {
  const std::string message(error.message());
  if (!message.starts_with("#")) return error;
  PlaceSearch search(&root);
  // A name in the pointer may have ": ", too.
  constexpr int kMostEnds = 4;
  size_t end = message.find(": ");
  for (int i = 0; i < kMostEnds && end != message.npos; ++i) {
    const auto place = search.Find(KeysOf(message.substr(0, end)));
    if (place.has_value()) {
      return absl::Status(error.code(), *place + message.substr(end));
    }
    end = message.find(": ", end + 1);
  }
  // Then at least the part around it.
  end = message.find(": ");
  std::vector<std::string> keys = KeysOf(message.substr(0, end));
  std::string rest;
  while (end != message.npos && !keys.empty()) {
    rest = rest.empty() ? keys.back() : keys.back() + "/" + rest;
    keys.pop_back();
    const auto place = search.Find(keys);
    if (place.has_value()) {
      return absl::Status(error.code(),
                          *place + ": " + rest + message.substr(end));
    }
  }
  return error;
}

}  // namespace trivium
