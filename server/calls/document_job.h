#ifndef TRIVIUM_SERVER_CALLS_DOCUMENT_JOB_H_
#define TRIVIUM_SERVER_CALLS_DOCUMENT_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/calls/convert/document_messages.h"
#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"
#include "server/limits/overload_manager.h"

namespace trivium {

// A TranslateDocument without a client: the transport of its handler, which
// brings the whole document and keeps what comes. Thread-safe.
//
// Its owner keeps it until the call has ended (ended()). The handler may not be
// called, or destroyed, from inside the functions that it calls, so that
// happens on a pool.
class DocumentJob final : public RequestStream,
                          public AccountedCall,
                          public std::enable_shared_from_this<DocumentJob> {
 public:
  // A document to translate, and whose it is.
  struct Order {
    v1::TranslateDocumentRequest::Start start;
    std::string data;
    std::string file_name;
    CallContext context;
  };
  struct Translation {
    std::string file_name;
    std::string type;  // "text/html"
    std::string data;
  };
  struct Progress {
    enum class State { kQueued, kTranslating, kDone, kFailed };
    State state = State::kQueued;
    absl::Status status;                      // of kFailed
    std::optional<absl::Duration> left = {};  // a guess, of kTranslating
    uint32_t untranslated = 0;                // texts that stay, of kDone
  };

  DocumentJob(const Environment& environment, OverloadManager* overload,
              Order order);
  ~DocumentJob() override;

  // Starts the call. Called once. Throws std::bad_alloc if there is no memory;
  // then the call has not begun.
  void Start();
  // Ends the call soon.
  void Cancel();

  Progress progress() const;
  // The bytes of the document, or of its translation.
  int64_t bytes() const;
  // The end of the call; nullopt: it runs.
  std::optional<absl::Time> ended() const;
  // Moves the translation out. UNAVAILABLE if it is not done.
  absl::StatusOr<Translation> Take();

  // The handler's side.
  void Read() override;
  absl::Status ParseRequest(google::protobuf::Message* request) override;
  void Write(const google::protobuf::Message& response) override;
  void BreakOff() override {}
  void Finish(const Ending& ending,
              const google::protobuf::Message* last) override;

  // AccountedCall:
  const CallBytes& held() const override;
  // Ends the call, or drops the translation if it has ended.
  void Shed() override;

 private:
  std::shared_ptr<Handler> handler() const;
  // Frees what the call held; after its end.
  void DropHandler();

  const Environment& environment_;
  OverloadManager* const overload_;
  // The running call's bytes, and those of the translation behind it.
  const std::shared_ptr<CallBytes> call_held_;
  CallBytes held_;
  const std::string file_name_;
  const absl::Time began_;
  const ClientId client_;
  CallContext context_;  // until Start

  // Used by the handler's reads, which come one after the other.
  v1::TranslateDocumentRequest start_, data_;
  int read_ = 0;  // messages

  mutable Mutex mutex_;
  std::shared_ptr<Handler> handler_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t done_ ABSL_GUARDED_BY(mutex_) = 0;   // texts
  uint32_t total_ ABSL_GUARDED_BY(mutex_) = 0;  // texts
  std::string translation_ ABSL_GUARDED_BY(mutex_);
  v1::DocumentResult result_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Time> ended_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool shed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_DOCUMENT_JOB_H_
