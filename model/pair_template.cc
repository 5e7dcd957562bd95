#include "model/pair_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

// Cutting a document: if a pair of n tokens has m too many, the document loses
// its last m tokens and goes through the template again. The joined text may be
// tokenized differently where the document now ends, or where the document
// spelled a special token. So this is repeated with the tokens that are still
// too many, at most kMostCuts times.

namespace trivium {
namespace {

using nlohmann::json;

// The template of its model card:
// https://huggingface.co/Qwen/Qwen3-Reranker-0.6B
constexpr char kQwen3Reranker[] =
    R"(<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("Given a web search query, retrieve relevant passages that answer the query") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
<think>

</think>
{{ "\n" }})";

constexpr int kMostCuts = 4;

// True if messages hold lists of parts, as sentence-transformers' settings of
// the Transformer say.
bool HasParts(const std::string& folder) {
  const auto settings = ReadJsonFile(folder + "/sentence_bert_config.json");
  if (!settings.ok()) return false;
  const json::json_pointer format("/modality_config/message/format");
  return settings->contains(format) && settings->at(format) == "structured";
}

std::string Json(std::string_view text) {
  return json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                         json::error_handler_t::replace);
}

std::string Message(std::string_view role, std::string_view text, bool parts) {
  return fmt::format(
      R"({{"role": "{}", "content": {}}})", role,
      parts ? fmt::format(R"([{{"type": "text", "text": {}}}])", Json(text))
            : Json(text));
}

}  // namespace

absl::StatusOr<PairTemplate> PairTemplate::Load(const std::string& folder) {
  TRIVIUM_ASSIGN_OR_RETURN(ChatTemplates templates,
                           ChatTemplates::Load(folder));
  PairTemplate pairs(std::move(templates), HasParts(folder));
  const absl::Status status = pairs.Check();
  if (status.ok()) return pairs;
  return absl::InvalidArgumentError(
      fmt::format("{}: the chat template does not write a query and a "
                  "document: {}; add a chat_template.jinja that does",
                  folder, std::string(status.message())));
}

absl::StatusOr<PairTemplate> PairTemplate::OfQwen3Reranker() {
  TRIVIUM_ASSIGN_OR_RETURN(
      ChatTemplates templates,
      ChatTemplates::FromConfig({{"chat_template", kQwen3Reranker}}, ""));
  return PairTemplate(std::move(templates), /*parts=*/false);
}

absl::Status PairTemplate::Check() const {
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::vector<PromptText> prompt_texts,
      Render({.query = "the query", .document = "the document"}, nullptr));
  for (const char* text : {"the query", "the document"}) {
    const bool written =
        std::any_of(prompt_texts.begin(), prompt_texts.end(),
                    [text](const PromptText& prompt_text) {
                      return !prompt_text.from_template &&
                             prompt_text.text.find(text) != std::string::npos;
                    });
    if (!written) {
      return absl::InvalidArgumentError(fmt::format("{} is left out", text));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PromptText>> PairTemplate::Render(
    const Pair& pair, const AliveCheck& check_alive) const {
  std::string messages = "[";
  if (!pair.prompt.empty()) {
    messages += Message("system", pair.prompt, parts_) + ", ";
  }
  messages += Message("query", pair.query, parts_) + ", " +
              Message("document", pair.document, parts_) + "]";
  TRIVIUM_ASSIGN_OR_RETURN(const ChatTemplate* const chat,
                           templates_.Find("", /*has_tools=*/false));
  return chat->Render({.messages = messages, .check_alive = check_alive});
}

absl::StatusOr<Encoding> PairTemplate::EncodeWhole(
    const Pair& pair, const Tokenizer& tokenizer,
    const EncodeOptions& options) const {
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<PromptText> prompt_texts,
                           Render(pair, options.check_alive));
  std::vector<TextPart> parts;
  for (const PromptText& prompt_text : prompt_texts) {
    parts.push_back({prompt_text.text, /*literal=*/!prompt_text.from_template});
  }
  return tokenizer.EncodeParts(parts, {.add_special_tokens = false,
                                       .most_tokens = options.most_tokens,
                                       .check_alive = options.check_alive});
}

absl::StatusOr<Encoding> PairTemplate::Encode(
    Pair pair, const Tokenizer& tokenizer, const EncodeOptions& options) const {
  TRIVIUM_ASSIGN_OR_RETURN(Encoding whole,
                           EncodeWhole(pair, tokenizer, options));
  const auto most = static_cast<size_t>(options.max_tokens);
  if (most == 0 || whole.ids.size() <= most) return whole;

  // Encodes without most_tokens, so that all cut tokens are counted.
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::vector<Token> tokens,
      tokenizer.Tokenize(pair.document, {.add_special_tokens = false,
                                         .check_alive = options.check_alive}));
  size_t kept = tokens.size();
  const std::string_view document = pair.document;
  for (int cut = 0; cut < kMostCuts && whole.ids.size() > most; ++cut) {
    kept -= std::min(kept, whole.ids.size() - most);
    pair.document =
        kept == 0 ? std::string_view()
        : options.truncate_left
            ? document.substr(tokens[tokens.size() - kept].byte_begin)
            : document.substr(0, tokens[kept - 1].byte_end);
    TRIVIUM_ASSIGN_OR_RETURN(whole, EncodeWhole(pair, tokenizer, {}));
  }
  whole.truncated = static_cast<int>(tokens.size() - kept);
  return whole;
}

}  // namespace trivium
