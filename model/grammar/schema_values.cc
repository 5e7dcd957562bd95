// Strings and numbers of a schema.
#include <algorithm>
#include <cmath>
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

constexpr int64_t kGreatestDivisor = 1000;
// A text beside a pattern or a format whose length is counted: its states times
// characters. So that several of them can be counted, a text of many states is
// not as long as its schema may allow: at 1,000 states, 134,217 characters.
constexpr int64_t kMostCounted = 1 << 27;
// Beyond them a reader that has doubles sees another integer.
constexpr int kMultipleDigits = 15;

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

absl::StatusOr<SchemaCompiler::Lengths> SchemaCompiler::LengthsOf(
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
  return Lengths{min.value_or(0), max};
}

absl::StatusOr<ExpressionId> SchemaCompiler::String(
    const Schema& schema, const std::string& pointer) {
  TRIVIUM_ASSIGN_OR_RETURN(const Lengths lengths, LengthsOf(schema, pointer));
  const auto& [min, max] = lengths;
  TRIVIUM_ASSIGN_OR_RETURN(const Conditions conditions,
                           ConditionsOf(schema, pointer));
  const bool bounded = min > 0 || max.has_value();
  if (conditions.empty()) {
    if (!bounded && !one_spelling_) return text_.String();
    return Quoted(grammar_.Repeat(
        one_spelling_ ? text_.Encode(CodePointSet::All()) : text_.Character(),
        static_cast<int32_t>(min),
        max.has_value()
            ? static_cast<int32_t>(std::min<int64_t>(*max, kMaxRepetitions))
            : -1));
  }
  if (conditions.size() == 1 && !conditions[0].negative && !bounded &&
      !HasAssertions(conditions[0].texts)) {
    return Quoted(conditions[0].texts);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const BoundedTexts texts,
                           BoundedTextsOf(conditions, min, max, pointer));
  return Quoted(texts.texts, texts.max);
}

absl::StatusOr<SchemaCompiler::BoundedTexts> SchemaCompiler::BoundedTextsOf(
    const Conditions& conditions, int64_t min, std::optional<int64_t> max,
    const std::string& pointer) {
  BoundedTexts bounded;
  TRIVIUM_ASSIGN_OR_RETURN(bounded.texts,
                           TextsOf(conditions, min, -1, pointer));
  const CharDfa& texts = bounded.texts;
  if (texts.empty() || (max.has_value() && texts.Shortest() > *max)) {
    return NothingMeets(pointer, "no string meets all of its keywords");
  }
  // A bound that no text reaches need not be counted.
  const std::optional<int64_t> longest = texts.Longest();
  if (!max.has_value() || (longest.has_value() && *longest <= *max)) {
    return bounded;
  }
  const int64_t most = std::max<int64_t>(
      texts.Shortest(), kMostCounted / static_cast<int64_t>(texts.size()));
  bounded.max =
      static_cast<int32_t>(std::min({*max, most, int64_t{kMaxRepetitions}}));
  return bounded;
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
    auto node =
        ParseRegex(expression, RegexDialect::kEcmaScript, is_pattern, work_);
    if (!node.ok()) return At(place, node.status());
    conditions.push_back({place, *std::move(node)});
  }
  if (!SchemaDocument::ComesOfConditions(schema)) return conditions;
  if (const auto other = schema.find(kOtherPatterns);
      other != schema.end() && other->is_array()) {
    for (const Schema& pattern : *other) {
      const std::string& text = pattern.get_ref<const std::string&>();
      auto node =
          ParseRegex(text, RegexDialect::kEcmaScript, /*search=*/true, work_);
      if (!work_->status().ok()) return At(pointer, work_->status());
      if (!node.ok()) {
        return SchemaError(
            pointer, fmt::format("the pattern {}, which must not match: {}",
                                 text, std::string(node.status().message())));
      }
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
        key == kNotInteger ||  // TypesOf
        !SchemaDocument::Concerns(key, types)) {
      continue;
    }
    if (key == "minLength" || key == "maxLength" || key == "pattern" ||
        key == "format" || key == kFurtherPatterns || key == kOtherPatterns) {
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

}  // namespace trivium
