#ifndef TRIVIUM_SERVER_CALLS_GENERATION_H_
#define TRIVIUM_SERVER_CALLS_GENERATION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/calls/call.h"
#include "server/calls/convert/generate_messages.h"

namespace trivium {

// The content of a Generate call: makes its request ready for the batcher, and
// has the messages of its answer made. When they are written is generate.cc's
// business. For one thread at a time.
//
//   Generation generation(&call);
//   generation.Open(transport); request = generation.Prepare();
//   generation.AddTokens(0, run); generation.TakeMessages()  // as they come
//   generation.AddEnd(result); generation.TakeMessages()     // the last
class Generation {
 public:
  explicit Generation(Call* call) : call_(call) {}
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Parses the request and checks what needs no tokenizer.
  absl::Status Open(Transport* transport);
  // Bytes that Prepare will tokenize.
  int64_t text_bytes() const;
  // The request's field that has the input.
  const char* field() const { return job_.field(); }
  // Returns the request for the batcher, without an observer. If blank(), the
  // model has nothing to do. `prompt_text`, unless null, becomes the text that
  // the template makes of a chat.
  absl::StatusOr<Request> Prepare(std::string* prompt_text = nullptr);
  bool blank() const { return input_.blank; }
  // After Prepare: about how many bytes the answer has that are not text.
  int64_t response_bytes() const { return response_bytes_; }
  int hypotheses() const { return job_.hypotheses(); }

  // Adds new tokens of a hypothesis that still runs.
  void AddTokens(int index, const TokenRun& tokens) {
    messages_->AddTokens(index, tokens);
  }
  // Adds all that was not said yet of each hypothesis, and its end.
  void AddEnd(RequestResult result);
  // The status of a result that is an error, about the request's field if it
  // has one.
  absl::Status AboutResult(const absl::Status& status) const;
  // True after AddEnd: no messages come after those that are there.
  bool complete() const { return complete_; }

  // The messages that were added since the last call.
  GenerateMessages::Messages TakeMessages() { return messages_->Take(); }

 private:
  // The tokens that the answer continues as a text.
  std::vector<int32_t> prompt() const;
  void AskForAttention(Request* request);
  absl::Status AskForTrace(Request* request);
  // Compiles what the answer is held to, if anything.
  absl::Status Constrain(Request* request);

  Call* const call_;
  v1::GenerateRequest request_;
  GenerateJob job_;
  PreparedInput input_;
  std::optional<AnswerParts> parts_;  // if job_.parts
  int64_t response_bytes_ = 0;
  std::optional<GenerateMessages> messages_;  // of the three
  bool complete_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_GENERATION_H_
