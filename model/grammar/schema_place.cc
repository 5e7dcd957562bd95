#include "model/grammar/schema_place.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace trivium {
namespace {

// The keys of "#/a/b~1c": a, b/c.
std::vector<std::string> KeysOf(const std::string& pointer) {
  std::vector<std::string> keys;
  for (size_t i = 1; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      keys.emplace_back();
    } else if (keys.empty()) {
      return keys;
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      keys.back() += pointer[++i] == '0' ? '~' : '/';
    } else {
      keys.back() += pointer[i];
    }
  }
  return keys;
}

// A key of a reference, which is a part of a URI: a%20b is "a b".
std::string Decoded(const std::string& key) {
  std::string result;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '%' && i + 2 < key.size() &&
        absl::ascii_isxdigit(key[i + 1]) && absl::ascii_isxdigit(key[i + 2])) {
      result += static_cast<char>(std::stoi(key.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      result += key[i];
    }
  }
  return result;
}

// Looks for the part that the keys lead to: through members, and through the
// schemas that are joined with the one at hand.
class PlaceSearch {
 public:
  explicit PlaceSearch(const Schema* root)
      : document_(root, &work_), root_(*root) {}

  std::optional<std::string> Find(std::span<const std::string> keys) {
    left_ = kMostVisits;
    return Find(root_, "#", keys, 0);
  }

 private:
  static constexpr int kMostVisits = 20'000;

  std::optional<std::string> Find(const Schema& at, const std::string& pointer,
                                  std::span<const std::string> keys,
                                  int depth) {
    if (keys.empty()) return pointer;
    if (--left_ < 0 || depth > kMostSchemaDepth) return std::nullopt;
    const std::string& key = keys[0];
    if (at.is_array()) {
      if (key.empty() || key.size() > 6 ||
          key.find_first_not_of("0123456789") != key.npos) {
        return std::nullopt;
      }
      const size_t index = std::stoul(key);
      if (index >= at.size()) return std::nullopt;
      return Find(at[index], Below(pointer, key), keys.subspan(1), depth + 1);
    }
    if (!at.is_object()) return std::nullopt;
    auto found = at.find(key);
    if (found == at.end()) found = at.find(Decoded(key));
    if (found != at.end()) {
      auto place =
          Find(*found, Below(pointer, key), keys.subspan(1), depth + 1);
      if (place.has_value()) return place;
    }
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
      if (target.ok()) {
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
    return std::nullopt;
  }

  WorkBudget work_{0};  // Resolve takes none
  const SchemaDocument document_;
  const Schema& root_;
  int left_ = 0;
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
