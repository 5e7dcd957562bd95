#include "tests/support/puppet_engine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace trivium {
namespace {

size_t Selected(const std::vector<int>& chosen, int all) {
  return chosen.empty() ? all : chosen.size();
}

}  // namespace

PuppetEngine::PuppetEngine(const Options& options,
                           std::shared_ptr<PuppetLog> log)
    : options_(options),
      log_(std::move(log)),
      blocks_(options.limits.total_blocks, options.limits.block_tokens) {}

PuppetEngine::~PuppetEngine() {
  log_->SetLeaks(static_cast<int>(sources_.size() + hypotheses_.size()));
  if (sources_.empty() && hypotheses_.empty() &&
      free_blocks() != limits().total_blocks) {
    log_->AddMisuse("blocks are missing");
  }
}

absl::Status PuppetEngine::Misuse(std::string what) {
  log_->AddMisuse(what);
  return absl::InvalidArgumentError(std::move(what));
}

absl::StatusOr<SourceId> PuppetEngine::AddSource(const EncoderInput& input,
                                                 const SourceOptions& options) {
  Source source;
  source.input = input;
  source.tokens = static_cast<int>(input.ids.size());
  if (source.tokens == 0 || source.tokens > limits().max_source_tokens) {
    return Misuse(fmt::format("a source of {} tokens", source.tokens));
  }
  for (const int32_t id : input.ids) {
    // Not a misuse: only the engine knows the encoder's vocabulary.
    if (id < 0) return absl::InvalidArgumentError("a negative token id");
    source.hash = PuppetMix(source.hash, id);
  }
  for (const int32_t type : input.type_ids) {
    source.hash = PuppetMix(source.hash, type + 1);
  }
  source.blocks = options.cross_attention
                      ? static_cast<int>(limits().SourceBlocks(source.tokens))
                      : 0;
  if (source.blocks > free_blocks()) {
    log_->AddMisuse("a source without free blocks");
    return absl::ResourceExhaustedError("no free blocks");
  }
  blocks_.Take(source.blocks);
  source.options = options;
  source.layers_left = limits().encoder_layers;
  if (options.states != States::kNone) {
    const size_t tokens = options.states == States::kAll ? source.tokens : 1;
    source.states = PuppetFloats(source.hash, tokens * options_.d_model);
  }
  for (const int layer : options.hidden_layers) {
    const std::vector<float> one =
        PuppetFloats(source.hash + 10 + layer,
                     static_cast<size_t>(source.tokens) * options_.d_model);
    source.hidden.insert(source.hidden.end(), one.begin(), one.end());
  }
  if (options.pooled) {
    source.pooled = PuppetFloats(source.hash + 2, limits().pooled_size);
  }
  if (options.logits) {
    const size_t rows = options.logits_positions.empty()
                            ? source.tokens
                            : options.logits_positions.size();
    source.logits = PuppetFloats(source.hash + 3, rows * limits().head_outputs);
  }
  if (options.attention) {
    source.attention = PuppetFloats(
        source.hash + 1,
        Selected(options.selection.layers, limits().encoder_layers) *
            Selected(options.selection.heads, options_.heads) * source.tokens *
            source.tokens);
  }
  sources_[next_source_] = std::move(source);
  return next_source_++;
}

void PuppetEngine::ReleaseSource(SourceId id) {
  const auto source = sources_.find(id);
  if (source == sources_.end()) {
    log_->AddMisuse("release of an unknown source");
    return;
  }
  for (const auto& [other, hypothesis] : hypotheses_) {
    if (hypothesis.source == id) {
      log_->AddMisuse("release of a source that a hypothesis reads");
    }
  }
  blocks_.Give(source->second.blocks);
  sources_.erase(source);
}

std::span<const float> PuppetEngine::EncoderStates(SourceId source) const {
  const Source& found = sources_.at(source);
  if (found.layers_left > 0) log_->AddMisuse("states of an unready source");
  return found.states;
}

std::span<const float> PuppetEngine::HiddenStates(SourceId source) const {
  const Source& found = sources_.at(source);
  if (found.layers_left > 0) log_->AddMisuse("states of an unready source");
  return found.hidden;
}

std::span<const float> PuppetEngine::EncoderAttention(SourceId source) const {
  const Source& found = sources_.at(source);
  if (found.layers_left > 0) log_->AddMisuse("maps of an unready source");
  return found.attention;
}

std::span<const float> PuppetEngine::PooledOutput(SourceId source) const {
  const Source& found = sources_.at(source);
  if (found.layers_left > 0) log_->AddMisuse("pooled of an unready source");
  return found.pooled;
}

std::span<const float> PuppetEngine::HeadLogits(SourceId source) const {
  const Source& found = sources_.at(source);
  if (found.layers_left > 0) log_->AddMisuse("logits of an unready source");
  return found.logits;
}

std::span<const BestLogits> PuppetEngine::BestHeadLogits(SourceId) const {
  log_->AddMisuse("a puppet gives all logits");
  return {};
}

