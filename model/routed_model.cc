#include "model/routed_model.h"

#include <utility>

#include "base/status.h"
#include "model/router_engine.h"
#include "model/weights/digest.h"

namespace trivium {
namespace {

class RoutedModel : public Model {
 public:
  RoutedModel(std::vector<std::unique_ptr<Model>> models, int query,
              int document)
      : models_(std::move(models)),
        query_(query),
        document_(document),
        info_(front().info()) {
    Digest digest;
    info_.parameters = info_.weight_bytes = 0;
    for (const auto& model : models_) {
      const ModelInfo& one = model->info();
      info_.parameters += one.parameters;
      info_.weight_bytes += one.weight_bytes;
      info_.batch_invariant &= one.batch_invariant;
      // Kinds are sorted by how much an operator has to know.
      if (one.weights_cache.kind > info_.weights_cache.kind) {
        info_.weights_cache = one.weights_cache;
      }
      digest.Add(one.revision);
    }
    info_.revision = digest.Hex();
  }

  const ModelInfo& info() const override { return info_; }
  const Tokenizer* tokenizer() const override { return front().tokenizer(); }
  const SentenceEncoder& sentence_encoder() const override {
    return front().sentence_encoder();
  }
  TextReader ReaderOf(std::optional<TextKind> kind) const override {
    const int route = !kind ? 0 : kind == TextKind::kQuery ? query_ : document_;
    return {.model = models_[route].get(), .route = route};
  }
  const DecodingOptions& decoding_defaults() const override {
    return front().decoding_defaults();
  }
  const std::vector<int32_t>& decoder_prefix() const override {
    return front().decoder_prefix();
  }
  absl::StatusOr<Direction> ResolveDirection(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const override {
    return front().ResolveDirection(source_language, target_language);
  }
  absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      const EngineOptions& options) const override {
    std::vector<std::unique_ptr<Engine>> engines;
    for (const auto& model : models_) {
      TRIVIUM_ASSIGN_OR_RETURN(engines.emplace_back(),
                               model->NewEngine(options));
    }
    return std::make_unique<RouterEngine>(std::move(engines));
  }

 private:
  const Model& front() const { return *models_.front(); }

  const std::vector<std::unique_ptr<Model>> models_;
  const int query_;
  const int document_;
  ModelInfo info_;
};

}  // namespace

std::unique_ptr<Model> NewRoutedModel(
    std::vector<std::unique_ptr<Model>> models, int query, int document) {
  return std::make_unique<RoutedModel>(std::move(models), query, document);
}

}  // namespace trivium
