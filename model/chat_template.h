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

// A part of a prompt. Special tokens are what the template writes; in what came
// with the request their texts are text like any other.
struct ChatSegment {
  std::string text;  // UTF-8, not empty
  bool from_template = false;
};

// A conversation, as Transformers' apply_chat_template takes it; each part is
// JSON, unset where it is empty.
struct ChatInput {
  std::string_view messages = {};   // a list: [{"role": , "content": }]
  std::string_view tools = {};      // a list; unset: none
  std::string_view documents = {};  // a list; unset: none
  std::string_view variables = {};  // an object: more names for the template
  bool add_generation_prompt = true;
  // The last message's content, if the prompt is to end with it: the answer
  // continues it.
  std::optional<std::string_view> continued = std::nullopt;
  size_t most_bytes = 0;  // that the text may have; 0: no limit
  absl::Time now = {};    // for templates that write the date
  absl::TimeZone zone = {};
  AliveCheck check_alive = {};  // called during the rendering
};

// The text that a model was trained to see a conversation as: the
// `chat_template` of its folder, in the part of Jinja that such templates use
// (model/jinja/). Immutable and thread-safe:
//
//   TRIVIUM_ASSIGN_OR_RETURN(const ChatTemplates templates,
//                            ChatTemplates::Load(folder));
//   TRIVIUM_ASSIGN_OR_RETURN(const ChatTemplate* chat, templates.Find("",
//   false)); TRIVIUM_ASSIGN_OR_RETURN(
//       const std::vector<ChatSegment> prompt,
//       chat->Render({.messages = R"([{"role": "user", "content": "Hi"}])"}));
class ChatTemplate {
 public:
  // `special_tokens` are the template's variables: bos_token, "<s>".
  // INVALID_ARGUMENT names the line and what is not supported.
  static absl::StatusOr<ChatTemplate> Parse(
      std::string_view source,
      std::map<std::string, std::string> special_tokens = {});

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Segments of alternating origin. INVALID_ARGUMENT where a part is not JSON,
  // the template refuses the conversation (the error says its line) or the text
  // is too long; RESOURCE_EXHAUSTED where rendering it would take too much.
  absl::StatusOr<std::vector<ChatSegment>> Render(const ChatInput& input) const;
  // The ids of what Render gives: in text that came with the request no special
  // token is found, and none is added, as the template writes its own.
  absl::StatusOr<Encoding> Encode(const ChatInput& input,
                                  const Tokenizer& tokenizer,
                                  EncodeOptions options) const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::unique_ptr<const Parsed> parsed);

  std::unique_ptr<const Parsed> parsed_;
};

// The templates of a folder by name; the usual one is "default".
class ChatTemplates {
 public:
  // chat_template.jinja with those of additional_chat_templates/, then
  // chat_template.json, then tokenizer_config.json, whose chat_template is one
  // text or a list of named ones; and the special tokens of the latter. Empty
  // where there is none. INVALID_ARGUMENT names the file and what is wrong with
  // it.
  static absl::StatusOr<ChatTemplates> Load(const std::string& folder);
  // Those of a tokenizer_config.json alone, which is `path` in errors.
  static absl::StatusOr<ChatTemplates> FromConfig(
      const nlohmann::json& tokenizer_config, const std::string& path);
  // None, since what there is cannot be used: no model is refused for it, but
  // every chat is.
  static ChatTemplates Refused(std::string why);

  bool empty() const { return templates_.empty(); }
  std::vector<std::string> names() const;
  // Why there are none; empty: there are, or the folder has none.
  const std::string& refusal() const { return refusal_; }
  // The template for a conversation: of that name, or, without one, "tool_use"
  // where there are tools and such a template, else "default". NOT_FOUND says
  // which there are; FAILED_PRECONDITION that and why there are none.
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
