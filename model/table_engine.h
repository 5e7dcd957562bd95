#ifndef TRIVIUM_MODEL_TABLE_ENGINE_H_
#define TRIVIUM_MODEL_TABLE_ENGINE_H_

#include <memory>
#include <vector>

#include "model/encoder_engine.h"
#include "model/transformer/sequences.h"

namespace trivium {

// A table of embeddings, which do not depend on the words around them.
struct EmbeddingTable {
  int rows = 0;               // the vocabulary
  int width = 0;              // of an embedding
  std::vector<float> values;  // [rows, width]
  // True if a row is one number, the token's weight in a sparse embedding.
  bool sparse = false;
  int max_tokens = 0;  // of a source
};

// Looks the tokens of sources up in a table. For a scheduler this is one layer.
class TableEngine : public EncoderEngine {
 public:
  explicit TableEngine(std::shared_ptr<const EmbeddingTable> table);

  const EngineLimits& limits() const override { return limits_; }

  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override;
  void ReleaseSource(SourceId source) override { sources_.Release(source); }
  bool IsFinite(SourceId) const override { return true; }
  std::span<const float> EncoderStates(SourceId source) const override {
    return sources_[source].states;
  }
  std::span<const float> HiddenStates(SourceId source) const override {
    return sources_[source].hidden;
  }
  std::span<const float> PooledOutput(SourceId) const override { return {}; }
  std::span<const float> HeadLogits(SourceId) const override { return {}; }
  std::span<const BestLogits> BestHeadLogits(SourceId) const override {
    return {};
  }
  std::span<const SparseWeight> SparseEmbedding(
      SourceId source) const override {
    return sources_[source].sparse;
  }
  std::span<const float> EncoderAttention(SourceId) const override {
    return {};
  }

  absl::Status Step(const StepPlan& plan, StepResult* result) override;

 private:
  const float* Row(int32_t id) const {
    return &table_->values[static_cast<size_t>(id) * table_->width];
  }
  void LookUp(SourceState* source) const;

  const std::shared_ptr<const EmbeddingTable> table_;
  EngineLimits limits_;
  Slots<SourceState> sources_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TABLE_ENGINE_H_
