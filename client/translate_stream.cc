#include "client/translate_stream.h"

#include <utility>

#include "client/call_status.h"
#include "client/priority.h"

namespace trivium {

TranslateStream::TranslateStream(v1::Inference::Stub& stub,
                                 const v1::TranslateStreamRequest::Start& start,
                                 absl::Duration timeout, std::string address,
                                 const std::string& priority)
    : address_(std::move(address)), timeout_(timeout) {
  SetPriority(priority, &context_);
  context_.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  stream_ = stub.TranslateStream(&context_);
  v1::TranslateStreamRequest request;
  *request.mutable_start() = start;
  // The next Read reports a failure.
  stream_->Write(request);
}

TranslateStream::~TranslateStream() {
  if (!finished_) {
    context_.TryCancel();
    Finish().IgnoreError();
  }
}

bool TranslateStream::Write(const v1::TranslateStreamRequest::Item& item) {
  v1::TranslateStreamRequest request;
  *request.mutable_item() = item;
  return stream_->Write(request);
}

void TranslateStream::WritesDone() { stream_->WritesDone(); }

bool TranslateStream::Read(v1::TranslateStreamResponse* response) {
  return stream_->Read(response);
}

void TranslateStream::Cancel() { context_.TryCancel(); }

absl::Status TranslateStream::Finish() {
  finished_ = true;
  const grpc::Status status = stream_->Finish();
  return CallStatus(status, context_, {address_, timeout_});
}

}  // namespace trivium
