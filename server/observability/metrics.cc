// Two kinds of series:
// - Those of the server have handles from the constructor on, or are found in
//   their family by label. They are never removed, so they need no lock.
// - Those of a model are in its ModelFigures, which RemoveModel may destroy.
//   They are found and counted under mutex_, and so is unknown_model_, because
//   CallFigures is not thread-safe.
//
// Always:
// - Models of one name share one ModelFigures. The series leave the page with
//   the last of them. A sum over models_ must skip repeats (LoadNow).
// - OnCallDone lowers the calls in flight even if it does not know the model.
//   So the gauge returns to 0.
// - Text takes no lock of this class: the registry has its own. So a page may
//   show a part of a model's series while it is added or removed.
#include "server/observability/metrics.h"

#include <prometheus/text_serializer.h>

#include "absl/container/flat_hash_set.h"
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
      memory_(AddGauge(registry_.get(), "trivium_memory_bytes",
                       "Memory of the process, without files that it maps.")),
      memory_limit_(AddGauge(registry_.get(), "trivium_memory_limit_bytes",
                             "Limit of the process's memory.")),
      limits_(&BuildGauge()
                   .Name("trivium_limit")
                   .Help("Limits of the server, by the name of the flag.")
                   .Register(*registry_)),
      overload_stage_(
          AddGauge(registry_.get(), "trivium_overload_stage",
                   "Measures for lack of memory: 0 none, 1 large requests "
                   "wait unread, 2 they are refused, 3 calls are shed.")),
      overload_actions_(
          &prometheus::BuildCounter()
               .Name("trivium_overload_actions_total")
               .Help("Measures taken for lack of memory: messages and streams "
                     "paused, requests refused, calls shed.")
               .Register(*registry_)),
      connections_(AddGauge(registry_.get(), "trivium_connections",
                            "Clients' connections.")),
      connections_ended_(
          &prometheus::BuildCounter()
               .Name("trivium_connections_ended_total")
               .Help("Connections that the server ended, by reason.")
               .Register(*registry_)),
      trace_spans_(&prometheus::BuildCounter()
                        .Name("trivium_trace_spans_total")
                        .Help("Spans that were sent to the collector of "
                              "traces, or dropped.")
                        .Register(*registry_)),
      unknown_model_(registry_, "") {
  auto& in_flight = BuildGauge()
                        .Name("trivium_requests_in_flight")
                        .Help("Calls under way.")
                        .Register(*registry_);
  for (int i = 0; i < kRpcs; ++i) {
    in_flight_[i] =
        &in_flight.Add({{"rpc", std::string(RpcName(static_cast<Rpc>(i)))}});
  }
  auto& held = BuildGauge()
                   .Name("trivium_held_bytes")
                   .Help("Memory that the process holds for clients.")
                   .Register(*registry_);
  for (int i = 0; i < kHeldKinds; ++i) {
    held_[i] = &held.Add({{"kind", HeldName(static_cast<Held>(i))}});
  }
  // Series exist from the start: otherwise the first event would not show as an
  // increase.
  for (const char* action : {"paused", "refused", "shed"}) {
    overload_actions_->Add({{"action", action}});
  }
  for (const char* reason :
       {"evicted", "refused", "abuse", "old", "handshake"}) {
    connections_ended_->Add({{"reason", reason}});
  }
  for (const char* result : {"sent", "dropped"}) {
    trace_spans_->Add({{"result", result}});
  }
  BuildGauge()
      .Name("trivium_build_info")
      .Help("Version and compiler of this program.")
      .Register(*registry_)
      .Add({{"version", kVersion}, {"compiler", __VERSION__}})
      .Set(1);
}

