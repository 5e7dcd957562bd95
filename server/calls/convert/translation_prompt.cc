// The prompts with which decoders translate.
//
// The prompt's message is data of the model (model/translator_prompts.h), and
// the folder's own chat template writes it. The text becomes a part of the
// message, so that no character of it becomes a special token. Its place in the
// prompt is looked for afterwards, from behind, since templates may repeat or
// trim what they write.
#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "model/chat_template.h"
#include "model/translator_prompts.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/translating_model.h"
#include "server/translation/sentences.h"

namespace trivium {
namespace {

// Finds `text` in the last part of the prompt that the message wrote. Returns
// its bytes in the whole prompt, or an empty span behind it.
TextSpan PlaceOf(std::string_view text, const std::string& end,
                 const std::vector<PromptText>& prompt_texts) {
  size_t size = 0;
  for (const PromptText& prompt_text : prompt_texts)
    size += prompt_text.text.size();
  // Most templates trim the message.
  const TextSpan all = {0, end.size()};
  const size_t kept = WithoutWhiteSpace(end, all).end;
  const std::string wanted = std::string(text) + end.substr(0, kept);
  size_t at = size;
  for (auto prompt_text = prompt_texts.rbegin();
       prompt_text != prompt_texts.rend(); ++prompt_text) {
    at -= prompt_text->text.size();
    if (prompt_text->from_template) continue;
    const size_t found = prompt_text->text.rfind(wanted);
    if (found == std::string::npos) break;
    return {at + found, at + found + text.size()};
  }
  return {size, size};
}

}  // namespace

absl::StatusOr<PreparedInput> ConvertToPrompt(const v1::Input& in,
                                              const std::string& path,
                                              const InputOptions& options) {
  const Model& model = *options.model;
  const TranslatorPrompt& translator = *model.translator_prompt();
  const std::string field = path + ".text";
  TRIVIUM_RETURN_IF_ERROR(CheckText(in.text(), field, options));
  PreparedInput out;
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<int32_t> target,
                           ConvertTargetPrefix(in, path, options));
  out.has_target = !target.empty();
  out.blank = target.empty() && IsBlank(in.text());
  if (out.blank) return out;

  const TextSpan whole = {0, in.text().size()};
  const TextSpan inner = WithoutWhiteSpace(in.text(), whole);
  const std::string_view text = inner.Of(in.text());
  const TranslationChat chat =
      ChatOfTranslation(translator, options.direction, text);
  ChatInput input;
  input.messages = chat.messages;
  input.most_bytes = static_cast<size_t>(options.limits->max_text_bytes) +
                     chat.messages.size();
  input.now = options.now;
  input.zone = absl::LocalTimeZone();
  input.check_alive = options.check_alive;
  TRIVIUM_ASSIGN_OR_RETURN(
      const ChatTemplate* const chat_template,
      model.chat_templates().Find("", /*has_tools=*/false));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<PromptText> prompt_texts,
                           AboutText(chat_template->Render(input), field));

  const ModelInfo& info = model.info();
  EncodeOptions encode;
  encode.most_tokens = info.max_target_tokens - 1;
  encode.with_tokens = true;
  encode.check_alive = options.check_alive;
  TRIVIUM_ASSIGN_OR_RETURN(
      Encoding encoding,
      AboutText(EncodePrompt(prompt_texts, *model.tokenizer(), encode), field));
  if (options.divides &&
      encoding.ids.size() > static_cast<size_t>(MostTextTokens(info))) {
    out.too_long = true;
    return out;
  }
  TRIVIUM_RETURN_IF_ERROR(CheckTokenCount(
      encoding, field, info.max_target_tokens - 1, "send shorter text"));
  const TextSpan place = PlaceOf(text, chat.end, prompt_texts);
  for (const Token& token : encoding.tokens) {
    out.text_tokens += !token.special &&
                       static_cast<size_t>(token.byte_end) > place.begin &&
                       static_cast<size_t>(token.byte_begin) < place.end;
  }
  if (place.begin == place.end) {
    out.text_tokens = static_cast<int>(encoding.ids.size());
  }
  // White space before the text is not in the prompt.
  out.text_begin = place.begin - std::min(place.begin, inner.begin);
  if (options.tokens) out.tokens = std::move(encoding.tokens);
  out.prefix = std::move(encoding.ids);
  out.prefix.insert(out.prefix.end(), target.begin(), target.end());
  return out;
}

}  // namespace trivium
