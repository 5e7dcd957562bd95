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
#include "server/transports/http/routes.h"

namespace trivium {

// How many exchanges there are, until the server stops. Thread-safe.
class ExchangeCount {
 public:
  // False where there may be no more. Else Leave follows.
  bool Enter();
  void Leave();
  // There may be no more; returns when none is left.
  void Stop();

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// What every call of HTTP works with; it outlives them.
struct HttpEnvironment {
  const Environment& handlers;
  OverloadManager& overload;
  HttpConnections& connections;
  ExchangeCount count;
};

// Lets the network's thread leave a request alone for a while. Called under the
// exchange's lock.
class RequestSleep {
 public:
  virtual ~RequestSleep() = default;
  // On the network's thread.
  virtual void Sleep() = 0;
  // On any, once after each Sleep.
  virtual void Wake() = 0;
};

// A request of HTTP and its answer, as a transport of the call's handler. The
// network's thread brings the body and takes the answer:
//
//   Begin                           // the head is there
//   AddBody...
//   Answer                          // the body is there: the call begins;
//   null:
//                                   // it sleeps, and is asked again
//   ReadStream...                   // of an answer that streams
//   OnCompleted                     // the answer is sent, or the client gone
//
// The handler lives as long as the exchange, which goes when both the network
// and the handler are done with it.
class Exchange final : public ResponseStream,
                       public AccountedCall,
                       public HangUpListener,
                       public std::enable_shared_from_this<Exchange> {
 public:
  // environment->count has been entered. `sleep` is the network's, until
  // OnCompleted.
  Exchange(HttpEnvironment* environment, const Route& route,
           HttpConnections::Id connection, RequestSleep* sleep);
  ~Exchange() override;

  // The network's side. True where the rest of the request need not come: the
  // answer is there. `content_length`: as the head has it, -1 where it does
  // not.
  bool Begin(const RequestHead& head, const std::string& peer,
             int64_t content_length);
  void AddBody(std::string_view bytes);
  // The answer; where streams(), without its body.
  const HttpAnswer* Answer();
  bool streams() const { return streams_; }
  // The body that Answer gave, which is not needed here any more.
  std::string TakeBody();
  // The next bytes of a stream, as many as there are; 0: none yet, it sleeps;
  // -1: there are no more.
  ssize_t ReadStream(char* to, size_t most);
  void OnCompleted();

  // HangUpListener: the client has closed its side.
  void OnHangUp() override;

  // The handler's side.
  absl::Status Take(google::protobuf::Message* request) override;
  void Write(const google::protobuf::Message& response) override;
  void Finish(const Ending& ending,
              const google::protobuf::Message* last) override;
  void BreakOff() override;

  // AccountedCall:
  const CallBytes& held() const override { return *held_; }
  void Shed() override;

 private:
  // Ends without a handler. `status`: of HTTP, where the code's is too general.
  void Refuse(const Ending& ending, int status = 0);
  // The whole answer.
  HttpAnswer AnswerOf(const Ending& ending,
                      const google::protobuf::Message* last);
  // What the server reports of its load, where that is asked for.
  void AddLoad(HttpAnswer* answer) const;
  void StartCall();
  // What the client is told of a call that ended with `status`.
  absl::Status AsTold(const absl::Status& status) const;
  // Whether the answer is a stream, which has begun or is all in its last
  // message.
  bool Streams(const absl::Status& told) const;
  // Adds to what is sent of a stream, which so begins.
  void StreamLocked(const std::string& piece)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SleepLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells the handler, from another thread than this.
  void PostWritten(bool ok);

  // The first: it goes last, because the server may go once no handler is left.
  std::unique_ptr<Handler> handler_;
  HttpEnvironment* const environment_;
  const Route& route_;
  const HttpConnections::Id connection_;
  RequestSleep* const sleep_;
  const std::shared_ptr<CallBytes> held_;
  std::unique_ptr<Codec> codec_;
  std::string load_format_;  // the header of kLoadFormatKey
  CallContext context_;
  std::atomic<bool> shed_ = false;

  // The network's until the call begins, then the handler's.
  std::string body_;
  bool refused_ = false;  // the rest of the body is dropped

  Mutex mutex_;
  // While the handler may still speak.
  std::shared_ptr<Exchange> self_ ABSL_GUARDED_BY(mutex_);
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;      // the network is done
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;     // answer_ is there
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // nothing follows pieces_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;   // the handler waits for that
  std::string pieces_ ABSL_GUARDED_BY(mutex_);     // of a stream, to be sent
  size_t read_ ABSL_GUARDED_BY(mutex_) = 0;        // of them
  // Once it is ready, the network's.
  HttpAnswer answer_;
  std::atomic<bool> streams_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_EXCHANGE_H_
