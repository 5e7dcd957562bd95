// Encode: makes vectors of texts.
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/encode_work.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

class EncodeCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    TRIVIUM_ASSIGN_OR_RETURN(
        work_, EncodeWork::Create(environment(), call().model(), request_, "",
                                  call().alive_check()));
    TRIVIUM_ASSIGN_OR_RETURN(messages_,
                             ReadInputs(request_, environment().limits));
    return CheckChunkCount(request_);
  }

  int parts() const override { return static_cast<int>(messages_.size()); }
  int64_t TextBytes(int part) const override {
    return work_->TextBytes(*messages_[part]);
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    TRIVIUM_ASSIGN_OR_RETURN(EncodeWork::Item item,
                             work_->Prepare(*messages_[part], FieldOf(part),
                                            ChunksOf(request_, part),
                                            fmt::format("chunks[{}]", part)));
    ExpectResponseBytes(item.response_bytes);
    requests->push_back(std::move(item.request));
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    TRIVIUM_ASSIGN_OR_RETURN(v1::EncodeResult encoded,
                             work_->Result(items_[i], std::move(result)));
    AddEncoded(std::move(encoded), &response_);
    return absl::OkStatus();
  }
  const google::protobuf::Message& Response() override {
    return WithTimings(&response_);
  }

  v1::EncodeRequest request_;
  v1::EncodeResponse response_;
  Elements<v1::Input> messages_;  // the request's inputs
  std::optional<EncodeWork> work_;
  std::vector<EncodeWork::Item> items_;
};

}  // namespace

std::unique_ptr<Handler> NewEncode(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<EncodeCall>(environment, std::move(context),
                                      Rpc::kEncode, transport);
}

}  // namespace trivium
