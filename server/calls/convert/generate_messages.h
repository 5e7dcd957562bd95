#ifndef TRIVIUM_SERVER_CALLS_CONVERT_GENERATE_MESSAGES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_GENERATE_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/chat_format/chat_reader.h"
#include "server/calls/call_timings.h"
#include "server/calls/convert/answer_parts.h"
#include "server/calls/convert/generate.h"
#include "server/calls/convert/generated_text.h"

namespace trivium {

// New tokens of a hypothesis, with what the search tells of each.
struct TokenRun {
  std::span<const int32_t> ids;
  std::span<const float> logprobs;  // [ids]
  // [ids]; empty if nobody asked for alternatives.
  std::span<const std::vector<TokenLogprob>> top_logprobs;

  size_t size() const { return ids.size(); }
  // The tokens [begin, begin + count).
  TokenRun Part(size_t begin, size_t count) const {
    return {ids.subspan(begin, count),
            logprobs.empty() ? logprobs : logprobs.subspan(begin, count),
            top_logprobs.empty() ? top_logprobs
                                 : top_logprobs.subspan(begin, count)};
  }
};

// Makes the messages of a Generate call's answer. For one thread at a time.
//
// Each hypothesis has a GeneratedText, which counts the tokens that it was
// given. While the model runs, AddTokens makes messages of new tokens. AddEnd
// makes messages of all that were not streamed, so each hypothesis is told
// whole, however much of it was streamed. The last messages come in this order:
// the prompt's log-probabilities; for each hypothesis its rest and its `done`.
// The last `done` has the usage of all.
class GenerateMessages {
 public:
  using Messages = std::vector<std::unique_ptr<v1::GenerateResponse>>;

  // `job` and `input` outlive this. `parts`, too; null if the answer is one
  // text.
  GenerateMessages(const GenerateJob& job, const PreparedInput& input,
                   const AnswerParts* parts);

  // Adds new tokens of a hypothesis that still runs.
  void AddTokens(int index, const TokenRun& tokens);
  // Adds all that was not said yet of each hypothesis, and its end.
  void AddEnd(RequestResult result, const CallTimings& timings,
              const ServedModel& model);
  // The messages that were added since the last call.
  Messages Take() { return std::exchange(messages_, {}); }

 private:
  // Appends an empty message about hypothesis `index`.
  v1::GenerateResponse* AddMessage(int index);
  // Adds text of a hypothesis to the last message, which is a piece.
  void AddText(int index, const std::string& text);
  // Adds parts of an answer, as far as they go together to the last message.
  void AddDeltas(int index, const std::vector<ChatDelta>& deltas);
  // Drops the last message if it is a piece that tells nothing. Then tells the
  // usage in the pieces from message `first` on, if asked.
  void EndPieces(int index, size_t first);
  void AddPrompt(const Hypothesis& scored);
  // Adds the end of a hypothesis. `map` may be null.
  v1::GenerateResponse::Done* AddDone(int index, const Hypothesis& hypothesis,
                                      const AttentionMap* map);
  void AddHeadTrace(const HeadTrace& trace, const Hypothesis& hypothesis,
                    v1::GenerateResponse::Done* done) const;
  uint32_t PromptTokens() const;

  const GenerateJob& job_;
  const PreparedInput& input_;
  std::vector<GeneratedText> texts_;  // [hypotheses]
  // [hypotheses]; empty if the answer is one text.
  std::vector<std::unique_ptr<ChatReader>> readers_;
  uint32_t reasoning_tokens_ = 0;
  Messages messages_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_GENERATE_MESSAGES_H_
