// Encode: makes vectors of texts.
#include <fmt/format.h>

#include <optional>
#include <utility>

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
    return CheckInputCount(request_.inputs_size(), "inputs",
                           environment().limits);
  }

  int parts() const override { return request_.inputs_size(); }
  int64_t TextBytes(int part) const override {
    return work_->TextBytes(request_.inputs(part));
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    TRIVIUM_ASSIGN_OR_RETURN(
        EncodeWork::Item item,
        work_->Prepare(request_.inputs(part), FieldOf(part)));
    ExpectResponseBytes(item.response_bytes);
    requests->push_back(std::move(item.request));
    inputs_.push_back(std::move(item.input));
    return absl::OkStatus();
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    *response_.add_results() = work_->Result(inputs_[i], std::move(result));
    return absl::OkStatus();
  }
  const google::protobuf::Message& Response() override {
    return WithTimings(&response_);
  }

  v1::EncodeRequest request_;
  v1::EncodeResponse response_;
  std::optional<EncodeWork> work_;
  std::vector<PreparedInput> inputs_;
};

}  // namespace

std::unique_ptr<Handler> NewEncode(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<EncodeCall>(environment, std::move(context),
                                      Rpc::kEncode, transport);
}

}  // namespace trivium
