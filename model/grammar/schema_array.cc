// Arrays of a schema.
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/schema_compiler.h"

namespace trivium {
namespace {

// Items that must differ: how many values they may have, and how many sets of
// these are told apart.
constexpr size_t kMostUnique = 64;
constexpr size_t kMostUniqueSets = 1024;
// Counts of items, times counts of those among them that "contains" asks for.
constexpr int64_t kMostContained = 4096;

}  // namespace

absl::StatusOr<std::optional<Schema>> SchemaCompiler::FewValues(
    const Schema& schema, const std::string& pointer, int depth) {
  std::optional<Schema> none;
  if (!schema.is_object() || depth > kMostSchemaDepth) return none;
  // References may lead to the same values again and again.
  if (!work_->Take(schema.dump().size())) return At(pointer, work_->status());
  const auto has_only = [&](std::initializer_list<std::string_view> keywords) {
    for (const auto& [key, value] : schema.items()) {
      if (!SchemaDocument::IsAnnotation(key) &&
          std::find(keywords.begin(), keywords.end(), key) == keywords.end()) {
        return false;
      }
    }
    return true;
  };
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    if (!has_only({"$ref"}) || !reference->is_string()) return none;
    TRIVIUM_ASSIGN_OR_RETURN(const Schema* target,
                             document_.Resolve(reference->get<std::string>(),
                                               Below(pointer, "$ref")));
    return FewValues(*target, pointer, depth + 1);
  }
  Schema values = Schema::array();
  // Objects are equal in any order of their members.
  std::set<nlohmann::json> different;
  const auto add = [&](const Schema& value) {
    if (different.insert(nlohmann::json(value)).second) values.push_back(value);
  };
  if (const auto any = schema.find("anyOf"); any != schema.end()) {
    if (!has_only({"anyOf"}) || !any->is_array()) return none;
    for (const Schema& part : *any) {
      TRIVIUM_ASSIGN_OR_RETURN(const std::optional<Schema> few,
                               FewValues(part, pointer, depth + 1));
      if (!few.has_value()) return none;
      for (const Schema& value : *few) add(value);
      if (values.size() > kMostUnique) return none;
    }
    return values;
  }
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                           document_.TypesOf(schema, pointer));
  const auto listed = schema.find("enum");
  if (const auto one = schema.find("const");
      one != schema.end() || listed != schema.end()) {
    if (!has_only({"type", one != schema.end() ? "const" : "enum"})) {
      return none;
    }
    for (const Schema& value :
         one != schema.end() ? Schema::array({*one}) : *listed) {
      if ((TypeOf(value) & types) != 0) add(value);
      if (values.size() > kMostUnique) return none;
    }
    return values;
  }
  if (types == kBooleanType && has_only({"type"})) {
    return Schema::array({true, false});
  }
  if (types == kIntegerType && has_only({"type", "minimum", "maximum"}) &&
      schema.contains("minimum") && schema.contains("maximum")) {
    const Schema& low = schema.at("minimum");
    const Schema& high = schema.at("maximum");
    if (!low.is_number_integer() || !high.is_number_integer()) return none;
    const double first = low.get<double>(), last = high.get<double>();
    if (std::max(-first, last) > kGreatestInteger ||
        last - first >= kMostUnique) {
      return none;
    }
    for (int64_t value = low.get<int64_t>(); value <= high.get<int64_t>();
         ++value) {
      values.push_back(value);
    }
    return values;
  }
  return none;
}

// Each set of items that are written is a node.
absl::StatusOr<std::optional<ExpressionId>> SchemaCompiler::UniqueArray(
    const Schema& items, const std::string& pointer, int64_t min, int64_t max,
    int depth) {
  const std::string place = Below(pointer, "uniqueItems");
  const std::optional<ExpressionId> none;
  // The items' own errors come first.
  TRIVIUM_RETURN_IF_ERROR(
      Any(items, Below(pointer, "items"), depth + 1).status());
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::optional<Schema> values,
      FewValues(items, Below(pointer, "items"), depth + 1));
  if (!values.has_value()) return none;
  const int64_t most = max < 0 ? static_cast<int64_t>(values->size())
                               : std::min<int64_t>(max, values->size());
  if (min > most) {
    return NothingMeets(
        place, fmt::format("there are only {} different items, of which "
                           "minItems asks for more",
                           values->size()));
  }
  std::vector<ExpressionId> first, further;
  for (const Schema& value : *values) {
    first.push_back(grammar_.AsRule(text_.Constant(value)));
    further.push_back(grammar_.Sequence({text_.Comma(), first.back()}));
  }
  ExpressionGraph graph;
  std::map<uint64_t, int32_t> nodes = {{0, graph.AddNode()}};
  std::vector<uint64_t> sets = {0};
  for (size_t i = 0; i < sets.size(); ++i) {
    if (!work_->Take(1 + first.size())) return At(place, work_->status());
    const uint64_t set = sets[i];
    const int64_t size = std::popcount(set);
    graph.final[i] = size > 0 && size >= min;
    if (size == most) continue;
    for (size_t item = 0; item < first.size(); ++item) {
      const uint64_t next = set | uint64_t{1} << item;
      if (next == set) continue;
      const auto [found, added] = nodes.try_emplace(next, 0);
      if (added) {
        if (sets.size() == kMostUniqueSets) return none;
        found->second = graph.AddNode();
        sets.push_back(next);
      }
      graph.edges.push_back({static_cast<int32_t>(i), found->second,
                             size == 0 ? first[item] : further[item]});
    }
  }
  return std::optional(grammar_.AsRule(
      text_.Enclosed("[", grammar_.Graph(std::move(graph)), min == 0, "]")));
}

