#ifndef TRIVIUM_SERVER_CALLS_GENERATION_H_
#define TRIVIUM_SERVER_CALLS_GENERATION_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/calls/call.h"
#include "server/calls/convert/convert.h"
#include "server/calls/convert/generated_text.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The content of a Generate call: checks its request and makes it ready for the
// batcher, then makes the messages of its answer. When they are written is
// generate.cc's business. For one thread at a time.
//
//   Generation generation(&call);
//   generation.Open(transport); request = generation.Prepare();
//   generation.AddTokens(0, ids); generation.TakeMessages()  // as they come
//   generation.AddEnd(result); generation.TakeMessages()     // the last
class Generation {
 public:
  explicit Generation(Call* call) : call_(call) {}

  // Parses the request and checks what needs no tokenizer.
  absl::Status Open(Transport* transport);
  // Bytes that Prepare will tokenize.
  int64_t text_bytes() const;
  // The request's field that has the input.
  const char* field() const { return request_.has_chat() ? "chat" : "input"; }
  // Returns the request for the batcher, without an observer. If blank(), the
  // model has nothing to do.
  absl::StatusOr<Request> Prepare();
  bool blank() const { return input_.blank; }
  // After Prepare: about how many bytes the answer has that are not text.
  int64_t response_bytes() const { return response_bytes_; }
  int hypotheses() const { return decoding_.options.hypotheses; }

  // Adds new tokens of a hypothesis that still runs.
  void AddTokens(int index, std::span<const int32_t> ids) {
    AddPieces(index, ids, nullptr);
  }
  // Adds all that was not said yet of each hypothesis, and its end.
  void AddEnd(RequestResult result);
  // True after AddEnd: no messages come after those that are there.
  bool complete() const { return complete_; }

  using Messages = std::vector<std::unique_ptr<v1::GenerateResponse>>;
  // The messages that were added since the last call.
  Messages TakeMessages() { return std::exchange(messages_, {}); }

 private:
  // Appends an empty message about hypothesis `index`.
  v1::GenerateResponse* AddMessage(int index);
  // `whole` is set once the hypothesis is complete; null: it still runs.
  void AddPieces(int index, std::span<const int32_t> ids,
                 const Hypothesis* whole);
  // `map` may be null.
  void AddDone(int index, const Hypothesis& hypothesis,
               const AttentionMap* map);
  void AskForAttention(Request* request);
  void AddPrompt(const Hypothesis& scored);
  // True if the input is a prompt rather than a source.
  bool prompted() const {
    return options_.model->info().design == Design::kDecoder;
  }
  uint32_t PromptTokens() const;

  Call* const call_;
  v1::GenerateRequest request_;
  InputOptions options_;
  CallDecoding decoding_;
  std::optional<MapSelection> attention_;
  PreparedInput input_;
  int64_t response_bytes_ = 0;
  bool show_ids_ = false;
  std::vector<GeneratedText> texts_;  // [hypotheses]
  Messages messages_;
  bool complete_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_GENERATION_H_
