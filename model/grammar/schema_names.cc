#include "model/grammar/schema_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

// Values of these are no schemas.
bool HoldsValues(std::string_view key) {
  return key == "enum" || key == "const" || key == "default" ||
         key == "examples" || key == "example";
}

// A pointer as a reference spells it, in which % begins an escape.
std::string AsReference(const std::string& pointer) {
  std::string reference;
  for (const char c : pointer) {
    reference += c;
    if (c == '%') reference += "25";
  }
  return reference;
}

class References {
 public:
  References(WorkBudget* work, Schema* root) : work_(work), root_(*root) {
    const auto schema = root_.find("$schema");
    const bool is_old = schema != root_.end() && schema->is_string() &&
                        schema->get_ref<const std::string&>().find(
                            "draft-04") != std::string::npos;
    id_ = is_old ? "id" : "$id";
  }

  absl::Status Replace() {
    Collect(root_, "#");
    for (const std::string& name : twice_) named_.erase(name);
    Replace(&root_, "#", "#");
    return work_->status();
  }

 private:
  void Name(const std::string& name, const std::string& pointer) {
    if (!named_.emplace(name, AsReference(pointer)).second) {
      twice_.insert(name);
    }
  }

  // Tells the text of a member, if it is one.
  static const std::string* TextOf(const Schema& schema, const char* key) {
    const auto found = schema.find(key);
    return found != schema.end() && found->is_string()
               ? &found->get_ref<const std::string&>()
               : nullptr;
  }

  // The name of a schema that has one of its own.
  const std::string* IdOf(const Schema& schema) const {
    const std::string* id = TextOf(schema, id_);
    return id == nullptr || id->starts_with("#") ? nullptr : id;
  }

  void Collect(const Schema& schema, const std::string& pointer) {
    if (!work_->Take(1 + pointer.size() / 16) || !schema.is_structured()) {
      return;
    }
    if (schema.is_object()) {
      if (const std::string* id = IdOf(schema)) {
        Name(id->substr(0, id->find('#')), pointer);
        if (&schema != &root_) has_parts_ = true;
      } else if (const std::string* fragment = TextOf(schema, id_)) {
        Name(*fragment, pointer);
      }
      for (const char* key : {"$anchor", "$dynamicAnchor"}) {
        const std::string* anchor = TextOf(schema, key);
        if (anchor != nullptr) Name("#" + *anchor, pointer);
      }
    }
    size_t index = 0;
    for (const auto& [key, value] : schema.items()) {
      const std::string part =
          schema.is_object() ? key : std::to_string(index++);
      if (!HoldsValues(part)) Collect(value, Below(pointer, part));
    }
  }

  // The pointer that a reference inside the schema at `base` means; nothing if
  // it is none by name.
  std::optional<std::string> PointerOf(const std::string& reference,
                                       const std::string& base) const {
    const size_t hash = std::min(reference.find('#'), reference.size());
    const std::string name = reference.substr(0, hash);
    const std::string fragment = reference.substr(hash);
    std::string whole = base;
    if (!name.empty()) {
      const auto found = named_.find(name);
      if (found == named_.end()) return std::nullopt;
      whole = found->second;
    }
    if (fragment.size() <= 1) return whole;
    if (fragment[1] == '/') return whole + fragment.substr(1);
    const auto found = named_.find(fragment);
    if (found == named_.end()) return std::nullopt;
    return found->second;
  }

  void Replace(Schema* schema, const std::string& pointer, std::string base) {
    if (!work_->Take(1 + pointer.size() / 16) || !schema->is_structured()) {
      return;
    }
    if (schema->is_object()) {
      if (IdOf(*schema) != nullptr) {
        base = AsReference(pointer);
        schema->erase(id_);
      }
      Schema replaced = Schema::object();
      for (auto& [key, value] : schema->items()) {
        std::string name = key;
        const bool recursive = key == "$recursiveRef" && !has_parts_;
        if (value.is_string() &&
            (key == "$ref" || key == "$dynamicRef" || recursive)) {
          const auto target =
              PointerOf(value.get_ref<const std::string&>(), base);
          if (target.has_value() &&
              (key == "$ref" || !schema->contains("$ref"))) {
            name = "$ref";
            value = *target;
          }
        }
        replaced[name] = std::move(value);
      }
      *schema = std::move(replaced);
    }
    size_t index = 0;
    for (auto& [key, value] : schema->items()) {
      const std::string part =
          schema->is_object() ? key : std::to_string(index++);
      if (!HoldsValues(part)) Replace(&value, Below(pointer, part), base);
    }
  }

  WorkBudget* const work_;
  Schema& root_;
  const char* id_;
  std::map<std::string, std::string> named_;  // pointers
  std::set<std::string> twice_;               // names of several schemas
  bool has_parts_ = false;                    // schemas with names of their own
};

// True if a schema with this text may have names, or references to names.
bool MayHaveNames(std::string_view text) {
  // One pass over the text, since most have none of these.
  for (size_t at = text.find('$'); at != text.npos;
       at = text.find('$', at + 1)) {
    const std::string_view rest = text.substr(at);
    for (const std::string_view key :
         {"$id\"", "$anchor\"", "$dynamicRef\"", "$recursiveRef\""}) {
      if (rest.starts_with(key)) return true;
    }
    // The draft says how names are written.
    if (rest.starts_with("$schema\"") && text.find("draft-04") != text.npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status PointReferences(std::string_view text, WorkBudget* work,
                             Schema* root) {
  if (!root->is_object() || !MayHaveNames(text)) return absl::OkStatus();
  return References(work, root).Replace();
}

}  // namespace trivium
