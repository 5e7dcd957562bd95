#include "model/marian/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace trivium {
namespace {

using nlohmann::json;

// Approximate memory of a value beside its text; see json.cc.
constexpr size_t kValueBytes = 160;

// libyaml compares each %TAG directive with all that came before it.
constexpr size_t kMostTags = 16;

size_t CountTags(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find("%TAG", at)) != text.npos; ++at) ++count;
  return count;
}

struct ParserDeleter {
  void operator()(yaml_parser_t* parser) const {
    yaml_parser_delete(parser);
    delete parser;
  }
};
struct Event {
  ~Event() { yaml_event_delete(&event); }
  yaml_event_t event = {};
};

// Reads a scalar without quotes like YAML 1.2's core schema.
json PlainScalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" ||
      text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const char* const end = digits.data() + digits.size();
  int64_t integer = 0;
  if (const auto [rest, error] = std::from_chars(digits.data(), end, integer);
      error == std::errc() && rest == end) {
    return integer;
  }
  double real = 0;
  if (const auto [rest, error] = std::from_chars(digits.data(), end, real);
      error == std::errc() && rest == end && std::isfinite(real)) {
    return real;
  }
  return std::string(text);
}

// Builds a value from a document's events.
class Builder {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  // INVALID_ARGUMENT says what is wrong.
  absl::Status Add(const yaml_event_t& event);
  // Returns the value after all events.
  json Take() { return std::move(root_); }

 private:
  static absl::Status Fail(const std::string& what) {
    return absl::InvalidArgumentError(what);
  }
  absl::Status Put(json value);
  absl::Status AddScalar(const yaml_event_t& event);

  const JsonLimits& limits_;
  json root_;
  // The open containers, the innermost last. A container does not move while
  // one inside it is open.
  std::vector<json*> open_;
  std::string key_;
  bool has_key_ = false;  // for the innermost container, if it is a mapping
  size_t memory_ = 0;
};

absl::Status Builder::Put(json value) {
  const bool container = value.is_structured();
  json* place = &root_;
  if (!open_.empty()) {
    json* const parent = open_.back();
    if (parent->is_array()) {
      place = &parent->emplace_back();
    } else if (has_key_) {
      place = &(*parent)[key_];
      has_key_ = false;
    } else {
      return Fail("has a key that is not a text");
    }
  }
  *place = std::move(value);
  if (container) {
    if (open_.size() == kMaxJsonDepth) {
      return Fail(
          fmt::format("is nested deeper than {} levels", kMaxJsonDepth));
    }
    open_.push_back(place);
  }
  return absl::OkStatus();
}

absl::Status Builder::AddScalar(const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  memory_ += text.size();
  if (!open_.empty() && open_.back()->is_object() && !has_key_) {
    if (open_.back()->contains(text)) {
      return Fail(fmt::format("has key '{}' twice", text.substr(0, 100)));
    }
    key_ = std::move(text);
    has_key_ = true;
    return absl::OkStatus();
  }
  return Put(scalar.style == YAML_PLAIN_SCALAR_STYLE ? PlainScalar(text)
                                                     : json(std::move(text)));
}

absl::Status Builder::Add(const yaml_event_t& event) {
  memory_ += kValueBytes;
  if (memory_ > limits_.memory) {
    return Fail(
        fmt::format("needs more than {} MiB of memory", limits_.memory >> 20));
  }
  switch (event.type) {
    case YAML_SCALAR_EVENT:
      return AddScalar(event);
    case YAML_MAPPING_START_EVENT:
      return Put(json::object());
    case YAML_SEQUENCE_START_EVENT:
      return Put(json::array());
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
      open_.pop_back();
      return absl::OkStatus();
    case YAML_ALIAS_EVENT:
      return Fail("has an unsupported alias");
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<json> ParseYaml(std::string_view text,
                               const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes of YAML, but at most {} are read",
                    text.size(), limits.bytes));
  }
  if (const size_t count = CountTags(text); count > kMostTags) {
    return absl::InvalidArgumentError(fmt::format(
        "has {} %TAG directives, but at most {} are read", count, kMostTags));
  }
  auto made = std::make_unique<yaml_parser_t>();
  if (yaml_parser_initialize(made.get()) == 0) {
    return absl::InvalidArgumentError("cannot be parsed: memory is exhausted");
  }
  const std::unique_ptr<yaml_parser_t, ParserDeleter> parser(made.release());
  yaml_parser_set_input_string(
      parser.get(), reinterpret_cast<const unsigned char*>(text.data()),
      text.size());
  // Otherwise a byte order mark might choose UTF-16.
  yaml_parser_set_encoding(parser.get(), YAML_UTF8_ENCODING);
  Builder builder(limits);
  for (;;) {
    Event event;
    if (yaml_parser_parse(parser.get(), &event.event) == 0) {
      return absl::InvalidArgumentError(fmt::format(
          "is not YAML on line {} ({})", parser->problem_mark.line + 1,
          parser->problem == nullptr ? "no memory" : parser->problem));
    }
    const yaml_event_type_t type = event.event.type;
    if (type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT) {
      return builder.Take();
    }
    if (const absl::Status status = builder.Add(event.event); !status.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{} on line {}", std::string(status.message()),
                      event.event.start_mark.line + 1));
    }
  }
}

absl::StatusOr<json> ReadYamlFile(const std::string& path,
                                  const JsonLimits& limits) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text,
                           ReadFile(path, limits.bytes));
  absl::StatusOr<json> value = ParseYaml(text, limits);
  if (!value.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {}; check that it is the right file, and fetch it again", path,
        std::string(value.status().message())));
  }
  if (!value->is_object()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a YAML mapping; fetch the file again", path));
  }
  return value;
}

}  // namespace trivium
