#ifndef TRIVIUM_SERVER_RPC_UNARY_H_
#define TRIVIUM_SERVER_RPC_UNARY_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/rpc/call.h"

namespace trivium {

// Texts of a call up to so many bytes are tokenized at once on gRPC's thread.
inline constexpr int64_t kInlineTextBytes = 4096;

// A unary call: bytes in, requests to the batcher, bytes out, all or nothing.
// A handler derives from it and says how to parse, prepare and answer; this
// class has the threads, the order and the end:
//
//   gRPC's thread:  Parse, and Prepare when the texts are short
//   a pool:         Prepare for long texts
//   workers:        the results come in
//   a pool:         Respond, once all are there
//
// It lives from Start until gRPC's OnDone. Finish is called once, after the
// last result, so nothing refers to the call afterwards.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const Environment& environment,
            grpc::CallbackServerContext* context, Rpc rpc,
            const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
      : call_(environment, context, rpc),
        request_(request),
        response_(response) {}

  // Call once, from the method that gRPC calls.
  void Start();

  void OnCancel() override { call_.cancellation()->Cancel(); }
  void OnDone() override { delete this; }

 protected:
  ~UnaryCall() override = default;

  // Parses and checks what needs no tokenizer.
  virtual absl::Status Parse(const grpc::ByteBuffer& request) = 0;
  // Bytes that Prepare will tokenize.
  virtual int64_t TextBytes() const { return 0; }
  // Tokenizes and checks. Empty: the answer needs no model. Deadline,
  // cancellation and observer are filled in by this class.
  virtual absl::StatusOr<std::vector<Request>> Prepare() = 0;
  // The place of a request's input, for the batcher's complaints.
  virtual std::string FieldOf(int request) const { return ""; }
  // results[i] answers request i of Prepare.
  virtual absl::Status Respond(std::vector<RequestResult> results,
                               grpc::ByteBuffer* response) = 0;

  const Environment& environment() const { return call_.environment(); }
  Call& call() { return call_; }
  const Call& call() const { return call_; }

 private:
  class Slot;

  void PrepareAndSubmit();
  void OnResult(int index, absl::StatusOr<RequestResult> result);
  void Complete();
  void End(const absl::Status& status) { Finish(call_.Close(status)); }

  Call call_;
  const grpc::ByteBuffer* const request_;
  grpc::ByteBuffer* const response_;

  Mutex mutex_;
  std::vector<RequestResult> results_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first
};

// What the batcher refused, in the call's words: "2: too long" about the
// request of inputs[3] names that field; a full queue tells when to return.
absl::Status FromBatcher(const absl::Status& status, const Batcher& batcher,
                         const std::function<std::string(int)>& field_of);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_UNARY_H_
