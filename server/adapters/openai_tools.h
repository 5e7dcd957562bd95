#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_TOOLS_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_TOOLS_H_

#include <string_view>

#include "server/adapters/json_fields.h"
#include "server/adapters/written_body.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Reads `tools`, which are functions, `tool_choice` and `parallel_tool_calls`.
// The older `functions` and `function_call` are errors. Calls are held to their
// schemas whether `strict` is true or not, so the template never sees it.
//
// `written` is the fields' object.
void ReadOpenAiTools(WrittenBody* written, JsonFields* fields,
                     IgnoredMembers* ignored, v1::Chat* chat);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_TOOLS_H_
