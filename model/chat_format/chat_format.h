#ifndef TRIVIUM_MODEL_CHAT_FORMAT_CHAT_FORMAT_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_CHAT_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/alive_check.h"
#include "model/chat_format/tool_call_format.h"
#include "model/chat_template.h"

namespace trivium {

// The form of the thoughts that a model writes before it answers. Marks are
// without white space at their ends; both are empty if the template does not
// tell them.
struct ThinkingFormat {
  std::string begin, end;
  // The template's variable that switches thinking and its JSON values; an
  // empty name if there is none.
  std::string variable;
  std::string on, off;

  bool known() const { return !end.empty(); }
};

// The form of a model's messages, learned from the chat template of its folder.
// Immutable.
//
//   const ChatFormat format = ChatFormat::Learn(*chat_template);
//   if (!format.knows_tools()) return Refuse("tools");
//   ChatReader reader(format, tools, prompt);   // chat_reader.h
class ChatFormat {
 public:
  struct Options {
    // JSON object: variables that the template cannot do without.
    std::string_view variables = {};
    AliveCheck check_alive = {};
  };

  // Renders short conversations with and without tools, calls, results and
  // thinking, and compares them. Whatever the template refuses to render stays
  // unknown. Takes some 20 renderings.
  static ChatFormat Learn(const ChatTemplate& chat_template,
                          const Options& options);
  static ChatFormat Learn(const ChatTemplate& chat_template) {
    return Learn(chat_template, Options());
  }

  // False if the template refuses a question and an answer, so that nothing
  // was learned. It may need variables.
  bool renders_chats() const { return renders_chats_; }
  // True if tools change the prompt.
  bool knows_tools() const { return knows_tools_; }
  // True if calls in earlier messages change the prompt in a form that is
  // known, so that generated calls can be read.
  bool writes_calls() const {
    return calls_.form != ToolCallFormat::Form::kUnknown;
  }
  const ToolCallFormat& calls() const { return calls_; }
  const ThinkingFormat& thinking() const { return thinking_; }

  // The mark at which a call begins, for a constraint that starts there. Empty
  // if calls begin with a bare JSON value or name, at the start of the message.
  std::string_view CallMark() const;
  // True if the rendered prompt ends inside of thinking, so that the generated
  // text begins with it.
  bool OpensThinking(std::string_view prompt) const;

  // Marks around the content of a message between the prompt and the end of
  // the turn; usually empty.
  const std::string& content_begin() const { return content_begin_; }
  const std::string& content_end() const { return content_end_; }

  // All marks that a message may have, as the template writes them.
  std::vector<std::string_view> Marks() const;

 private:
  friend class FormatLearner;
  ChatFormat() = default;

  bool renders_chats_ = false;
  bool knows_tools_ = false;
  ToolCallFormat calls_;
  ThinkingFormat thinking_;
  std::string content_begin_, content_end_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_CHAT_FORMAT_H_
