// Describes the server and its models: each call is ListModels or GetModel.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kserve/open_inference.pb.h"
#include "server/adapters/kserve/adapter.h"
#include "server/adapters/kserve/infer_kinds.h"
#include "server/adapters/kserve/kserve.h"
#include "server/observability/version.h"

namespace trivium {
namespace {

using google::protobuf::Message;

// A call about the server, whose request is empty.
template <typename Request, typename Response>
class ServerCall : public Adapter {
 public:
  ServerCall(const Environment& environment, CallContext context,
             Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kListModels, transport) {}

 protected:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    Request request;
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request));
    return Unary(NewListModels, v1::ListModelsRequest());
  }

  // Anybody may ask, as for gRPC's health, also while the server stops; unless
  // health needs a token.
  void Tell(absl::Status* status) const {
    if (environment().open_health || !absl::IsUnauthenticated(*status)) {
      *status = absl::OkStatus();
    }
  }

  Response response_;
};

class ServerLive : public ServerCall<inference::ServerLiveRequest,
                                     inference::ServerLiveResponse> {
 public:
  using ServerCall::ServerCall;

 private:
  const Message* Answer(absl::Status* status, const Message*) override {
    Tell(status);
    response_.set_live(true);
    return &response_;
  }
};

class ServerReady : public ServerCall<inference::ServerReadyRequest,
                                      inference::ServerReadyResponse> {
 public:
  using ServerCall::ServerCall;

 private:
  const Message* Answer(absl::Status* status, const Message*) override {
    Tell(status);
    response_.set_ready(environment().calls->ready());
    return &response_;
  }
};

class ServerMetadata : public ServerCall<inference::ServerMetadataRequest,
                                         inference::ServerMetadataResponse> {
 public:
  using ServerCall::ServerCall;

 private:
  const Message* Answer(absl::Status*, const Message*) override {
    response_.set_name("trivium");
    response_.set_version(kVersion);
    response_.add_extensions("model_repository");
    response_.add_extensions("statistics");
    return &response_;
  }
};

// A call about one model, whose request has `name` and `version`.
template <typename Request, typename Response>
class ModelCall : public Adapter {
 public:
  ModelCall(const Environment& environment, CallContext context,
            Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kGetModel, transport) {}

 protected:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    Request request;
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request));
    TRIVIUM_RETURN_IF_ERROR(CheckKserveVersion(request.version()));
    v1::GetModelRequest get;
    get.set_name(request.name());
    return Unary(NewGetModel, std::move(get));
  }

  Response response_;
};

class ModelReady : public ModelCall<inference::ModelReadyRequest,
                                    inference::ModelReadyResponse> {
 public:
  using ModelCall::ModelCall;

 private:
  const Message* Answer(absl::Status* status, const Message*) override {
    response_.set_ready(status->ok() && environment().calls->ready());
    if (absl::IsNotFound(*status) || absl::IsUnavailable(*status)) {
      *status = absl::OkStatus();
    }
    return &response_;
  }
};

class ModelMetadata : public ModelCall<inference::ModelMetadataRequest,
                                       inference::ModelMetadataResponse> {
 public:
  using ModelCall::ModelCall;

 private:
  using Tensor = inference::ModelMetadataResponse::TensorMetadata;

  static void Tell(const TensorInfo& info, Tensor* tensor) {
    tensor->set_name(info.name);
    tensor->set_datatype(info.datatype);
    tensor->mutable_shape()->Add(info.shape.begin(), info.shape.end());
  }

  const Message* Answer(absl::Status* status, const Message* last) override {
    if (!status->ok()) return nullptr;
    const auto& model = *static_cast<const v1::Model*>(last);
    response_.set_name(model.name());
    response_.add_versions(kKserveVersion);
    response_.set_platform(fmt::format("trivium_{}", model.family()));
    Tell({"text", "BYTES", {-1}}, response_.add_inputs());
    for (const TensorInfo& output : KindOf(model).outputs) {
      Tell(output, response_.add_outputs());
    }
    return &response_;
  }
};

