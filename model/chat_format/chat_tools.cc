#include "model/chat_format/chat_tools.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"
#include "model/grammar/schema_document.h"

namespace trivium {

namespace {

using Json = nlohmann::ordered_json;

absl::Status ToolError(size_t index, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("tools[{}]{}", index, what));
}

absl::StatusOr<ChatTool> ReadTool(const Json& json, size_t index) {
  if (!json.is_object() || json.value("type", Json("function")) != "function" ||
      !json.contains("function") || !json["function"].is_object()) {
    return ToolError(index,
                     ": is not a function; write {\"type\": \"function\", "
                     "\"function\": {\"name\": ..., \"parameters\": ...}}");
  }
  const Json& function = json["function"];
  ChatTool tool;
  if (!function.contains("name") || !function["name"].is_string() ||
      function["name"].get_ref<const std::string&>().empty()) {
    return ToolError(index, ".function.name: is not a text; name the function");
  }
  tool.name = function["name"].get<std::string>();
  tool.parameters = function.value("parameters", Json(nullptr));
  if (tool.parameters.is_null()) {
    tool.parameters = {{"type", "object"},
                       {"properties", Json::object()},
                       {"additionalProperties", false}};
  }
  if (!tool.parameters.is_object()) {
    return ToolError(index,
                     ".function.parameters: is not an object; give the JSON "
                     "schema of the arguments");
  }
  return tool;
}

// Reads the Python string at the beginning of `text`; returns its size, or 0 if
// it is none that JSON can say as it is.
size_t PythonString(std::string_view text, std::string* out) {
  const char quote = text.front();
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      out->push_back('"');
      AppendJsonEscaped(value, out);
      out->push_back('"');
      return i + 1;
    }
    if (text[i] == '\\') {
      if (++i == text.size()) return 0;
      constexpr std::string_view kEscapes = "\\'\"nrt", kBytes = "\\'\"\n\r\t";
      const size_t escape = kEscapes.find(text[i]);
      if (escape == std::string_view::npos) return 0;
      value.push_back(kBytes[escape]);
    } else {
      value.push_back(text[i]);
    }
  }
  return 0;
}

// Returns the JSON text of a Python list or dict; empty if it is none.
std::string JsonOfPython(std::string_view text) {
  std::string json;
  while (!text.empty()) {
    size_t size = 1;
    if (text.front() == '\'' || text.front() == '"') {
      size = PythonString(text, &json);
      if (size == 0) return "";
    } else if (text.starts_with("True")) {
      json += "true";
      size = 4;
    } else if (text.starts_with("False")) {
      json += "false";
      size = 5;
    } else if (text.starts_with("None")) {
      json += "null";
      size = 4;
    } else {
      json.push_back(text.front());
    }
    text.remove_prefix(size);
  }
  return JsonValueSize(json) == json.size() ? json : "";
}

// Kinds of values, one bit each.
constexpr unsigned kStrings = 1, kNull = 2, kOthers = 4, kAllKinds = 7;

unsigned KindOf(const Json& value) {
  return value.is_string() ? kStrings : value.is_null() ? kNull : kOthers;
}

// The kinds of values that a schema may have, as far as its types, values and
// choices tell. `root` is what its references point into. Looks at `*parts`
// schemas at most, since references of references may be any number.
unsigned KindsOf(const Json& schema, const Json& root, int* parts) {
  if (!schema.is_object() || --*parts < 0) return kAllKinds;
  unsigned kinds = kAllKinds;
  for (const auto& [key, value] : schema.items()) {
    unsigned own = 0;
    if (key == "type") {
      const Json types = value.is_array() ? value : Json::array({value});
      for (const Json& type : types) {
        own |= type == "string" ? kStrings : type == "null" ? kNull : kOthers;
      }
    } else if (key == "const") {
      own = KindOf(value);
    } else if (key == "enum" && value.is_array()) {
      for (const Json& one : value) own |= KindOf(one);
    } else if ((key == "anyOf" || key == "oneOf") && value.is_array()) {
      for (const Json& one : value) own |= KindsOf(one, root, parts);
    } else if (key == "allOf" && value.is_array()) {
      own = kAllKinds;
      for (const Json& one : value) own &= KindsOf(one, root, parts);
    } else if (key == "$ref" && value.is_string() &&
               value.get_ref<const std::string&>().starts_with("#/")) {
      // Other references are none of a schema's parts that has a type.
      const Json* at = &root;
      for (const std::string& part : KeysOf(value.get<std::string>())) {
        const auto next =
            at->is_object() ? at->find(UriDecoded(part)) : at->end();
        if (next == at->end()) return kAllKinds;
        at = &*next;
      }
      own = KindsOf(*at, root, parts);
    } else {
      continue;
    }
    kinds &= own;
  }
  return kinds;
}

}  // namespace

absl::StatusOr<std::vector<ChatTool>> ParseChatTools(std::string_view json) {
  // The bounded parser checks the text; the second keeps the order of members,
  // which is that of writing.
  const auto checked = ParseJson(json, kConfigJson);
  if (!checked.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("tools: {}", std::string(checked.status().message())));
  }
  const Json list = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) {
    return absl::InvalidArgumentError("tools: is not a JSON list");
  }
  std::vector<ChatTool> tools;
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(ChatTool tool, ReadTool(list[i], i));
    if (!names.insert(tool.name).second) {
      return ToolError(i, fmt::format(".function.name: '{}' is the name of two "
                                      "tools; rename one",
                                      tool.name));
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

const ChatTool* FindTool(const std::vector<ChatTool>& tools,
                         std::string_view name) {
  for (const ChatTool& tool : tools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

BareValue BareValueOf(const ChatTool& tool, std::string_view parameter) {
  const auto properties = tool.parameters.find("properties");
  if (properties == tool.parameters.end() || !properties->is_object()) {
    return BareValue::kJsonOrString;
  }
  const auto schema = properties->find(parameter);
  if (schema == properties->end()) return BareValue::kJsonOrString;
  int parts = 1000;
  switch (KindsOf(*schema, tool.parameters, &parts)) {
    case kStrings:
      return BareValue::kString;
    case kStrings | kNull:
      return BareValue::kNullOrString;
    default:
      return BareValue::kJsonOrString;
  }
}

void AppendBareValue(std::string_view text, BareValue kind, std::string* out) {
  const std::string_view value = Trim(text);
  std::string json;
  if (kind == BareValue::kNullOrString) {
    if (value == "null" || value == "None") json = "null";
  } else if (kind == BareValue::kJsonOrString && !value.empty()) {
    if (JsonValueSize(value) == value.size()) {
      json = value;
    } else if (value.front() == '{' || value.front() == '[' ||
               value == "True" || value == "False" || value == "None") {
      json = JsonOfPython(value);
    }
  }
  if (!json.empty()) {
    *out += json;
    return;
  }
  out->push_back('"');
  AppendJsonEscaped(text, out);
  out->push_back('"');
}

}  // namespace trivium
