#ifndef TRIVIUM_CLIENT_TRANSLATE_STREAM_H_
#define TRIVIUM_CLIENT_TRANSLATE_STREAM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "trivium/v1/inference.grpc.pb.h"

namespace trivium {

// One TranslateStream call. One thread may write while another reads;
// Cancel may come from any. Results come in the order they finish: see
// TranslateInOrder for the order of the texts.
class TranslateStream {
 public:
  // `timeout` is of the whole stream; `address` is named in errors; `priority`
  // is Client::Options::priority.
  TranslateStream(v1::Inference::Stub& stub,
                  const v1::TranslateStreamRequest::Start& start,
                  absl::Duration timeout, std::string address,
                  const std::string& priority = "");
  // Cancels what Finish has not ended.
  ~TranslateStream();
  TranslateStream(const TranslateStream&) = delete;
  TranslateStream& operator=(const TranslateStream&) = delete;

  // Blocks while the server does not take more. False when the stream has
  // ended: Finish says why.
  bool Write(const v1::TranslateStreamRequest::Item& item);
  // No more items will come.
  void WritesDone();
  // False when no more results come.
  bool Read(v1::TranslateStreamResponse* response);
  void Cancel();
  // Once, after Read gave false.
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