HypothesisId PuppetEngine::AddHypothesis(SourceId source) {
  Hypothesis hypothesis;
  hypothesis.source = source;
  if (source != kNoSource) {
    if (!sources_.contains(source)) {
      log_->AddMisuse("a hypothesis of an unknown source");
    } else {
      hypothesis.hash = sources_[source].hash;
    }
  }
  hypotheses_[next_hypothesis_] = std::move(hypothesis);
  return next_hypothesis_++;
}

std::string PuppetEngine::PastOf(SourceId source, std::string_view salt) const {
  std::string past(salt);
  if (source == kNoSource) return past;
  const EncoderInput& input = sources_.at(source).input;
  for (const int32_t id : input.ids) past += fmt::format(" {}", id);
  for (const int32_t type : input.type_ids) past += fmt::format("/{}", type);
  return past;
}

Engine::Beginning PuppetEngine::Begin(SourceId source,
                                      std::span<const int32_t> tokens,
                                      std::string_view salt) {
  const HypothesisId id = AddHypothesis(source);
  Hypothesis& hypothesis = hypotheses_[id];
  hypothesis.beginning.assign(tokens.begin(), tokens.end());
  hypothesis.past = PastOf(source, salt);
  hypothesis.tokens = blocks_.Find(tokens, hypothesis.past);
  return {id, hypothesis.tokens.size()};
}

void PuppetEngine::CacheBlocks(HypothesisId hypothesis,
                               std::span<const int32_t> tokens,
                               std::string_view salt) {
  const Hypothesis& found = hypotheses_.at(hypothesis);
  const std::vector<int32_t> read = found.tokens.Read();
  if (!std::equal(read.begin(), read.end(), tokens.begin(), tokens.end())) {
    log_->AddMisuse("keeps other tokens than were read");
    return;
  }
  blocks_.Cache(found.tokens, found.tokens.size(), PastOf(found.source, salt));
}

uint64_t PuppetEngine::HashOf(const Hypothesis& hypothesis) {
  uint64_t hash = hypothesis.hash;
  for (const int32_t token : hypothesis.tokens.Read()) {
    hash = PuppetMix(hash, token);
  }
  return hash;
}

HypothesisId PuppetEngine::Fork(HypothesisId parent) {
  if (!hypotheses_.contains(parent)) {
    log_->AddMisuse("fork of an unknown hypothesis");
  }
  Hypothesis& child = hypotheses_[next_hypothesis_] = hypotheses_[parent];
  child.beginning.clear();
  return next_hypothesis_++;
}

void PuppetEngine::Truncate(HypothesisId hypothesis, int length) {
  Hypothesis& found = hypotheses_.at(hypothesis);
  if (length > found.tokens.size() ||
      length < static_cast<int>(found.beginning.size())) {
    log_->AddMisuse("truncation to what was not read, or was announced");
    return;
  }
  blocks_.Truncate(length, &found.tokens);
}

void PuppetEngine::ReleaseHypothesis(HypothesisId hypothesis) {
  if (hypotheses_.erase(hypothesis) == 0) {
    log_->AddMisuse("release of an unknown hypothesis");
  }
}

absl::Status PuppetEngine::CheckPlan(const StepPlan& plan) {
  if (plan.encode.empty() && plan.decode.empty()) return Misuse("empty plan");
  std::set<SourceId> encoded;
  for (const StepPlan::Encode& encode : plan.encode) {
    if (!sources_.contains(encode.source)) return Misuse("unknown source");
    if (!encoded.insert(encode.source).second) return Misuse("source twice");
    if (encode.layers < 1 ||
        encode.layers > sources_[encode.source].layers_left) {
      return Misuse("layers out of range");
    }
  }
  std::set<HypothesisId> decoded;
  for (const StepPlan::Decode& decode : plan.decode) {
    const auto found = hypotheses_.find(decode.hypothesis);
    if (found == hypotheses_.end()) return Misuse("unknown hypothesis");
    if (!decoded.insert(decode.hypothesis).second) {
      return Misuse("hypothesis twice");
    }
    if (decode.tokens.empty()) return Misuse("no tokens");
    if (decode.queries.size() > decode.tokens.size()) {
      return Misuse("more queries than tokens");
    }
    std::span<const int32_t> announced = found->second.beginning;
    announced = announced.subspan(
        std::min<size_t>(announced.size(), found->second.tokens.size()));
    announced =
        announced.first(std::min(announced.size(), decode.tokens.size()));
    if (!std::equal(announced.begin(), announced.end(),
                    decode.tokens.begin())) {
      return Misuse("other tokens than were announced");
    }
    if (found->second.tokens.size() + static_cast<int>(decode.tokens.size()) >
        limits().max_target_tokens) {
      return Misuse("more tokens than the decoder has positions");
    }
    if (found->second.source == kNoSource) continue;
    if (!sources_.contains(found->second.source)) {
      return Misuse("a hypothesis of a released source");
    }
    int left = sources_[found->second.source].layers_left;
    for (const StepPlan::Encode& encode : plan.encode) {
      if (encode.source == found->second.source) left -= encode.layers;
    }
    if (left > 0) return Misuse("decode of an unready source");
    if (!sources_[found->second.source].options.cross_attention) {
      return Misuse("decode of a source without cross-attention");
    }
  }
  return absl::OkStatus();
}

