#ifndef TRIVIUM_SERVER_CALLS_CALL_TRANSLATION_H_
#define TRIVIUM_SERVER_CALLS_CALL_TRANSLATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/calls/call.h"
#include "server/translation/pipeline/routed_translation.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The RoutedTranslation of a Translate or TranslateStream call; converts
// between messages and its structs. It is used like RoutedTranslation, in the
// same threads.
class CallTranslation {
 public:
  // An input, whose requests are submitted in rounds.
  struct Job : RoutedTranslation::Job {
    Job(RoutedTranslation::Job job) : RoutedTranslation::Job(std::move(job)) {}

    int64_t first_tokens = 0;  // of the first round
  };

  // A round of retries has at most this many tokens, or as many as the first
  // round had. So the queue takes each round that follows one that it took.
  static constexpr int64_t kLeastRoundTokens = 32 << 10;

  // `call` has a model and outlives this. If the request has `named` the model,
  // no other may translate; else the call may get another one. `path` names the
  // options in errors. `check_alive` returns an error once nobody waits for the
  // answer.
  //
  // If languages are detected, `on_model` is called once the call has the model
  // of its first text, before anything is tokenized; its error ends the call.
  // It may be null.
  //
  // `detected`: the language that all texts together seem to be in, which is
  // translated in place of the options' "auto". Empty: there is none.
  static absl::StatusOr<CallTranslation> Create(
      Call* call, bool named, v1::TranslateOptions options,
      const std::string& path, const AliveCheck& check_alive,
      const std::function<absl::Status()>& on_model,
      const std::string& detected = "");

  bool same_for_all() const { return translation_.same_for_all(); }
  // Compiles patterns and tokenizes terms. Call it once, before Prepare.
  absl::Status Compose();
  // Returns the cost of Prepare, and of Compose if that comes first, as a
  // number of bytes to tokenize.
  int64_t TextBytes(const v1::Input& input) const;
  absl::StatusOr<Job> Prepare(const v1::Input& input, const std::string& path);
  absl::Status AddResult(RequestResult result, Job* job) const {
    return translation_.AddResult(std::move(result), job);
  }
  v1::TranslateResult Result(Job job) const;

  // Returns the requests of a job's next round: at first all of them.
  static std::vector<Request> NextRound(Job* job);
  // Moves a job's next requests to `out`, as long as that has at most `most`
  // requests and they have at most `*tokens` tokens, which it takes off. If
  // `out` is empty, it moves at least one.
  static void MoveRequests(Job* job, size_t most, int64_t* tokens,
                           std::vector<Request>* out);

 private:
  CallTranslation(RoutedTranslation translation, const RequestLimits* limits,
                  int64_t unread_bytes)
      : translation_(std::move(translation)),
        limits_(limits),
        unread_bytes_(unread_bytes) {}

  RoutedTranslation translation_;
  const RequestLimits* limits_;
  // Bytes of patterns and terms that Compose has yet to read, or that Prepare
  // reads for each source language that is detected.
  int64_t unread_bytes_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_TRANSLATION_H_
