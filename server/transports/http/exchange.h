#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_EXCHANGE_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_EXCHANGE_H_

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "server/adapters/codec.h"
#include "server/calls/handlers.h"
#include "server/limits/call_context.h"
#include "server/limits/overload_manager.h"
#include "server/transports/http/connections.h"
#include "server/transports/http/content_coding.h"
#include "server/transports/http/routes.h"

namespace trivium {

// Counts the open exchanges, so that the server can wait for their end.
// Thread-safe.
class ExchangeCount {
 public:
  // Returns false after Stop. Else Leave must follow.
  bool Enter();
  void Leave();
  // Admits no more exchanges, and waits until none is left.
  void Stop();

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// Objects shared by all HTTP calls. Outlives the calls.
struct HttpEnvironment {
  const Environment& handlers;
  OverloadManager& overload;
  HttpConnections& connections;
  // Time after which a silent stream of events gets a comment.
  absl::Duration keep_alive = absl::InfiniteDuration();
  ExchangeCount count;
  // Starts short requests: in turns of their clients, unlike the network's
  // thread, and beside the long work of the other pools.
  WorkPool starts{1};
};

// Lets the network's thread leave a request alone while there is nothing to
// send. Called under the exchange's lock.
class RequestSleep {
 public:
  virtual ~RequestSleep() = default;
  // Called on the network's thread.
  virtual void Sleep() = 0;
  // Called on any thread, once after each Sleep.
  virtual void Wake() = 0;
};

// An HTTP request and its answer, as a transport for the call's handler. The
// network's thread brings the body and takes the answer:
//
//   Begin           the head has arrived
//   AddBody...      a piece of the body has arrived
//   Answer          the body is complete. The first time, the call starts.
//                   Null: the request sleeps, and Answer is called again when
//                   it wakes.
//   ReadStream...   the next bytes of an answer that streams
//   OnCompleted     the answer is sent, or the client has gone
//
// Only the network's thread calls these. The exchange is destroyed when both
// the network and the handler are done with it, and the handler with it.
class Exchange final : public ResponseStream,
                       public AccountedCall,
                       public HangUpListener,
                       public std::enable_shared_from_this<Exchange> {
 public:
  // ExchangeCount::Enter must have returned true. `sleep` lives until
  // OnCompleted.
  Exchange(HttpEnvironment* environment, const Route& route,
           HttpConnections::Id connection, RequestSleep* sleep);
  ~Exchange() override;

  // The network's side. Returns true if the answer is ready and the rest of the
  // request is not needed. `content_length` is -1 if the head does not tell it.
  bool Begin(RequestHead head, const std::string& peer, int64_t content_length);
  // Returns how many of the bytes it has taken: all, or none. Then they are
  // unpacked on a pool, the request sleeps, and AddBody is called with them
  // again when it wakes.
  size_t AddBody(std::string_view bytes);
  // Returns the answer, without its body if it streams(). Null: it is not
  // ready.
  const HttpAnswer* Answer();
  bool streams() const { return streams_; }
  // Moves out the body of the answer. Called once.
  std::string TakeBody();
  // Copies the next bytes of a stream, as many as there are. Returns 0 if there
  // are none yet (then the request sleeps), and -1 at the end.
  ssize_t ReadStream(char* to, size_t most);
  void OnCompleted();

  // HangUpListener: the client has disconnected.
  void OnHangUp() override;

  // The handler's side.
  absl::Status ParseRequest(google::protobuf::Message* request) override;
  void Write(const google::protobuf::Message& response) override;
  void Finish(const Ending& ending,
              const google::protobuf::Message* last) override;
  void BreakOff() override;
  void BeginAnswer() override;
  void KeepAlive(absl::Time now) override;

  // AccountedCall:
  const CallBytes& held() const override { return *held_; }
  void Shed() override;

 private:
  // Ends without a handler. `status` is an HTTP status that is more exact than
  // the code's; 0: the code's.
  void Refuse(const Ending& ending, int status = 0);
  // Prepares for a body that is compressed. UNIMPLEMENTED if its coding is not
  // known.
  absl::Status ReadCoding(const RequestHead& head);
  // UNIMPLEMENTED if the body is not of a type that the route reads.
  absl::Status CheckBodyType(const RequestHead& head) const;
  // Adds the headers that the end of a call brings with it, in every shape.
  HttpAnswer WithHeaders(const Ending& ending, HttpAnswer answer) const;
  // Adds the report of the server's load, if the client asks for one.
  void AddLoad(HttpAnswer* answer) const;
  // Adds bytes to the body, unpacked ones.
  void AddPlain(std::string_view bytes);
  // Unpacks what the unpacker has, until `most` bytes are exceeded. Returns
  // true if it has nothing more, or the request is refused.
  bool Unpack(size_t most);
  // Unpacks the rest on a pool, and wakes the request.
  void UnpackOnPool();
  void UnpackPiece();
  // Refuses a request for which there was no memory. Does not throw.
  void RefuseForMemory(const absl::Status& status);
  // Checks that the body is complete.
  void EndBody();
  // Packs an answer if that makes it smaller.
  static void Pack(HttpAnswer* answer);
  // Gives a whole answer to the network.
  void Deliver(HttpAnswer answer);
  // Takes the route that the body tells, if several share the path. All of them
  // read bodies of the same types.
  void ChooseRoute();
  void StartCall();
  void MakeHandler();
  // Delivers the end or, if it throws for lack of memory, nothing.
  void FinishIfMemory(const Ending& ending,
                      const google::protobuf::Message* last);
  void EndStream();
  // Calls PostWritten, or OnWritten itself if there is no memory for that.
  void TellWritten(bool ok);
  // Returns the status for the client of a call that ended with `status`.
  absl::Status AsTold(const absl::Status& status) const;
  // Returns true if the answer is a stream that has begun or has only a last
  // message.
  bool Streams(const absl::Status& told) const;
  // Begins the stream, so that its head is sent.
  void BeginStreamLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds a piece to the stream, and begins it with the first.
  void StreamLocked(const std::string& piece)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `*written`: OnWritten is due.
  ssize_t ReadLocked(char* to, size_t most, bool* written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SleepLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls OnWritten on a pool: it must not be called from inside Write.
  void PostWritten(bool ok);

  // First member, so it is destroyed last: the server may be destroyed once no
  // handler is left.
  std::unique_ptr<Handler> handler_;
  HttpEnvironment* const environment_;
  const Route* route_;
  const HttpConnections::Id connection_;
  RequestSleep* const sleep_;
  const std::shared_ptr<CallBytes> held_;
  std::unique_ptr<Codec> codec_;
  std::string path_;         // without a query, unescaped
  std::string load_format_;  // the value of kLoadFormatKey
  CallContext context_;
  ClientId client_ = 0;
  std::atomic<bool> shed_ = false;

  // Used by the network until the call starts, then by the handler.
  std::string body_;
  bool refused_ = false;  // the rest of the body is ignored
  // Null: the body is not compressed.
  std::unique_ptr<Unpacker> unpacker_;
  size_t unpacked_ = 0;  // bytes that AddBody is called with again
  bool accepts_gzip_ = false;

  Mutex mutex_;
  // Keeps the exchange alive while the handler may use it.
  std::shared_ptr<Exchange> self_ ABSL_GUARDED_BY(mutex_);
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;      // the network is done
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;     // answer_ is set
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // nothing follows pieces_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;   // OnWritten is due
  std::string pieces_ ABSL_GUARDED_BY(mutex_);     // the stream's next bytes
  size_t read_ ABSL_GUARDED_BY(mutex_) = 0;        // bytes read from pieces_
  absl::Time last_piece_ ABSL_GUARDED_BY(mutex_);  // or the head
  // Used by the network only, once ready_.
  HttpAnswer answer_;
  std::atomic<bool> streams_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_EXCHANGE_H_
