// Always:
// - A registry has at most one ModelFigures for each name. A family returns the
//   existing series for equal labels, and the destructor removes it. So of two
//   objects with one name, the first to go would free the other's series.
// - Each series is made by CallFigures::Add, which notes its removal. Only
//   info_ is not, since SetInfo replaces it when its labels change.
// - Families stay in the registry when their series go. registry_ keeps them
//   alive for the removals.
// - Calls of GetModel count as errors, but neither in succeeded() nor in
//   failed().
// - errors_ has no series for OK.
#include "server/observability/model_figures.h"

#include <algorithm>

namespace trivium {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets& FirstTokenBuckets() {
  static const Buckets buckets = {
      0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
      0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};
  return buckets;
}

const Buckets& BetweenTokensBuckets() {
  // The next token of a small model takes a tenth of a millisecond.
  static const Buckets buckets = {0.00005, 0.0001, 0.00025, 0.0005, 0.001,
                                  0.0025,  0.005,  0.01,    0.025,  0.05,
                                  0.1,     0.25,   0.5,     1,      2.5};
  return buckets;
}

const Buckets& DurationBuckets() {
  static const Buckets buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                  0.1,   0.25,   0.5,   1,    2.5,   5,
                                  10,    30,     60,    300,  600};
  return buckets;
}

const Buckets& SizeBuckets() {
  static const Buckets buckets = {1,  2,   4,   8,   16,   32,
                                  64, 128, 256, 512, 1024, 2048};
  return buckets;
}

const Buckets& TokenBuckets() {
  static const Buckets buckets = {1,   2,   4,    8,    16,   32,    64,   128,
                                  256, 512, 1024, 2048, 4096, 16384, 65536};
  return buckets;
}

// Register returns the existing family of a name, so all models add to the same
// family.
prometheus::Family<prometheus::Counter>& CounterFamily(
    prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& GaugeFamily(
    prometheus::Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& InfoFamily(
    prometheus::Registry& registry) {
  return GaugeFamily(registry, "trivium_model_info",
                     "The served models and their properties.");
}

prometheus::Family<prometheus::Histogram>& HistogramFamily(
    prometheus::Registry& registry, const char* name, const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

const char* CodeName(int code) {
  static const std::array<std::string, 17>* names = [] {
    auto* all = new std::array<std::string, 17>;
    for (int i = 0; i < 17; ++i) {
      (*all)[i] = absl::StatusCodeToString(static_cast<absl::StatusCode>(i));
    }
    return all;
  }();
  return (*names)[code].c_str();
}

}  // namespace

CallFigures::CallFigures(std::shared_ptr<prometheus::Registry> registry,
                         std::string model)
    : registry_(std::move(registry)), model_(std::move(model)) {
  auto& errors = CounterFamily(*registry_, "trivium_errors_total",
                               "Calls that ended with an error, by status "
                               "code.");
  for (int code = 1; code < kCodes; ++code) {
    errors_[code] = Add(errors, {{"model", model_}, {"code", CodeName(code)}});
  }
}

CallFigures::~CallFigures() {
  for (const auto& remove : removals_) remove();
}

double CallFigures::server_errors() const {
  double errors = 0;
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnknown, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal,
        absl::StatusCode::kUnavailable, absl::StatusCode::kDataLoss}) {
    errors += errors_[static_cast<int>(code)]->Value();
  }
  return errors;
}

