#ifndef TRIVIUM_SERVER_CALLS_GENERATION_H_
#define TRIVIUM_SERVER_CALLS_GENERATION_H_

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/calls/call.h"
#include "server/calls/convert/convert.h"
#include "server/calls/convert/generated_text.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What a Generate call says, apart from when: its request checked and made
// ready for the batcher, and the messages of its answer. For one thread at a
// time.
//
//   Generation generation(&call);
//   generation.Open(transport); request = generation.Prepare();
//   generation.AddTokens(0, ids);    // as they come
//   generation.AddEnd(result);
//   while (!generation.messages().empty()) ... write and pop the first
class Generation {
 public:
  explicit Generation(Call* call) : call_(call) {}

  // Takes the request and checks what needs no tokenizer.
  absl::Status Open(Transport* transport);
  // Bytes that Prepare will tokenize.
  int64_t text_bytes() const;
  // Where the request has its input.
  const char* field() const { return request_.has_chat() ? "chat" : "input"; }
  // Without an observer. Nothing to do for the model if blank().
  absl::StatusOr<Request> Prepare();
  bool blank() const { return input_.blank; }
  // Once it is prepared: about what grows of its answer without text.
  int64_t response_bytes() const { return response_bytes_; }
  int hypotheses() const { return decoding_.options.hypotheses; }

  // New tokens of a hypothesis that runs.
  void AddTokens(int index, std::span<const int32_t> ids) {
    AddPieces(index, ids, nullptr);
  }
  // All that was not said yet of each hypothesis, and that it is done.
  void AddEnd(RequestResult result);
  // AddEnd was called: what messages() holds is the last.
  bool complete() const { return complete_; }

  std::deque<v1::GenerateResponse>& messages() { return messages_; }

 private:
  void AddPieces(int index, std::span<const int32_t> ids,
                 const Hypothesis* whole);
  // `map` may be null.
  void AddDone(int index, const Hypothesis& hypothesis,
               const AttentionMap* map);
  void AskForAttention(Request* request);
  void AddPrompt(const Hypothesis& scored);
  // Whether the input is a prompt, and no source.
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
  std::deque<v1::GenerateResponse> messages_;
  bool complete_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_GENERATION_H_
