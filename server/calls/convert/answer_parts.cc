#include "server/calls/convert/answer_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "model/chat_format/answer_grammar.h"
#include "model/chat_format/tool_grammar.h"
#include "server/calls/convert/constraint.h"
#include "server/calls/convert/generate.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kChat[] = "chat";
constexpr char kConstraint[] = "decoding.constraint";
constexpr char kMaxThinkingTokens[] = "chat.max_thinking_tokens";

bool IsRequired(const v1::Chat& in) {
  return in.tool_choice() == v1::Chat::TOOL_CHOICE_REQUIRED;
}

bool IsParallel(const v1::Chat& in) {
  return !in.has_parallel_tool_calls() || in.parallel_tool_calls();
}

// An error of model/chat_format about "tools[i]" or "tools", as one of the
// request's field.
absl::Status AboutTools(const absl::Status& status, const std::string& path) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return status;
  const std::string whole(status.message());
  std::string_view message = whole;
  std::string field = path + ".tools";
  if (message.starts_with("tools[")) {
    const size_t end = message.find(']') + 1;
    field = fmt::format("{}.{}", path, message.substr(0, end));
    message.remove_prefix(end);
  } else if (message.starts_with("tools:")) {
    message.remove_prefix(6);
  }
  message.remove_prefix(
      std::min(message.find_first_not_of(".: "), message.size()));
  return InvalidField(field, std::string(message));
}

// Checks that the model's form of calls allows what is asked for.
absl::Status CheckForm(const v1::Chat& in, const ChatFormat& format,
                       const std::string& path) {
  if (!format.writes_calls()) {
    return absl::FailedPreconditionError(
        path +
        ".answer_parts: the model's chat template does not tell how it writes "
        "tool calls, so they cannot be read; leave answer_parts or tools out");
  }
  if (HasToolGrammar(format)) return absl::OkStatus();
  constexpr char kNotHeld[] =
      ": this model's calls are not written as JSON, so its answers cannot be "
      "held to them; leave it out";
  if (IsRequired(in)) {
    return absl::FailedPreconditionError(path + ".tool_choice" + kNotHeld);
  }
  if (!IsParallel(in)) {
    return absl::FailedPreconditionError(path + ".parallel_tool_calls" +
                                         kNotHeld);
  }
  return absl::OkStatus();
}

// Checks that content of the constraint's form and calls can be told apart.
absl::Status CheckUnion(const ConstraintText& constraint,
                        const ChatFormat& format) {
  const bool json = constraint.form == ConstraintText::Form::kJsonSchema ||
                    constraint.form == ConstraintText::Form::kJsonObject;
  if (!json || !HasToolGrammar(format) || MayBeginAsCalls(format)) {
    return InvalidField(
        kConstraint,
        "is set beside chat.tools, and a text of its form cannot be told from "
        "this model's calls; set chat.tool_choice to NONE, or leave one of "
        "them out");
  }
  return absl::OkStatus();
}

absl::StatusOr<ThoughtBound::Options> BoundOf(const v1::Chat& in,
                                              const AnswerParts& parts) {
  const ChatFormat& format = parts.known->format;
  const ThinkingFormat& thinking = format.thinking();
  if (!thinking.known()) {
    return absl::FailedPreconditionError(
        std::string(kMaxThinkingTokens) +
        ": the model's chat template does not tell the mark that ends a "
        "thought, so thoughts cannot be bounded; leave it out");
  }
  constexpr uint32_t kMost = std::numeric_limits<int32_t>::max();
  return ThoughtBound::Options{
      .max_tokens = static_cast<int>(std::min(in.max_thinking_tokens(), kMost)),
      .begin = thinking.begin,
      .end = thinking.end,
      .open = parts.thinking,
      // Its marks are special tokens, which no other text has.
      .anywhere = format.calls().form == ToolCallFormat::Form::kHarmony};
}

absl::Status BoundThoughts(const AnswerParts& parts,
                           DecodingOptions* decoding) {
  if (!parts.thoughts) return absl::OkStatus();
  auto thoughts =
      ThoughtBound::Create(*parts.thoughts, decoding->constraint->trie());
  if (!thoughts.ok()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: {}", kMaxThinkingTokens,
                    std::string(thoughts.status().message())));
  }
  decoding->thoughts = *std::move(thoughts);
  return absl::OkStatus();
}

// A text that only equal answers' grammars have.
std::string KeyOf(const v1::Chat& in, const AnswerParts& parts,
                  const std::optional<ConstraintText>& constraint) {
  std::string key;
  const auto add = [&key](std::string_view part) {
    key += fmt::format("{}:{}", part.size(), part);
  };
  add(fmt::format("{} {} {} {}", parts.known->id,
                  static_cast<int>(in.tool_choice()), IsParallel(in),
                  parts.thinking));
  add(in.tool_name());
  add(parts.tools_json);
  if (constraint) {
    add(NameOf(constraint->form));
    add(constraint->text);
  }
  return key;
}

}  // namespace

