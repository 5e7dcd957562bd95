#ifndef TRIVIUM_MODEL_CHAT_FORMAT_CHAT_READER_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_CHAT_READER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "model/chat_format/answer_reader.h"
#include "model/chat_format/chat_delta.h"
#include "model/chat_format/chat_format.h"
#include "model/chat_format/chat_tools.h"

namespace trivium {

// Reads what a model writes into content, reasoning and tool calls, piece by
// piece as it is generated:
//
//   ChatReader reader(&format, tools, format.OpensThinking(prompt));
//   for (each piece) Send(reader.Read(piece));
//   Send(reader.Finish());
//
// The text must have its special tokens written out, since marks often are
// some; tokens that end the turn may be left out. What always holds:
// - The deltas, joined by ReadMessage, do not depend on where the text was cut.
// - Only what may become a mark or a call, and white space before it, is held
//   back. A call is told once its name and the beginning of its arguments are
//   read.
// - Only calls of `tools` are told. Whatever looks like a call but is none
//   comes as content, as it was written. If a call goes wrong after it was
//   told, it has no kCallEnd, and the text from there on is content.
// - White space is dropped around thoughts and calls only.
class ChatReader {
 public:
  // `format` must outlive this. Without tools calls are content. `thinking`:
  // the prompt has opened a thought, so the text begins inside of it.
  // `calls_first`: content does not become a call, because calls come in its
  // place only.
  ChatReader(const ChatFormat* format, std::vector<ChatTool> tools,
             bool thinking, bool calls_first = false);
  ChatReader(const ChatReader&) = delete;
  ChatReader& operator=(const ChatReader&) = delete;
  ~ChatReader();

  std::vector<ChatDelta> Read(std::string_view piece);
  // The text has ended. Must be called once, last.
  std::vector<ChatDelta> Finish();
  // True if what was read ends inside of a thought.
  bool thinking() const { return reader_->thinking(); }

 private:
  const std::vector<ChatTool> tools_;
  DeltaCollector deltas_;
  std::unique_ptr<AnswerReader> reader_;  // uses the two
};

// Reads a whole text.
ReadMessage ReadChatMessage(const ChatFormat& format,
                            const std::vector<ChatTool>& tools, bool thinking,
                            std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_CHAT_READER_H_
