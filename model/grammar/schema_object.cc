// Objects of a schema. In declared order, node (i, c) of the graph stands
// before property i with c properties written; a property that is not required
// is stepped over. Counts are told apart only as far as minProperties and
// maxProperties need it: at the least, none from some, for the comma. The
// object without members is not a path of the graph.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/schema_compiler.h"

namespace trivium {
namespace {

absl::Status TwoPatterns(const std::string& pointer, const std::string& other) {
  return SchemaError(pointer,
                     fmt::format("a name may match this pattern and {}, which "
                                 "is not supported; make them exclude each "
                                 "other",
                                 other));
}

// The number of members up to which nodes tell counts apart: at the least, none
// from some.
int64_t MostCounted(int64_t min, int64_t max) {
  return max >= 0 ? max : std::max<int64_t>(min, 1);
}

}  // namespace

ExpressionId SchemaCompiler::Pair(ExpressionId name, ExpressionId value) {
  return grammar_.Sequence({name, text_.Colon(), value});
}

absl::StatusOr<ExpressionId> SchemaCompiler::Object(const Schema& schema,
                                                    const std::string& pointer,
                                                    int depth) {
  TRIVIUM_ASSIGN_OR_RETURN(const Members members,
                           MembersOf(schema, pointer, depth));
  const size_t declared = members.declared.size();
  if (options_.any_order && declared > kMostFreeProperties) {
    return SchemaError(
        Below(pointer, "properties"),
        fmt::format("at most {} properties can be in any order, {} are given; "
                    "ask for the declared order",
                    kMostFreeProperties, declared));
  }
  const size_t counts =
      static_cast<size_t>(MostCounted(members.min, members.max)) + 1;
  const size_t extra = members.extra.size();
  // Nodes and edges of the graph, which has one node a count in each place.
  const size_t size = options_.any_order ? counts * (size_t{1} << declared) *
                                               (1 + declared + extra)
                                         : counts * (3 * declared + 1 + extra);
  if (size > grammar_.limits().expressions) {
    return absl::ResourceExhaustedError(fmt::format(
        "{}: {} properties with counts up to {} are too many to be told apart; "
        "lower minProperties and maxProperties, or declare fewer",
        pointer, declared, counts - 1));
  }
  const bool none =
      members.min == 0 &&
      std::none_of(members.declared.begin(), members.declared.end(),
                   [](const Property& property) { return property.required; });
  return grammar_.AsRule(text_.Enclosed(
      "{", options_.any_order ? InAnyOrder(members) : InOrder(members), none,
      "}"));
}

absl::StatusOr<SchemaCompiler::Members> SchemaCompiler::MembersOf(
    const Schema& schema, const std::string& pointer, int depth) {
  Members members;
  std::vector<std::pair<std::string, const Schema*>> properties;
  std::set<std::string> declared;
  if (const auto found = schema.find("properties"); found != schema.end()) {
    if (!found->is_object()) {
      return SchemaError(Below(pointer, "properties"), "must be an object");
    }
    for (const auto& [name, value] : found->items()) {
      properties.push_back({name, &value});
      declared.insert(name);
    }
  }
  std::vector<std::string> required;
  if (const auto found = schema.find("required"); found != schema.end()) {
    if (!found->is_array() ||
        !std::all_of(found->begin(), found->end(),
                     [](const Schema& name) { return name.is_string(); })) {
      return SchemaError(Below(pointer, "required"), "must be a list of names");
    }
    for (const Schema& name : *found) required.push_back(name);
    if (!work_->Take(required.size() * (required.size() + properties.size()))) {
      return At(pointer, work_->status());
    }
  }
  // A required property that is not declared is one of the others.
  const auto other = schema.find("additionalProperties");
  std::set<std::string> others;
  for (const std::string& name : required) {
    if (!declared.insert(name).second) continue;
    TRIVIUM_ASSIGN_OR_RETURN(const Schema* also,
                             PatternOf(schema, name, pointer));
    const bool rest = also == nullptr && other != schema.end();
    static const Schema kAny(true);
    properties.push_back({name, rest ? &*other : &kAny});
    if (rest) others.insert(name);
  }
  const std::set<std::string> is_required(required.begin(), required.end());
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<CharDfa> allowed,
                           AllowedNames(schema, pointer, depth));
  std::vector<std::string> names;
  for (const auto& [name, value] : properties) {
    names.push_back(name);
    if (allowed.has_value() && !allowed->Matches(name)) {
      if (!is_required.contains(name)) continue;
      return NothingMeets(
          Below(pointer, "propertyNames"),
          fmt::format("forbids the property {}, which is required", name));
    }
    const std::string place = others.contains(name)
                                  ? Below(pointer, "additionalProperties")
                                  : Below(Below(pointer, "properties"), name);
    TRIVIUM_ASSIGN_OR_RETURN(const Schema* also,
                             PatternOf(schema, name, pointer));
    Schema both;
    if (also != nullptr) both["allOf"] = Schema::array({*value, *also});
    TRIVIUM_ASSIGN_OR_RETURN(
        const ExpressionId expression,
        Any(also == nullptr ? *value : both, place, depth + 1));
    members.declared.push_back(
        {Pair(grammar_.Literal(JsonText::Spelled(name)), expression),
         is_required.contains(name)});
  }
  TRIVIUM_RETURN_IF_ERROR(
      AddExtra(schema, pointer, depth, std::move(names), allowed, &members));

  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min,
                           Natural(schema, "minProperties", pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max,
                           Natural(schema, "maxProperties", pointer));
  members.min = min.value_or(0);
  members.max = max.value_or(-1);
  if (members.max >= 0 && members.max < members.min) {
    return NothingMeets(Below(pointer, "maxProperties"),
                        "is less than minProperties");
  }
  const int64_t certain =
      std::count_if(members.declared.begin(), members.declared.end(),
                    [](const Property& property) { return property.required; });
  if (members.min <= certain) members.min = 0;
  if (members.min > 1 && !members.extra.empty()) {
    // A name that is written twice counts once.
    return SchemaError(
        Below(pointer, "minProperties"),
        "is not supported with additional properties, whose names may be "
        "equal; require properties by name");
  }
  if (members.extra.empty() &&
      members.min > static_cast<int64_t>(members.declared.size())) {
    return NothingMeets(Below(pointer, "minProperties"),
                        "is more than the properties that may come; lower it");
  }
  // Without extra members there are no more than the declared ones.
  if (members.extra.empty() &&
      members.max >= static_cast<int64_t>(members.declared.size())) {
    members.max = -1;
  }
  constexpr int64_t kMostCounted = 1000;
  if (members.max > kMostCounted) {
    return SchemaError(Below(pointer, "maxProperties"),
                       fmt::format("must be at most {}", kMostCounted));
  }
  return members;
}