absl::Status CheckAnswerFields(const v1::Chat& in, const std::string& path) {
  if (!v1::Chat::ToolChoice_IsValid(in.tool_choice())) {
    return InvalidField(
        path + ".tool_choice",
        fmt::format("has no value {}", static_cast<int>(in.tool_choice())));
  }
  if (in.has_tool_name() && !IsRequired(in)) {
    return InvalidField(path + ".tool_name",
                        "is for tool_choice REQUIRED; leave it out");
  }
  if (in.has_parallel_tool_calls() && !in.answer_parts()) {
    return InvalidField(path + ".parallel_tool_calls",
                        "is for answers in parts; set answer_parts");
  }
  if (in.has_max_thinking_tokens() && !in.answer_parts()) {
    return InvalidField(path + ".max_thinking_tokens",
                        "is for answers in parts; set answer_parts");
  }
  if (!IsRequired(in)) return absl::OkStatus();
  if (in.tools().empty()) {
    return InvalidField(path + ".tool_choice",
                        "is REQUIRED, and there are no tools; send some");
  }
  if (!in.answer_parts()) {
    return InvalidField(path + ".tool_choice",
                        "is REQUIRED, which is for answers in parts; set "
                        "answer_parts");
  }
  return absl::OkStatus();
}

absl::StatusOr<AnswerParts> ReadAnswerParts(const v1::GenerateRequest& in,
                                            const GenerateJob& job,
                                            const ServedModel& served,
                                            const ChatPrompt& prompt) {
  const v1::Chat& chat = in.chat();
  const Model& model = *served.model;
  AnswerParts parts;
  TRIVIUM_ASSIGN_OR_RETURN(parts.tools_json, CallableTools(chat, kChat));
  if (!parts.tools_json.empty()) {
    auto tools = ParseChatTools(parts.tools_json);
    if (!tools.ok()) return AboutTools(tools.status(), kChat);
    parts.tools = *std::move(tools);
  }
  if (chat.has_tool_name() &&
      FindTool(parts.tools, chat.tool_name()) == nullptr) {
    return InvalidField(
        "chat.tool_name",
        fmt::format("there is no tool '{}' in tools", chat.tool_name()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      parts.known,
      served.chat_formats->Get(*prompt.chat_template, prompt.variables,
                               *model.tokenizer(), job.options.check_alive));
  const ChatFormat& format = parts.known->format;
  parts.thinking = format.OpensThinking(prompt.end);
  parts.written = parts.known->mark_tokens;
  for (const int32_t id : job.decoding.options.end_ids) parts.written.erase(id);

  const std::optional<ConstraintText>& constraint = job.decoding.constraint;
  parts.held = constraint.has_value();
  if (chat.has_max_thinking_tokens()) {
    TRIVIUM_ASSIGN_OR_RETURN(parts.thoughts, BoundOf(chat, parts));
    TRIVIUM_RETURN_IF_ERROR(CheckConstraint(in.decoding(), kMaxThinkingTokens,
                                            job.decoding.options, model));
    parts.held = true;
  }
  if (parts.tools.empty()) return parts;
  TRIVIUM_RETURN_IF_ERROR(CheckForm(chat, format, kChat));
  // An answer of calls alone has no content that a constraint could hold.
  if (constraint && !IsRequired(chat)) {
    TRIVIUM_RETURN_IF_ERROR(CheckUnion(*constraint, format));
    parts.calls_first = true;
  }
  if (HasToolGrammar(format)) {
    parts.held = true;
    TRIVIUM_RETURN_IF_ERROR(CheckConstraint(in.decoding(), "chat.tools",
                                            job.decoding.options, model));
  }
  return parts;
}

absl::Status HoldAnswer(const v1::GenerateRequest& in, const GenerateJob& job,
                        const ServedModel& served, const AnswerParts& parts,
                        DecodingOptions* decoding) {
  using Calls = AnswerGrammarOptions::Calls;
  const v1::Chat& chat = in.chat();
  const AliveCheck& check_alive = job.options.check_alive;
  const std::optional<ConstraintText>& constraint = job.decoding.constraint;
  ConstraintText text;
  if (constraint) text = *constraint;  // choices and options of JSON
  text.text = KeyOf(chat, parts, constraint);
  text.form = ConstraintText::Form::kMade;

  bool about_constraint = constraint && parts.tools.empty();
  const auto make = [&]() -> absl::StatusOr<Grammar> {
    AnswerGrammarOptions options;
    options.check_alive = check_alive;
    options.thinking = parts.thinking;
    options.parallel = IsParallel(chat);
    options.tool = chat.tool_name();
    // Calls in quotes of the model's own are text here.
    if (!parts.tools.empty() && HasToolGrammar(parts.known->format)) {
      options.calls = IsRequired(chat) ? Calls::kMust : Calls::kMay;
    }
    if (!constraint || IsRequired(chat)) {
      return GrammarOfAnswer(parts.known->format, parts.tools, options);
    }
    const absl::StatusOr<Grammar> content = GrammarOf(*constraint, check_alive);
    if (!content.ok()) {
      about_constraint = true;
      return content.status();
    }
    options.content = &*content;
    return GrammarOfAnswer(parts.known->format, parts.tools, options);
  };
  const Model& model = *served.model;
  auto compiled = served.constraints->Get(
      text, *model.tokenizer(), model.info().vocabulary, decoding->end_ids,
      check_alive, parts.written, make);
  if (compiled.ok()) {
    decoding->constraint = *std::move(compiled);
    return BoundThoughts(parts, decoding);
  }
  const absl::Status& status = compiled.status();
  if (about_constraint) return AboutCompiling(status, *constraint, kConstraint);
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: {}", parts.tools.empty() ? kMaxThinkingTokens : "chat.tools",
        std::string(status.message())));
  }
  return AboutTools(status, kChat);
}

}  // namespace trivium
