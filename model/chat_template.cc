// Every code point of a rendered text carries a mark of its origin (the
// template, or the request's data; see jinja::kFromData), so the text splits
// into texts of alternating origin. Only the template's texts may become
// special tokens: a user who writes "<|im_end|>" gets the tokens of that text.
//
// Order of a rendering: special tokens, the parts of the input and then the
// caller's `variables`, which may replace any name before them; the template;
// the cut behind a continued message; the check of the size.
#include "model/chat_template.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "model/jinja/json_text.h"
#include "model/jinja/template.h"

namespace trivium {

namespace {

using jinja::Heap;
using jinja::Value;
using Variables = std::vector<std::pair<std::string, Value>>;

// Reads a part of the input; None if it is empty.
absl::StatusOr<Value> ReadPart(Heap& heap, std::string_view name,
                               std::string_view json, jinja::Kind kind) {
  if (json.empty()) return Value::None();
  heap.AddInput(json.size());
  jinja::JsonSource source;
  source.messages = name == "messages";
  absl::StatusOr<Value> value = jinja::FromJson(heap, json, source);
  if (!value.ok()) {
    return absl::Status(
        value.status().code(),
        fmt::format("{}: {}", name, std::string(value.status().message())));
  }
  if (value->Is(kind)) return value;
  return absl::InvalidArgumentError(
      fmt::format("{}: is not a JSON {}", name,
                  kind == jinja::Kind::kList ? "list" : "object"));
}

std::vector<PromptText> TextsOf(jinja::TextView text) {
  std::vector<PromptText> prompt_texts;
  for (const char32_t c : text) {
    const bool from_template = (c & jinja::kFromData) == 0;
    if (prompt_texts.empty() ||
        prompt_texts.back().from_template != from_template) {
      prompt_texts.push_back({"", from_template});
    }
    AppendUtf8(jinja::CodeOf(c), &prompt_texts.back().text);
  }
  return prompt_texts;
}

constexpr char kSpaces[] = " \t\n\v\f\r";

// Puts `begin` in front, unless the template has written it there.
void BeginWith(std::string_view begin, std::vector<PromptText>* prompt_texts) {
  if (begin.empty()) return;
  if (prompt_texts->empty() || !prompt_texts->front().from_template) {
    prompt_texts->insert(prompt_texts->begin(), {"", /*from_template=*/true});
  }
  std::string& text = prompt_texts->front().text;
  if (!text.starts_with(begin)) text.insert(0, begin);
}

// Cuts off everything after the last occurrence of `content`, as Transformers'
// continue_final_message does. Most templates trim what they write, so white
// space at either end of `content` may be missing.
absl::Status EndWith(std::string_view content,
                     std::vector<PromptText>* prompt_texts) {
  const size_t begin = content.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) {
    return absl::InvalidArgumentError(
        "the last message has no content to continue");
  }
  content.remove_prefix(begin);
  const std::string_view trimmed =
      content.substr(0, content.find_last_not_of(kSpaces) + 1);
  for (size_t i = prompt_texts->size(); i-- > 0;) {
    PromptText& prompt_text = (*prompt_texts)[i];
    if (prompt_text.from_template) continue;
    const size_t at = prompt_text.text.rfind(trimmed);
    if (at == std::string::npos) continue;
    const bool whole =
        prompt_text.text.compare(at, content.size(), content) == 0;
    prompt_text.text.resize(at + (whole ? content : trimmed).size());
    prompt_texts->resize(i + 1);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the template does not write the last message's content as it is, so it "
      "cannot be continued");
}

absl::Status CheckSize(const std::vector<PromptText>& prompt_texts,
                       size_t most) {
  size_t bytes = 0;
  for (const PromptText& prompt_text : prompt_texts)
    bytes += prompt_text.text.size();
  if (most == 0 || bytes <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "the template turns the conversation into {} bytes, but a text has at "
      "most {}; shorten the conversation",
      bytes, most));
}

}  // namespace

struct ChatTemplate::Parsed {
  std::string text;
  jinja::Template source;
  std::map<std::string, std::string> special_tokens;
  std::string begin;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Parsed> parsed)
    : parsed_(std::move(parsed)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

absl::StatusOr<ChatTemplate> ChatTemplate::Parse(
    std::string_view source, std::map<std::string, std::string> special_tokens,
    std::string begin) {
  TRIVIUM_ASSIGN_OR_RETURN(jinja::Template parsed,
                           jinja::Template::Parse(source));
  return ChatTemplate(std::make_unique<const Parsed>(
      Parsed{std::string(source), std::move(parsed), std::move(special_tokens),
             std::move(begin)}));
}

bool ChatTemplate::MayRead(std::string_view variable) const {
  return parsed_->source.MayRead(variable);
}

std::string_view ChatTemplate::source() const { return parsed_->text; }

absl::StatusOr<std::vector<PromptText>> ChatTemplate::Render(
    const ChatInput& input) const {
  Heap heap{jinja::Limits{}};
  heap.set_check_alive(input.check_alive);
  Variables variables;
  for (const auto& [name, text] : parsed_->special_tokens) {
    TRIVIUM_ASSIGN_OR_RETURN(Value token, heap.NewText(jinja::TextFromUtf8(
                                              text, /*from_data=*/false)));
    variables.emplace_back(name, std::move(token));
  }
  const std::pair<std::string_view, std::string_view> parts[] = {
      {"messages", input.messages},
      {"tools", input.tools},
      {"documents", input.documents},
  };
  for (const auto& [name, json] : parts) {
    TRIVIUM_ASSIGN_OR_RETURN(Value part,
                             ReadPart(heap, name, json, jinja::Kind::kList));
    variables.emplace_back(name, std::move(part));
  }
  variables.emplace_back("add_generation_prompt",
                         Value::Boolean(input.add_generation_prompt));
  TRIVIUM_ASSIGN_OR_RETURN(
      const Value more,
      ReadPart(heap, "variables", input.variables, jinja::Kind::kDict));
  if (more.Is(jinja::Kind::kDict)) {
    for (const auto& [name, value] : more.As<jinja::DictObject>().entries) {
      variables.emplace_back(jinja::Utf8Of(name.text()), value);
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      const jinja::Text text,
      parsed_->source.Render(heap, variables, {input.now, input.zone}));
  std::vector<PromptText> prompt_texts = TextsOf(text);
  BeginWith(parsed_->begin, &prompt_texts);
  if (input.continued) {
    TRIVIUM_RETURN_IF_ERROR(EndWith(*input.continued, &prompt_texts));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckSize(prompt_texts, input.most_bytes));
  return prompt_texts;
}

absl::StatusOr<Encoding> EncodePrompt(
    const std::vector<PromptText>& prompt_texts, const Tokenizer& tokenizer,
    EncodeOptions options) {
  std::vector<TextPart> parts;
  for (const PromptText& prompt_text : prompt_texts) {
    parts.push_back({prompt_text.text, /*literal=*/!prompt_text.from_template});
  }
  options.add_special_tokens = false;
  return tokenizer.EncodeParts(parts, options);
}

}  // namespace trivium