absl::StatusOr<std::optional<SchemaCompiler::UniqueItem>>
SchemaCompiler::ItemInOneSpelling(const Schema& schema,
                                  const std::string& pointer, int depth) {
  const std::optional<UniqueItem> none;
  TRIVIUM_ASSIGN_OR_RETURN(
      const Schema whole,
      document_.Merge(schema, Schema(true), pointer, depth));
  if (!whole.is_object()) return none;
  std::vector<ExpressionId> choices;
  UniqueItem item = {};
  if (const auto any = whole.find("anyOf"); any != whole.end()) {
    Schema rest = whole;
    rest.erase("anyOf");
    if (SchemaDocument::Restricts(rest) || !any->is_array()) return none;
    for (const Schema& part : *any) {
      TRIVIUM_ASSIGN_OR_RETURN(const std::optional<UniqueItem> one,
                               ItemInOneSpelling(part, pointer, depth + 1));
      if (!one.has_value()) return none;
      choices.push_back(one->texts);
      // Values may be of several schemas.
      item.values = std::max(item.values, one->values);
    }
    item.texts = grammar_.Choice(std::move(choices));
    return std::optional(item);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                           document_.TypesOf(whole, pointer));
  if (types == 0 || whole.contains("oneOf") || whole.contains(kVariants) ||
      (types & (kArrayType | kObjectType)) != 0) {
    return none;
  }
  if (whole.contains("enum") || whole.contains("const")) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Schema> listed,
                             ListedValues(whole, pointer, types));
    std::set<std::string> different;
    for (const Schema& value : listed) {
      // 1.0 is 1.
      if (value.is_number_float() && TypeOf(value) == kIntegerType) return none;
      choices.push_back(text_.Constant(value));
      different.insert(value.dump());
    }
    item.texts = grammar_.Choice(std::move(choices));
    item.values = static_cast<int64_t>(different.size());
    return std::optional(item);
  }
  if ((types & kFractionType) != 0 || whole.contains(kExcluded) ||
      whole.contains("multipleOf")) {
    return none;
  }
  if (types & kStringType) {
    one_spelling_ = true;
    const auto texts = String(whole, pointer);
    one_spelling_ = false;
    TRIVIUM_RETURN_IF_ERROR(texts.status());
    choices.push_back(*texts);
    TRIVIUM_ASSIGN_OR_RETURN(const Conditions conditions,
                             ConditionsOf(whole, pointer));
    TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min,
                             Natural(whole, "minLength", pointer));
    TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max,
                             Natural(whole, "maxLength", pointer));
    if (!conditions.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          const CharDfa dfa,
          TextsOf(conditions, min.value_or(0), max.value_or(-1), pointer));
      item.values += dfa.Count();
    } else {
      item.values += max == 0 ? 1 : int64_t{kLastCodePoint};
    }
  }
  if (types & kIntegerType) {
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId number,
                             Number(whole, pointer, /*integer=*/true));
    choices.push_back(number);
    TRIVIUM_ASSIGN_OR_RETURN(const NumberBounds bounds,
                             BoundsOf(whole, pointer, /*integer=*/true));
    item.values +=
        bounds.least.has_value() && bounds.greatest.has_value()
            ? std::min(*bounds.greatest - *bounds.least + 1, int64_t{1} << 40)
            : int64_t{1} << 40;
  }
  if (types & kBooleanType) {
    choices.push_back(text_.Boolean());
    item.values += 2;
  }
  if (types & kNullType) {
    choices.push_back(text_.Null());
    item.values += 1;
  }
  item.texts = grammar_.Choice(std::move(choices));
  return std::optional(item);
}

