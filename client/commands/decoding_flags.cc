#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/file.h"
#include "client/commands/flags.h"

namespace trivium {
namespace {

constexpr char kMain[] = "Decoding (default: the model's own settings)";

template <typename T>
CLI::Option* AddField(CLI::App& app, v1::DecodingOptions* options,
                      const char* flag, void (v1::DecodingOptions::*set)(T),
                      const char* help, const char* group = kMoreFlags) {
  return app
      .add_option_function<T>(
          flag, [options, set](const T& value) { (options->*set)(value); },
          help)
      ->group(group);
}

// Parses "ID=BIAS".
void AddBias(const std::string& text, v1::DecodingOptions* options) {
  const size_t equals = text.find('=');
  const auto id = ParseTokenIds(text.substr(0, equals));
  float bias = 0;
  if (equals == std::string::npos || !id || id->size() != 1 ||
      !absl::SimpleAtof(text.substr(equals + 1), &bias)) {
    throw CLI::ValidationError("--logit-bias", "give ID=BIAS, as 17=-2.5");
  }
  (*options->mutable_logit_bias())[id->front()] = bias;
}

void AddLists(CLI::App& app, v1::DecodingOptions* options) {
  // These are repeatable scalars, not vectors: CLI11 would split "[a,b]".
  app.add_option_function<std::string>(
         "--stop",
         [options](const std::string& stop) { options->add_stop(stop); },
         "End before this text (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
  app.add_option_function<std::string>(
         "--banned",
         [options](const std::string& text) {
           const std::optional<std::vector<uint32_t>> ids = ParseTokenIds(text);
           if (!ids || ids->empty()) {
             throw CLI::ValidationError("--banned",
                                        "give token ids with commas, as 17,4");
           }
           options->add_banned()->mutable_ids()->Add(ids->begin(), ids->end());
         },
         "Sequence of ids that must not appear, as 17,4 (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
  app.add_option_function<std::string>(
         "--logit-bias",
         [options](const std::string& text) { AddBias(text, options); },
         "Add a number to a token's logit, as 17=-2.5 (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
  app.add_option_function<uint32_t>(
         "--stop-id",
         [options](const uint32_t& id) { options->add_stop_ids(id); },
         "End at this token id (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
}

}  // namespace

void AddDecodingFlags(CLI::App& app, v1::DecodingOptions* options) {
  using Options = v1::DecodingOptions;
  AddField(app, options, "--beam-size", &Options::set_beam_size,
           "Hypotheses of the search; 1 is greedy", kMain);
  AddField(app, options, "--num-hypotheses", &Options::set_num_hypotheses,
           "Results for each text, best first", kMain);
  AddField(app, options, "--length-penalty", &Options::set_length_penalty,
           "Score = log-probability / length ^ this");
  app.add_option_function<std::string>(
         "--early-stopping",
         [options](const std::string& name) {
           const std::map<std::string, v1::EarlyStopping> names = {
               {"heuristic", v1::EARLY_STOPPING_HEURISTIC},
               {"at-once", v1::EARLY_STOPPING_AT_ONCE},
               {"never", v1::EARLY_STOPPING_NEVER}};
           options->set_early_stopping(names.at(name));
         },
         "When a beam search stops")
      ->check(CLI::IsMember({"heuristic", "at-once", "never"}))
      ->group(kMoreFlags);
  AddField(app, options, "--max-new-tokens", &Options::set_max_new_tokens,
           "At most this many tokens", kMain);
  AddField(app, options, "--min-new-tokens", &Options::set_min_new_tokens,
           "At least this many tokens");
  app.add_flag_function(
         "--sample,!--no-sample",
         [options](int64_t count) { options->set_sample(count > 0); },
         "Draw tokens at random, even without --temperature")
      ->group(kMoreFlags);
  AddField(app, options, "--temperature", &Options::set_temperature,
           "Draw tokens at random; 0: choose the best", kMain);
  AddField(app, options, "--top-k", &Options::set_top_k,
           "Draw from the k best tokens; 0: from all");
  AddField(app, options, "--top-p", &Options::set_top_p,
           "Draw from the best tokens that reach this probability, (0, 1]");
  AddField(app, options, "--min-p", &Options::set_min_p,
           "Draw from tokens with this share of the best's probability");
  AddField(app, options, "--typical-p", &Options::set_typical_p,
           "Draw from the most typical tokens that reach this, (0, 1]");
  AddField(app, options, "--seed", &Options::set_seed,
           "Same seed, same text; default: the server's choice", kMain);
  AddField(app, options, "--repetition-penalty",
           &Options::set_repetition_penalty, "Over 1: repeat less");
  AddField(app, options, "--frequency-penalty", &Options::set_frequency_penalty,
           "Subtracted from a token's logit for each occurrence, -2 to 2");
  AddField(app, options, "--presence-penalty", &Options::set_presence_penalty,
           "Subtracted once from tokens that occurred, -2 to 2");
  AddField(app, options, "--penalty-window", &Options::set_penalty_window,
           "Last tokens that these penalties look at; 0: all");
  AddField(app, options, "--no-repeat-ngram-size",
           &Options::set_no_repeat_ngram_size,
           "No n-gram of this size twice; 0: no limit");
  AddLists(app, options);
  app.add_flag_function(
         "--ignore-eos,!--no-ignore-eos",
         [options](int64_t count) { options->set_ignore_eos(count > 0); },
         "Continue after the model's end token")
      ->group(kMoreFlags);
  AddField(app, options, "--forced-first-id", &Options::set_forced_first_id,
           "Id of the first new token");
  AddField(app, options, "--forced-last-id", &Options::set_forced_last_id,
           "Id of the last token if --max-new-tokens cuts the text");
  AddField(app, options, "--top-logprobs", &Options::set_top_logprobs,
           "Alternatives to report for each token, in --json");
}

void AddConstraintFlags(CLI::App& app, v1::DecodingOptions* options) {
  const auto add = [&](const char* flag,
                       std::function<void(const std::string&)> set,
                       const char* help) {
    return app.add_option_function<std::string>(flag, std::move(set), help)
        ->group(kMoreFlags);
  };
  const auto add_file = [&](const char* flag,
                            std::function<void(const std::string&)> set,
                            const char* help) {
    return add(
        flag,
        [flag, set](const std::string& path) {
          const absl::StatusOr<std::string> text = ReadFile(path);
          if (!text.ok()) {
            throw CLI::ValidationError(flag,
                                       std::string(text.status().message()));
          }
          set(*text);
        },
        help);
  };
  CLI::Option* const schema = add_file(
      "--json-schema",
      [options](const std::string& text) {
        options->mutable_constraint()->set_json_schema(text);
      },
      "Write JSON that the schema in this file accepts");
  CLI::Option* const object =
      app.add_flag_callback(
             "--json-object",
             [options] {
               options->mutable_constraint()->set_json_object(true);
             },
             "Write a JSON object")
          ->group(kMoreFlags);
  CLI::Option* const grammar = add_file(
      "--grammar",
      [options](const std::string& text) {
        options->mutable_constraint()->set_grammar(text);
      },
      "Write a text of the GBNF grammar in this file");
  CLI::Option* const regex = add(
      "--regex",
      [options](const std::string& text) {
        options->mutable_constraint()->set_regex(text);
      },
      "Write a text that this whole expression matches");
  CLI::Option* const choices =
      add(
          "--choice",
          [options](const std::string& text) {
            options->mutable_constraint()->mutable_choices()->add_texts(text);
          },
          "Write one of these texts (repeatable)")
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->trigger_on_parse();
  schema->excludes(object)->excludes(grammar)->excludes(regex)->excludes(
      choices);
  object->excludes(grammar)->excludes(regex)->excludes(choices);
  grammar->excludes(regex)->excludes(choices);
  regex->excludes(choices);
}

}  // namespace trivium