absl::StatusOr<const Schema*> SchemaCompiler::PatternOf(
    const Schema& schema, const std::string& name, const std::string& pointer) {
  const Schema* of_name = nullptr;
  std::string matched;
  const auto patterns = schema.find("patternProperties");
  if (patterns == schema.end() || !patterns->is_object()) return of_name;
  for (const auto& [pattern, also] : patterns->items()) {
    TRIVIUM_ASSIGN_OR_RETURN(const CharDfa* names, NamesOf(pattern, pointer));
    if (!work_->Take(1 + name.size())) return At(pointer, work_->status());
    if (!names->Matches(name)) continue;
    if (of_name != nullptr) {
      return TwoPatterns(Below(Below(pointer, "patternProperties"), pattern),
                         matched);
    }
    of_name = &also;
    matched = pattern;
  }
  return of_name;
}

absl::StatusOr<std::optional<CharDfa>> SchemaCompiler::AllowedNames(
    const Schema& schema, const std::string& pointer, int depth) {
  const auto found = schema.find("propertyNames");
  if (found == schema.end()) return std::optional<CharDfa>();
  const std::string place = Below(pointer, "propertyNames");
  TRIVIUM_ASSIGN_OR_RETURN(
      const Schema names,
      document_.Merge(*found, Schema(true), place, depth + 1));
  if (names == Schema(true)) return std::optional<CharDfa>();
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                           document_.TypesOf(names, place));
  std::vector<std::string> listed;
  if (names == Schema(false) || (types & kStringType) == 0) {
    TRIVIUM_ASSIGN_OR_RETURN(CharDfa none,
                             At(place, CharDfa::OfTexts(listed, work_)));
    return std::optional<CharDfa>(std::move(none));
  }
  TRIVIUM_RETURN_IF_ERROR(
      SchemaDocument::CheckKeywords(names, kStringType, place));
  // A choice of constants is a list of names.
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<Schema> few,
                           FewValues(names, place, depth + 1));
  for (const char* keyword : {kVariants, "anyOf", "oneOf"}) {
    if (names.contains(keyword) && !few.has_value()) {
      return SchemaError(keyword == kVariants ? place : Below(place, keyword),
                         "is not supported for names; write an enum or a "
                         "pattern");
    }
  }
  if (few.has_value() || names.contains("enum") || names.contains("const")) {
    std::vector<Schema> values;
    if (few.has_value()) {
      values.assign(few->begin(), few->end());
    } else {
      TRIVIUM_ASSIGN_OR_RETURN(values, ListedValues(names, place, kStringType));
    }
    for (const Schema& name : values) {
      if (name.is_string()) listed.push_back(name);
    }
    TRIVIUM_ASSIGN_OR_RETURN(CharDfa texts,
                             At(place, CharDfa::OfTexts(listed, work_)));
    return std::optional<CharDfa>(std::move(texts));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min,
                           Natural(names, "minLength", place));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max,
                           Natural(names, "maxLength", place));
  TRIVIUM_ASSIGN_OR_RETURN(const Conditions conditions,
                           ConditionsOf(names, place));
  const int64_t least = min.value_or(0), most = max.value_or(-1);
  if (conditions.empty() && least == 0 && most < 0) {
    return std::optional<CharDfa>();
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      CharDfa texts, conditions.empty()
                         ? At(place, CharDfa::OfLength(least, most, work_))
                         : TextsOf(conditions, least, most, place));
  return std::optional<CharDfa>(std::move(texts));
}