absl::StatusOr<ExpressionId> SchemaCompiler::UniqueItemRule(
    const Schema& schema, const std::string& pointer, int64_t min, int depth) {
  const std::string place = Below(pointer, "uniqueItems");
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::optional<UniqueItem> item,
      ItemInOneSpelling(schema, Below(pointer, "items"), depth + 1));
  if (!item.has_value()) {
    return SchemaError(
        place,
        "is supported for items that are strings, integers, booleans or null, "
        "or an enum of these, and with maxItems 1; leave it out");
  }
  if (item->values < min) {
    return NothingMeets(
        place, fmt::format("there may be only {} different items, of which "
                           "minItems asks for more",
                           item->values));
  }
  const RuleId rule = grammar_.AddRule();
  grammar_.Define(rule, item->texts);
  grammar_.SetUnique(rule);
  return grammar_.Rule(rule);
}

// Node (i, c): i items are written, of which at least c are those that are
// asked for, or exactly c if they have a maximum. Counts end where none is
// asked for.
absl::StatusOr<ExpressionId> SchemaCompiler::Containing(
    const Schema& schema, const std::string& pointer, int64_t min, int64_t max,
    int depth) {
  const std::string place = Below(pointer, "contains");
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> least,
                           Natural(schema, "minContains", pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> most,
                           Natural(schema, "maxContains", pointer));
  const int64_t needed = least.value_or(1);
  const int64_t contained = std::max(needed, most.value_or(0));
  const int64_t items = std::max(min, max);
  if (most.has_value() && *most < needed) {
    return NothingMeets(Below(pointer, "maxContains"),
                        "is less than minContains, which is 1 if it is absent");
  }
  const auto listed = schema.find("items");
  const auto unique = schema.find("uniqueItems");
  if (schema.contains("prefixItems") ||
      (listed != schema.end() && listed->is_array()) ||
      (unique != schema.end() && *unique != Schema(false))) {
    return SchemaError(place,
                       "is not supported beside prefixItems and uniqueItems");
  }
  if (items > kMostContained || contained > kMostContained ||
      (items + 1) * (contained + 1) > kMostContained) {
    return SchemaError(
        place, fmt::format("its counts times those of items are more than {}; "
                           "lower minItems, maxItems and minContains",
                           kMostContained));
  }
  const Schema all = listed == schema.end() ? Schema(true) : *listed;
  const Schema& asked = schema.at("contains");
  Schema other = all;
  if (most.has_value()) {
    other = Schema{{"allOf", Schema::array({all, {{"not", asked}}})}};
  }
  // A part of the items may be impossible.
  ++variants_;
  const absl::StatusOr<ExpressionId> rest =
      Any(other, most.has_value() ? place : Below(pointer, "items"), depth + 1);
  const absl::StatusOr<ExpressionId> met =
      Any(Schema{{"allOf", Schema::array({all, asked})}}, place, depth + 1);
  --variants_;
  TRIVIUM_RETURN_IF_ERROR(rest.status());
  TRIVIUM_RETURN_IF_ERROR(met.status());
  const auto with_comma = [this](ExpressionId item) {
    return std::pair(item, grammar_.Sequence({text_.Comma(), item}));
  };
  const auto [first_other, further_other] = with_comma(grammar_.AsRule(*rest));
  const auto [first_met, further_met] = with_comma(grammar_.AsRule(*met));
  ExpressionGraph graph;
  // The first item is told apart for the comma.
  const int64_t counted = std::max<int64_t>(items, 1);
  const auto node = [contained](int64_t i, int64_t c) {
    return static_cast<int32_t>(i * (contained + 1) + c);
  };
  for (int64_t i = 0; i <= counted; ++i) {
    for (int64_t c = 0; c <= contained; ++c) {
      const int32_t from = graph.AddNode();
      graph.final[static_cast<size_t>(from)] = i > 0 && i >= min && c >= needed;
      if (max >= 0 && i >= max) continue;
      const int64_t next = std::min(i + 1, counted);
      graph.edges.push_back(
          {from, node(next, c), i == 0 ? first_other : further_other});
      if (c < contained) {
        graph.edges.push_back(
            {from, node(next, c + 1), i == 0 ? first_met : further_met});
      }
    }
  }
  return grammar_.AsRule(text_.Enclosed("[", grammar_.Graph(std::move(graph)),
                                        min == 0 && needed == 0, "]"));
}

