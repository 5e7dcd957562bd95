#include "tests/support/generate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

// A source with all its encoder layers done, released with this object.
class ReadySource {
 public:
  static absl::StatusOr<std::unique_ptr<ReadySource>> Create(
      Engine* engine, const EncoderInput& input, const SourceOptions& options) {
    std::unique_ptr<ReadySource> source(new ReadySource(engine));
    if (input.ids.empty()) return source;
    TRIVIUM_ASSIGN_OR_RETURN(source->id_, engine->AddSource(input, options));
    StepPlan plan;
    plan.encode.push_back({source->id_, engine->limits().encoder_layers});
    StepResult result;
    TRIVIUM_RETURN_IF_ERROR(engine->Step(plan, &result));
    return source;
  }

  ~ReadySource() {
    if (id_ != kNoSource) engine_->ReleaseSource(id_);
  }
  ReadySource(const ReadySource&) = delete;
  ReadySource& operator=(const ReadySource&) = delete;

  SourceId id() const { return id_; }

 private:
  explicit ReadySource(Engine* engine) : engine_(engine) {}

  Engine* const engine_;
  SourceId id_ = kNoSource;
};

// The live hypotheses of one request, released with this object.
class LiveHypotheses {
 public:
  LiveHypotheses(Engine* engine, SourceId source)
      : engine_(engine), ids_{engine->AddHypothesis(source)} {}
  ~LiveHypotheses() {
    for (HypothesisId id : ids_) engine_->ReleaseHypothesis(id);
  }
  LiveHypotheses(const LiveHypotheses&) = delete;
  LiveHypotheses& operator=(const LiveHypotheses&) = delete;

  const std::vector<HypothesisId>& ids() const { return ids_; }

  // Replaces them by their continuations: the first child of a parent takes
  // its place, the others fork it, childless parents are released.
  void Continue(std::span<const Decoding::Continuation> continuations) {
    std::vector<HypothesisId> children;
    std::vector<bool> taken(ids_.size(), false);
    for (const Decoding::Continuation& continuation : continuations) {
      const HypothesisId parent = ids_[continuation.parent];
      children.push_back(taken[continuation.parent] ? engine_->Fork(parent)
                                                    : parent);
      taken[continuation.parent] = true;
    }
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (!taken[i]) engine_->ReleaseHypothesis(ids_[i]);
    }
    ids_ = std::move(children);
  }

 private:
  Engine* const engine_;
  std::vector<HypothesisId> ids_;
};

// Copies maps of a step [layers x heads, tokens, keys] into the rows
// [begin, begin + tokens) of all [layers x heads, targets, all_keys].
void CopyMaps(std::span<const float> step, int tokens, int keys, int begin,
              int targets, int all_keys, std::vector<float>* all) {
  const size_t maps = step.size() / (static_cast<size_t>(tokens) * keys);
  all->resize(maps * targets * all_keys);
  for (size_t map = 0; map < maps; ++map) {
    for (int i = 0; i < tokens; ++i) {
      std::copy_n(step.data() + (map * tokens + i) * keys, keys,
                  all->data() + (map * targets + begin + i) * all_keys);
    }
  }
}

}  // namespace

absl::StatusOr<EncodedSource> EncodeAlone(Engine* engine,
                                          const EncoderInput& source) {
  SourceOptions options;
  options.cross_attention = false;
  options.states = States::kAll;
  for (int i = 0; i <= engine->limits().encoder_layers; ++i) {
    options.hidden_layers.push_back(i);
  }
  options.pooled = engine->limits().pooled_size > 0;
  options.logits = engine->limits().head_outputs > 0;
  options.attention = true;
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<ReadySource> ready,
                           ReadySource::Create(engine, source, options));
  const auto copy = [](std::span<const float> values) {
    return std::vector<float>(values.begin(), values.end());
  };
  return EncodedSource{copy(engine->EncoderStates(ready->id())),
                       copy(engine->HiddenStates(ready->id())),
                       copy(engine->EncoderAttention(ready->id())),
                       copy(engine->PooledOutput(ready->id())),
                       copy(engine->HeadLogits(ready->id()))};
}

absl::StatusOr<std::vector<Hypothesis>> GenerateAlone(
    Engine* engine, const EncoderInput& source, std::vector<int32_t> prefix,
    const DecodingOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<ReadySource> ready,
                           ReadySource::Create(engine, source, {}));
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Decoding> decoding,
                           Decoding::Create(options, prefix, /*stop=*/nullptr));
  LiveHypotheses live(engine, ready->id());
  StepPlan plan;
  StepResult result;
  std::vector<LogitsRow> rows;
  while (!decoding->done()) {
    plan.Clear();
    const std::span<const LogitsQuery> queries = decoding->queries();
    const std::span<const Decoding::Continuation> continuations =
        decoding->continuations();
    for (size_t i = 0; i < queries.size(); ++i) {
      StepPlan::Decode decode{live.ids()[i], prefix, queries.subspan(i, 1)};
      if (!continuations.empty()) decode.tokens = {&continuations[i].token, 1};
      plan.decode.push_back(decode);
    }
    TRIVIUM_RETURN_IF_ERROR(engine->Step(plan, &result));
    rows.clear();
    for (const StepResult::Row& row : result.rows)
      rows.push_back(row.logits[0]);
    decoding->Advance(rows);
    live.Continue(decoding->continuations());
  }
  return decoding->TakeResults();
}

absl::StatusOr<ForcedTargets> ForceTargets(Engine* engine,
                                           const EncoderInput& source,
                                           std::span<const int32_t> targets,
                                           int step_tokens) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<ReadySource> ready,
                           ReadySource::Create(engine, source, {}));
  LiveHypotheses live(engine, ready->id());
  const int sources = static_cast<int>(source.ids.size());
  const int count = static_cast<int>(targets.size());
  const int vocabulary = engine->limits().vocabulary;
  const AttentionSelection every_map;
  ForcedTargets forced;
  forced.logits.resize(static_cast<size_t>(count) * vocabulary);
  StepResult result;
  for (int begin = 0; begin < count; begin += step_tokens) {
    const int tokens = std::min(step_tokens, count - begin);
    StepPlan::Decode decode{live.ids()[0], targets.subspan(begin, tokens),
                            std::span(&kAllLogits, 1)};
    decode.self_attention = &every_map;
    if (sources > 0) decode.cross_attention = &every_map;
    StepPlan plan;
    plan.decode.push_back(decode);
    TRIVIUM_RETURN_IF_ERROR(engine->Step(plan, &result));
    const StepResult::Row& row = result.rows.at(0);
    std::copy(row.logits[0].all.begin(), row.logits[0].all.end(),
              forced.logits.begin() +
                  static_cast<size_t>(begin + tokens - 1) * vocabulary);
    CopyMaps(row.self_attention, tokens, begin + tokens, begin, count, count,
             &forced.self_attention);
    if (sources > 0) {
      CopyMaps(row.cross_attention, tokens, sources, begin, count, sources,
               &forced.cross_attention);
    }
  }
  return forced;
}

}  // namespace trivium
