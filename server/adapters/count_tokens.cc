#include "server/adapters/count_tokens.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/generation.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

class CountTokensCall final : public UnaryCall {
 public:
  CountTokensCall(const Environment& environment, CallContext context,
                  Transport* transport)
      : UnaryCall(environment, std::move(context), Rpc::kTokenize, transport),
        generation_(&call()) {}

 private:
  absl::Status Open() override { return generation_.Open(transport()); }
  bool NeedsBatcher() const override { return false; }
  int64_t TextBytes(int) const override { return generation_.text_bytes(); }

  absl::Status Prepare(int, std::vector<Request>*) override {
    TRIVIUM_ASSIGN_OR_RETURN(const Request request, generation_.Prepare());
    usage_.set_prompt_tokens(static_cast<uint32_t>(request.prefix.size()));
    return absl::OkStatus();
  }
  absl::Status HandleResult(int, RequestResult) override {
    return absl::OkStatus();  // no request, no result
  }
  const google::protobuf::Message& Response() override { return usage_; }

  Generation generation_;
  v1::Usage usage_;
};

}  // namespace

std::unique_ptr<Handler> NewCountTokens(const Environment& environment,
                                        CallContext context,
                                        Transport* transport) {
  return std::make_unique<CountTokensCall>(environment, std::move(context),
                                           transport);
}

}  // namespace trivium
