#ifndef TRIVIUM_SERVER_CALLS_PREPARED_CALL_H_
#define TRIVIUM_SERVER_CALLS_PREPARED_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/call.h"
#include "server/calls/transport.h"

namespace trivium {

// A call with one request message, until its requests are at the batcher:
//
//   the transport's thread:  Open, and Prepare when the texts are short
//   a pool:                  Prepare for long texts, a few parts at a time
//
// then Submit, or AnswerAtOnce where there is nothing to ask a model. What is
// answered, and when, is for UnaryCall and GenerateCall. Between parts it asks
// whether the call is still wanted.
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
  // Whether the batcher will be asked.
  virtual bool NeedsBatcher() const { return true; }
  // What can be prepared one after the other: the inputs, mostly.
  virtual int parts() const { return 1; }
  // Bytes that Prepare(part) will tokenize.
  virtual int64_t TextBytes(int part) const { return 0; }
  // Tokenizes and checks a part, and appends its requests. Where all parts give
  // none the answer needs no model.
  virtual absl::Status Prepare(int part, std::vector<Request>* requests) = 0;
  // For Prepare: about what the response to the part will take. Together, the
  // parts' must be within the server's limit, else the call is refused before
  // more are prepared.
  void ExpectResponseBytes(int64_t bytes) { response_bytes_ += bytes; }
  // The place of a request's input, for the batcher's complaints.
  virtual std::string FieldOf(int request) const;
  // Sets the observers of the requests, just before they are submitted.
  virtual void Observe(std::vector<Request>* requests) = 0;
  // There are no requests.
  virtual void AnswerAtOnce() = 0;

  // Gives requests to the batcher, or ends the call. Afterwards this may be
  // deleted already.
  void Submit(std::vector<Request> requests);

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
  void RunNextParts();
  void PrepareParts(int end);

  Call call_;
  Transport* const transport_;
  // Of whoever prepares.
  int prepared_ = 0;  // parts
  int64_t response_bytes_ = 0;
  std::vector<Request> requests_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_PREPARED_CALL_H_
