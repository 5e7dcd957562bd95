// Strings, numbers and arrays of a schema.
#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "model/grammar/formats.h"
#include "model/grammar/number_range.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/schema_compiler.h"

namespace trivium {
namespace {

constexpr double kGreatestInteger = 1e18;
constexpr int64_t kGreatestDivisor = 1000;
// A text beside a pattern or a format whose length is counted: its states times
// characters. So that several of them can be counted, a text of many states is
// not as long as its schema may allow: at 1,000 states, 134,217 characters.
constexpr int64_t kMostCounted = 1 << 27;
// Items that must differ: how many values they may have, and how many sets of
// these are told apart.
constexpr size_t kMostUnique = 64;
constexpr size_t kMostUniqueSets = 1024;
// Counts of items, times counts of those among them that "contains" asks for.
constexpr int64_t kMostContained = 4096;
// Beyond them a reader that has doubles sees another integer.
constexpr int kMultipleDigits = 15;

RegexNode RegexOfText(std::string_view text) {
  RegexNode sequence;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    text.remove_prefix(point.size);
    RegexNode character;
    character.kind = RegexNode::Kind::kCharacter;
    character.set = CodePointSet({{point.value, point.value}});
    sequence.parts.push_back(std::move(character));
  }
  return sequence;
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> SchemaCompiler::Natural(
    const Schema& schema, const char* keyword, const std::string& pointer) {
  const auto found = schema.find(keyword);
  if (found == schema.end()) return std::optional<int64_t>();
  const double value = found->is_number() ? found->get<double>() : -1;
  if (value < 0 || value != std::floor(value)) {
    return SchemaError(Below(pointer, keyword), "must be a natural number");
  }
  // Nothing longer can be written.
  return std::optional<int64_t>(
      static_cast<int64_t>(std::min(value, double{kMaxRepetitions} + 1)));
}

ExpressionId SchemaCompiler::Quoted(ExpressionId inside) {
  const ExpressionId quote = grammar_.Literal("\"");
  return grammar_.AsRule(grammar_.Sequence({quote, inside, quote}));
}

ExpressionId SchemaCompiler::Quoted(const CharDfa& texts, int32_t max) {
  return Quoted(texts.ToExpression(
      [this](const CodePointSet& set) { return text_.Encode(set); }, &grammar_,
      max));
}

ExpressionId SchemaCompiler::Quoted(const RegexNode& texts) {
  return Quoted(RegexExpression(
      texts, [this](const CodePointSet& set) { return text_.Encode(set); },
      &grammar_));
}

absl::StatusOr<ExpressionId> SchemaCompiler::String(
    const Schema& schema, const std::string& pointer) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min,
                           Natural(schema, "minLength", pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max,
                           Natural(schema, "maxLength", pointer));
  if (min.value_or(0) > kMaxRepetitions) {
    return SchemaError(Below(pointer, "minLength"),
                       fmt::format("must be at most {}", kMaxRepetitions));
  }
  if (max.has_value() && min.value_or(0) > *max) {
    return NothingMeets(Below(pointer, "maxLength"), "is less than minLength");
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Conditions conditions,
                           ConditionsOf(schema, pointer));
  const bool bounded = min.value_or(0) > 0 || max.has_value();
  if (conditions.empty()) {
    if (!bounded) return text_.String();
    return Quoted(grammar_.Repeat(
        text_.Character(), static_cast<int32_t>(min.value_or(0)),
        max.has_value()
            ? static_cast<int32_t>(std::min<int64_t>(*max, kMaxRepetitions))
            : -1));
  }
  if (conditions.size() == 1 && !conditions[0].negative && !bounded) {
    return Quoted(conditions[0].texts);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const CharDfa texts,
                           TextsOf(conditions, min.value_or(0), -1, pointer));
  if (texts.empty() || (max.has_value() && texts.Shortest() > *max)) {
    return NothingMeets(pointer, "no string meets all of its keywords");
  }
  // A bound that no text reaches need not be counted.
  const std::optional<int64_t> longest = texts.Longest();
  if (!max.has_value() || (longest.has_value() && *longest <= *max)) {
    return Quoted(texts);
  }
  const int64_t most = std::max<int64_t>(
      texts.Shortest(), kMostCounted / static_cast<int64_t>(texts.size()));
  return Quoted(texts, static_cast<int32_t>(
                           std::min({*max, most, int64_t{kMaxRepetitions}})));
}

absl::StatusOr<SchemaCompiler::Conditions> SchemaCompiler::ConditionsOf(
    const Schema& schema, const std::string& pointer) {
  std::vector<std::pair<const char*, const Schema*>> keywords;
  for (const char* keyword : {"pattern", "format"}) {
    const auto found = schema.find(keyword);
    if (found != schema.end()) keywords.push_back({keyword, &*found});
  }
  if (const auto further = schema.find(kFurtherPatterns);
      further != schema.end()) {
    for (const Schema& pattern : *further) {
      keywords.push_back({"pattern", &pattern});
    }
  }
  Conditions conditions;
  for (const auto& [keyword, value] : keywords) {
    const std::string place = Below(pointer, keyword);
    if (!value->is_string()) return SchemaError(place, "must be a string");
    const bool is_pattern = std::string_view(keyword) == "pattern";
    std::string expression = value->get<std::string>();
    if (!is_pattern) {
      if (IsFormatOfAnyText(expression)) continue;
      const std::optional<std::string> known = FormatExpression(expression);
      if (!known.has_value()) {
        return SchemaError(
            place, fmt::format("is not known; known are {}", kFormatNames));
      }
      expression = *known;
    }
    std::vector<LookAhead> ahead;
    auto node = ParseRegex(expression, RegexDialect::kEcmaScript, is_pattern,
                           is_pattern ? &ahead : nullptr);
    if (!node.ok()) return At(place, node.status());
    conditions.push_back({place, *std::move(node)});
    for (LookAhead& also : ahead) {
      conditions.push_back({place, std::move(also.texts), also.negative});
    }
  }
  if (!SchemaDocument::ComesOfConditions(schema)) return conditions;
  if (const auto other = schema.find(kOtherPatterns);
      other != schema.end() && other->is_array()) {
    for (const Schema& pattern : *other) {
      if (!pattern.is_string()) {
        return SchemaError(pointer, "a pattern must be a string");
      }
      auto node = ParseRegex(pattern.get_ref<const std::string&>(),
                             RegexDialect::kEcmaScript, /*search=*/true);
      if (!node.ok()) return At(pointer, node.status());
      conditions.push_back({pointer, *std::move(node), /*negative=*/true});
    }
  }
  if (const auto excluded = schema.find(kExcluded);
      excluded != schema.end() && excluded->is_array()) {
    RegexNode texts;
    texts.kind = RegexNode::Kind::kChoice;
    for (const Schema& value : *excluded) {
      if (!value.is_string()) continue;
      texts.parts.push_back(RegexOfText(value.get_ref<const std::string&>()));
    }
    if (!texts.parts.empty()) {
      conditions.push_back({pointer, std::move(texts), /*negative=*/true});
    }
  }
  return conditions;
}

bool SchemaCompiler::ListedConditions::Meets(const Schema& value) const {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    const int64_t length = static_cast<int64_t>(CountCharacters(text));
    return length >= shortest && (longest < 0 || length <= longest) &&
           (!texts.has_value() || texts->Matches(text));
  }
  if (!value.is_number()) return true;
  const double number = value.get<double>();
  const auto within = [number](const std::optional<NumberBound>& bound,
                               bool upper) {
    return !bound.has_value() ||
           (upper ? number < bound->value : number > bound->value) ||
           (number == bound->value && !bound->exclusive);
  };
  return within(low, false) && within(high, true);
}