void CallFigures::Count(Rpc rpc, absl::StatusCode code, double seconds) {
  ForRpc& figures = rpcs_[static_cast<int>(rpc)];
  if (figures.duration == nullptr) {
    figures.duration =
        Add(HistogramFamily(*registry_, "trivium_request_duration_seconds",
                            "From a call's arrival to its answer, by call."),
            {{"model", model_}, {"rpc", std::string(RpcName(rpc))}},
            DurationBuckets());
  }
  figures.duration->Observe(seconds);
  if (rpc != Rpc::kGetModel) {
    Total& total = code == absl::StatusCode::kOk ? succeeded_ : failed_;
    ++total.count;
    total.seconds += seconds;
  }
  const int index = std::clamp(static_cast<int>(code), 0, kCodes - 1);
  if (index > 0) errors_[index]->Increment();
  prometheus::Counter*& counter = figures.requests[index];
  if (counter == nullptr) {
    counter = Add(CounterFamily(*registry_, "trivium_requests_total",
                                "Calls answered, by status code."),
                  {{"model", model_},
                   {"rpc", std::string(RpcName(rpc))},
                   {"code", CodeName(index)}});
  }
  counter->Increment();
}

void ModelFigures::CountRejection(std::string_view reason) {
  for (size_t i = 0; i < kRejections.size(); ++i) {
    if (kRejections[i] == reason) rejections[i]->Increment();
  }
}

