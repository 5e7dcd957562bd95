#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_ANSWER_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_ANSWER_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The assistant's message of one choice of a chat, as its pieces come:
//
//   OpenAiAnswer answer;
//   for (each piece) Send(answer.Delta(piece));   // of a stream
//
//   for (each piece) answer.Add(piece);           // without a stream
//   Send(answer.Message());
//
// Deltas, joined as OpenAI's clients join them, are the message. A call that
// has no id, or that of an earlier call, gets a new one.
class OpenAiAnswer {
 public:
  // Returns what a piece adds, without a role: an empty object if that is
  // nothing. A delta has at most one item for each call.
  nlohmann::ordered_json Delta(const v1::GenerateResponse::Piece& piece);

  void Add(const v1::GenerateResponse::Piece& piece);
  nlohmann::ordered_json Message() const;

  // True once a call has begun.
  bool calls() const { return !calls_.empty(); }

 private:
  struct Call {
    std::string id, name, arguments;
  };
  // Begins the call of a piece unless it has begun. Returns true if so.
  bool Begin(const v1::GenerateResponse::ToolCallPiece& piece);

  std::string content_, reasoning_;
  std::vector<Call> calls_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_ANSWER_H_
