#include "server/adapters/kserve/adapter.h"

#include <fmt/format.h>

#include <utility>

#include "base/exceptions.h"
#include "server/errors/status.h"

namespace trivium {

using google::protobuf::Message;

void Adapter::Start() {
  const absl::Status status = CatchExceptions([this] { MakeInner(); });
  if (!status.ok()) return transport_->Finish({status, ""}, nullptr);
  if (inner_ != nullptr) inner_->Start();
}

void Adapter::MakeInner() {
  absl::StatusOr<InnerCall> call = Begin(transport_);
  if (!call.ok()) {
    failed_.emplace(environment_, std::move(context_), rpc_);
    const absl::Status& admitted = failed_->admitted();
    return transport_->Finish(
        failed_->Close(admitted.ok() ? call.status() : admitted), nullptr);
  }
  request_ = std::move(call->request);
  inner_ = call->unary != nullptr
               ? call->unary(environment_, std::move(context_), this)
               : call->stream(environment_, std::move(context_), this);
  cancellable_ = inner_.get();
  if (cancelled_) inner_->OnCancel();
}

void Adapter::OnCancel() {
  cancelled_ = true;
  Handler* const inner = cancellable_;
  if (inner != nullptr) inner->OnCancel();
}

absl::Status Adapter::ParseRequest(Message* request) {
  request->GetReflection()->Swap(request, request_.get());
  return absl::OkStatus();
}

// OnWritten comes on another thread, since the inner handler has not returned
// from Write yet.
void Adapter::Write(const Message& response) {
  Hear(response);
  environment_.delivery->Run({client_, this}, 0,
                             [this] { inner_->OnWritten(true); });
}

void Adapter::Finish(const Ending& ending, const Message* last) {
  Ending told = {ending.status, ""};
  const Message* response = nullptr;
  const absl::Status answered = CatchExceptions([&] {
    told.request_id = ending.request_id;
    response = Answer(&told.status, last);
  });
  if (!answered.ok()) told.status = answered;
  transport_->Finish(told, told.status.ok() ? response : nullptr);
}

absl::Status CheckKserveVersion(const std::string& version) {
  if (version.empty() || version == kKserveVersion) return absl::OkStatus();
  return absl::NotFoundError(fmt::format(
      "there is no version '{}' of a model; leave it out, or name '{}'",
      Shorten(version), kKserveVersion));
}

}  // namespace trivium