int PuppetEngine::BlocksNeeded(const StepPlan& plan) {
  std::vector<std::pair<const PuppetBlocks::Tokens*, int>> appends;
  for (const StepPlan::Decode& decode : plan.decode) {
    appends.emplace_back(&hypotheses_.at(decode.hypothesis).tokens,
                         static_cast<int>(decode.tokens.size()));
  }
  return blocks_.Needed(appends);
}

absl::Status PuppetEngine::Step(const StepPlan& plan, StepResult* result) {
  if (options_.gate != nullptr) options_.gate->Pass();
  if (options_.on_step) {
    if (absl::Status status = options_.on_step(plan); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = CheckPlan(plan); !status.ok()) return status;
  if (BlocksNeeded(plan) > free_blocks()) {
    log_->AddMisuse("a step without free blocks");
    return absl::ResourceExhaustedError("no free blocks");
  }
  PuppetLog::Step step;
  step.encode = plan.encode;
  result->encoder_rows = 0;
  for (const StepPlan::Encode& encode : plan.encode) {
    Source& source = sources_[encode.source];
    source.layers_left -= encode.layers;
    step.encode_work += source.tokens * encode.layers;
    result->encoder_rows += source.tokens;
  }
  result->rows.clear();
  rows_.clear();
  for (const StepPlan::Decode& decode : plan.decode) {
    rows_.emplace_back();
    FillRow(decode, &rows_.back(), &result->rows.emplace_back());
    step.decoder_rows += static_cast<int>(decode.tokens.size());
    step.prefilling += decode.tokens.size() > 1;
    for (const LogitsQuery& query : decode.queries) {
      step.projected_rows += query.asks();
    }
  }
  step.hypotheses = static_cast<int>(plan.decode.size());
  step.used_blocks = limits().total_blocks - free_blocks();
  result->decoder_rows = step.decoder_rows;
  result->projected_rows = step.projected_rows;
  result->padding_rows = 0;
  const absl::Duration encode = options_.encode_time * step.encode_work;
  const absl::Duration decode = options_.decode_time * step.decoder_rows;
  result->seconds = {};
  result->seconds.encode = absl::ToDoubleSeconds(encode);
  if (options_.clock != nullptr) {
    options_.clock->Advance(options_.step_time + encode + decode);
  }
  log_->Add(std::move(step));
  return absl::OkStatus();
}

void PuppetEngine::FillRow(const StepPlan::Decode& decode, RowMemory* memory,
                           StepResult::Row* row) {
  Hypothesis& hypothesis = hypotheses_[decode.hypothesis];
  const size_t tokens = decode.tokens.size();
  const auto planes_of = [this](const AttentionSelection* maps) -> size_t {
    if (maps == nullptr) return 0;
    return Selected(maps->layers, limits().decoder_layers) *
           Selected(maps->heads, options_.heads);
  };
  const size_t cross_planes = planes_of(decode.cross_attention);
  const size_t self_planes = planes_of(decode.self_attention);
  const int source_keys =
      cross_planes > 0 ? sources_[hypothesis.source].tokens : 0;
  const int self_keys = hypothesis.tokens.size() + static_cast<int>(tokens);
  memory->cross_attention.assign(cross_planes * tokens * source_keys, 0);
  memory->self_attention.assign(self_planes * tokens * self_keys, 0);
  const size_t unasked = tokens - decode.queries.size();
  for (size_t t = 0; t < tokens; ++t) {
    blocks_.Append(decode.tokens[t], &hypothesis.tokens);
    const uint64_t hash = HashOf(hypothesis);
    if (t >= unasked) {
      const LogitsQuery& query = decode.queries[t - unasked];
      memory->logits.push_back(
          query.asks()
              ? memory->numbers.emplace_back().Select(
                    hash, query,
                    {limits().vocabulary, options_.end_id, options_.end_bias})
              : LogitsRow());
    }
    if (decode.states) {
      const std::vector<float> states = PuppetFloats(hash, options_.d_model);
      memory->states.insert(memory->states.end(), states.begin(), states.end());
    }
    const auto fill = [&](size_t planes, int seen, int keys,
                          std::vector<float>* to) {
      for (size_t plane = 0; plane < planes; ++plane) {
        const std::vector<float> weights =
            PuppetFloats(PuppetMix(hash, plane), seen);
        std::copy(weights.begin(), weights.end(),
                  to->begin() + (plane * tokens + t) * keys);
      }
    };
    fill(cross_planes, source_keys, source_keys, &memory->cross_attention);
    // A token sees none after it.
    fill(self_planes, hypothesis.tokens.size(), self_keys,
         &memory->self_attention);
  }
  row->cross_attention = memory->cross_attention;
  row->self_attention = memory->self_attention;
  row->logits = memory->logits;
  row->states = memory->states;
  blocks_.Cache(hypothesis.tokens,
                static_cast<int>(hypothesis.beginning.size()), hypothesis.past);
}

}  // namespace trivium
