// Strings of a schema as bare texts: parameters that a model writes without
// quotation marks.
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/schema_compiler.h"

namespace trivium {

absl::StatusOr<Grammar> SchemaCompiler::CompileBareStrings(
    std::string_view without) {
  TRIVIUM_ASSIGN_OR_RETURN(const Schema* root, document_.Resolve("#", "#"));
  TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId texts,
                           BareStrings(*root, "#", without, 0));
  TRIVIUM_RETURN_IF_ERROR(grammar_.Check());
  grammar_.set_root(grammar_.AddRule());
  grammar_.Define(grammar_.root(), texts);
  grammar_.set_place("#");
  return std::move(grammar_);
}

absl::StatusOr<ExpressionId> SchemaCompiler::BareStrings(
    const Schema& schema, const std::string& pointer, std::string_view without,
    int depth) {
  TRIVIUM_ASSIGN_OR_RETURN(
      Schema whole, document_.Merge(schema, Schema(true), pointer, depth));
  if (whole == Schema(true)) whole = Schema::object();
  if (!whole.is_object()) return grammar_.Choice({});
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                           document_.TypesOf(whole, pointer));
  TRIVIUM_RETURN_IF_ERROR(SchemaDocument::CheckKeywords(whole, types, pointer));
  if ((types & kStringType) == 0) return grammar_.Choice({});
  for (const char* keyword : {kVariants, "anyOf", "oneOf"}) {
    const Schema* const found = PartAt(whole, keyword);
    if (found == nullptr) continue;
    if (!found->is_array() || found->empty()) {
      return SchemaError(Below(pointer, keyword), "must be a list of schemas");
    }
    Schema parts = *found;
    Schema rest = whole;
    rest.erase(keyword);
    rest.erase("discriminator");
    if (std::string_view(keyword) == "oneOf") {
      std::vector<Schema> exclusive(parts.begin(), parts.end());
      TRIVIUM_RETURN_IF_ERROR(
          Exclude(parts, Below(pointer, keyword), depth, &exclusive).status());
      parts = Schema(exclusive);
    }
    std::vector<ExpressionId> choices;
    for (const Schema& part : parts) {
      TRIVIUM_ASSIGN_OR_RETURN(const Schema both,
                               document_.Merge(rest, part, pointer, depth));
      auto texts = BareStrings(both, pointer, without, depth + 1);
      if (absl::IsOutOfRange(texts.status())) continue;  // no string meets it
      TRIVIUM_RETURN_IF_ERROR(texts.status());
      choices.push_back(*texts);
    }
    return grammar_.Choice(std::move(choices));
  }
  if (whole.contains("enum") || whole.contains("const")) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Schema> values,
                             ListedValues(whole, pointer, types));
    std::vector<ExpressionId> choices;
    for (const Schema& value : values) {
      if (!value.is_string()) continue;
      const std::string& text = value.get_ref<const std::string&>();
      if (text.find(without) == std::string::npos) {
        choices.push_back(grammar_.Literal(text));
      }
    }
    return grammar_.Choice(std::move(choices));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Lengths lengths, LengthsOf(whole, pointer));
  TRIVIUM_ASSIGN_OR_RETURN(Conditions conditions, ConditionsOf(whole, pointer));
  RegexNode with;
  with.parts = {AnyText(), RegexOfText(without), AnyText()};
  conditions.push_back({pointer, std::move(with), /*negative=*/true});
  TRIVIUM_ASSIGN_OR_RETURN(
      const BoundedTexts texts,
      BoundedTextsOf(conditions, lengths.min, lengths.max, pointer));
  return texts.texts.ToExpression(
      [this](const CodePointSet& set) {
        return Utf8Expression(set, &grammar_);
      },
      &grammar_, texts.max);
}

}  // namespace trivium
