#ifndef TRIVIUM_SERVER_RPC_STREAM_TRANSLATION_H_
#define TRIVIUM_SERVER_RPC_STREAM_TRANSLATION_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/rpc/call.h"
#include "server/rpc/translation.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What a TranslateStream call says, apart from when: its messages read and
// its answers made. Reading is for one thread at a time; answering is
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
    std::optional<Item> item;                // to submit
    std::optional<grpc::ByteBuffer> answer;  // to write: the item has failed,
                                             // or was blank
    absl::Status end;                        // not OK: the stream ends with it
  };

  Outcome Read(const grpc::ByteBuffer& bytes);
  Outcome Prepare(const v1::TranslateStreamRequest::Item& in);

  grpc::ByteBuffer Answer(uint64_t id, const PreparedInput& input,
                          RequestResult result) const;
  static grpc::ByteBuffer Error(uint64_t id, const absl::Status& status);

 private:
  absl::Status Start(const v1::TranslateStreamRequest& message);

  Call* const call_;
  std::optional<Translation> translation_;  // once the start was read
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_STREAM_TRANSLATION_H_
