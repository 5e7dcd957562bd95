#ifndef TRIVIUM_SERVER_CALLS_CONVERT_ANSWER_PARTS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_ANSWER_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat_format/chat_format_cache.h"
#include "model/chat_format/chat_reader.h"
#include "model/chat_format/chat_tools.h"
#include "model/search/thought_bound.h"
#include "server/calls/convert/convert.h"

namespace trivium {

struct GenerateJob;

// Reads the answer to a chat in parts (Chat.answer_parts). The text that it
// reads has the special tokens that marks are made of; stop strings are looked
// for in all of it, thoughts and calls included.
struct AnswerParts {
  std::unique_ptr<ChatReader> NewReader() const {
    return std::make_unique<ChatReader>(&known->format, tools, thinking,
                                        calls_first);
  }

  std::shared_ptr<const KnownChatFormat> known;
  std::map<int32_t, std::string> written;  // special tokens that are text
  std::string tools_json;       // the tools, as the template sees them
  std::vector<ChatTool> tools;  // that the answer may call
  bool thinking = false;        // the prompt has opened a thought
  bool calls_first = false;     // ChatReader's
  bool held = false;            // the answer is held to a grammar
  // Bounds the thoughts of a held answer; unset: it does not.
  std::optional<ThoughtBound::Options> thoughts;
};

// Checks the fields that say what an answer is; INVALID_ARGUMENT names the one
// below `path` that does not go with the others.
absl::Status CheckAnswerFields(const v1::Chat& in, const std::string& path);

// Learns the form of the model's answers, and decides what this one is held to.
// INVALID_ARGUMENT and FAILED_PRECONDITION name the field below `chat` or
// `decoding`.
absl::StatusOr<AnswerParts> ReadAnswerParts(const v1::GenerateRequest& in,
                                            const GenerateJob& job,
                                            const ServedModel& served,
                                            const ChatPrompt& prompt);

// Compiles what the answer is held to, which is `parts.held`, or takes the
// constraint that the model keeps, and sets it in `decoding`, with the bound of
// thoughts. Errors name tools by `chat.tools[i]`.
absl::Status HoldAnswer(const v1::GenerateRequest& in, const GenerateJob& job,
                        const ServedModel& served, const AnswerParts& parts,
                        DecodingOptions* decoding);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_ANSWER_PARTS_H_