ModelFigures::ModelFigures(std::shared_ptr<prometheus::Registry> registry,
                           const std::string& name, const ModelInfo& info,
                           int workers)
    : CallFigures(std::move(registry), name) {
  const prometheus::Labels labels = {{"model", name}};
  const auto counter = [&](const char* family, const char* help) {
    return Add(CounterFamily(this->registry(), family, help), labels);
  };
  const auto gauge = [&](const char* family, const char* help) {
    return Add(GaugeFamily(this->registry(), family, help), labels);
  };
  const auto histogram = [&](const char* family, const char* help,
                             const Buckets& buckets) {
    return Add(HistogramFamily(this->registry(), family, help), labels,
               buckets);
  };
  queue_tokens = gauge("trivium_queue_tokens",
                       "Tokens of requests that wait for a worker.");
  queue_requests =
      gauge("trivium_queue_requests", "Requests that wait for a worker.");
  for (const Priority priority :
       {Priority::kInteractive, Priority::kBackground}) {
    queue_wait[static_cast<int>(priority)] = Add(
        HistogramFamily(this->registry(), "trivium_queue_wait_seconds",
                        "From admission to the first iteration."),
        {{"model", name}, {"priority", std::string(PriorityName(priority))}},
        FirstTokenBuckets());
  }
  first_token =
      histogram("trivium_time_to_first_token_seconds",
                "From admission to the first new token.", FirstTokenBuckets());
  between_tokens =
      histogram("trivium_time_between_tokens_seconds",
                "Between two new tokens of a request.", BetweenTokensBuckets());
  iteration_duration =
      histogram("trivium_iteration_duration_seconds",
                "One iteration of one worker.", BetweenTokensBuckets());
  iteration_requests =
      histogram("trivium_iteration_requests",
                "Requests that share an iteration.", SizeBuckets());
  padding_rows = counter("trivium_padding_rows_total",
                         "Rows added to round products up to a row bucket.");
  shared_sources = counter("trivium_shared_sources_total",
                           "Requests whose source another one had encoded.");
  suspensions = counter("trivium_suspensions_total",
                        "Suspensions of running requests for lack of KV "
                        "blocks.");
  not_finite = counter("trivium_not_finite_total",
                       "Requests answered INTERNAL because the model computed "
                       "infinities or NaNs.");
  step_stalls = counter("trivium_engine_stalls_total",
                        "Steps of the engine that did not return within "
                        "--step-timeout.");
  stalled_steps = gauge("trivium_engine_stalled",
                        "Workers whose step of the engine has not returned "
                        "within --step-timeout.");
  prefix_hits = counter("trivium_prefix_hits_total",
                        "Prefixes for which KV blocks were cached.");
  prefix_tokens_found =
      counter("trivium_prefix_tokens_found_total",
              "Tokens that were not read because their KV blocks were cached.");
  drafted_tokens = counter("trivium_drafted_tokens_total",
                           "Guessed tokens that were read ahead.");
  accepted_tokens = counter("trivium_accepted_tokens_total",
                            "Drafted tokens that the search chose.");
  cache_hits = counter("trivium_result_cache_hits_total",
                       "Requests answered from the result cache.");
  cache_misses = counter("trivium_result_cache_misses_total",
                         "Requests whose result was not cached.");

  auto& rows = HistogramFamily(this->registry(), "trivium_iteration_rows",
                               "Rows of an iteration, by phase.");
  encode_rows =
      Add(rows, {{"model", name}, {"phase", "encode"}}, SizeBuckets());
  decode_rows =
      Add(rows, {{"model", name}, {"phase", "decode"}}, SizeBuckets());
  auto& seconds = CounterFamily(this->registry(), "trivium_phase_seconds_total",
                                "Time of iterations, by phase.");
  const auto phase = [&](const char* which) {
    return Add(seconds, {{"model", name}, {"phase", which}});
  };
  for (size_t i = 0; i < phases.size(); ++i) phases[i] = phase(kPhases[i].name);
  search = phase("search");
  auto& tokens = CounterFamily(this->registry(), "trivium_tokens_total",
                               "Tokens of answered requests, by kind.");
  source_tokens = Add(tokens, {{"model", name}, {"kind", "source"}});
  generated_tokens = Add(tokens, {{"model", name}, {"kind", "generated"}});
  input_tokens =
      histogram("trivium_input_tokens", "Tokens of an answered text or prompt.",
                TokenBuckets());
  output_tokens = histogram(
      "trivium_output_tokens",
      "New tokens of an answered text, in all its hypotheses.", TokenBuckets());
  texts = counter("trivium_texts_total",
                  "Texts answered, in calls of one text, of many and streams.");
  truncated_texts = counter("trivium_truncated_texts_total",
                            "Texts that were truncated to the model's limit.");
  auto& refused = CounterFamily(this->registry(), "trivium_rejections_total",
                                "Calls that admission refused.");
  for (size_t i = 0; i < kRejections.size(); ++i) {
    rejections[i] = Add(
        refused, {{"model", name}, {"reason", std::string(kRejections[i])}});
  }
  auto& missed =
      CounterFamily(this->registry(), "trivium_deadlines_missed_total",
                    "Requests dropped at their deadline, by stage.");
  missed_queued = Add(missed, {{"model", name}, {"stage", "queued"}});
  missed_running = Add(missed, {{"model", name}, {"stage", "running"}});
  auto& used = GaugeFamily(this->registry(), "trivium_kv_blocks_used",
                           "KV cache blocks in use, by worker.");
  auto& capacity = GaugeFamily(this->registry(), "trivium_kv_blocks_capacity",
                               "All KV cache blocks, by worker.");
  auto& running = GaugeFamily(this->registry(), "trivium_running_requests",
                              "Requests that a worker runs.");
  for (int worker = 0; worker < workers; ++worker) {
    const prometheus::Labels place = {{"model", name},
                                      {"worker", std::to_string(worker)}};
    blocks.push_back({Add(used, place), Add(capacity, place)});
    running_requests.push_back(Add(running, place));
  }
  batch_invariant_ =
      gauge("trivium_batch_invariant",
            "1 if answers do not depend on the other requests that run.");
  weight_bytes_ =
      gauge("trivium_model_weight_bytes", "Size of the weights as served.");
  SetInfo(name, info);
}

ModelFigures::~ModelFigures() { InfoFamily(registry()).Remove(info_); }

void ModelFigures::SetInfo(const std::string& name, const ModelInfo& info) {
  prometheus::Family<prometheus::Gauge>& family = InfoFamily(registry());
  if (info_ != nullptr) family.Remove(info_);
  info_ =
      &family.Add({{"model", name},
                   {"family", info.family},
                   {"precision", std::string(PrecisionName(info.precision))},
                   {"isa", std::string(IsaName(info.isa))},
                   {"revision", info.revision}});
  info_->Set(1);
  batch_invariant_->Set(info.batch_invariant ? 1 : 0);
  weight_bytes_->Set(static_cast<double>(info.weight_bytes));
}

}  // namespace trivium