absl::StatusOr<const CharDfa*> SchemaCompiler::NamesOf(
    const std::string& pattern, const std::string& pointer) {
  const auto found = patterns_.find(pattern);
  if (found != patterns_.end()) return &found->second;
  const std::string place = Below(Below(pointer, "patternProperties"), pattern);
  const auto node =
      ParseRegex(pattern, RegexDialect::kEcmaScript, /*search=*/true, work_);
  if (!node.ok()) return At(place, node.status());
  TRIVIUM_ASSIGN_OR_RETURN(CharDfa names,
                           At(place, CharDfa::Create(*node, work_)));
  return &patterns_.emplace(pattern, std::move(names)).first->second;
}

absl::Status SchemaCompiler::AddExtra(const Schema& schema,
                                      const std::string& pointer, int depth,
                                      std::vector<std::string> names,
                                      const std::optional<CharDfa>& allowed,
                                      Members* members) {
  const auto patterns = schema.find("patternProperties");
  const auto rest = schema.find("additionalProperties");
  const bool closed = rest != schema.end() && *rest == Schema(false);
  const bool patterned = patterns != schema.end() && !patterns->empty();
  if (patterned && !patterns->is_object()) {
    return SchemaError(Below(pointer, "patternProperties"),
                       "must be an object");
  }
  if (closed && !patterned) return absl::OkStatus();
  ExpressionId value = text_.Value();
  if (!closed && rest != schema.end()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        value, Any(*rest, Below(pointer, "additionalProperties"), depth + 1));
  }
  if (names.empty() && !patterned) {
    if (!allowed.has_value()) {
      members->extra.push_back(Pair(text_.String(), value));
    } else if (!allowed->empty()) {
      members->extra.push_back(Pair(Quoted(*allowed), value));
    }
    return absl::OkStatus();
  }
  const std::string place = Below(pointer, "additionalProperties");
  TRIVIUM_ASSIGN_OR_RETURN(const CharDfa taken,
                           At(place, CharDfa::OfTexts(names, work_)));
  TRIVIUM_ASSIGN_OR_RETURN(CharDfa not_taken,
                           At(place, taken.Complement(work_)));
  if (allowed.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(not_taken,
                             At(Below(pointer, "propertyNames"),
                                not_taken.Intersection(*allowed, work_)));
  }
  CharDfa free = not_taken;
  if (patterned) {
    std::vector<std::pair<std::string, const CharDfa*>> before;
    for (const auto& [pattern, also] : patterns->items()) {
      const std::string at =
          Below(Below(pointer, "patternProperties"), pattern);
      TRIVIUM_ASSIGN_OR_RETURN(const CharDfa* matching,
                               NamesOf(pattern, pointer));
      for (const auto& [other, known] : before) {
        TRIVIUM_ASSIGN_OR_RETURN(const CharDfa both,
                                 At(at, known->Intersection(*matching, work_)));
        if (!both.empty()) return TwoPatterns(at, other);
      }
      before.push_back({pattern, matching});
      // Declared names are not free.
      TRIVIUM_ASSIGN_OR_RETURN(
          const CharDfa own, At(at, not_taken.Intersection(*matching, work_)));
      TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId expression,
                               Any(also, at, depth + 1));
      if (!own.empty() && also != Schema(false)) {
        members->extra.push_back(Pair(Quoted(own), expression));
      }
      TRIVIUM_ASSIGN_OR_RETURN(const CharDfa others,
                               At(at, matching->Complement(work_)));
      TRIVIUM_ASSIGN_OR_RETURN(free, At(at, free.Intersection(others, work_)));
    }
  }
  if (!closed && !free.empty()) {
    members->extra.push_back(Pair(Quoted(free), value));
  }
  return absl::OkStatus();
}

