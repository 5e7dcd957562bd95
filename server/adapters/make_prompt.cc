#include "server/adapters/make_prompt.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "internal/completions.pb.h"
#include "server/calls/generation.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

class MakePromptCall final : public UnaryCall {
 public:
  MakePromptCall(const Environment& environment, CallContext context,
                 Transport* transport)
      : UnaryCall(environment, std::move(context), Rpc::kTokenize, transport),
        generation_(&call()) {}

 private:
  absl::Status Open() override { return generation_.Open(transport()); }
  bool NeedsBatcher() const override { return false; }
  int64_t TextBytes(int) const override { return generation_.text_bytes(); }

  absl::Status Prepare(int, std::vector<Request>*) override {
    TRIVIUM_ASSIGN_OR_RETURN(const Request request,
                             generation_.Prepare(prompt_.mutable_text()));
    prompt_.mutable_ids()->Add(request.prefix.begin(), request.prefix.end());
    return absl::OkStatus();
  }
  const google::protobuf::Message& Response() override { return prompt_; }

  Generation generation_;
  internal::Prompt prompt_;
};

}  // namespace

std::unique_ptr<Handler> NewMakePrompt(const Environment& environment,
                                       CallContext context,
                                       Transport* transport) {
  return std::make_unique<MakePromptCall>(environment, std::move(context),
                                          transport);
}

}  // namespace trivium
