// Finds the form of calls by where the sample's name, keys and values stand in
// an answer. With one call and with two, the texts are
//
//   one:  P name ... arguments S          two:  P name ... arguments X name ...
//
//   P = section_begin call_begin          S = call_end section_end
//   X = call_end separator call_begin
//
// so that call_begin is what P and X end with, and call_end what S and the rest
// of X begin with. A JSON object that holds the name counts as the name here.
#include <algorithm>
#include <optional>
#include <utility>

#include "model/chat_format/format_learner.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"
#include "nlohmann/json.hpp"

namespace trivium {

namespace {

using Json = nlohmann::ordered_json;
using Form = ToolCallFormat::Form;
constexpr size_t kNone = std::string_view::npos;

// The text from `begin` to `end`, both offsets of a text.
struct Span {
  size_t begin = kNone, end = kNone;
};

// Returns the innermost JSON value that begins with `open`, at or before `at`,
// and ends behind `inside`.
Span JsonAround(std::string_view text, char open, size_t at, size_t inside) {
  for (size_t begin = at + 1; begin-- > 0;) {
    if (text[begin] != open) continue;
    const size_t size = JsonValueSize(text.substr(begin));
    if (size != kNone && begin + size > inside) return {begin, begin + size};
  }
  return {};
}

// Returns the JSON of a part of a text; no object if it is none.
Json ObjectOf(std::string_view text, const Span& span) {
  return Json::parse(text.substr(span.begin, span.end - span.begin), nullptr,
                     /*allow_exceptions=*/false);
}

void SplitMarks(std::string_view before, std::string_view between,
                std::string_view behind, ToolCallFormat* format) {
  if (!format->parallel) {
    format->call_begin = before;
    format->call_end = behind;
    return;
  }
  const std::string_view begin = CommonEnd(before, between);
  const std::string_view call_begin =
      begin.size() == before.size() ? begin : TrimStart(begin);
  format->call_begin = call_begin;
  format->section_begin = before.substr(0, before.size() - call_begin.size());
  between.remove_suffix(call_begin.size());
  const std::string_view call_end = TrimEnd(CommonStart(between, behind));
  format->call_end = call_end;
  format->separator = between.substr(call_end.size());
  format->section_end = behind.substr(call_end.size());
}

std::vector<CallMember> MembersOf(const Json& call, const Json& second,
                                  bool* arguments_are_text) {
  std::vector<CallMember> members;
  for (const auto& [key, value] : call.items()) {
    CallMember member{.key = key, .json = value.dump()};
    const bool is_text = value.is_string();
    if (is_text && value == sample::kFirstTool) {
      member.role = CallMember::Role::kName;
    } else if (member.json.find(sample::kFirstValue) != std::string::npos) {
      member.role = CallMember::Role::kArguments;
      *arguments_are_text = is_text;
    } else if (is_text && value == sample::kFirstId) {
      member.role = CallMember::Role::kId;
    } else if (second.contains(key) && second[key] != value) {
      member.role = CallMember::Role::kIndex;
    }
    if (member.role == CallMember::Role::kName ||
        member.role == CallMember::Role::kArguments) {
      member.json.clear();
    }
    members.push_back(std::move(member));
  }
  return members;
}

std::optional<ToolCallFormat> JsonForm(std::string_view one,
                                       std::string_view two) {
  const size_t name = one.find(sample::kFirstTool);
  const size_t value = one.find(sample::kFirstValue);
  const Span object = JsonAround(one, '{', name, value);
  if (object.begin == kNone) return std::nullopt;
  ToolCallFormat format;
  format.form = Form::kJson;
  const Json call = ObjectOf(one, object);
  if (!call.is_object()) return std::nullopt;
  Json second = Json::object();
  Span first_of_two, second_of_two;
  if (!two.empty()) {
    first_of_two = JsonAround(two, '{', two.find(sample::kFirstTool),
                              two.find(sample::kFirstValue));
    second_of_two = JsonAround(two, '{', two.find(sample::kSecondTool),
                               two.find(sample::kSecondValue));
    if (first_of_two.begin != kNone && second_of_two.begin > first_of_two.end &&
        second_of_two.end != kNone) {
      format.parallel = true;
      second = ObjectOf(two, second_of_two);
    }
  }
  if (call.contains(sample::kFirstTool)) {
    format.name_is_key = true;
    format.arguments_are_text = call.begin().value().is_string();
  } else {
    format.members = MembersOf(call, second, &format.arguments_are_text);
    int names = 0, arguments = 0;
    for (const CallMember& member : format.members) {
      names += member.role == CallMember::Role::kName;
      arguments += member.role == CallMember::Role::kArguments;
    }
    if (names != 1 || arguments != 1) return std::nullopt;
  }
  std::string_view before = one.substr(0, object.begin);
  std::string_view behind = one.substr(object.end);
  if (TrimEnd(before).ends_with('[')) {
    const size_t open = TrimEnd(before).size() - 1;
    const size_t size = JsonValueSize(one.substr(open));
    if (size != kNone && open + size > object.end) {
      format.in_list = true;
      format.section_begin = one.substr(0, open);
      format.section_end = one.substr(open + size);
      return format;
    }
  }
  SplitMarks(
      before,
      format.parallel
          ? two.substr(first_of_two.end, second_of_two.begin - first_of_two.end)
          : "",
      behind, &format);
  return format;
}

// Splits what stands between name and arguments, which differs between calls if
// it has an id or a number.
void SplitNameEnd(std::string_view first, std::string_view second,
                  ToolCallFormat* format) {
  size_t id = first.find(sample::kFirstId);
  format->has_id = id != kNone;
  if (format->has_id) {
    format->name_end = first.substr(0, id);
    format->id_end = first.substr(id + sample::kFirstId.size());
  } else if (second.empty() || first == second) {
    format->name_end = first;
  } else {
    format->name_end = CommonStart(first, second);
    format->id_end = CommonEnd(first.substr(format->name_end.size()),
                               second.substr(format->name_end.size()));
  }
}

std::optional<ToolCallFormat> NamedJsonForm(std::string_view one,
                                            std::string_view two) {
  const auto arguments_of = [](std::string_view text, std::string_view tool,
                               std::string_view value) {
    const size_t name = text.find(tool);
    if (name == kNone || text.find(value) == kNone) return Span{};
    const Span arguments =
        JsonAround(text, '{', text.find(value), text.find(value));
    return arguments.begin != kNone && arguments.begin >= name + tool.size()
               ? arguments
               : Span{};
  };
  const Span first = arguments_of(one, sample::kFirstTool, sample::kFirstValue);
  if (first.begin == kNone) return std::nullopt;
  ToolCallFormat format;
  format.form = Form::kNamedJson;
  const size_t name = one.find(sample::kFirstTool);
  const size_t name_end = name + sample::kFirstTool.size();
  std::string_view between, second_name_end;
  const Span a = arguments_of(two, sample::kFirstTool, sample::kFirstValue);
  const Span b = arguments_of(two, sample::kSecondTool, sample::kSecondValue);
  const size_t second =
      a.begin == kNone ? kNone : two.find(sample::kSecondTool, a.end);
  if (second != kNone && b.begin != kNone &&
      b.begin >= second + sample::kSecondTool.size()) {
    format.parallel = true;
    between = two.substr(a.end, second - a.end);
    const size_t second_end = second + sample::kSecondTool.size();
    second_name_end = two.substr(second_end, b.begin - second_end);
  }
  SplitNameEnd(one.substr(name_end, first.begin - name_end), second_name_end,
               &format);
  SplitMarks(one.substr(0, name), between, one.substr(first.end), &format);
  return format;
}

// Returns the text between the ends of two words of `text`, the second searched
// behind the first. nullopt if they do not follow one another.
std::optional<std::string_view> Between(std::string_view text,
                                        std::string_view first,
                                        std::string_view second) {
  const size_t begin = text.find(first);
  if (begin == kNone) return std::nullopt;
  const size_t end = text.find(second, begin + first.size());
  if (end == kNone) return std::nullopt;
  return text.substr(begin + first.size(), end - begin - first.size());
}

// Returns the text behind the first `word`; empty if there is none.
std::string_view Behind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at == kNone ? std::string_view() : text.substr(at + word.size());
}

std::optional<ToolCallFormat> WordsForm(std::string_view one,
                                        std::string_view two) {
  const auto to_key = Between(one, sample::kFirstTool, sample::kFirstKey);
  const auto to_value = Between(one, sample::kFirstKey, sample::kFirstValue);
  const auto to_next = Between(one, sample::kFirstValue, sample::kSecondKey);
  const auto to_number = Between(one, sample::kSecondKey, sample::kNumber);
  if (!to_key || !to_value || !to_next || !to_number) return std::nullopt;
  std::string_view behind = Behind(one, sample::kNumber);
  ToolCallFormat format;
  if (*to_key == "{" && to_value->starts_with(":") && *to_number == ":" &&
      behind.starts_with("}")) {
    format.form = Form::kQuoted;
    format.quote = to_value->substr(1);
    if (*to_next != format.quote + ",") return std::nullopt;
    behind.remove_prefix(1);
  } else {
    format.form = Form::kParameters;
    const std::string_view begin = TrimStart(CommonEnd(*to_key, *to_next));
    format.parameter_begin = begin;
    format.name_end = to_key->substr(0, to_key->size() - begin.size());
    format.string_key_end = *to_value;
    format.other_key_end = *to_number;
    std::string_view end = to_next->substr(0, to_next->size() - begin.size());
    const std::string_view parameter_end = TrimEnd(CommonStart(end, behind));
    format.parameter_end = parameter_end;
    format.parameter_separator = end.substr(parameter_end.size());
    behind.remove_prefix(parameter_end.size());
    if (begin.empty() || Trim(parameter_end).empty() ||
        Trim(*to_value).empty()) {
      return std::nullopt;
    }
  }
  std::string_view between;
  const size_t second = two.find(sample::kSecondTool);
  if (second != kNone) {
    format.parallel = true;
    // `behind` begins where the first call's last parameter has ended.
    const std::string_view next =
        Behind(two.substr(0, second), sample::kNumber);
    between = next.substr(std::min(
        next.size(), Behind(one, sample::kNumber).size() - behind.size()));
  }
  SplitMarks(one.substr(0, one.find(sample::kFirstTool)), between, behind,
             &format);
  if (format.form == Form::kParameters) {
    const std::string end(format.call_end);
    format.call_end = TrimStart(end);
    format.parameters_end = end.substr(0, end.size() - format.call_end.size());
    if (format.call_end.empty()) return std::nullopt;
  }
  return format;
}

}  // namespace

ToolCallFormat LearnCallFormat(std::string_view one, std::string_view two) {
  if (one.find(sample::kFirstTool) == kNone ||
      one.find(sample::kFirstValue) == kNone) {
    return {};
  }
  for (const auto form : {JsonForm, NamedJsonForm, WordsForm}) {
    if (auto format = form(one, two)) return *std::move(format);
  }
  return {};
}

}  // namespace trivium
