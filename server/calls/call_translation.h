#ifndef TRIVIUM_SERVER_CALLS_CALL_TRANSLATION_H_
#define TRIVIUM_SERVER_CALLS_CALL_TRANSLATION_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/calls/call.h"
#include "server/translation/pipeline/routed_translation.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The RoutedTranslation of a Translate or TranslateStream call, which passes
// its messages on. Used as it is, and with the same threads.
class CallTranslation {
 public:
  using Job = RoutedTranslation::Job;

  // `call` has a model. If the request has `named` it, no other model may
  // translate; else the call may get another one. `path` of the options in
  // errors. `check_alive` returns an error once nobody wants the answer. Where
  // languages are detected, `on_model` is asked whether to go on once the call
  // has the model of its first text, of which nothing is tokenized yet; may be
  // null. `call` outlives this.
  static absl::StatusOr<CallTranslation> Create(
      Call* call, bool named, const v1::TranslateOptions& options,
      const std::string& path, const AliveCheck& check_alive,
      const std::function<absl::Status()>& on_model);

  bool same_for_all() const { return translation_.same_for_all(); }
  // Reads patterns and terms; once, before anything is prepared.
  absl::Status Compose();
  // The cost of Prepare, and of Compose if that comes first, as that of
  // tokenizing so many bytes.
  int64_t TextBytes(const v1::Input& input) const;
  absl::StatusOr<Job> Prepare(const v1::Input& input, const std::string& path);
  absl::Status Take(RequestResult result, Job* job) const {
    return translation_.Take(std::move(result), job);
  }
  v1::TranslateResult Result(Job job) const;

 private:
  CallTranslation(RoutedTranslation translation, const RequestLimits* limits,
                  int64_t unread_bytes)
      : translation_(std::move(translation)),
        limits_(limits),
        unread_bytes_(unread_bytes) {}

  RoutedTranslation translation_;
  const RequestLimits* limits_;
  // Of patterns and terms that Compose will read, or Prepare for each source
  // that is detected.
  int64_t unread_bytes_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_TRANSLATION_H_
