#ifndef TRIVIUM_CLIENT_TRANSLATE_STREAM_H_
#define TRIVIUM_CLIENT_TRANSLATE_STREAM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "trivium/v1/inference.grpc.pb.h"

namespace trivium {

// One TranslateStream call. One thread may write while another reads; any
// thread may call Cancel. Results arrive in the order in which they finish;
// TranslateInOrder restores the order of the texts.
class TranslateStream {
 public:
  // `timeout` limits the whole stream, errors name `address`, and `priority` is
  // Client::Options::priority.
  TranslateStream(v1::Inference::Stub& stub,
                  const v1::TranslateStreamRequest::Start& start,
                  absl::Duration timeout, std::string address,
                  const std::string& priority = "");
  // Cancels the call unless Finish has ended it.
  ~TranslateStream();
  TranslateStream(const TranslateStream&) = delete;
  TranslateStream& operator=(const TranslateStream&) = delete;

  // Blocks while the server accepts no more. Returns false if the stream has
  // ended; Finish says why.
  bool Write(const v1::TranslateStreamRequest::Item& item);
  // Tells the server that no more items will come.
  void WritesDone();
  // Blocks for the next result. Returns false if no more results come.
  bool Read(v1::TranslateStreamResponse* response);
  void Cancel();
  // Returns the status of the call. To be called once, after Read returned
  // false.
  absl::Status Finish();

 private:
  const std::string address_;
  const absl::Duration timeout_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::TranslateStreamRequest,
                                           v1::TranslateStreamResponse>>
      stream_;
  bool finished_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_TRANSLATE_STREAM_H_
