// Objects of a schema. In declared order, node (i, c) of the graph stands
// before property i with c properties written; a property that is not required
// is stepped over. Counts are told apart only as far as minProperties and
// maxProperties need it: at the least, none from some, for the comma.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/schema_compiler.h"

namespace trivium {

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
  return grammar_.AsRule(text_.Enclosed(
      "{", options_.any_order ? InAnyOrder(members) : InOrder(members), "}"));
}

absl::StatusOr<SchemaCompiler::Members> SchemaCompiler::MembersOf(
    const Schema& schema, const std::string& pointer, int depth) {
  Members members;
  Schema properties = Schema::object();
  if (const auto found = schema.find("properties"); found != schema.end()) {
    if (!found->is_object()) {
      return SchemaError(Below(pointer, "properties"), "must be an object");
    }
    properties = *found;
  }
  Schema required = Schema::array();
  if (const auto found = schema.find("required"); found != schema.end()) {
    if (!found->is_array() ||
        !std::all_of(found->begin(), found->end(),
                     [](const Schema& name) { return name.is_string(); })) {
      return SchemaError(Below(pointer, "required"), "must be a list of names");
    }
    required = *found;
  }
  // A required property that is not declared is one of the others.
  const auto other = schema.find("additionalProperties");
  for (const Schema& name : required) {
    const std::string& text = name.get_ref<const std::string&>();
    if (properties.contains(text)) continue;
    properties[text] = true;
    bool patterned = false;
    if (const auto found = schema.find("patternProperties");
        found != schema.end() && found->is_object()) {
      for (const auto& [pattern, value] : found->items()) {
        TRIVIUM_ASSIGN_OR_RETURN(const bool matches,
                                 NameMatches(pattern, text, pointer));
        patterned = patterned || matches;
      }
    }
    if (other != schema.end() && !patterned) properties[text] = *other;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : properties.items()) {
    names.push_back(name);
    const std::string place = Below(Below(pointer, "properties"), name);
    Schema whole = value;
    if (const auto found = schema.find("patternProperties");
        found != schema.end() && found->is_object()) {
      for (const auto& [pattern, also] : found->items()) {
        TRIVIUM_ASSIGN_OR_RETURN(const bool matches,
                                 NameMatches(pattern, name, pointer));
        if (matches) whole = Schema{{"allOf", Schema::array({whole, also})}};
      }
    }
    const bool is_required = std::find(required.begin(), required.end(),
                                       Schema(name)) != required.end();
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId expression,
                             Any(whole, place, depth + 1));
    members.declared.push_back(
        {Pair(grammar_.Literal(Schema(name).dump()), expression), is_required});
  }
  TRIVIUM_RETURN_IF_ERROR(
      AddExtra(schema, pointer, depth, std::move(names), &members));

  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min,
                           Natural(schema, "minProperties", pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max,
                           Natural(schema, "maxProperties", pointer));
  members.min = min.value_or(0);
  members.max = max.value_or(-1);
  if (members.max >= 0 && members.max < members.min) {
    return SchemaError(Below(pointer, "maxProperties"),
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
        "cannot be held with additional properties, whose names may be equal; "
        "require properties by name");
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

absl::StatusOr<bool> SchemaCompiler::NameMatches(const std::string& pattern,
                                                 const std::string& name,
                                                 const std::string& pointer) {
  TRIVIUM_ASSIGN_OR_RETURN(const CharDfa* names, NamesOf(pattern, pointer));
  return names->Matches(name);
}

absl::StatusOr<const CharDfa*> SchemaCompiler::NamesOf(
    const std::string& pattern, const std::string& pointer) {
  const auto found = patterns_.find(pattern);
  if (found != patterns_.end()) return &found->second;
  const std::string place = Below(Below(pointer, "patternProperties"), pattern);
  const auto node =
      ParseRegex(pattern, RegexDialect::kEcmaScript, /*search=*/true);
  if (!node.ok()) {
    return SchemaError(place, std::string(node.status().message()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(CharDfa names,
                           Counted(CharDfa::Create(*node), place));
  return &patterns_.emplace(pattern, std::move(names)).first->second;
}

absl::Status SchemaCompiler::AddExtra(const Schema& schema,
                                      const std::string& pointer, int depth,
                                      std::vector<std::string> names,
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
    members->extra.push_back(Pair(text_.String(), value));
    return absl::OkStatus();
  }
  const std::string place = Below(pointer, "additionalProperties");
  TRIVIUM_ASSIGN_OR_RETURN(CharDfa taken,
                           Counted(CharDfa::OfTexts(names), place));
  CharDfa free = taken.Complement();
  if (patterned) {
    std::vector<std::pair<std::string, CharDfa>> before;
    for (const auto& [pattern, also] : patterns->items()) {
      const std::string at =
          Below(Below(pointer, "patternProperties"), pattern);
      TRIVIUM_ASSIGN_OR_RETURN(const CharDfa* matching,
                               NamesOf(pattern, pointer));
      for (const auto& [other, known] : before) {
        TRIVIUM_ASSIGN_OR_RETURN(const CharDfa both,
                                 Counted(known.Intersection(*matching), at));
        if (!both.empty()) {
          return SchemaError(at, fmt::format("a name may match this pattern "
                                             "and {}, which cannot be held",
                                             other));
        }
      }
      before.push_back({pattern, *matching});
      // Declared names are not free.
      TRIVIUM_ASSIGN_OR_RETURN(
          const CharDfa own,
          Counted(taken.Complement().Intersection(*matching), at));
      TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId expression,
                               Any(also, at, depth + 1));
      if (!own.empty() && also != Schema(false)) {
        members->extra.push_back(Pair(Quoted(own), expression));
      }
      TRIVIUM_ASSIGN_OR_RETURN(
          free, Counted(free.Intersection(matching->Complement()), at));
    }
  }
  if (!closed && !free.empty()) {
    members->extra.push_back(Pair(Quoted(free), value));
  }
  return absl::OkStatus();
}

ExpressionId SchemaCompiler::InOrder(const Members& members) {
  const int32_t count = static_cast<int32_t>(members.declared.size());
  const int32_t most = static_cast<int32_t>(
      members.max >= 0 ? members.max : std::max<int64_t>(members.min, 1));
  ExpressionGraph graph;
  for (int32_t i = 0; i <= count; ++i) {
    for (int32_t c = 0; c <= most; ++c) graph.AddNode();
  }
  const auto node = [most](int32_t i, int32_t c) { return i * (most + 1) + c; };
  const auto with_comma = [this](ExpressionId pair, int32_t c) {
    return c == 0 ? pair : grammar_.Sequence({text_.Comma(), pair});
  };
  for (int32_t i = 0; i <= count; ++i) {
    for (int32_t c = 0; c <= most; ++c) {
      const bool full = members.max >= 0 && c == most;
      const int32_t next = std::min(c + 1, most);
      if (i == count) {
        graph.final[static_cast<size_t>(node(i, c))] = c >= members.min;
        for (const ExpressionId pair : members.extra) {
          if (full) break;
          graph.edges.push_back(
              {node(i, c), node(i, next), with_comma(pair, c)});
        }
        continue;
      }
      const Property& property = members.declared[static_cast<size_t>(i)];
      if (!full) {
        graph.edges.push_back(
            {node(i, c), node(i + 1, next), with_comma(property.pair, c)});
      }
      if (!property.required) {
        graph.edges.push_back(
            {node(i, c), node(i + 1, c), ExpressionGraph::kNoLabel});
      }
    }
  }
  return grammar_.Graph(std::move(graph));
}

ExpressionId SchemaCompiler::InAnyOrder(const Members& members) {
  // Node (set of written properties, number of members as far as it counts).
  const int32_t most = static_cast<int32_t>(
      members.max >= 0 ? members.max : std::max<int64_t>(members.min, 1));
  const uint32_t sets = 1u << members.declared.size();
  uint32_t required = 0;
  std::vector<ExpressionId> pairs;
  for (size_t i = 0; i < members.declared.size(); ++i) {
    if (members.declared[i].required) required |= 1u << i;
    pairs.push_back(grammar_.AsRule(members.declared[i].pair));
  }
  const auto node = [most](uint32_t set, int32_t c) {
    return static_cast<int32_t>(set) * (most + 1) + c;
  };
  ExpressionGraph graph;
  for (uint32_t set = 0; set < sets; ++set) {
    for (int32_t c = 0; c <= most; ++c) {
      const int32_t from = graph.AddNode();
      graph.final[static_cast<size_t>(from)] =
          (set & required) == required && c >= members.min;
      if (members.max >= 0 && c == most) continue;
      const int32_t next = std::min(c + 1, most);
      const auto add = [&](ExpressionId pair, uint32_t to) {
        graph.edges.push_back(
            {from, node(to, next),
             c == 0 ? pair : grammar_.Sequence({text_.Comma(), pair})});
      };
      for (size_t i = 0; i < pairs.size(); ++i) {
        if ((set >> i & 1) == 0) add(pairs[i], set | 1u << i);
      }
      for (const ExpressionId pair : members.extra) add(pair, set);
    }
  }
  return grammar_.Graph(std::move(graph));
}

}  // namespace trivium
