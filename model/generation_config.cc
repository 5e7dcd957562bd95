#include "model/generation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/search/length_penalty.h"

namespace trivium {
namespace {

constexpr int kMost = 1 << 24;
constexpr double kSmallest = 1e-6;  // for factors that must not be zero

void ReadEndGrowth(ConfigReader* config, DecodingOptions* options) {
  constexpr std::string_view kKey = "exponential_decay_length_penalty";
  const ConfigReader::Layer found = config->Find(kKey);
  if (found.json == nullptr) return;
  const nlohmann::json& pair = *found.json;
  if (pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
      pair[1].is_number()) {
    const auto start = pair[0].get<int64_t>();
    const auto factor = pair[1].get<double>();
    if (start >= 0 && start <= kMost && factor >= kSmallest &&
        factor <= kMost) {
      options->end_growth_start = static_cast<int>(start);
      options->end_growth = static_cast<float>(factor);
      return;
    }
  }
  config->Report(kKey, found,
                 "give [start, factor]: after `start` new tokens, each further "
                 "one makes end tokens likelier by `factor`, more than 0");
}

void ReadSearch(ConfigReader* config, DecodingOptions* options) {
  options->beam_size =
      config->Integer("num_beams", 1, kMaxBeamSize).value_or(1);
  options->sample = config->Boolean("do_sample").value_or(false);
  if (options->sample && options->beam_size > 1) {
    config->Report("num_beams", config->Find("num_beams"),
                   "it does not go with do_sample; set only one of the two");
  }
  options->length_penalty =
      config->Real("length_penalty", -kMaxLengthPenalty, kMaxLengthPenalty)
          .value_or(1);
  const ConfigReader::Layer early = config->Find("early_stopping");
  if (early.json == nullptr || *early.json == false) {
    options->early_stopping = EarlyStopping::kHeuristic;
  } else if (*early.json == true) {
    options->early_stopping = EarlyStopping::kAtOnce;
  } else if (*early.json == "never") {
    options->early_stopping = EarlyStopping::kNever;
  } else {
    config->Report("early_stopping", early, "give true, false or \"never\"");
  }
  options->temperature =
      config->Real("temperature", kSmallest, kMost).value_or(1);
  ReadEndGrowth(config, options);
  options->top_k = config->Integer("top_k", 0, kMost).value_or(50);
  options->top_p = config->Real("top_p", kSmallest, 1).value_or(1);
  options->min_p = config->Real("min_p", 0, 1).value_or(0);
  options->typical_p = config->Real("typical_p", kSmallest, 1).value_or(1);
}

void ReadTokens(ConfigReader* config, int vocabulary,
                DecodingOptions* options) {
  const int last = vocabulary - 1;
  const std::vector<int> end_ids = config->Integers("eos_token_id", 0, last);
  options->end_ids.assign(end_ids.begin(), end_ids.end());
  if (end_ids.size() > kMaxEndIds) {
    config->Report("eos_token_id", config->Find("eos_token_id"),
                   fmt::format("give at most {} ids", kMaxEndIds));
  }
  for (const std::vector<int>& words :
       config->IntegerLists("bad_words_ids", 0, last)) {
    options->banned_sequences.emplace_back(words.begin(), words.end());
  }
  options->forced_first_id = config->Integer("forced_bos_token_id", 0, last);
  const std::vector<int> forced_last =
      config->Integers("forced_eos_token_id", 0, last);
  if (forced_last.size() > 1) {
    config->Report("forced_eos_token_id", config->Find("forced_eos_token_id"),
                   "give one id");
  } else if (!forced_last.empty()) {
    options->forced_last_id = forced_last[0];
  }
  options->repetition_penalty =
      config->Real("repetition_penalty", kSmallest, kMost).value_or(1);
  options->no_repeat_ngram_size =
      config->Integer("no_repeat_ngram_size", 0, kMost).value_or(0);
  options->renormalize_logits =
      config->Boolean("renormalize_logits").value_or(false);
  options->suppressed_ids = config->Integers("suppress_tokens", 0, last);
  options->first_suppressed_ids =
      config->Integers("begin_suppress_tokens", 0, last);
}

// Refuses settings of searches that are not implemented, unless their value has
// no effect.
void RefuseOthers(ConfigReader* config) {
  struct Rule {
    const char* name;
    double harmless;
  };
  for (const auto& [name, harmless] :
       {Rule{"num_beam_groups", 1}, Rule{"diversity_penalty", 0},
        Rule{"guidance_scale", 1}, Rule{"penalty_alpha", 0},
        Rule{"epsilon_cutoff", 0}, Rule{"eta_cutoff", 0}, Rule{"top_h", 0}}) {
    const ConfigReader::Layer found = config->Find(name);
    if (found.json == nullptr || *found.json == harmless) continue;
    config->Report(
        name, found,
        fmt::format("this version does not support it; remove it, or "
                    "set it to {}",
                    harmless));
  }
  for (const char* name :
       {"sequence_bias", "force_words_ids", "constraints", "dola_layers",
        "stop_strings", "watermarking_config"}) {
    const ConfigReader::Layer found = config->Find(name);
    if (found.json == nullptr) continue;
    config->Report(name, found, "this version does not support it; remove it");
  }
}

void ReadLengths(ConfigReader* config, int prefix,
                 const GenerationLimits& limits, DecodingOptions* options) {
  const int limit = std::max(1, limits.max_target_tokens - prefix);
  int most = limit;
  if (const auto tokens = config->Integer("max_new_tokens", 1, kMost)) {
    most = *tokens;
  } else if (const auto length = config->Integer("max_length", 1, kMost)) {
    // Without an encoder, max_length counts the prompt, too: it then only
    // repeats how many positions there are.
    if (limits.has_encoder) most = *length - prefix;
  }
  options->max_new_tokens = std::clamp(most, 1, limit);
  int least = 0;
  if (const auto tokens = config->Integer("min_new_tokens", 0, kMost)) {
    least = *tokens;
  } else if (const auto length = config->Integer("min_length", 0, kMost)) {
    if (limits.has_encoder) {
      least = *length - prefix;
    } else if (*length > 0) {
      config->Report("min_length", config->Find("min_length"),
                     "it counts the prompt; give min_new_tokens instead");
    }
  }
  options->min_new_tokens = std::clamp(least, 0, options->max_new_tokens);
}

}  // namespace

GenerationConfig ReadGenerationConfig(ConfigReader* config,
                                      const GenerationLimits& limits) {
  GenerationConfig result;
  const int last = limits.vocabulary - 1;
  if (limits.has_encoder) {
    // The first of the two that is set counts, as in Transformers.
    constexpr std::string_view kStart = "decoder_start_token_id";
    const bool named = config->Find(kStart).json != nullptr;
    const std::string_view key = named ? kStart : "bos_token_id";
    if (config->Find(key).json == nullptr) {
      config->Report(kStart, config->Find(kStart),
                     fmt::format("the decoder needs a start token, give an id "
                                 "from 0 to {}",
                                 last));
    } else if (const auto start = config->Integer(key, 0, last)) {
      result.decoder_prefix = {*start};
    }
  }
  ReadSearch(config, &result.options);
  const auto has = [config](const char* name) {
    return config->Find(name).json != nullptr;
  };
  result.names_sampling =
      has("temperature") || has("top_k") || has("top_p") || has("min_p");
  result.names_max_new_tokens =
      has("max_new_tokens") || (limits.has_encoder && has("max_length"));
  RefuseOthers(config);
  if (limits.has_encoder) {
    result.options.source_ngram_size =
        config->Integer("encoder_no_repeat_ngram_size", 0, kMost).value_or(0);
    result.options.source_bonus =
        config->Real("encoder_repetition_penalty", kSmallest, kMost)
            .value_or(1);
  }
  ReadTokens(config, limits.vocabulary, &result.options);
  ReadLengths(config, static_cast<int>(result.decoder_prefix.size()), limits,
              &result.options);
  return result;
}

std::vector<Task> ReadTasks(const nlohmann::json& config,
                            std::vector<ConfigReader::Layer> layers,
                            const GenerationLimits& limits,
                            Problems* problems) {
  std::vector<Task> tasks;
  const auto found = config.find("task_specific_params");
  if (found == config.end() || !found->is_object()) return tasks;
  layers.insert(layers.begin(), ConfigReader::Layer());
  for (const auto& [name, params] : found->items()) {
    if (!params.is_object()) continue;
    layers.front() = {"config.json: task_specific_params." + name, &params};
    Problems found_problems;
    ConfigReader reader(layers, &found_problems);
    tasks.push_back({name, reader.Text("prefix").value_or(""),
                     ReadGenerationConfig(&reader, limits).options});
    // Problems of the other layers have been reported already.
    for (std::string& problem : found_problems) {
      if (problem.starts_with(layers.front().file)) {
        problems->push_back(std::move(problem));
      }
    }
  }
  return tasks;
}

}  // namespace trivium