absl::StatusOr<SchemaCompiler::ListedConditions>
SchemaCompiler::ConditionsOfListed(const Schema& schema,
                                   const std::string& pointer,
                                   JsonTypes types) {
  ListedConditions conditions;
  bool of_strings = false, of_numbers = false;
  for (const auto& [key, value] : schema.items()) {
    if (key == "type" || key == "enum" || key == "const" ||
        !SchemaDocument::Concerns(key, types)) {
      continue;
    }
    if (key == "minLength" || key == "maxLength" || key == "pattern" ||
        key == kFurtherPatterns || key == kOtherPatterns) {
      of_strings = true;
    } else if (key.ends_with("inimum") || key.ends_with("aximum")) {
      of_numbers = true;
    } else {
      return SchemaError(Below(pointer, key),
                         "is not supported beside enum or const; list the "
                         "values that are left");
    }
  }
  if (of_numbers) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const NumberBounds bounds,
        BoundsOf(schema, pointer, (types & kNumberTypes) == kIntegerType));
    conditions.low = bounds.low;
    conditions.high = bounds.high;
  }
  if (of_strings) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> min,
                             Natural(schema, "minLength", pointer));
    TRIVIUM_ASSIGN_OR_RETURN(const std::optional<int64_t> max,
                             Natural(schema, "maxLength", pointer));
    TRIVIUM_ASSIGN_OR_RETURN(const Conditions of_text,
                             ConditionsOf(schema, pointer));
    conditions.shortest = min.value_or(0);
    conditions.longest = max.value_or(-1);
    if (!of_text.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(conditions.texts,
                               TextsOf(of_text, 0, -1, pointer));
    }
  }
  return conditions;
}

