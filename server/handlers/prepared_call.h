#ifndef TRIVIUM_SERVER_HANDLERS_PREPARED_CALL_H_
#define TRIVIUM_SERVER_HANDLERS_PREPARED_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/handlers/call.h"
#include "server/handlers/transport.h"

namespace trivium {

// A call with one request message, until its requests are at the batcher:
//
//   the transport's thread:  Open, and Prepare when the texts are short
//   a pool:                  Prepare for long texts
//
// then Submit, or AnswerAtOnce where there is nothing to ask a model. What is
// answered, and when, is for UnaryCall and GenerateCall.
//
// The handler lives until the transport has finished, and Finish is called
// once, after the batcher's last word: nothing refers to it afterwards.
class PreparedCall : public Handler {
 public:
  PreparedCall(const Environment& environment, CallContext context, Rpc rpc,
               Transport* transport)
      : call_(environment, std::move(context), rpc), transport_(transport) {}

  void Start() final;
  void OnCancel() final { call_.cancellation()->Cancel(); }

 protected:
  // Takes the request and checks what needs no tokenizer.
  virtual absl::Status Open() = 0;
  // Bytes that Prepare will tokenize.
  virtual int64_t TextBytes() const { return 0; }
  // Tokenizes and checks. Empty: the answer needs no model.
  virtual absl::StatusOr<std::vector<Request>> Prepare() = 0;
  // The place of a request's input, for the batcher's complaints.
  virtual std::string FieldOf(int request) const;
  // Sets the observers of what Prepare gave, just before it is submitted.
  virtual void Observe(std::vector<Request>* requests) = 0;
  // Prepare gave no requests.
  virtual void AnswerAtOnce() = 0;

  const Environment& environment() const { return call_.environment(); }
  Call& call() { return call_; }
  const Call& call() const { return call_; }
  const Model& model() const { return *call_.model().model; }
  Transport* transport() { return transport_; }

  void Finish(const absl::Status& status,
              const google::protobuf::Message* last = nullptr) {
    transport_->Finish(call_.Close(status), last);
  }

 private:
  void PrepareAndSubmit();

  Call call_;
  Transport* const transport_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_PREPARED_CALL_H_
