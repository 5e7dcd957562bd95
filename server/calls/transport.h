#ifndef TRIVIUM_SERVER_CALLS_TRANSPORT_H_
#define TRIVIUM_SERVER_CALLS_TRANSPORT_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace trivium {

// The two sides of a call. A Handler does what the call asks; a Transport
// carries its messages: gRPC's and HTTP's are in server/transports, and an
// adapter's handler is the transport of the handler that it runs. A transport
// makes a handler for each call, keeps it until Finish has done its work, and
// tells it what happens; the handler asks the transport to read and write.
//
// Neither side waits for the other: a function of Transport starts something
// and returns; what comes of it is told later through the Handler, never from
// inside the function that started it. Handlers call a transport from any
// thread.

// How a call ended.
struct Ending {
  absl::Status status;     // its payloads are google.rpc's details
  std::string request_id;  // clients are told it with every ending
};

// What a transport does for every call.
class Transport {
 public:
  virtual ~Transport() = default;

  // Moves the request message that has come into `request`.
  // INVALID_ARGUMENT if it is too large or does not parse; of a stream's item
  // `request` then still has the id, where it can be told, so that the item
  // can fail alone.
  virtual absl::Status Take(google::protobuf::Message* request) = 0;

  // Ends the call, once; of the transport nothing may be asked afterwards but
  // BreakOff.
  // `last`: the response, or a stream's last; null for none.
  virtual void Finish(const Ending& ending,
                      const google::protobuf::Message* last) = 0;
};

// A transport of calls that are answered with a stream of responses.
class ResponseStream : public Transport {
 public:
  // Sends a response. The next one, and Finish, only after OnWritten: so the
  // client's pace is felt.
  virtual void Write(const google::protobuf::Message& response) = 0;
  // Gives up a client that takes nothing: a write under way soon ends.
  virtual void BreakOff() = 0;
  // True if the transport finds out by itself that its client takes nothing.
  // Then a write may wait for more than the client, and the handler must not
  // call BreakOff because one takes long.
  virtual bool notices_stalls() const { return false; }
};

// A transport of calls that also read a stream of requests.
class RequestStream : public ResponseStream {
 public:
  // Waits for the next request; OnRead tells when it can be taken.
  virtual void Read() = 0;
};

// The server's side of a call: as handlers.h makes them.
class Handler {
 public:
  virtual ~Handler() = default;

  // Once, first.
  virtual void Start() = 0;
  // The client does not want the answer any more.
  virtual void OnCancel() = 0;

  // RequestStream::Read has ended: a request may be taken, or there are no
  // more of them.
  virtual void OnRead(bool ok) {}
  // ResponseStream::Write has ended; `ok` is false if the client is gone.
  virtual void OnWritten(bool ok) {}

  // From the CallRegistry, for streams. They must not block nor call the
  // registry. Time has passed:
  virtual void OnTick(absl::Time now) {}
  // The server is stopping: finish what runs and end.
  virtual void OnDrain() {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TRANSPORT_H_
