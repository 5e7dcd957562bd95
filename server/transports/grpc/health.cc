// All watchers share the service's mutex. Writes are started under it; gRPC
// calls back on its own threads.
#include "server/transports/grpc/health.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "server/errors/status.h"
#include "server/transports/grpc/call_reactor.h"
#include "server/transports/grpc/grpc_status.h"
#include "server/transports/grpc/kserve_service.h"

namespace trivium {
namespace {

constexpr std::array<std::string_view, 4> kHealthServices = {
    "", "trivium.v1.Inference", "trivium.v1.Models", kKserveService};

}  // namespace

// A stream of a service's status: its current one, then each change.
class HealthService::Watcher final : public grpc::ServerWriteReactor<Response> {
 public:
  Watcher(HealthService* health, std::string service)
      : health_(health), service_(std::move(service)) {
    MutexLock lock(&health_->mutex_);
    health_->watchers_.insert(this);
    TellLocked();
  }

  // Sends the status unless the client knows it or a message is being sent.
  void TellLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_->mutex_) {
    const Status status = health_->StatusOf(service_);
    if (writing_ || ended_ || (told_any_ && status == response_.status())) {
      return;
    }
    writing_ = told_any_ = true;
    response_.set_status(status);
    StartWrite(&response_);
  }

  // The same for callers that hold HealthService's lock under another name.
  void TellHeld() {
    health_->mutex_.AssertHeld();
    TellLocked();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&health_->mutex_);
    writing_ = false;
    if (!ok) return EndLocked();
    TellLocked();
  }
  void OnCancel() override {
    MutexLock lock(&health_->mutex_);
    EndLocked();
  }
  void OnDone() override {
    {
      MutexLock lock(&health_->mutex_);
      health_->watchers_.erase(this);
    }
    delete this;
  }

 private:
  void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_->mutex_) {
    if (!std::exchange(ended_, true)) Finish(grpc::Status::CANCELLED);
  }

  HealthService* const health_;
  const std::string service_;
  Response response_;  // the last one sent
  bool told_any_ = false;
  bool writing_ = false;
  bool ended_ = false;
};

void HealthService::SetServing(bool serving) {
  MutexLock lock(&mutex_);
  serving_ = serving;
  for (Watcher* watcher : watchers_) watcher->TellHeld();
}

grpc::ServerUnaryReactor* HealthService::Check(
    grpc::CallbackServerContext* context, const Request* request,
    Response* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (const absl::Status status = Admit(*context); !status.ok()) {
    reactor->Finish(ToGrpcStatus(status, "of health"));
    return reactor;
  }
  {
    MutexLock lock(&mutex_);
    response->set_status(StatusOf(request->service()));
  }
  if (response->status() == Response::SERVICE_UNKNOWN) {
    reactor->Finish(
        {grpc::NOT_FOUND,
         fmt::format("there is no service {}", Shorten(request->service()))});
  } else {
    reactor->Finish(grpc::Status::OK);
  }
  return reactor;
}

grpc::ServerWriteReactor<HealthService::Response>* HealthService::Watch(
    grpc::CallbackServerContext* context, const Request* request) {
  // A stream that ends at once.
  class Refusal final : public grpc::ServerWriteReactor<Response> {
   public:
    explicit Refusal(const absl::Status& status) {
      Finish(ToGrpcStatus(status, "of health"));
    }
    void OnDone() override { delete this; }
  };
  const absl::Status status = Admit(*context);
  if (!status.ok()) return new Refusal(status);
  return new Watcher(this, request->service());
}

absl::Status HealthService::Admit(
    const grpc::CallbackServerContext& context) const {
  return environment_.open_health ? absl::OkStatus()
                                  : ToCallContext(environment_, context).access;
}

HealthService::Status HealthService::StatusOf(
    const std::string& service) const {
  for (const std::string_view known : kHealthServices) {
    if (service == known) {
      return serving_ ? Response::SERVING : Response::NOT_SERVING;
    }
  }
  return Response::SERVICE_UNKNOWN;
}

}  // namespace trivium
