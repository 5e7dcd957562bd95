#include "server/observability/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>

#include "server/observability/version.h"

namespace trivium {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets& FirstTokenBuckets() {
  static const Buckets buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                  0.25,  0.5,    1,     2.5,  5,     10};
  return buckets;
}

const Buckets& BetweenTokensBuckets() {
  static const Buckets buckets = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                  0.05,   0.1,   0.25,   0.5,   1,    2.5};
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

// Families that exist already are found again by name, so each model's call
// adds to the same one.
prometheus::Family<prometheus::Counter>& CounterFamily(
    prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& GaugeFamily(
    prometheus::Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
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

std::string_view RpcName(Rpc rpc) {
  static constexpr std::string_view kNames[kRpcs] = {
      "Encode",   "Translate",      "TranslateStream", "Generate",
      "Tokenize", "ListModels",     "GetModel",        "Classify",
      "Rerank",   "ClassifyTokens", "FillMask",        "Answer"};
  return kNames[static_cast<int>(rpc)];
}

Metrics::Metrics(const std::vector<NamedModel>& models, int workers)
    : registry_(std::make_shared<prometheus::Registry>()),
      requests_(&CounterFamily(*registry_, "trivium_requests_total",
                               "Calls answered, by status code.")),
      rejections_(&CounterFamily(*registry_, "trivium_rejections_total",
                                 "Calls that admission refused.")),
      cache_bytes_(&GaugeFamily(*registry_, "trivium_result_cache_bytes",
                                "Memory of the cached results.")
                        .Add({})),
      cache_results_(&GaugeFamily(*registry_, "trivium_result_cache_results",
                                  "Results in the cache.")
                          .Add({})) {
  auto& in_flight = GaugeFamily(*registry_, "trivium_requests_in_flight",
                                "Calls being worked on.");
  for (int i = 0; i < kRpcs; ++i) {
    in_flight_[i] =
        &in_flight.Add({{"rpc", std::string(RpcName(static_cast<Rpc>(i)))}});
  }
  for (const NamedModel& model : models) {
    models_.push_back(MakeModel(model.name, workers));
    AddInfo(model);
  }
  unknown_model_ = MakeModel("", 0);
  AddBuildInfo();
}

std::unique_ptr<Metrics::ForModel> Metrics::MakeModel(const std::string& name,
                                                      int workers) {
  prometheus::Registry& registry = *registry_;
  const prometheus::Labels labels = {{"model", name}};
  auto result = std::make_unique<ForModel>();
  ForModel& model = *result;
  model.name = name;

  auto& duration =
      HistogramFamily(registry, "trivium_request_duration_seconds",
                      "From a call's arrival to its answer, by call.");
  for (int i = 0; i < kRpcs; ++i) {
    model.rpcs[i].duration = &duration.Add(
        {{"model", name}, {"rpc", std::string(RpcName(static_cast<Rpc>(i)))}},
        DurationBuckets());
  }
  // Calls that name no model that exists have no more than a duration.
  if (name.empty()) return result;

  model.queue_tokens =
      &GaugeFamily(registry, "trivium_queue_tokens",
                   "Tokens of requests that wait for a worker.")
           .Add(labels);
  model.queue_requests = &GaugeFamily(registry, "trivium_queue_requests",
                                      "Requests that wait for a worker.")
                              .Add(labels);
  model.queue_wait = &HistogramFamily(registry, "trivium_queue_wait_seconds",
                                      "From admission to the first iteration.")
                          .Add(labels, FirstTokenBuckets());
  model.first_token =
      &HistogramFamily(registry, "trivium_time_to_first_token_seconds",
                       "From admission to the first new token.")
           .Add(labels, FirstTokenBuckets());
  model.between_tokens =
      &HistogramFamily(registry, "trivium_time_between_tokens_seconds",
                       "Between two new tokens of a request.")
           .Add(labels, BetweenTokensBuckets());
  model.iteration_duration =
      &HistogramFamily(registry, "trivium_iteration_duration_seconds",
                       "One iteration of one worker.")
           .Add(labels, BetweenTokensBuckets());
  auto& rows = HistogramFamily(registry, "trivium_iteration_rows",
                               "Rows of an iteration, by phase.");
  model.encode_rows =
      &rows.Add({{"model", name}, {"phase", "encode"}}, SizeBuckets());
  model.decode_rows =
      &rows.Add({{"model", name}, {"phase", "decode"}}, SizeBuckets());
  model.iteration_requests =
      &HistogramFamily(registry, "trivium_iteration_requests",
                       "Requests that share an iteration.")
           .Add(labels, SizeBuckets());
  model.padding_rows =
      &CounterFamily(registry, "trivium_padding_rows_total",
                     "Rows added to round products up to a row bucket.")
           .Add(labels);
  auto& phases = CounterFamily(registry, "trivium_phase_seconds_total",
                               "Time of iterations, by phase.");
  const auto phase = [&](const char* which) {
    return &phases.Add({{"model", name}, {"phase", which}});
  };
  model.phases = {phase("encode"),
                  phase("self_attention"),
                  phase("cross_attention"),
                  phase("feed_forward"),
                  phase("output_projection"),
                  phase("other")};
  model.search = phase("search");
  auto& tokens = CounterFamily(registry, "trivium_tokens_total",
                               "Tokens of answered requests, by kind.");
  model.source_tokens = &tokens.Add({{"model", name}, {"kind", "source"}});
  model.generated_tokens =
      &tokens.Add({{"model", name}, {"kind", "generated"}});
  model.shared_sources =
      &CounterFamily(registry, "trivium_shared_sources_total",
                     "Requests whose source another one had encoded.")
           .Add(labels);
  model.cache_hits =
      &CounterFamily(registry, "trivium_result_cache_hits_total",
                     "Requests answered out of the result cache.")
           .Add(labels);
  model.cache_misses =
      &CounterFamily(registry, "trivium_result_cache_misses_total",
                     "Requests that the result cache did not know.")
           .Add(labels);
  auto& missed = CounterFamily(registry, "trivium_deadlines_missed_total",
                               "Requests dropped at their deadline, by stage.");
  model.missed_queued = &missed.Add({{"model", name}, {"stage", "queued"}});
  model.missed_running = &missed.Add({{"model", name}, {"stage", "running"}});
  auto& used = GaugeFamily(registry, "trivium_kv_blocks_used",
                           "KV cache blocks in use, by worker.");
  auto& capacity = GaugeFamily(registry, "trivium_kv_blocks_capacity",
                               "KV cache blocks there are, by worker.");
  for (int worker = 0; worker < workers; ++worker) {
    const prometheus::Labels place = {{"model", name},
                                      {"worker", std::to_string(worker)}};
    model.blocks.push_back({&used.Add(place), &capacity.Add(place)});
  }
  return result;
}

void Metrics::AddInfo(const NamedModel& model) {
  GaugeFamily(*registry_, "trivium_model_info", "What is served.")
      .Add({{"model", model.name},
            {"family", model.info.family},
            {"precision", std::string(PrecisionName(model.info.precision))},
            {"isa", std::string(IsaName(model.info.isa))},
            {"revision", model.info.revision}})
      .Set(1);
  GaugeFamily(*registry_, "trivium_batch_invariant",
              "1 where an answer does not depend on what else runs.")
      .Add({{"model", model.name}})
      .Set(model.info.batch_invariant ? 1 : 0);
  GaugeFamily(*registry_, "trivium_model_weight_bytes",
              "Size of the weights as served.")
      .Add({{"model", model.name}})
      .Set(static_cast<double>(model.info.weight_bytes));
}

void Metrics::AddBuildInfo() {
  GaugeFamily(*registry_, "trivium_build_info", "What this program is.")
      .Add({{"version", kVersion}, {"compiler", __VERSION__}})
      .Set(1);
}

void Metrics::OnCallStarted(Rpc rpc) {
  in_flight_[static_cast<int>(rpc)]->Increment();
}

void Metrics::OnCallDone(Rpc rpc, int model, absl::StatusCode code,
                         absl::Duration duration) {
  in_flight_[static_cast<int>(rpc)]->Decrement();
  ForModel& labels = model < 0 ? *unknown_model_ : At(model);
  ForRpc& figures = labels.rpcs[static_cast<int>(rpc)];
  figures.duration->Observe(absl::ToDoubleSeconds(duration));
  const int index = std::clamp(static_cast<int>(code), 0, kCodes - 1);
  prometheus::Counter* counter = figures.requests[index].load();
  if (counter == nullptr) {
    counter = &requests_->Add({{"model", labels.name},
                               {"rpc", std::string(RpcName(rpc))},
                               {"code", CodeName(index)}});
    figures.requests[index].store(counter);  // equal labels: equal counter
  }
  counter->Increment();
}

void Metrics::OnTokens(int model, int64_t source, int64_t generated) {
  At(model).source_tokens->Increment(static_cast<double>(source));
  At(model).generated_tokens->Increment(static_cast<double>(generated));
}

void Metrics::OnIteration(const Iteration& iteration) {
  ForModel& model = At(iteration.model);
  model.iteration_duration->Observe(absl::ToDoubleSeconds(iteration.duration));
  if (iteration.encoder_rows > 0) {
    model.encode_rows->Observe(iteration.encoder_rows);
  }
  if (iteration.decoder_rows > 0) {
    model.decode_rows->Observe(iteration.decoder_rows);
  }
  model.iteration_requests->Observe(iteration.running);
  model.padding_rows->Increment(iteration.padding_rows);
  const PhaseSeconds& phases = iteration.phases;
  const double seconds[] = {
      phases.encode,       phases.self_attention,    phases.cross_attention,
      phases.feed_forward, phases.output_projection, phases.other};
  for (size_t i = 0; i < model.phases.size(); ++i) {
    model.phases[i]->Increment(seconds[i]);
  }
}

void Metrics::OnSearch(int model, absl::Duration duration) {
  At(model).search->Increment(absl::ToDoubleSeconds(duration));
}

void Metrics::OnQueued(int model, int64_t waiting_tokens,
                       int64_t waiting_requests) {
  At(model).queue_tokens->Set(static_cast<double>(waiting_tokens));
  At(model).queue_requests->Set(static_cast<double>(waiting_requests));
}

void Metrics::OnStarted(int model, absl::Duration queue_wait) {
  At(model).queue_wait->Observe(absl::ToDoubleSeconds(queue_wait));
}

void Metrics::OnSharedSource(int model) {
  At(model).shared_sources->Increment();
}

void Metrics::OnFirstToken(int model, absl::Duration since_submit) {
  At(model).first_token->Observe(absl::ToDoubleSeconds(since_submit));
}

void Metrics::OnNextToken(int model, absl::Duration since_last) {
  At(model).between_tokens->Observe(absl::ToDoubleSeconds(since_last));
}

void Metrics::OnDeadlineMissed(int model, const char* stage) {
  (std::string_view(stage) == "queued" ? At(model).missed_queued
                                       : At(model).missed_running)
      ->Increment();
}

void Metrics::OnRejected(int model, const char* reason) {
  // A lookup by name, but only where there is no answer to delay.
  rejections_->Add({{"model", At(model).name}, {"reason", reason}}).Increment();
}

void Metrics::OnBlocks(int worker, int model, int used, int total) {
  const Blocks& blocks = At(model).blocks[worker];
  blocks.used->Set(used);
  blocks.capacity->Set(total);
}

void Metrics::OnCacheLookup(int model, bool hit) {
  (hit ? At(model).cache_hits : At(model).cache_misses)->Increment();
}

void Metrics::OnCacheSize(int64_t bytes, int64_t results) {
  cache_bytes_->Set(static_cast<double>(bytes));
  cache_results_->Set(static_cast<double>(results));
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (auto& family : process_figures_.Collect()) {
    families.push_back(std::move(family));
  }
  // A family without a metric yet would be a lone HELP line.
  std::erase_if(families,
                [](const auto& family) { return family.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace trivium
