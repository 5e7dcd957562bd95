// --plan as text and as JSON. Both say for each figure whether it was measured
// or follows from others.
#include <fmt/format.h>

#include <string>

#include "base/isa.h"
#include "server/plan/plan.h"

namespace trivium {
namespace {

std::string Time(absl::Duration time) {
  const double value = absl::ToDoubleMilliseconds(time);
  return value < 1000 ? fmt::format("{:.3g} ms", value)
                      : fmt::format("{:.3g} s", value / 1000);
}

// A readable figure: "0.83", "41.5", "4,048".
std::string Rate(double value) {
  if (value < 100) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(at, ",");
  }
  return digits;
}

double TokensPerSecond(const Load& load, const LoadRate& rate) {
  const int tokens = load.new_tokens > 0 ? load.new_tokens : load.source_tokens;
  return rate.requests_per_second * tokens;
}

std::string DescribeRates(const Plan& plan, const Plan::LoadPlan& load) {
  const bool decodes = load.load.new_tokens > 0;
  std::string text = fmt::format(
      "  measured, {}:\n"
      "    {:>18}  {:>9}  {:>11}  {:>7}  {:>10}  {:>12}  {:>9}\n",
      load.load.name, "workers x threads", "one alone",
      decodes ? "first token" : "", "at once", "requests/s",
      decodes ? "new tokens/s" : "tokens/s", "each");
  for (const Plan::Rate& rate : load.rates) {
    const std::string workers =
        fmt::format("{}{} x {}", rate.workers == plan.workers ? "* " : "",
                    rate.workers.count, rate.workers.threads);
    if (!rate.measured) {
      text += fmt::format("    {:>18}  not measured: there was no time left\n",
                          workers);
      continue;
    }
    const LoadRate& it = *rate.measured;
    text += fmt::format(
        "    {:>18}  {:>9}  {:>11}  {:>7}  {:>10}  {:>12}  {:>9}\n", workers,
        Time(it.alone), decodes ? Time(it.first_token) : "", it.at_once,
        Rate(it.requests_per_second), Rate(TokensPerSecond(load.load, it)),
        Time(it.busy));
  }
  return text;
}

std::string DescribeModel(const Plan& plan, const Plan::ModelPlan& model) {
  std::string text =
      fmt::format("\n{}: {}\n", model.spec.name, DescribeMemory(model.folder));
  const auto line = [&text](const std::string& bytes, const std::string& what) {
    text += fmt::format("  {:>10}  {}\n", bytes, what);
  };
  line(RoundedBytes(model.weight_bytes),
       model.loaded ? "weights, as loaded" : "weights, by their shapes");
  if (model.kv_cache_bytes > 0) {
    line(RoundedBytes(model.kv_cache_bytes),
         fmt::format("keys and values at most, allocated as needed: "
                     "--kv-cache-bytes of each of {} workers",
                     plan.workers.count));
    line(RoundedBytes(model.folder.longest_kv_bytes),
         "part of these for one beam or draw at most, source and target");
  }
  if (model.scratch_bytes) {
    line(RoundedBytes(*model.scratch_bytes),
         fmt::format("scratch of {} workers under load, measured",
                     plan.workers.count));
  }
  if (!model.not_measured.empty()) {
    text += fmt::format("  rate: not measured: {}\n", model.not_measured);
  }
  for (const Plan::LoadPlan& load : model.loads) {
    text += DescribeRates(plan, load);
  }
  return text;
}

nlohmann::json RateToJson(const Plan& plan, const Load& load,
                          const Plan::Rate& rate) {
  nlohmann::json json = {{"workers", rate.workers.count},
                         {"worker_threads", rate.workers.threads},
                         {"served", rate.workers == plan.workers}};
  if (!rate.measured) {
    json["not_measured"] = "there was no time left";
    return json;
  }
  const LoadRate& it = *rate.measured;
  json["alone_seconds"] = absl::ToDoubleSeconds(it.alone);
  if (load.new_tokens > 0) {
    json["first_token_seconds"] = absl::ToDoubleSeconds(it.first_token);
  }
  json["at_once"] = it.at_once;
  json["requests_per_second"] = it.requests_per_second;
  json["tokens_per_second"] = TokensPerSecond(load, it);
  json["busy_seconds"] = absl::ToDoubleSeconds(it.busy);
  return json;
}

nlohmann::json ModelToJson(const Plan& plan, const Plan::ModelPlan& model) {
  nlohmann::json json = {
      {"name", model.spec.name},
      {"folder", model.spec.folder},
      {"family", model.folder.family},
      {"precision", PrecisionName(model.folder.precision)},
      {"parameters", model.folder.parameters},
      {"memory",
       {{"weight_bytes", model.weight_bytes},
        {"weights_loaded", model.loaded.has_value()},
        {"kv_cache_bytes", model.kv_cache_bytes},
        {"kv_bytes_per_token", model.folder.kv_bytes_per_token},
        {"state_bytes_per_sequence", model.folder.state_bytes},
        {"longest_sequence_kv_bytes", model.folder.longest_kv_bytes}}},
      {"loads", nlohmann::json::array()}};
  if (!model.folder.quantization.empty()) {
    json["quantization"] = model.folder.quantization;
  }
  if (model.loaded) json["isa"] = IsaName(model.loaded->isa);
  if (model.scratch_bytes) {
    json["memory"]["measured_scratch_bytes"] = *model.scratch_bytes;
  }
  if (!model.not_measured.empty()) json["not_measured"] = model.not_measured;
  for (const Plan::LoadPlan& load : model.loads) {
    nlohmann::json rates = nlohmann::json::array();
    for (const Plan::Rate& rate : load.rates) {
      rates.push_back(RateToJson(plan, load.load, rate));
    }
    json["loads"].push_back({{"name", load.load.name},
                             {"source_tokens", load.load.source_tokens},
                             {"prompt_tokens", load.load.prompt_tokens},
                             {"new_tokens", load.load.new_tokens},
                             {"measured", std::move(rates)}});
  }
  return json;
}

}  // namespace

