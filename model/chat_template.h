#ifndef TRIVIUM_MODEL_CHAT_TEMPLATE_H_
#define TRIVIUM_MODEL_CHAT_TEMPLATE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/alive_check.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json_fwd.hpp"

namespace trivium {

// A part of a prompt. Special tokens are recognized only in what the template
// writes; text that came with the request is never read as a special token.
struct PromptText {
  std::string text;  // UTF-8, not empty
  bool from_template = false;
};

// Returns the ids of a prompt. Text that came with the request never becomes a
// special token, and none is added: templates write them.
absl::StatusOr<Encoding> EncodePrompt(
    const std::vector<PromptText>& prompt_texts, const Tokenizer& tokenizer,
    EncodeOptions options);

// A conversation, with the arguments of Transformers' apply_chat_template. Each
// part is JSON; an empty part is unset.
struct ChatInput {
  std::string_view messages = {};   // a list: [{"role": , "content": }]
  std::string_view tools = {};      // a list; unset: none
  std::string_view documents = {};  // a list; unset: none
  std::string_view variables = {};  // an object: more names for the template
  bool add_generation_prompt = true;
  // The last message's content if the prompt must end with it, so that the
  // answer continues it.
  std::optional<std::string_view> continued = std::nullopt;
  size_t most_bytes = 0;  // limit of the text's bytes; 0: no limit
  absl::Time now = {};    // for templates that write the date
  absl::TimeZone zone = {};
  AliveCheck check_alive = {};  // called during the rendering
};

// Renders a conversation as the text that a model was trained on: runs the
// `chat_template` of its folder, written in the part of Jinja that such
// templates use (model/jinja/). Immutable and thread-safe:
//
//   TRIVIUM_ASSIGN_OR_RETURN(const ChatTemplates templates,
//                            ChatTemplates::Load(folder));
//   TRIVIUM_ASSIGN_OR_RETURN(const ChatTemplate* chat,
//                            templates.Find("", /*has_tools=*/false));
//   TRIVIUM_ASSIGN_OR_RETURN(
//       const std::vector<PromptText> prompt,
//       chat->Render({.messages = R"([{"role": "user", "content": "Hi"}])"}));
class ChatTemplate {
 public:
  // `special_tokens` become variables of the template: bos_token is "<s>". What
  // it writes gets `begin` in front, unless it begins so. INVALID_ARGUMENT
  // names the line and what is not supported.
  static absl::StatusOr<ChatTemplate> Parse(
      std::string_view source,
      std::map<std::string, std::string> special_tokens = {},
      std::string begin = "");

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Returns texts whose origin alternates. INVALID_ARGUMENT if a part is not
  // JSON, the template refuses the conversation (the error names its line) or
  // the text is too long; RESOURCE_EXHAUSTED if rendering takes too much memory
  // or work.
  absl::StatusOr<std::vector<PromptText>> Render(const ChatInput& input) const;
  // False if the template never reads a variable of this name, so that it could
  // not change the prompt.
  bool MayRead(std::string_view variable) const;
  // The template itself.
  std::string_view source() const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::unique_ptr<const Parsed> parsed);

  std::unique_ptr<const Parsed> parsed_;
};

// The chat templates of a folder by name; the usual one is called "default".
class ChatTemplates {
 public:
  // Reads the templates from the first of these that exists:
  // chat_template.jinja, with those of additional_chat_templates/;
  // chat_template.json; tokenizer_config.json, whose chat_template is one text
  // or a list of named ones. Special tokens come from tokenizer_config.json.
  // Returns no templates if the folder has none. INVALID_ARGUMENT names the
  // file and what is wrong with it.
  static absl::StatusOr<ChatTemplates> Load(const std::string& folder);
  // Reads the templates of a tokenizer_config.json alone; errors call it
  // `path`.
  static absl::StatusOr<ChatTemplates> FromConfig(
      const nlohmann::json& tokenizer_config, const std::string& path);
  // Returns no templates because the folder's cannot be used. The model is
  // served all the same, but every chat is refused for this reason.
  static ChatTemplates Refused(std::string why);

  bool empty() const { return templates_.empty(); }
  std::vector<std::string> names() const;
  // Why the templates cannot be used; empty if they can or the folder has none.
  const std::string& refusal() const { return refusal_; }
  // Returns the template `name`. An empty name means "tool_use" if there are
  // tools and such a template, else "default". NOT_FOUND lists the templates;
  // FAILED_PRECONDITION says why there are none.
  absl::StatusOr<const ChatTemplate*> Find(std::string_view name,
                                           bool has_tools) const;

 private:
  static absl::StatusOr<ChatTemplates> Parse(
      const std::map<std::string, std::string>& sources,
      const nlohmann::json& tokenizer_config, const std::string& path);

  std::map<std::string, ChatTemplate, std::less<>> templates_;
  std::string refusal_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_TEMPLATE_H_
