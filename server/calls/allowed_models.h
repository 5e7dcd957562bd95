#ifndef TRIVIUM_SERVER_CALLS_ALLOWED_MODELS_H_
#define TRIVIUM_SERVER_CALLS_ALLOWED_MODELS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/batching/served_model.h"
#include "server/calls/convert/model_calls.h"
#include "server/calls/model_directory.h"
#include "server/limits/access.h"
#include "server/observability/rpc.h"

namespace trivium {

// The models that a call's token allows. For the client there are no others: a
// model that the token does not allow is answered like one that is not there,
// and no error names it.
class AllowedModels {
 public:
  // `models` outlives the object. Null `grant`: all models.
  AllowedModels(const ModelDirectory& models,
                std::shared_ptr<const Grant> grant)
      : models_(models), grant_(std::move(grant)) {}

  bool Allows(const std::string& name) const {
    return grant_ == nullptr || grant_->MayUse(name);
  }
  // In the order of the directory.
  std::vector<ModelHandle> List() const;
  // The model of that name, or with that alias. NOT_FOUND lists the models that
  // there are for this client.
  absl::StatusOr<ModelHandle> Find(const std::string& name) const;
  // True if a call that names `name` gets that very model, or NOT_FOUND. False
  // if any model will do: no name, or an unknown one (ModelNames::any).
  bool Names(const std::string& name) const;
  // The first model that serves such calls; null if none does. One that has
  // what `need` asks for comes before those that have not. For Rerank, one that
  // compares embeddings comes after those that read pairs.
  ModelHandle FirstFor(Rpc rpc, const ModelNeed& need = nullptr) const;
  // The model of a call that names `name`. If it Names none, the first model
  // that serves such calls; if none does, the first model, so that the error
  // says what it cannot do.
  absl::StatusOr<ModelHandle> FindFor(Rpc rpc, const std::string& name,
                                      const ModelNeed& need = nullptr) const;
  // PERMISSION_DENIED if the token does not allow to load a model of that name.
  absl::Status MayLoad(const std::string& name) const;

 private:
  const ModelDirectory& models_;
  std::shared_ptr<const Grant> grant_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ALLOWED_MODELS_H_