std::string DescribePlan(const Plan& plan) {
  std::string text = fmt::format(
      "{} cores and {} of memory may be used, {} of it are free now. These "
      "flags choose: --workers {} --worker-threads {}\n",
      plan.cores, RoundedBytes(plan.memory_bytes),
      RoundedBytes(plan.available_bytes), plan.workers.count,
      plan.workers.threads);
  for (const Plan::ModelPlan& model : plan.models) {
    text += DescribeModel(plan, model);
  }
  const int64_t total = plan.total_bytes();
  text += fmt::format(
      "\nmemory: {} in all, besides the calls: each holds at most {} of "
      "request "
      "(counted four times while it is processed) and {} of response. {}\n",
      RoundedBytes(total), RoundedBytes(plan.max_request_bytes),
      RoundedBytes(plan.max_response_bytes),
      total <= plan.memory_bytes * 3 / 4
          ? "That is less than three quarters of the memory, the point at "
            "which a server starts to save memory"
      : total <= plan.memory_bytes
          ? "That is more than three quarters of the memory, the point at "
            "which a server starts to save memory: give it more memory, or "
            "lower --kv-cache-bytes"
          : "That is more than there is: serve fewer models, use fewer "
            "workers or a lower precision, lower --kv-cache-bytes, or take "
            "another machine");
  for (const Plan::ModelPlan& model : plan.models) {
    if (model.loads.empty()) continue;
    text +=
        "rates: measured with these engines on this machine now, one model at "
        "a time, without network and tokenizer; other programs that run here "
        "lower them. * marks the workers of these flags. Plan for some 70 % of "
        "a rate (docs/operating.md, \"Sizing\")\n";
    break;
  }
  return text;
}

nlohmann::json PlanToJson(const Plan& plan) {
  nlohmann::json models = nlohmann::json::array();
  for (const Plan::ModelPlan& model : plan.models) {
    models.push_back(ModelToJson(plan, model));
  }
  return {{"cores", plan.cores},
          {"memory_bytes", plan.memory_bytes},
          {"available_bytes", plan.available_bytes},
          {"workers", plan.workers.count},
          {"worker_threads", plan.workers.threads},
          {"models", std::move(models)},
          {"total_bytes", plan.total_bytes()},
          {"max_request_bytes", plan.max_request_bytes},
          {"max_response_bytes", plan.max_response_bytes}};
}

}  // namespace trivium
