#ifndef TRIVIUM_SERVER_HANDLERS_STREAM_TRANSLATION_H_
#define TRIVIUM_SERVER_HANDLERS_STREAM_TRANSLATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/handlers/call.h"
#include "server/handlers/translation.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What a TranslateStream call says, apart from when: its messages read and
// its responses made. Reading is for one thread at a time; Result is
// thread-safe once the first message was read.
class StreamTranslation {
 public:
  explicit StreamTranslation(Call* call) : call_(call) {}

  // An item that is ready for the batcher.
  struct Item {
    uint64_t id = 0;
    Translation::Item work;
  };

  // What comes of a message: one of these, or nothing (a good start).
  struct Outcome {
    // To prepare; its text may be long.
    std::optional<v1::TranslateStreamRequest::Item> text;
    std::optional<Item> item;  // to submit
    // To write: the item has failed, or was blank.
    std::optional<v1::TranslateStreamResponse> response;
    absl::Status end;  // not OK: the stream ends with it
  };

  // Takes a message that was read.
  Outcome Read(RequestStream* transport);
  Outcome Prepare(const v1::TranslateStreamRequest::Item& in);

  v1::TranslateStreamResponse Result(uint64_t id, const PreparedInput& input,
                                     RequestResult result) const;
  static v1::TranslateStreamResponse Error(uint64_t id,
                                           const absl::Status& status);

 private:
  absl::Status Start(const v1::TranslateStreamRequest& message);

  Call* const call_;
  std::optional<Translation> translation_;  // once the start was read
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_STREAM_TRANSLATION_H_