absl::StatusOr<ExpressionId> SchemaCompiler::Array(const Schema& schema,
                                                   const std::string& pointer,
                                                   int depth) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min_items,
                           Natural(schema, "minItems", pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max_items,
                           Natural(schema, "maxItems", pointer));
  const int64_t min = min_items.value_or(0);
  int64_t max = std::min<int64_t>(max_items.value_or(-1), kMaxRepetitions);
  if (min > kMaxRepetitions) {
    return SchemaError(Below(pointer, "minItems"),
                       fmt::format("must be at most {}", kMaxRepetitions));
  }
  if (max >= 0 && max < min) {
    return NothingMeets(Below(pointer, "maxItems"), "is less than minItems");
  }
  if (schema.contains("contains")) {
    return Containing(schema, pointer, min, max, depth);
  }
  std::optional<ExpressionId> unique_item;
  if (const auto unique = schema.find("uniqueItems");
      unique != schema.end() && *unique != Schema(false) &&
      (max < 0 || max > 1)) {
    const auto items = schema.find("items");
    const Schema item = schema.contains("prefixItems") || items == schema.end()
                            ? Schema(true)
                            : *items;
    TRIVIUM_ASSIGN_OR_RETURN(const std::optional<ExpressionId> few,
                             UniqueArray(item, pointer, min, max, depth));
    if (few.has_value()) return *few;
    TRIVIUM_ASSIGN_OR_RETURN(unique_item,
                             UniqueItemRule(item, pointer, min, depth));
  }
  // Until 2019, a list of items was what prefixItems is now.
  auto prefix = schema.find("prefixItems");
  auto items = schema.find("items");
  const char* first_keyword = "prefixItems";
  const char* rest_keyword = "items";
  if (prefix == schema.end() && items != schema.end() && items->is_array()) {
    prefix = items;
    items = schema.find("additionalItems");
    first_keyword = "items";
    rest_keyword = "additionalItems";
  }
  if (prefix == schema.end() && items == schema.end() && min == 0 && max < 0) {
    return text_.Array();
  }
  std::vector<ExpressionId> first;
  if (prefix != schema.end()) {
    if (!prefix->is_array()) {
      return SchemaError(Below(pointer, first_keyword),
                         "must be a list of schemas");
    }
    for (size_t i = 0; i < prefix->size(); ++i) {
      TRIVIUM_ASSIGN_OR_RETURN(
          const ExpressionId item,
          Any((*prefix)[i], fmt::format("{}/{}/{}", pointer, first_keyword, i),
              depth + 1));
      first.push_back(item);
    }
  }
  if (items != schema.end() && items->is_array()) {
    return SchemaError(Below(pointer, rest_keyword),
                       "must be a schema beside the list of the first ones");
  }
  ExpressionId rest = unique_item.value_or(text_.Value());
  if (items != schema.end() && !unique_item.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        rest, Any(*items, Below(pointer, rest_keyword), depth + 1));
    if (*items == Schema(false)) {
      max = std::min<int64_t>(max < 0 ? kMaxRepetitions : max,
                              static_cast<int64_t>(first.size()));
    }
  }
  // Node i: i items are written. The empty array is apart.
  ExpressionGraph graph;
  graph.AddNode();
  const int64_t listed = std::min<int64_t>(static_cast<int64_t>(first.size()),
                                           max < 0 ? kMaxRepetitions : max);
  for (int64_t i = 0; i < listed; ++i) {
    const int32_t node = graph.AddNode();
    graph.final[static_cast<size_t>(node)] = i + 1 >= min;
    graph.edges.push_back(
        {node - 1, node,
         i == 0 ? first[0]
                : grammar_.Sequence(
                      {text_.Comma(), first[static_cast<size_t>(i)]})});
  }
  if (max < 0 || max > listed) {
    // The others, of which the first may follow nothing.
    const auto left = [listed](int64_t count, int64_t taken) {
      return count < 0 ? int32_t{-1}
                       : static_cast<int32_t>(
                             std::max<int64_t>(count - listed - taken, 0));
    };
    const ExpressionId more = grammar_.Sequence({text_.Comma(), rest});
    const int64_t taken = listed == 0 ? 1 : 0;
    ExpressionId others =
        grammar_.Repeat(more, left(min, taken), left(max, taken));
    if (taken == 1) others = grammar_.Sequence({rest, others});
    const int32_t end = graph.AddNode();
    graph.final[static_cast<size_t>(end)] = true;
    graph.edges.push_back({end - 1, end, others});
  }
  return grammar_.AsRule(
      text_.Enclosed("[", grammar_.Graph(std::move(graph)), min == 0, "]"));
}

}  // namespace trivium
