#ifndef TRIVIUM_TESTS_MODEL_FAMILIES_GOLDEN_FOLDER_H_
#define TRIVIUM_TESTS_MODEL_FAMILIES_GOLDEN_FOLDER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "model/families/registry.h"
#include "nlohmann/json.hpp"
#include "tests/model/families/fake_weights.h"

namespace trivium {

// A golden's configuration and the names and shapes of its tensors; tests may
// change them.
class Folder {
 public:
  explicit Folder(const std::string& name) {
    const std::string path = "tests/golden/" + name;
    config = ReadJsonFile(path + "/config.json").value();
    real_ = Weights::Open(path).value();
    for (const std::string_view tensor : real_->Names()) {
      const TensorView* view = real_->Find(tensor);
      weights.Set(std::string(tensor), view->shape, view->dtype);
    }
  }

  Problems Load() { return LoadFrom(&weights); }
  // Loads with the tensors' data, for families that rearrange them.
  Problems LoadReal() { return LoadFrom(real_.get()); }
  Problems LoadWithoutWeights() { return LoadFrom(nullptr); }

  nlohmann::json config;
  FakeWeights weights;
  TransformerDescription description;
  nlohmann::json generation_defaults;

 private:
  Problems LoadFrom(const Weights* from) {
    Problems problems;
    const FamilyLoader load =
        FindFamily(config["model_type"].get<std::string>());
    FamilyModel model = load(config, from, &problems);
    description = std::move(model.description);
    generation_defaults = std::move(model.generation_defaults);
    return problems;
  }

  std::unique_ptr<Weights> real_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_FAMILIES_GOLDEN_FOLDER_H_
