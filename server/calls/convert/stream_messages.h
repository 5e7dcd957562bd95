#ifndef TRIVIUM_SERVER_CALLS_CONVERT_STREAM_MESSAGES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_STREAM_MESSAGES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/errors/rpc_status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The messages of calls that read a start and then items (TranslateStream,
// EncodeStream). A message from the client has a start or an item.

// Return null if the message has another part, or none.
template <typename Message>
const auto* FindStart(const Message& message) {
  return message.has_start() ? &message.start() : nullptr;
}
template <typename Message>
const auto* FindItem(const Message& message) {
  return message.has_item() ? &message.item() : nullptr;
}

template <typename Item>
const std::string& IdOf(const Item& item) {
  return item.id();
}
template <typename Item>
const v1::Input& InputOf(const Item& item) {
  return item.input();
}

template <typename Item>
const v1::Chunks& ChunksOf(const Item& item) {
  return item.chunks();
}

// INVALID_ARGUMENT for an id that has too many bytes.
absl::Status CheckItemId(const std::string& id);

// Moves the item out of a message that has one.
template <typename Message>
auto MoveItem(Message* message) {
  return std::move(*message->mutable_item());
}

// Returns the response about the item `id`.
template <typename Response>
std::unique_ptr<Response> MakeItemError(const std::string& id,
                                        const absl::Status& status) {
  auto message = std::make_unique<Response>();
  message->set_id(id);
  *message->mutable_error() = ToRpcStatus(status);
  return message;
}
template <typename Response, typename Result>
std::unique_ptr<Response> MakeItemResult(const std::string& id, Result result) {
  auto message = std::make_unique<Response>();
  message->set_id(id);
  *message->mutable_result() = std::move(result);
  return message;
}

// INVALID_ARGUMENT for an EncodeStream's start that has inputs or chunks.
absl::Status CheckStart(const v1::EncodeRequest& start);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_STREAM_MESSAGES_H_
