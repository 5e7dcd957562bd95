// The served models as a repository: its calls are ListModels, LoadModel,
// ReloadModel and UnloadModel.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kserve/open_inference.pb.h"
#include "server/adapters/kserve/adapter.h"
#include "server/adapters/kserve/kserve.h"
#include "server/errors/status.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;

// Parses the request. It must not name a repository, since the only one has no
// name.
template <typename Request>
absl::Status TakeRequest(Transport* transport, Request* request) {
  TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(request));
  if (request->repository_name().empty()) return absl::OkStatus();
  return InvalidField("repository_name",
                      "is not supported; leave it empty, as there is one "
                      "repository");
}

template <typename Request>
absl::Status CheckModelName(const Request& request) {
  if (!request.model_name().empty()) return absl::OkStatus();
  return InvalidField("model_name", "is empty; name the model");
}

template <typename Request>
absl::Status CheckParameters(const Request& request, const char* known) {
  for (const auto& [name, value] : request.parameters()) {
    if (name == known) continue;
    return InvalidField(fmt::format("parameters[\"{}\"]", Shorten(name)),
                        "is not supported");
  }
  return absl::OkStatus();
}

class RepositoryIndex : public Adapter {
 public:
  RepositoryIndex(const Environment& environment, CallContext context,
                  Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kListModels, transport) {}

 private:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    inference::RepositoryIndexRequest request;
    TRIVIUM_RETURN_IF_ERROR(TakeRequest(transport, &request));
    return Unary(NewListModels, v1::ListModelsRequest());
  }
  const Message* Answer(absl::Status* status, const Message* last) override {
    if (!status->ok()) return nullptr;
    for (const v1::Model& model :
         static_cast<const v1::ListModelsResponse*>(last)->models()) {
      auto* const index = response_.add_models();
      index->set_name(model.name());
      index->set_version(kKserveVersion);
      index->set_state("READY");
    }
    return &response_;
  }

  inference::RepositoryIndexResponse response_;
};

// LoadModel; or ReloadModel, if the model is served already.
class RepositoryModelLoad : public Adapter {
 public:
  RepositoryModelLoad(const Environment& environment, CallContext context,
                      Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kLoadModel, transport) {}

 private:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    inference::RepositoryModelLoadRequest request;
    TRIVIUM_RETURN_IF_ERROR(TakeRequest(transport, &request));
    TRIVIUM_RETURN_IF_ERROR(CheckModelName(request));
    TRIVIUM_RETURN_IF_ERROR(CheckParameters(request, ""));
    if (models().Find(request.model_name()).ok()) {
      v1::ReloadModelRequest reload;
      reload.set_name(request.model_name());
      return Unary(NewReloadModel, std::move(reload));
    }
    v1::LoadModelRequest load;
    load.set_folder(request.model_name());
    load.set_name(request.model_name());
    return Unary(NewLoadModel, std::move(load));
  }
  const Message* Answer(absl::Status*, const Message*) override {
    return &response_;
  }

  inference::RepositoryModelLoadResponse response_;
};

class RepositoryModelUnload : public Adapter {
 public:
  RepositoryModelUnload(const Environment& environment, CallContext context,
                        Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kUnloadModel, transport) {
  }

 private:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    inference::RepositoryModelUnloadRequest request;
    TRIVIUM_RETURN_IF_ERROR(TakeRequest(transport, &request));
    TRIVIUM_RETURN_IF_ERROR(CheckModelName(request));
    // tritonclient always sends it. No model here depends on another.
    TRIVIUM_RETURN_IF_ERROR(CheckParameters(request, "unload_dependents"));
    v1::UnloadModelRequest unload;
    unload.set_name(request.model_name());
    return Unary(NewUnloadModel, std::move(unload));
  }
  const Message* Answer(absl::Status*, const Message*) override {
    return &response_;
  }

  inference::RepositoryModelUnloadResponse response_;
};

}  // namespace

std::unique_ptr<Handler> NewKserveRepositoryIndex(
    const Environment& environment, CallContext context, Transport* transport) {
  return NewAdapter<RepositoryIndex>(environment, std::move(context),
                                     transport);
}

std::vector<KserveMethod> KserveRepositoryMethods() {
  return {{"RepositoryIndex", NewKserveRepositoryIndex},
          {"RepositoryModelLoad", NewAdapter<RepositoryModelLoad>},
          {"RepositoryModelUnload", NewAdapter<RepositoryModelUnload>}};
}

}  // namespace trivium