ExpressionId SchemaCompiler::InOrder(const Members& members) {
  const int32_t count = static_cast<int32_t>(members.declared.size());
  const int32_t most =
      static_cast<int32_t>(MostCounted(members.min, members.max));
  ExpressionGraph graph;
  for (int32_t i = 0; i <= count; ++i) {
    for (int32_t c = 0; c <= most; ++c) graph.AddNode();
  }
  const auto node = [most](int32_t i, int32_t c) { return i * (most + 1) + c; };
  // Adds edges (i, c) -> (to, c + 1) that write the member.
  const auto add = [&](ExpressionId pair, int32_t i, int32_t to) {
    const ExpressionId further = grammar_.Sequence({text_.Comma(), pair});
    for (int32_t c = 0; c <= most; ++c) {
      if (members.max >= 0 && c == most) break;
      graph.edges.push_back({node(i, c), node(to, std::min(c + 1, most)),
                             c == 0 ? pair : further});
    }
  };
  for (int32_t i = 0; i < count; ++i) {
    const Property& property = members.declared[static_cast<size_t>(i)];
    // Written once a count, so that many counts call one rule.
    add(most > 1 ? grammar_.AsRule(property.pair) : property.pair, i, i + 1);
    if (property.required) continue;
    for (int32_t c = 0; c <= most; ++c) {
      graph.edges.push_back(
          {node(i, c), node(i + 1, c), ExpressionGraph::kNoLabel});
    }
  }
  for (const ExpressionId pair : members.extra) {
    add(most > 1 ? grammar_.AsRule(pair) : pair, count, count);
  }
  for (int32_t c = 1; c <= most; ++c) {
    graph.final[static_cast<size_t>(node(count, c))] = c >= members.min;
  }
  return grammar_.Graph(std::move(graph));
}

ExpressionId SchemaCompiler::InAnyOrder(const Members& members) {
  // Node (set of written properties, number of members as far as it counts).
  const int32_t most =
      static_cast<int32_t>(MostCounted(members.min, members.max));
  const uint32_t sets = 1u << members.declared.size();
  uint32_t required = 0;
  struct Member {
    ExpressionId first, further;  // without and with a comma before it
  };
  const auto with_comma = [this](ExpressionId pair) {
    return Member{pair, grammar_.Sequence({text_.Comma(), pair})};
  };
  std::vector<Member> declared, extra;
  for (size_t i = 0; i < members.declared.size(); ++i) {
    if (members.declared[i].required) required |= 1u << i;
    declared.push_back(with_comma(grammar_.AsRule(members.declared[i].pair)));
  }
  for (const ExpressionId pair : members.extra) {
    extra.push_back(with_comma(pair));
  }
  const auto node = [most](uint32_t set, int32_t c) {
    return static_cast<int32_t>(set) * (most + 1) + c;
  };
  ExpressionGraph graph;
  for (uint32_t set = 0; set < sets; ++set) {
    for (int32_t c = 0; c <= most; ++c) {
      const int32_t from = graph.AddNode();
      graph.final[static_cast<size_t>(from)] =
          c > 0 && (set & required) == required && c >= members.min;
      if (members.max >= 0 && c == most) continue;
      const int32_t next = std::min(c + 1, most);
      const auto add = [&](const Member& member, uint32_t to) {
        graph.edges.push_back(
            {from, node(to, next), c == 0 ? member.first : member.further});
      };
      for (size_t i = 0; i < declared.size(); ++i) {
        if ((set >> i & 1) == 0) add(declared[i], set | 1u << i);
      }
      for (const Member& member : extra) add(member, set);
    }
  }
  return grammar_.Graph(std::move(graph));
}

}  // namespace trivium
