#ifndef TRIVIUM_SERVER_CALLS_PREPARED_CALL_H_
#define TRIVIUM_SERVER_CALLS_PREPARED_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/exceptions.h"
#include "server/calls/call.h"
#include "server/calls/transport.h"

namespace trivium {

// A call with one request message, until its requests are at the batcher:
//
//   the thread of Start:     Open, and Prepare if the texts are short
//   a pool:                  Prepare of long texts, a few parts at a time
//
// then Submit, or AnswerAtOnce if a model has nothing to do. UnaryCall and
// GenerateCall say what is answered, and when. Before each part it checks
// whether the call is still alive.
//
// The handler lives until the transport has finished. Finish is called once,
// after the batcher's last word, so nothing refers to the call afterwards.
class PreparedCall : public Handler {
 public:
  PreparedCall(const Environment& environment, CallContext context, Rpc rpc,
               Transport* transport)
      : call_(environment, std::move(context), rpc), transport_(transport) {}

  void Start() final;
  void OnCancel() final { call_.cancellation()->Cancel(); }

 protected:
  // Parses the request and checks what needs no tokenizer.
  virtual absl::Status Open() = 0;
  // False if the call never reaches the batcher, so admission may be skipped.
  virtual bool NeedsBatcher() const { return true; }
  // The number of parts that are prepared one after the other; mostly, the
  // inputs.
  virtual int parts() const { return 1; }
  // Bytes that Prepare(part) will tokenize.
  virtual int64_t TextBytes(int part) const { return 0; }
  // Tokenizes and checks a part, and appends its requests. If no part has any,
  // the answer needs no model.
  virtual absl::Status Prepare(int part, std::vector<Request>* requests) = 0;
  // Prepare calls this with an estimate of the bytes of the part's response.
  // Once their sum is over the server's limit, the call is refused before more
  // parts are prepared.
  void ExpectResponseBytes(int64_t bytes) { response_bytes_ += bytes; }
  // The field of a request's input, for errors of the batcher.
  virtual std::string FieldOf(int request) const;
  // Sets the observers of the requests, just before they are submitted.
  virtual void Observe(std::vector<Request>* requests) = 0;
  // True if the call cannot end between its admission and OnAdmitted.
  virtual bool awaits_admission() const { return false; }
  // The batcher has accepted the requests; this may be deleted when it returns.
  // Called only if awaits_admission().
  virtual void OnAdmitted() {}
  // Answers a call without requests.
  virtual void AnswerAtOnce() = 0;

  // Gives requests to the batcher, or ends the call. This may be deleted when
  // it returns.
  void Submit(std::vector<Request> requests);

  const Environment& environment() const { return call_.environment(); }
  Call& call() { return call_; }
  const Call& call() const { return call_; }
  const Model& model() const { return *call_.model().model; }
  Transport* transport() { return transport_; }

  // Does not throw.
  void Finish(const absl::Status& status,
              const google::protobuf::Message* last = nullptr) {
    transport_->Finish(call_.Close(status), last);
  }
  // Runs `step`, by which this thread advances the call. What it throws ends
  // the call, so its last statement is what hands the call to another thread,
  // to the batcher or to the transport, and has no effect if it throws.
  template <typename Step>
  void Advance(Step&& step) {
    if (absl::Status status = CatchExceptions(step); !status.ok()) {
      Finish(status);
    }
  }

 private:
  void Begin();
  void RunNextParts();
  void PrepareParts(int end);

  Call call_;
  Transport* const transport_;
  // Used only by the thread that prepares.
  int prepared_ = 0;  // parts
  int64_t response_bytes_ = 0;
  std::vector<Request> requests_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_PREPARED_CALL_H_
