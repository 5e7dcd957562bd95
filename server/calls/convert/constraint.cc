#include "server/calls/convert/constraint.h"

#include <fmt/format.h>

#include <string_view>

#include "base/status.h"
#include "server/calls/convert/generated_text.h"
#include "server/errors/status.h"

namespace trivium {
std::string_view NameOf(ConstraintText::Form form) {
  switch (form) {
    case ConstraintText::Form::kJsonSchema:
      return "json_schema";
    case ConstraintText::Form::kJsonObject:
      return "json_object";
    case ConstraintText::Form::kRegex:
      return "regex";
    case ConstraintText::Form::kChoices:
      return "choices";
    case ConstraintText::Form::kGrammar:
      return "grammar";
    case ConstraintText::Form::kMade:
      break;
  }
  return "form";
}

namespace {

absl::Status ReadJsonOptions(const v1::Constraint& in, const std::string& path,
                             ConstraintText* out) {
  const bool schema = out->form == ConstraintText::Form::kJsonSchema;
  if (in.any_property_order() && !schema) {
    return InvalidField(path + ".any_property_order",
                        "is for json_schema; leave it out");
  }
  out->json.any_order = in.any_property_order();
  if (in.json_space() == v1::JSON_SPACE_UNSPECIFIED) return absl::OkStatus();
  if (!schema && out->form != ConstraintText::Form::kJsonObject) {
    return InvalidField(path + ".json_space",
                        "is for json_schema and json_object; leave it out");
  }
  switch (in.json_space()) {
    case v1::JSON_SPACE_COMPACT:
      out->json.space = JsonSpace::kCompact;
      return absl::OkStatus();
    case v1::JSON_SPACE_SPACED:
      out->json.space = JsonSpace::kSpaced;
      return absl::OkStatus();
    case v1::JSON_SPACE_ANY:
      out->json.space = JsonSpace::kAny;
      return absl::OkStatus();
    default:
      return InvalidField(
          path + ".json_space",
          fmt::format("has no value {}", static_cast<int>(in.json_space())));
  }
}

}  // namespace

absl::StatusOr<ConstraintText> ReadConstraint(const v1::Constraint& in,
                                              const std::string& path) {
  ConstraintText out;
  switch (in.form_case()) {
    case v1::Constraint::kJsonSchema:
      out.form = ConstraintText::Form::kJsonSchema;
      out.text = in.json_schema();
      break;
    case v1::Constraint::kJsonObject:
      if (!in.json_object()) {
        return InvalidField(path + ".json_object",
                            "is false; set it to true, or leave it out");
      }
      out.form = ConstraintText::Form::kJsonObject;
      break;
    case v1::Constraint::kRegex:
      out.form = ConstraintText::Form::kRegex;
      out.text = in.regex();
      break;
    case v1::Constraint::kChoices:
      out.form = ConstraintText::Form::kChoices;
      out.choices.assign(in.choices().texts().begin(),
                         in.choices().texts().end());
      break;
    case v1::Constraint::kGrammar:
      out.form = ConstraintText::Form::kGrammar;
      out.text = in.grammar();
      break;
    case v1::Constraint::FORM_NOT_SET:
      return InvalidField(path,
                          "is empty; set json_schema, json_object, regex, "
                          "choices or grammar");
  }
  TRIVIUM_RETURN_IF_ERROR(ReadJsonOptions(in, path, &out));
  return out;
}

absl::Status CheckConstraint(const v1::DecodingOptions& in,
                             const std::string& name,
                             const DecodingOptions& out, const Model& model) {
  if (in.ignore_eos()) {
    return InvalidField(
        name,
        "does not go with ignore_eos: a text of its form must be able to end; "
        "leave one of them out");
  }
  if (in.stop_repetition()) {
    return InvalidField(
        name,
        "does not go with stop_repetition, which could end a text before it "
        "has its form; leave one of them out");
  }
  if (const absl::Status status =
          ConstraintCache::CheckTokenizer(model.tokenizer());
      !status.ok()) {
    return absl::FailedPreconditionError(name + ": " +
                                         std::string(status.message()));
  }
  if (out.end_ids.empty()) {
    return absl::FailedPreconditionError(
        name +
        ": the model names no token that ends a text; leave the constraint "
        "out");
  }
  return absl::OkStatus();
}

absl::Status AboutCompiling(const absl::Status& status,
                            const ConstraintText& text,
                            const std::string& path) {
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    return InvalidField(fmt::format("{}.{}", path, NameOf(text.form)),
                        std::string(status.message()));
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    return absl::FailedPreconditionError(path + ": " +
                                         std::string(status.message()));
  }
  return status;
}

absl::StatusOr<std::shared_ptr<const Constraint>> CompileConstraint(
    const ConstraintText& text, const std::string& path,
    const ServedModel& served, std::span<const int32_t> end_ids,
    const AliveCheck& check_alive) {
  const Model& model = *served.model;
  auto compiled = served.constraints->Get(
      text, *model.tokenizer(), model.info().vocabulary, end_ids, check_alive);
  if (compiled.ok()) return compiled;
  return AboutCompiling(compiled.status(), text, path);
}

absl::Status CheckJoins(const Constraint& constraint,
                        const Tokenizer& tokenizer,
                        std::span<const int32_t> prompt,
                        const std::string& field) {
  const TokenTrie& trie = constraint.trie();
  for (size_t id = 0; id < trie.tokens(); ++id) {
    const int32_t token = static_cast<int32_t>(id);
    if (!trie.bytes(token).starts_with(' ')) continue;
    ContinuedText text(tokenizer, prompt, /*joining=*/true);
    std::string added = text.Push(token);
    added += text.Finish();
    if (added == trie.bytes(token)) return absl::OkStatus();
    return InvalidField(field,
                        "has no text before the answer, and there this model's "
                        "tokenizer drops a space, so the answer cannot be held "
                        "to a constraint; send a prompt with text");
  }
  return absl::OkStatus();
}

absl::Status AboutConstraint(const absl::Status& status,
                             const std::string& path) {
  constexpr std::string_view kPlace = "constraint: ";
  std::string message(status.message());
  if (status.code() != absl::StatusCode::kInvalidArgument ||
      !message.starts_with(kPlace)) {
    return status;
  }
  return InvalidField(path, message.substr(kPlace.size()));
}

}  // namespace trivium