absl::StatusOr<CharDfa> SchemaCompiler::TextsOf(const Conditions& conditions,
                                                int64_t min, int64_t max,
                                                const std::string& pointer) {
  std::optional<CharDfa> joined;
  for (const Condition& condition : conditions) {
    TRIVIUM_ASSIGN_OR_RETURN(
        CharDfa one,
        At(condition.place, CharDfa::Create(condition.texts, work_)));
    if (condition.negative) {
      TRIVIUM_ASSIGN_OR_RETURN(one, At(condition.place, one.Complement(work_)));
    }
    if (joined.has_value()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          one, At(condition.place, joined->Intersection(one, work_)));
    }
    joined = std::move(one);
  }
  CharDfa texts = *std::move(joined);
  if (min == 0 && max < 0) return texts;
  // A bound that no text reaches asks for no states.
  const auto longest = texts.Longest();
  if (longest.has_value() && max >= *longest) max = -1;
  const std::string place =
      Below(pointer, max >= 0 ? "maxLength" : "minLength");
  TRIVIUM_ASSIGN_OR_RETURN(const CharDfa lengths,
                           At(place, CharDfa::OfLength(min, max, work_)));
  return At(place, texts.Intersection(lengths, work_));
}

absl::StatusOr<SchemaCompiler::NumberBounds> SchemaCompiler::BoundsOf(
    const Schema& schema, const std::string& pointer, bool integer) {
  NumberBounds bounds;
  const auto read = [&](const char* keyword, const char* exclusive_keyword,
                        bool upper) -> absl::Status {
    // Until draft 6, a boolean beside the bound said that it is exclusive.
    const auto flag = schema.find(exclusive_keyword);
    const bool flagged =
        flag != schema.end() && flag->is_boolean() && schema.contains(keyword);
    for (const bool exclusive_key : {false, true}) {
      if (exclusive_key && flagged) continue;
      const char* name = exclusive_key ? exclusive_keyword : keyword;
      const bool exclusive = exclusive_key || (flagged && flag->get<bool>());
      const auto found = schema.find(name);
      if (found == schema.end()) continue;
      if (!found->is_number()) {
        return SchemaError(
            Below(pointer, name),
            exclusive ? fmt::format("must be a number; write {}: 3", name)
                      : "must be a number");
      }
      const double value = found->get<double>();
      std::optional<NumberBound>& bound = upper ? bounds.high : bounds.low;
      if (!bound.has_value() ||
          (upper ? value < bound->value : value > bound->value) ||
          (value == bound->value && exclusive)) {
        bound = NumberBound{value, exclusive};
      }
      double whole = upper ? std::floor(value) : std::ceil(value);
      const bool exact = std::abs(value) <= kGreatestInteger;
      whole = std::clamp(whole, -kGreatestInteger, kGreatestInteger);
      int64_t limit = exact && found->is_number_integer()
                          ? found->get<int64_t>()
                          : static_cast<int64_t>(whole);
      if (exact && exclusive && static_cast<double>(limit) == value) {
        limit += upper ? -1 : 1;
      }
      if (integer && !exact && (value < 0) == upper) {
        return NothingMeets(Below(pointer, name),
                            "no integer of at most 18 digits is left");
      }
      std::optional<int64_t>& side = upper ? bounds.greatest : bounds.least;
      side = !side.has_value() ? limit
             : upper           ? std::min(*side, limit)
                               : std::max(*side, limit);
    }
    return absl::OkStatus();
  };
  TRIVIUM_RETURN_IF_ERROR(read("minimum", "exclusiveMinimum", false));
  TRIVIUM_RETURN_IF_ERROR(read("maximum", "exclusiveMaximum", true));
  return bounds;
}

absl::StatusOr<std::optional<CharDfa>> SchemaCompiler::NotExcluded(
    const Schema& schema, const std::string& pointer) {
  std::optional<CharDfa> others;
  if (!SchemaDocument::ComesOfConditions(schema)) return others;
  if (schema.contains(kNotInteger)) {
    TRIVIUM_ASSIGN_OR_RETURN(others, At(pointer, Fractions(work_)));
  }
  const auto excluded = schema.find(kExcluded);
  if (excluded == schema.end() || !excluded->is_array()) return others;
  for (const Schema& value : *excluded) {
    if (!value.is_number()) continue;
    TRIVIUM_ASSIGN_OR_RETURN(
        CharDfa same, At(pointer, DecimalsEqualTo(value.get<double>(), work_)));
    TRIVIUM_ASSIGN_OR_RETURN(same, At(pointer, same.Complement(work_)));
    if (others.has_value()) {
      TRIVIUM_ASSIGN_OR_RETURN(same,
                               At(pointer, others->Intersection(same, work_)));
    }
    others = std::move(same);
  }
  return others;
}