class ModelStatistics : public Adapter {
 public:
  ModelStatistics(const Environment& environment, CallContext context,
                  Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kListModels, transport) {}

 private:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    inference::ModelStatisticsRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request));
    TRIVIUM_RETURN_IF_ERROR(CheckKserveVersion(request.version()));
    all_ = request.name().empty();
    if (all_) return Unary(NewListModels, v1::ListModelsRequest());
    v1::GetModelRequest get;
    get.set_name(request.name());
    return Unary(NewGetModel, std::move(get));
  }

  static void Tell(const CallFigures::Total& total,
                   inference::StatisticDuration* out) {
    out->set_count(total.count);
    out->set_ns(static_cast<uint64_t>(std::llround(total.seconds * 1e9)));
  }

  // Only models that the inner call lists, as the client may see no others.
  const Message* Answer(absl::Status* status, const Message* last) override {
    if (!status->ok()) return nullptr;
    if (!all_) {
      Add(static_cast<const v1::Model*>(last)->name());
      return &response_;
    }
    for (const v1::Model& model :
         static_cast<const v1::ListModelsResponse*>(last)->models()) {
      Add(model.name());
    }
    return &response_;
  }

  void Add(const std::string& name) {
    const auto model = models().Find(name);
    if (!model.ok()) return;  // unloaded meanwhile
    const Metrics::ModelTotals totals =
        environment().metrics->TotalsOf(**model);
    inference::ModelStatistics* const out = response_.add_model_stats();
    out->set_name(name);
    out->set_version(kKserveVersion);
    out->set_inference_count(totals.texts);
    out->set_execution_count(totals.iterations.count);
    inference::InferStatistics& stats = *out->mutable_inference_stats();
    Tell(totals.succeeded, stats.mutable_success());
    Tell(totals.failed, stats.mutable_fail());
    Tell(totals.queued, stats.mutable_queue());
    Tell(totals.iterations, stats.mutable_compute_infer());
  }

  bool all_ = false;
  inference::ModelStatisticsResponse response_;
};

}  // namespace

std::unique_ptr<Handler> NewKserveServerLive(const Environment& environment,
                                             CallContext context,
                                             Transport* transport) {
  return NewAdapter<ServerLive>(environment, std::move(context), transport);
}

std::unique_ptr<Handler> NewKserveServerReady(const Environment& environment,
                                              CallContext context,
                                              Transport* transport) {
  return NewAdapter<ServerReady>(environment, std::move(context), transport);
}

std::unique_ptr<Handler> NewKserveServerMetadata(const Environment& environment,
                                                 CallContext context,
                                                 Transport* transport) {
  return NewAdapter<ServerMetadata>(environment, std::move(context), transport);
}

std::unique_ptr<Handler> NewKserveModelReady(const Environment& environment,
                                             CallContext context,
                                             Transport* transport) {
  return NewAdapter<ModelReady>(environment, std::move(context), transport);
}

std::unique_ptr<Handler> NewKserveModelMetadata(const Environment& environment,
                                                CallContext context,
                                                Transport* transport) {
  return NewAdapter<ModelMetadata>(environment, std::move(context), transport);
}

std::unique_ptr<Handler> NewKserveModelStatistics(
    const Environment& environment, CallContext context, Transport* transport) {
  return NewAdapter<ModelStatistics>(environment, std::move(context),
                                     transport);
}

std::vector<KserveMethod> KserveServerMethods() {
  return {{"ServerLive", NewKserveServerLive},
          {"ServerReady", NewKserveServerReady},
          {"ServerMetadata", NewKserveServerMetadata},
          {"ModelReady", NewKserveModelReady},
          {"ModelMetadata", NewKserveModelMetadata},
          {"ModelStatistics", NewKserveModelStatistics}};
}

}  // namespace trivium
