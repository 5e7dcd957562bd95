#ifndef TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_ANSWER_H_
#define TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// An event of a stream: its name is the member `type` of its data.
std::string AnthropicEvent(const nlohmann::ordered_json& data);

// The blocks of an answer, made of its pieces as they come: thoughts, text and
// tool calls, each in the order in which the model wrote them. Parts of one
// kind that follow one another are one block. A stream is told what each piece
// adds to them and nothing is kept; else they are there at the end.
//
//   AnthropicAnswer answer(/*streams=*/true, /*omits_thoughts=*/false);
//   for (each piece) Send(answer.Add(piece));
//   Send(answer.End());
class AnthropicAnswer {
 public:
  // `omits_thoughts`: blocks of thoughts have no text.
  AnthropicAnswer(bool streams, bool omits_thoughts)
      : streams_(streams), omits_thoughts_(omits_thoughts) {}

  // Returns the events that tell of the piece; none without a stream.
  std::string Add(const v1::GenerateResponse::Piece& piece);
  // Ends the last block. Called once, after all pieces.
  std::string End();
  // True if there is a tool call.
  bool calls() const { return calls_; }
  // Without a stream, after End: the list of the blocks. A call whose arguments
  // are not whole has empty ones.
  const nlohmann::ordered_json& blocks() const { return blocks_; }

 private:
  enum class Kind : uint8_t { kNone, kThinking, kText, kToolUse };

  // Ends the block that is open, if any, and begins another.
  void Begin(Kind kind, nlohmann::ordered_json block);
  void EndBlock();
  // Adds text to the open block.
  void Append(const std::string& text);
  void AddText(Kind kind, const std::string& text);
  void AddCall(const v1::GenerateResponse::ToolCallPiece& piece);
  void Send(nlohmann::ordered_json event);

  const bool streams_;
  const bool omits_thoughts_;
  std::string events_;  // not returned yet
  Kind open_ = Kind::kNone;
  int index_ = -1;  // of the open block, or of the last one
  // The open block: as it began, and its text or arguments so far. The text is
  // kept without a stream only.
  nlohmann::ordered_json block_;
  std::string text_;
  uint32_t call_ = 0;  // ToolCallPiece::index of the open call
  bool calls_ = false;
  nlohmann::ordered_json blocks_ = nlohmann::ordered_json::array();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_ANSWER_H_
