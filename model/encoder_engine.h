#ifndef TRIVIUM_MODEL_ENCODER_ENGINE_H_
#define TRIVIUM_MODEL_ENCODER_ENGINE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "model/engine.h"

namespace trivium {

// An Engine without a decoder and without blocks. Its steps refuse decode work.
class EncoderEngine : public Engine {
 public:
  int free_blocks() const override { return 0; }
  int BlocksNeeded(const StepPlan&) override { return 0; }
  HypothesisId AddHypothesis(SourceId) override { return 0; }
  Beginning Begin(SourceId, std::span<const int32_t>,
                  std::string_view) override {
    return {.hypothesis = 0, .found = 0};
  }
  void CacheBlocks(HypothesisId, std::span<const int32_t>,
                   std::string_view) override {}
  HypothesisId Fork(HypothesisId parent) override { return parent; }
  void Truncate(HypothesisId, int) override {}
  void ReleaseHypothesis(HypothesisId) override {}

 protected:
  // Begins the result of a step; the error is that of decode work.
  static absl::Status StartStep(const StepPlan& plan, StepResult* result) {
    *result = StepResult();
    return plan.decode.empty()
               ? absl::OkStatus()
               : absl::InternalError("decode work for a model of embeddings");
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_ENCODER_ENGINE_H_
