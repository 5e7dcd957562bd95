#ifndef TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_BLOCKS_H_
#define TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_BLOCKS_H_

#include <functional>
#include <string>

#include "nlohmann/json.hpp"
#include "server/adapters/json_fields.h"

namespace trivium {

// Blocks of Anthropic's shape: the parts of a message, of the system prompt, or
// of what a tool returned. Those that hold text become text.

inline constexpr char kAnthropicShape[] = "Anthropic";
inline constexpr char kNotForAnthropic[] = "is not supported; leave it out";

struct AnthropicBlock {
  std::string type;
  JsonFields* fields;   // its members
  std::string path;     // "messages[0].content[2]"
  std::string pointer;  // the same for WrittenBody
};

// Reads a list of blocks, which is the value of `field`. `pointer` is its place
// for WrittenBody.
void ReadAnthropicBlocks(
    const nlohmann::json& content, const std::string& field,
    const std::string& pointer, JsonFields* fields,
    const std::function<void(const AnthropicBlock& block)>& read);

// Refuses a block that is of none of the types `known`.
void FailBlockType(const AnthropicBlock& block, const char* known);

// Appends a block of type "text", "document" or "search_result" to a text.
// Documents stand between blank lines, their titles before them. Returns false
// if the block has another type.
bool AppendAnthropicText(const AnthropicBlock& block, IgnoredMembers* ignored,
                         std::string* text);

// Reads a text, or a list of the blocks that AppendAnthropicText takes.
std::string ReadAnthropicTexts(const nlohmann::json& content,
                               const std::string& field,
                               IgnoredMembers* ignored, JsonFields* fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_BLOCKS_H_
