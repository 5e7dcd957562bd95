#ifndef TRIVIUM_SERVER_CALLS_TRANSPORT_H_
#define TRIVIUM_SERVER_CALLS_TRANSPORT_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace trivium {

// The two sides of a call. A Handler does what the call asks. A Transport
// carries its messages: over gRPC (server/transports/grpc), over HTTP
// (server/transports/http), within a process (library/), or from another
// handler, for an adapter that turns its request into one of ours. A transport
// makes a handler for each call, keeps it until Finish is done, and tells it
// what happens; the handler asks the transport to read and write.
//
//   Transport                         Handler
//             -> Start
//   ParseRequest <-
//   BeginAnswer <-
//   Write     <-
//             -> OnWritten
//   Finish    <-
//
// Neither side waits for the other: a function of Transport starts something
// and returns. The Handler hears of its end later, never from inside the
// function that started it. Handlers call a transport from any thread.
//
// A handler's functions never throw: what is thrown inside ends the call
// (CatchExceptions). A transport's functions throw std::bad_alloc if there is
// no memory, and then have done nothing; but Finish, Read and BreakOff do not
// throw.

// The end of a call.
struct Ending {
  absl::Status status;     // its payloads are google.rpc's details
  std::string request_id;  // told to the client with every ending
};

// Carries a call with one response.
class Transport {
 public:
  virtual ~Transport() = default;

  // Parses the request message that has come into `request`. INVALID_ARGUMENT
  // if it is too large or does not parse. Even then, an item of a stream has
  // its id if that can be read, so that the item can fail alone.
  virtual absl::Status ParseRequest(google::protobuf::Message* request) = 0;

  // Ends the call, once. Afterwards only BreakOff may be called. `last` is the
  // response, or the last one of a stream; null: none.
  virtual void Finish(const Ending& ending,
                      const google::protobuf::Message* last) = 0;
};

// Carries a call that is answered with a stream of responses.
class ResponseStream : public Transport {
 public:
  // Sends a response. The next Write, and Finish, wait for OnWritten, so the
  // handler goes at the client's pace.
  virtual void Write(const google::protobuf::Message& response) = 0;
  // Gives up a client that takes nothing, so that a write under way soon ends.
  virtual void BreakOff() = 0;
  // Tells the client that its call is admitted, although there is nothing to
  // send yet. Before Finish; may be called beside Write.
  virtual void BeginAnswer() {}
  // Shows the client and proxies that the call lives, if nothing was sent for
  // long. After BeginAnswer and before Finish; may be called beside Write.
  virtual void KeepAlive(absl::Time now) {}
};

// Carries a call that also reads a stream of requests.
class RequestStream : public ResponseStream {
 public:
  // Waits for the next request. Once OnRead has told of it, ParseRequest parses
  // it.
  virtual void Read() = 0;
};

// The server's side of a call. handlers.h makes them.
class Handler {
 public:
  virtual ~Handler() = default;

  // Called once, before all others, on a thread of the transport, or on a pool
  // if an HTTP request is long. Must not block.
  virtual void Start() = 0;
  // The client no longer waits for the answer.
  virtual void OnCancel() = 0;

  // RequestStream::Read has ended. If `ok`, ParseRequest parses the request;
  // else no more requests come.
  virtual void OnRead(bool ok) {}
  // ResponseStream::Write has ended. `ok` is false if the client is gone.
  virtual void OnWritten(bool ok) {}

  // Called by the CallRegistry, for the streams that it knows. They must
  // neither block nor call the registry.
  //
  // Some time has passed (CallRegistry's tick).
  virtual void OnTick(absl::Time now) {}
  // The server is stopping: the stream finishes what it has read and ends.
  virtual void OnDrain() {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TRANSPORT_H_
