#include "server/observability/metrics.h"

#include <prometheus/text_serializer.h>

#include "server/observability/version.h"

namespace trivium {
namespace {

using prometheus::BuildGauge;

prometheus::Gauge* AddGauge(prometheus::Registry* registry, const char* name,
                            const char* help) {
  return &BuildGauge().Name(name).Help(help).Register(*registry).Add({});
}

}  // namespace

Metrics::Metrics(int workers)
    : workers_(workers),
      registry_(std::make_shared<prometheus::Registry>()),
      cache_bytes_(AddGauge(registry_.get(), "trivium_result_cache_bytes",
                            "Memory of the cached results.")),
      cache_results_(AddGauge(registry_.get(), "trivium_result_cache_results",
                              "Results in the cache.")),
      connections_(AddGauge(registry_.get(), "trivium_connections",
                            "Clients' connections.")),
      connections_ended_(
          &prometheus::BuildCounter()
               .Name("trivium_connections_ended_total")
               .Help("Connections that the server ended, by reason.")
               .Register(*registry_)),
      unknown_model_(registry_, "") {
  auto& in_flight = BuildGauge()
                        .Name("trivium_requests_in_flight")
                        .Help("Calls being worked on.")
                        .Register(*registry_);
  for (int i = 0; i < kRpcs; ++i) {
    in_flight_[i] =
        &in_flight.Add({{"rpc", std::string(RpcName(static_cast<Rpc>(i)))}});
  }
  auto& held = BuildGauge()
                   .Name("trivium_held_bytes")
                   .Help("Requests that calls hold, responses not taken yet.")
                   .Register(*registry_);
  held_requests_ = &held.Add({{"kind", "requests"}});
  held_responses_ = &held.Add({{"kind", "responses"}});
  BuildGauge()
      .Name("trivium_build_info")
      .Help("What this program is.")
      .Register(*registry_)
      .Add({{"version", kVersion}, {"compiler", __VERSION__}})
      .Set(1);
}

void Metrics::AddModel(const ServedModel& model) {
  MutexLock lock(&mutex_);
  for (const auto& [other, figures] : models_) {
    if (other->name != model.name) continue;
    models_.try_emplace(&model, figures);
    return;
  }
  models_.try_emplace(
      &model, std::make_shared<ModelFigures>(registry_, model.name,
                                             model.model->info(), workers_));
}

void Metrics::RemoveModel(const ServedModel& model) {
  MutexLock lock(&mutex_);
  models_.erase(&model);
}

ModelFigures* Metrics::Find(const ServedModel& model) {
  const auto found = models_.find(&model);
  return found == models_.end() ? nullptr : found->second.get();
}

void Metrics::OnCallStarted(Rpc rpc) {
  in_flight_[static_cast<int>(rpc)]->Increment();
}

void Metrics::OnCallDone(Rpc rpc, const ServedModel* model,
                         absl::StatusCode code, absl::Duration duration) {
  in_flight_[static_cast<int>(rpc)]->Decrement();
  MutexLock lock(&mutex_);
  CallFigures* const figures =
      model == nullptr ? &unknown_model_ : Find(*model);
  if (figures == nullptr) return;
  figures->Count(rpc, code, absl::ToDoubleSeconds(duration));
}

void Metrics::OnTokens(const ServedModel& model, int64_t source,
                       int64_t generated) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->source_tokens->Increment(static_cast<double>(source));
  figures->generated_tokens->Increment(static_cast<double>(generated));
}

void Metrics::OnIteration(const Iteration& iteration) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(iteration.model);
  if (figures == nullptr) return;
  figures->iteration_duration->Observe(
      absl::ToDoubleSeconds(iteration.duration));
  if (iteration.encoder_rows > 0) {
    figures->encode_rows->Observe(iteration.encoder_rows);
  }
  if (iteration.decoder_rows > 0) {
    figures->decode_rows->Observe(iteration.decoder_rows);
  }
  figures->iteration_requests->Observe(iteration.running);
  figures->padding_rows->Increment(iteration.padding_rows);
  for (size_t i = 0; i < figures->phases.size(); ++i) {
    figures->phases[i]->Increment(iteration.phases.*kPhases[i].seconds);
  }
}

void Metrics::OnSearch(const ServedModel& model, absl::Duration duration) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->search->Increment(absl::ToDoubleSeconds(duration));
}

void Metrics::OnQueued(const ServedModel& model, int64_t waiting_tokens,
                       int64_t waiting_requests) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->queue_tokens->Set(static_cast<double>(waiting_tokens));
  figures->queue_requests->Set(static_cast<double>(waiting_requests));
}

void Metrics::OnStarted(const ServedModel& model, absl::Duration queue_wait) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->queue_wait->Observe(absl::ToDoubleSeconds(queue_wait));
}

void Metrics::OnSharedSource(const ServedModel& model) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->shared_sources->Increment();
}

void Metrics::OnSuspended(const ServedModel& model) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->suspensions->Increment();
}

void Metrics::OnPrefixFound(const ServedModel& model, int64_t tokens) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->prefix_tokens_found->Increment(static_cast<double>(tokens));
}

void Metrics::OnFirstToken(const ServedModel& model,
                           absl::Duration since_submit) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->first_token->Observe(absl::ToDoubleSeconds(since_submit));
}

void Metrics::OnNextToken(const ServedModel& model, absl::Duration since_last) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->between_tokens->Observe(absl::ToDoubleSeconds(since_last));
}

void Metrics::OnDeadlineMissed(const ServedModel& model, const char* stage) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  (std::string_view(stage) == "queued" ? figures->missed_queued
                                       : figures->missed_running)
      ->Increment();
}

void Metrics::OnRejected(const ServedModel& model, const char* reason) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->CountRejection(reason);
}

void Metrics::OnBlocks(int worker, const ServedModel& model, int used,
                       int total) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->blocks[worker].used->Set(used);
  figures->blocks[worker].capacity->Set(total);
}

void Metrics::OnCacheLookup(const ServedModel& model, bool hit) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  (hit ? figures->cache_hits : figures->cache_misses)->Increment();
}

void Metrics::OnCacheSize(int64_t bytes, int64_t results) {
  cache_bytes_->Set(static_cast<double>(bytes));
  cache_results_->Set(static_cast<double>(results));
}

void Metrics::OnHeldBytes(int64_t requests, int64_t responses) {
  held_requests_->Set(static_cast<double>(requests));
  held_responses_->Set(static_cast<double>(responses));
}

void Metrics::OnConnections(int64_t open) {
  connections_->Set(static_cast<double>(open));
}

void Metrics::OnConnectionEnded(const char* reason) {
  connections_ended_->Add({{"reason", reason}}).Increment();
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
