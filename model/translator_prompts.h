#ifndef TRIVIUM_MODEL_TRANSLATOR_PROMPTS_H_
#define TRIVIUM_MODEL_TRANSLATOR_PROMPTS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat_template.h"
#include "model/model.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A language, as a prompt names it.
struct PromptLanguage {
  std::string_view tag;           // BCP 47: "de"
  std::string_view name;          // "German", or the code that a template takes
  std::string_view chinese = "";  // "德语"; only for prompts in Chinese
};

// The message that asks a kind of decoder to translate. The folder's chat
// template writes the rest of the prompt around it.
struct TranslatorPrompt {
  std::string_view name;  // of --translate-with: "tower"
  // The user's message, with {source}, {target} and, once, {text}. Empty: the
  // template takes the text and the codes of both languages as fields.
  std::string_view message;
  // The message if one language is Chinese; empty: `message`.
  std::string_view chinese_message;
  std::span<const PromptLanguage> languages;
  // Parts of the names of its folders, in lower case.
  std::span<const std::string_view> folders;
  // Tokens that end an answer, whether the folder says so or not.
  std::span<const std::string_view> ends;

  bool takes_fields() const { return message.empty(); }
  // True if the prompt names the source language.
  bool needs_source() const {
    return takes_fields() || message.find("{source}") != message.npos;
  }
};

// Returns all prompts, the more special ones first. Their messages are those of
// the models' cards on Hugging Face.
std::span<const TranslatorPrompt> TranslatorPrompts();

// Reads the value of --translate-with. INVALID_ARGUMENT lists the names.
absl::StatusOr<std::string_view> ParseTranslateWith(std::string_view name);

// Returns the prompt of that name; null if there is none.
const TranslatorPrompt* FindTranslatorPrompt(std::string_view name);

// Returns the names that may tell what a model is: of its folder or GGUF file,
// of the hub's repository whose snapshot has it, and config.json's
// _name_or_path. Links count under their own names and under those of their
// targets.
std::vector<std::string> NamesOfModel(const std::string& path,
                                      const nlohmann::json& config);

// Returns the prompt that the chat templates or the names of a model tell; null
// if they do not.
const TranslatorPrompt* RecognizeTranslator(const ChatTemplates& templates,
                                            std::span<const std::string> names);

// FAILED_PRECONDITION if the folder's chat templates cannot write the prompt.
absl::Status CheckTranslator(const TranslatorPrompt& prompt,
                             const ChatTemplates& templates);

// The chat that translates a text.
struct TranslationChat {
  std::string messages;  // JSON, as ChatInput takes it
  std::string end;       // what the message has behind the text
};

// `direction` has the languages that the prompt names.
TranslationChat ChatOfTranslation(const TranslatorPrompt& prompt,
                                  const Direction& direction,
                                  std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSLATOR_PROMPTS_H_
