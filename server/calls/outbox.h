#ifndef TRIVIUM_SERVER_CALLS_OUTBOX_H_
#define TRIVIUM_SERVER_CALLS_OUTBOX_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/calls/transport.h"
#include "server/limits/byte_account.h"

namespace trivium {

// The responses of a stream that wait for its transport, which writes one at a
// time, and the time that the client takes for the one being written. It calls
// nobody: its owner gives the messages to the transport. Not thread-safe: the
// owner uses it under its lock, but calls the transport without.
//
//   outbox.Push(std::move(response));
//   message = outbox.BeginWrite(now)      // null: nothing to write now
//   ... transport->Write(*message), without the lock
//   outbox.EndWrite()                     // in Handler::OnWritten
//   outbox.CheckStall(now)                // in Handler::OnTick
class Outbox {
 public:
  using Message = google::protobuf::Message;

  // `held` counts the bytes of waiting messages (Held::kOutbox); null: nothing
  // counts them.
  Outbox(CallBytes* held, absl::Duration stall_timeout)
      : held_(held), stall_timeout_(stall_timeout) {}

  // Appends a message. `writer` is the handler to tell when it is written, if
  // that is not the owner.
  void Push(std::unique_ptr<Message> message, Handler* writer = nullptr);

  // Removes the first message and begins its write, which lasts until
  // EndWrite. Null while another write lasts or if no message waits.
  std::unique_ptr<Message> BeginWrite(absl::Time now);
  // Returns the writer of the message that was written, or null.
  Handler* EndWrite();
  bool writing() const { return write_started_ != absl::InfiniteFuture(); }

  // CANCELLED if the current write has lasted for the stall timeout or longer.
  absl::Status CheckStall(absl::Time now) const;

  // Drops the messages that wait. A write under way goes on.
  void Clear();

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  int64_t bytes() const { return bytes_; }  // of the messages that wait

 private:
  struct Waiting {
    std::unique_ptr<Message> message;
    Handler* writer;
    int64_t bytes;
  };

  void CountBytes(int64_t bytes);

  CallBytes* const held_;
  const absl::Duration stall_timeout_;
  std::deque<Waiting> waiting_;
  int64_t bytes_ = 0;
  absl::Time write_started_ = absl::InfiniteFuture();  // if there is a write
  Handler* writer_ = nullptr;  // of the message being written
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_OUTBOX_H_