absl::StatusOr<ExpressionId> SchemaCompiler::Number(const Schema& schema,
                                                    const std::string& pointer,
                                                    bool integer) {
  TRIVIUM_ASSIGN_OR_RETURN(NumberBounds bounds,
                           BoundsOf(schema, pointer, integer));
  std::optional<DecimalStep> step;
  if (const auto found = schema.find("multipleOf"); found != schema.end()) {
    const double value = found->is_number() ? found->get<double>() : 0;
    if (value > 0) step = StepOf(value);
    if (!step.has_value() || step->units > kGreatestDivisor) {
      return SchemaError(
          Below(pointer, "multipleOf"),
          fmt::format("only integers from 1 to {}, and those divided by a "
                      "power of ten up to 10^{}, are supported",
                      kGreatestDivisor, kMostPlaces));
    }
    // An integer is a multiple of 3/10 if it is one of 3, and of 5/10 always.
    for (; integer && step->places > 0; --step->places) {
      for (const int64_t factor : {2, 5}) {
        if (step->units % factor == 0) step->units /= factor;
      }
    }
  }
  const bool whole = integer || (step.has_value() && step->places == 0);
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<CharDfa> others,
                           NotExcluded(schema, pointer));
  const bool any = !bounds.low.has_value() && !bounds.high.has_value() &&
                   !others.has_value();
  if (any && whole && (!step.has_value() || step->units == 1)) {
    return text_.Integer();
  }
  if (any && !step.has_value()) return text_.Number();
  absl::StatusOr<CharDfa> made =
      !whole ? NumbersBetween(bounds.low, bounds.high, work_)
      : bounds.low || bounds.high
          ? IntegersBetween(bounds.least, bounds.greatest, work_)
          : IntegersOfDigits(kMultipleDigits, work_);
  TRIVIUM_ASSIGN_OR_RETURN(CharDfa digits, At(pointer, std::move(made)));
  if (step.has_value() && (step->units > 1 || step->places > 0)) {
    const std::string place = Below(pointer, "multipleOf");
    if (whole) {
      TRIVIUM_ASSIGN_OR_RETURN(
          const CharDfa lengths,
          At(place, IntegersOfDigits(kMultipleDigits, work_)));
      TRIVIUM_ASSIGN_OR_RETURN(digits,
                               At(place, digits.Intersection(lengths, work_)));
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        const CharDfa multiples,
        At(place, CharDfa::MultiplesOf(step->units, step->places, work_)));
    TRIVIUM_ASSIGN_OR_RETURN(digits,
                             At(place, digits.Intersection(multiples, work_)));
  }
  if (others.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(digits,
                             At(pointer, digits.Intersection(*others, work_)));
  }
  if (digits.empty()) {
    return NothingMeets(
        pointer,
        whole ? "no integer meets all of its bounds"
              : "no number of at most 15 digits meets all of its bounds");
  }
  return grammar_.AsRule(digits.ToExpression(
      [this](const CodePointSet& set) { return text_.Encode(set); },
      &grammar_));
}

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
absl::StatusOr<ExpressionId> SchemaCompiler::UniqueArray(
    const Schema& items, const std::string& pointer, int64_t min, int64_t max,
    int depth) {
  const std::string place = Below(pointer, "uniqueItems");
  const auto too_many = [&] {
    return SchemaError(
        place, fmt::format("is supported only if items is an enum, a const, "
                           "booleans or integers between two bounds, with few "
                           "enough of them that {} sets of items suffice, or "
                           "with maxItems 1; leave it out",
                           kMostUniqueSets));
  };
  // The items' own errors come first.
  TRIVIUM_RETURN_IF_ERROR(
      Any(items, Below(pointer, "items"), depth + 1).status());
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::optional<Schema> values,
      FewValues(items, Below(pointer, "items"), depth + 1));
  if (!values.has_value()) return too_many();
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
        if (sets.size() == kMostUniqueSets) return too_many();
        found->second = graph.AddNode();
        sets.push_back(next);
      }
      graph.edges.push_back({static_cast<int32_t>(i), found->second,
                             size == 0 ? first[item] : further[item]});
    }
  }
  return grammar_.AsRule(
      text_.Enclosed("[", grammar_.Graph(std::move(graph)), min == 0, "]"));
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
  if (const auto unique = schema.find("uniqueItems");
      unique != schema.end() && *unique != Schema(false) &&
      (max < 0 || max > 1)) {
    const auto items = schema.find("items");
    return UniqueArray(schema.contains("prefixItems") || items == schema.end()
                           ? Schema(true)
                           : *items,
                       pointer, min, max, depth);
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
  ExpressionId rest = text_.Value();
  if (items != schema.end()) {
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
