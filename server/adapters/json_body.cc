#include "server/adapters/json_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/status.h"

namespace trivium {
namespace {

// Enough for lists of a few thousand short values, such as an id each.
constexpr size_t kLeastMemory = 256 << 10;

// Returns the escape of half a character, such as \ud83d, that ends before
// `end` or is followed there by no other half.
std::string_view HalfCharacter(std::string_view body, size_t end) {
  constexpr size_t kEscapeSize = 6;
  constexpr std::string_view kSurrogates = "89abcdefABCDEF";
  for (size_t at = body.rfind("\\u", end); at != body.npos && at > 0;
       at = body.rfind("\\u", at - 1)) {
    const std::string_view escape = body.substr(at, kEscapeSize);
    if (escape.size() == kEscapeSize &&
        (escape[2] == 'd' || escape[2] == 'D') &&
        kSurrogates.find(escape[3]) != kSurrogates.npos) {
      return escape;
    }
  }
  return body.substr(0, 0);
}

// Returns the number of the parser's complaint "... number overflow parsing
// '1e999'".
std::string_view NumberOutOfRange(std::string_view body,
                                  std::string_view complaint) {
  const size_t begin = complaint.find('\'');
  const size_t end = complaint.rfind('\'');
  if (begin == complaint.npos || begin == end) return body.substr(0, 0);
  const std::string_view number = complaint.substr(begin + 1, end - begin - 1);
  const size_t at = body.find(number);
  return at == body.npos ? body.substr(0, 0) : body.substr(at, number.size());
}

// Says what of a body is not JSON, and where.
std::string Fault(std::string_view body) {
  size_t at = 0;
  std::string_view what = "is not JSON";
  std::string_view half, number;
  try {
    const auto drop_values = [](int, nlohmann::json::parse_event_t,
                                nlohmann::json&) { return false; };
    [[maybe_unused]] const auto dropped =
        nlohmann::json::parse(body.begin(), body.end(), drop_values);
  } catch (const nlohmann::json::parse_error& error) {
    at = std::min(std::max<size_t>(error.byte, 1) - 1, body.size());
    const std::string_view reason = error.what();
    if (reason.find("surrogate") != reason.npos) {
      half = HalfCharacter(body, at);
    } else if (reason.find("UTF-8") != reason.npos) {
      what = "is not UTF-8";
    }
  } catch (const nlohmann::json::out_of_range& error) {
    number = NumberOutOfRange(body, error.what());
  }
  for (const std::string_view part : {half, number}) {
    if (!part.empty()) at = static_cast<size_t>(part.data() - body.data());
  }
  const std::string_view before = body.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t column = at - (before.rfind('\n') + 1) + 1;
  const std::string place =
      fmt::format("at byte {} (line {}, column {})", at, line, column);
  if (!half.empty()) {
    return fmt::format(
        "has half a character, {}, {}: JSON writes such a "
        "character as two escapes",
        half, place);
  }
  if (!number.empty()) {
    return fmt::format("has a number that is too large, {}, {}", number, place);
  }
  return fmt::format("{} {}", what, place);
}

absl::Status Explain(std::string_view body, const absl::Status& status) {
  if (status.ok()) return status;
  const bool parsed = status.message() == "is not JSON";
  return absl::InvalidArgumentError(
      fmt::format("the body {}; send a JSON object",
                  parsed ? Fault(body) : std::string(status.message())));
}

JsonLimits LimitsFor(std::string_view body) {
  return {body.size(), kLeastMemory + kJsonMemoryOfAByte * body.size()};
}

template <typename Json>
std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns the text behind white space.
std::string_view WithoutSpace(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return text.substr(std::min(begin, text.size()));
}

// False if the value behind a member's name is null or, for `filled`, "" or [].
bool HasValue(std::string_view text, bool filled) {
  text = WithoutSpace(text);
  if (!text.starts_with(':')) return false;
  text = WithoutSpace(text.substr(1));
  if (text.starts_with("null")) return false;
  if (filled && text.starts_with('[')) {
    return !WithoutSpace(text.substr(1)).starts_with(']');
  }
  return !filled || !text.starts_with("\"\"");
}

}  // namespace

absl::Status CheckJsonBody(std::string_view body) {
  return Explain(body, ParseJson(body, LimitsFor(body)).status());
}

absl::StatusOr<nlohmann::json> ReadJsonBody(std::string_view body) {
  absl::StatusOr<nlohmann::json> value = ParseJson(body, LimitsFor(body));
  TRIVIUM_RETURN_IF_ERROR(Explain(body, value.status()));
  if (!value->is_object()) {
    return absl::InvalidArgumentError("the body is not a JSON object");
  }
  return value;
}

bool HasMember(std::string_view body, std::string_view name, bool filled) {
  const size_t dot = std::min(name.find('.'), name.size());
  int depth = 0;
  bool objects[2] = {false, false};  // what the two outermost levels are
  bool is_name = false;              // the next string is a member's name
  std::string_view outer;            // the last such name of the body itself
  bool has = false;
  for (size_t i = 0; i < body.size(); ++i) {
    switch (body[i]) {
      case '"': {
        const size_t begin = i + 1;
        for (++i; i < body.size() && body[i] != '"'; ++i) {
          if (body[i] == '\\') ++i;
        }
        if (!std::exchange(is_name, false)) break;
        const std::string_view text = body.substr(begin, i - begin);
        if (depth == 1) outer = text;
        const bool found = depth == 1 ? text == name
                                      : outer == name.substr(0, dot) &&
                                            dot < name.size() &&
                                            text == name.substr(dot + 1);
        if (!found) break;
        // The last of two members of this name counts.
        has = i < body.size() && HasValue(body.substr(i + 1), filled);
        if (has && !filled) return true;
        break;
      }
      case '{':
      case '[':
        ++depth;
        if (depth < 1 || depth > 2) break;
        objects[depth - 1] = is_name = body[i] == '{';
        break;
      case ']':
      case '}':
        --depth;
        break;
      case ',':
        is_name = depth >= 1 && depth <= 2 && objects[depth - 1];
        break;
    }
  }
  return has;
}

bool IsJsonObject(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && text[begin] == '{' &&
         nlohmann::json::accept(text);
}

std::string ToJsonText(const nlohmann::json& value) { return Dump(value); }
std::string ToJsonText(const nlohmann::ordered_json& value) {
  return Dump(value);
}

}  // namespace trivium
