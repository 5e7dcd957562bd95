#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_OUTPUT_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/adapters/openai_logprobs.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The server-sent events of a response, numbered from 0.
class ResponsesEvents {
 public:
  void Add(const char* type, const nlohmann::ordered_json& members);
  // Returns the events that were added since the last call.
  std::string Take() { return std::exchange(text_, {}); }

 private:
  int64_t count_ = 0;
  std::string text_;
};

// Makes the items of a response of the pieces of an answer, and the events that
// tell them as they grow:
//
//   reasoning      output_item.added, content_part.added, reasoning_text.delta
//                  ..., reasoning_text.done, content_part.done,
//                  output_item.done
//   message        the same with output_text
//   function_call  output_item.added, function_call_arguments.delta ...,
//                  function_call_arguments.done, output_item.done
//
// One item grows at a time. Text after a call is a message of its own.
class ResponsesOutput {
 public:
  // Null `events`: nobody reads them. Null `logprobs`: nobody asked for them;
  // else the answer has text alone. Both outlive this.
  ResponsesOutput(ResponsesEvents* events, const OpenAiLogprobs* logprobs)
      : events_(events), logprobs_(logprobs) {}

  void Add(const v1::GenerateResponse::Piece& piece);
  // Ends the last item. `complete`: the answer was not cut. A complete answer
  // has a message or a call, if only an empty message: agents wait for one.
  void Finish(bool complete);

  // The items that have ended.
  const nlohmann::ordered_json& items() const { return items_; }
  // The thoughts of all items.
  const std::string& thoughts() const { return thoughts_; }

 private:
  enum class Kind { kNone, kReasoning, kMessage, kCall };

  // Makes a message or thoughts the item that grows, if it is not.
  void Open(Kind kind);
  void OpenCall(const v1::GenerateResponse::ToolCallPiece& call);
  // Ends the open item; its successor is of this kind.
  void Begin(Kind kind);
  void Close(std::string_view status);
  void AddText(const std::string& text);
  void AddLogprobs(const v1::GenerateResponse::Piece& piece);
  void AddCallPiece(const v1::GenerateResponse::ToolCallPiece& call);

  // The open item with what it holds.
  nlohmann::ordered_json Item(std::string_view status) const;
  nlohmann::ordered_json Part() const;
  void Tell(const char* type, nlohmann::ordered_json members);
  // Tells of the open item's content.
  void TellContent(const char* type, nlohmann::ordered_json members);

  ResponsesEvents* const events_;
  const OpenAiLogprobs* const logprobs_;
  nlohmann::ordered_json items_ = nlohmann::ordered_json::array();
  bool answered_ = false;  // items_ have a message or a call
  std::string thoughts_;

  Kind kind_ = Kind::kNone;  // of the open item
  std::string id_;
  std::string call_id_, name_;  // of a call
  std::string text_;            // or the call's arguments
  // Log-probabilities of text_, and those that no delta has told yet.
  nlohmann::ordered_json text_logprobs_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json new_logprobs_ = nlohmann::ordered_json::array();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_OUTPUT_H_