void Metrics::AddModel(const ServedModel& model) {
  MutexLock lock(&mutex_);
  for (const auto& [other, figures] : models_) {
    if (other->name != model.name) continue;
    const std::shared_ptr<ModelFigures> shared = figures;
    shared->SetInfo(model.name, model.model->info());
    models_.try_emplace(&model, shared);
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

Metrics::ModelTotals Metrics::TotalsOf(const ServedModel& model) {
  const auto total = [](const prometheus::Histogram& histogram) {
    const prometheus::ClientMetric::Histogram now =
        histogram.Collect().histogram;
    return CallFigures::Total{static_cast<int64_t>(now.sample_count),
                              now.sample_sum};
  };
  MutexLock lock(&mutex_);
  const ModelFigures* const figures = Find(model);
  if (figures == nullptr) return {};
  CallFigures::Total queued{};
  for (const prometheus::Histogram* const wait : figures->queue_wait) {
    const CallFigures::Total one = total(*wait);
    queued.count += one.count;
    queued.seconds += one.seconds;
  }
  return {.succeeded = figures->succeeded(),
          .failed = figures->failed(),
          .queued = queued,
          .iterations = total(*figures->iteration_duration),
          .texts = static_cast<int64_t>(figures->texts->Value())};
}

Metrics::Load Metrics::LoadNow() {
  Load load = {.memory = memory_->Value(),
               .memory_limit = memory_limit_->Value()};
  MutexLock lock(&mutex_);
  const auto add_calls = [&load](const CallFigures& figures) {
    load.calls +=
        static_cast<double>(figures.succeeded().count + figures.failed().count);
    load.errors += figures.server_errors();
  };
  add_calls(unknown_model_);
  absl::flat_hash_set<const ModelFigures*> seen;  // models may share figures
  for (const auto& [model, figures] : models_) {
    if (!seen.insert(figures.get()).second) continue;
    add_calls(*figures);
    load.waiting += figures->queue_requests->Value();
    for (const prometheus::Histogram* const wait : figures->queue_wait) {
      const prometheus::ClientMetric::Histogram now = wait->Collect().histogram;
      load.started += static_cast<double>(now.sample_count);
      load.queue_seconds += now.sample_sum;
    }
    for (const ModelFigures::Blocks& blocks : figures->blocks) {
      load.blocks_used += blocks.used->Value();
      load.blocks += blocks.capacity->Value();
    }
  }
  return load;
}

void Metrics::OnTokens(const ServedModel& model, int64_t source,
                       int64_t generated) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->source_tokens->Increment(static_cast<double>(source));
  figures->generated_tokens->Increment(static_cast<double>(generated));
  figures->input_tokens->Observe(static_cast<double>(source));
  figures->output_tokens->Observe(static_cast<double>(generated));
  figures->texts->Increment();
}

void Metrics::OnTruncated(const ServedModel& model) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->truncated_texts->Increment();
}

void Metrics::SetLimit(const std::string& limit, int64_t value) {
  limits_->Add({{"limit", limit}}).Set(static_cast<double>(value));
}

void Metrics::OnRunning(int worker, const ServedModel& model, int requests) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->running_requests[worker]->Set(requests);
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

void Metrics::OnStarted(const ServedModel& model, Priority priority,
                        absl::Duration queue_wait) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->queue_wait[static_cast<int>(priority)]->Observe(
      absl::ToDoubleSeconds(queue_wait));
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

void Metrics::OnNotFinite(const ServedModel& model) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->not_finite->Increment();
}

void Metrics::OnStepStalled(const StepStall& stall) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(stall.model);
  if (figures == nullptr) return;
  if (stall.returned) {
    figures->stalled_steps->Decrement();
  } else {
    figures->step_stalls->Increment();
    figures->stalled_steps->Increment();
  }
}

void Metrics::OnPrefixFound(const ServedModel& model, int64_t tokens) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->prefix_hits->Increment();
  figures->prefix_tokens_found->Increment(static_cast<double>(tokens));
}

void Metrics::OnDrafted(const ServedModel& model, int drafted, int accepted) {
  MutexLock lock(&mutex_);
  ModelFigures* const figures = Find(model);
  if (figures == nullptr) return;
  figures->drafted_tokens->Increment(drafted);
  figures->accepted_tokens->Increment(accepted);
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

void Metrics::OnHeldBytes(Held kind, int64_t bytes) {
  held_[static_cast<int>(kind)]->Set(static_cast<double>(bytes));
}

void Metrics::OnMemory(int64_t bytes, int64_t limit, int stage) {
  memory_->Set(static_cast<double>(bytes));
  memory_limit_->Set(static_cast<double>(limit));
  overload_stage_->Set(stage);
}

void Metrics::OnOverload(const char* action) {
  overload_actions_->Add({{"action", action}}).Increment();
}

void Metrics::OnConnections(int64_t open) {
  connections_->Set(static_cast<double>(open));
}

void Metrics::OnConnectionEnded(const char* reason) {
  connections_ended_->Add({{"reason", reason}}).Increment();
}

void Metrics::OnTraceSpans(const char* result, int64_t spans) {
  trace_spans_->Add({{"result", result}}).Increment(static_cast<double>(spans));
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (auto& family : process_figures_.Collect()) {
    families.push_back(std::move(family));
  }
  // A family without metrics would be a HELP line alone.
  std::erase_if(families,
                [](const auto& family) { return family.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace trivium
