#ifndef TRIVIUM_MODEL_CHAT_FORMAT_TOOL_GRAMMAR_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_TOOL_GRAMMAR_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/chat_format/chat_format.h"
#include "model/chat_format/chat_tools.h"
#include "model/grammar/grammar.h"

namespace trivium {

struct ToolGrammarOptions {
  // The one tool that may be called; empty: any of them.
  std::string_view tool = {};
  // Several calls may follow one another, if the template writes several.
  bool parallel = false;
  // False: the text begins behind ChatFormat::CallMark, which the model has
  // written by itself.
  bool with_mark = true;
  GrammarLimits limits = {};
  AliveCheck check_alive = {};
};

// False if the form of calls has no grammar: it is not known, or calls are not
// written as JSON.
bool HasToolGrammar(const ChatFormat& format);

// Texts that are calls of the tools, as the model writes them, with arguments
// that their JSON schemas accept: one call, or one and more. ChatReader reads
// each of them back. INVALID_ARGUMENT if the form of calls is not known, there
// is no such tool, or a schema cannot be held: the error names tools[i] and the
// JSON pointer of the keyword. RESOURCE_EXHAUSTED if the tools are larger than
// the limits.
//
// Parameters that are written as bare text can be held if they are strings with
// no other keyword than `enum` and `const`, or are no strings. They are written
// in the order of the schema.
absl::StatusOr<Grammar> GrammarOfToolCalls(const ChatFormat& format,
                                           const std::vector<ChatTool>& tools,
                                           const ToolGrammarOptions& options);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_TOOL_GRAMMAR_H_
