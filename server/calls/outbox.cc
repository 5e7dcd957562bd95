#include "server/calls/outbox.h"

#include <fmt/format.h>

#include <utility>

namespace trivium {

void Outbox::Push(std::unique_ptr<Message> message, Handler* writer) {
  const auto bytes = static_cast<int64_t>(message->ByteSizeLong());
  CountBytes(bytes);
  waiting_.push_back({std::move(message), writer, bytes});
}

std::unique_ptr<Outbox::Message> Outbox::BeginWrite(absl::Time now) {
  if (writing() || waiting_.empty()) return nullptr;
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  CountBytes(-first.bytes);
  writer_ = first.writer;
  write_started_ = now;
  return std::move(first.message);
}

Handler* Outbox::EndWrite() {
  write_started_ = absl::InfiniteFuture();
  return std::exchange(writer_, nullptr);
}

absl::Status Outbox::CheckStall(absl::Time now) const {
  if (!writing() || now - write_started_ < stall_timeout_) {
    return absl::OkStatus();
  }
  return absl::CancelledError(fmt::format(
      "the client took nothing for {}", absl::FormatDuration(stall_timeout_)));
}

void Outbox::Clear() {
  waiting_.clear();
  CountBytes(-bytes_);
}

void Outbox::CountBytes(int64_t bytes) {
  bytes_ += bytes;
  if (held_ != nullptr) held_->Add(Held::kOutbox, bytes);
}

}  // namespace trivium
