#ifndef TRIVIUM_MODEL_CHAT_FORMAT_ANSWER_GRAMMAR_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_ANSWER_GRAMMAR_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/chat_format/chat_format.h"
#include "model/chat_format/chat_tools.h"
#include "model/grammar/grammar.h"

namespace trivium {

struct AnswerGrammarOptions {
  enum class Calls : uint8_t {
    kNone,
    kMay,   // calls, or content, or content and then calls
    kMust,  // calls, and no content
  };
  Calls calls = Calls::kNone;
  // With kMust: the one tool that may be called; empty: any of them.
  std::string_view tool = {};
  bool parallel = true;  // several calls, if the template writes several
  // The prompt has opened a thought, so the text begins inside of it.
  bool thinking = false;
  // The form of the content; null: any text. Beside kMay the answer is either
  // of this form or calls.
  const Grammar* content = nullptr;
  GrammarLimits limits = {};
  AliveCheck check_alive = {};
};

// The texts of whole answers, as ChatReader reads them: perhaps a thought, then
// content or calls. Thoughts are free up to their end mark. Calls are those of
// GrammarOfToolCalls and end the answer. Content that has no form is any text
// in which ChatReader sees no call; so nothing is ever read as a call that has
// not the form of one. Where calls begin with a bare JSON value or a tool's
// name, content therefore begins neither with `{` (of lists `[`) nor with the
// name of a tool and what follows it in a call.
//
// GrammarOfToolCalls's errors.
absl::StatusOr<Grammar> GrammarOfAnswer(const ChatFormat& format,
                                        const std::vector<ChatTool>& tools,
                                        const AnswerGrammarOptions& options);

// True if a JSON text may begin as calls do, or calls have no mark to begin
// with, so that the two cannot be told apart by their first bytes.
bool MayBeginAsCalls(const ChatFormat& format);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_ANSWER_GRAMMAR_H_
