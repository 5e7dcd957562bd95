#ifndef TRIVIUM_MODEL_CHAT_FORMAT_ANSWER_READER_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_ANSWER_READER_H_

#include <memory>
#include <vector>

#include "model/chat_format/chat_delta.h"
#include "model/chat_format/chat_format.h"
#include "model/chat_format/chat_tools.h"

namespace trivium {

// Reads a message byte by byte, so that its deltas do not depend on where the
// text was cut.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual void Feed(char c) = 0;
  // The text has ended; whatever was held back is told.
  virtual void Finish() = 0;
  // True inside of a thought.
  virtual bool thinking() const = 0;
};

// Messages with marks in the text: <think>...</think>, <tool_call>... All
// pointers outlive the reader. The options are ChatReader's.
std::unique_ptr<AnswerReader> MakeMarkedReader(
    const ChatFormat* format, const std::vector<ChatTool>* tools, bool thinking,
    bool calls_first, DeltaCollector* deltas);
// gpt-oss's messages in channels.
std::unique_ptr<AnswerReader> MakeHarmonyReader(
    const std::vector<ChatTool>* tools, DeltaCollector* deltas);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_ANSWER_READER_H_
