#include "model/chat_format/chat_reader.h"

#include <utility>

namespace trivium {

ChatReader::ChatReader(const ChatFormat* format, std::vector<ChatTool> tools,
                       bool thinking, bool calls_first)
    : tools_(std::move(tools)),
      reader_(format->calls().form == ToolCallFormat::Form::kHarmony
                  ? MakeHarmonyReader(&tools_, &deltas_)
                  : MakeMarkedReader(format, &tools_, thinking, calls_first,
                                     &deltas_)) {}

ChatReader::~ChatReader() = default;

std::vector<ChatDelta> ChatReader::Read(std::string_view piece) {
  for (const char c : piece) reader_->Feed(c);
  return deltas_.Take(/*at_end=*/false);
}

std::vector<ChatDelta> ChatReader::Finish() {
  reader_->Finish();
  return deltas_.Take(/*at_end=*/true);
}

ReadMessage ReadChatMessage(const ChatFormat& format,
                            const std::vector<ChatTool>& tools, bool thinking,
                            std::string_view text) {
  ChatReader reader(&format, tools, thinking);
  ReadMessage message;
  for (const ChatDelta& delta : reader.Read(text)) message.Add(delta);
  for (const ChatDelta& delta : reader.Finish()) message.Add(delta);
  return message;
}

}  // namespace trivium
