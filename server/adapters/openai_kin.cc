#include "server/adapters/openai_kin.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/adapters/openai_request.h"

namespace trivium {
namespace {

using nlohmann::json;

// An option that this server does not have, and its values that change nothing:
// those that switch it off.
struct Neutral {
  const char* name;
  std::vector<json> values;
};

void ReadNeutral(const std::vector<Neutral>& options, JsonFields* fields) {
  for (const Neutral& option : options) {
    const json* const value = fields->Value(option.name);
    if (value == nullptr) continue;
    if (std::find(option.values.begin(), option.values.end(), *value) !=
        option.values.end()) {
      continue;
    }
    fields->Fail(option.name,
                 option.values.empty()
                     ? "is not supported; leave it out"
                     : fmt::format("is not supported; leave it out, or send "
                                   "{}, which changes nothing",
                                   option.values.front().dump()));
  }
}

const std::vector<Neutral>& NeutralOptions() {
  static const auto* const kAll = new std::vector<Neutral>{
      // vLLM's.
      {"allowed_token_ids", {json::array()}},
      {"bad_words", {json::array()}},
      {"detokenize", {true}},
      {"length_penalty", {1}},
      {"logits_processors", {json::array()}},
      {"return_token_ids", {false}},
      {"return_tokens_as_token_ids", {false}},
      {"skip_special_tokens", {true}},
      {"use_beam_search", {false}},
      {"guided_whitespace_pattern", {}},
      {"vllm_xargs", {json::object()}},
      // llama-server's samplers, and what it adds to an answer.
      {"dry_multiplier", {0}},
      {"dynatemp_range", {0}},
      {"grammar_lazy", {false}},
      {"lora", {json::array()}},
      {"min_keep", {0, 1}},
      {"mirostat", {0}},
      {"n_probs", {0}},
      {"penalize_nl", {false}},
      {"post_sampling_probs", {false}},
      {"response_fields", {json::array()}},
      {"t_max_predict_ms", {-1, 0}},
      {"tfs_z", {1}},
      {"top_a", {0}},
      {"xtc_probability", {0}}};
  return *kAll;
}

// The penalties of llama-server look at its last 64 tokens unless a request
// says otherwise, those here at all.
void ReadRepeats(JsonFields* fields, v1::DecodingOptions* decoding,
                 CompletionOptions* options) {
  options->repetition_name =
      fields->NameAmong({"repetition_penalty", "repeat_penalty"});
  if (const auto penalty = fields->Number(options->repetition_name)) {
    decoding->set_repetition_penalty(*penalty);
  }
  if (const auto last = fields->Integer("repeat_last_n", -1, INT_MAX)) {
    SetPenaltyWindow(static_cast<int>(*last), decoding);
  }
}

}  // namespace

void ReadKinOptions(JsonFields* fields, IgnoredMembers* ignored,
                    v1::GenerateRequest* request, CompletionOptions* options) {
  v1::DecodingOptions* const decoding = request->mutable_decoding();
  ReadRepeats(fields, decoding, options);
  if (const auto p = fields->Number("typical_p"); p && *p != 1) {
    decoding->set_typical_p(*p);
  }
  if (const auto least = fields->Integer("min_tokens", 0, INT_MAX)) {
    decoding->set_min_new_tokens(static_cast<uint32_t>(*least));
  }
  if (const auto keep = fields->Bool("include_stop_str_in_output")) {
    decoding->set_keep_stop(*keep);
  }
  if (const auto ignore = fields->Bool("ignore_eos")) {
    decoding->set_ignore_eos(*ignore);
  }
  options->truncate_name =
      fields->NameAmong({"truncate", "truncate_prompt_tokens"});
  if (const auto truncate = fields->Bool("truncate")) {
    request->set_truncate(*truncate);
  }
  if (CutsPrompts(fields)) request->set_truncate(true);
  if (const json* const ids = fields->Value("stop_token_ids")) {
    if (IsIds(*ids)) {
      AddIds(*ids, decoding->mutable_stop_ids());
    } else if (*ids != json::array()) {
      fields->Fail("stop_token_ids", "must be a list of ids");
    }
  }
  ReadNeutral(NeutralOptions(), fields);
  // These say how urgent a request is, whose it is and how long its model
  // stays; whether its progress and times are told; how samplers work that are
  // off; which part of a chat to forget if it is too long, which is refused
  // here; and by which library a form is held.
  fields->Ignore(
      kOpenAiShape, ignored,
      {"priority", "request_id", "session_id", "ttl", "keep_alive",
       "return_progress", "timings_per_token", "mirostat_tau", "mirostat_eta",
       "xtc_threshold", "dry_base", "dry_allowed_length", "dry_penalty_last_n",
       "dry_sequence_breakers", "dynatemp_exponent", "n_keep", "n_discard",
       "spaces_between_special_tokens", "guided_decoding_backend"});
}

void SetPenaltyWindow(int last, v1::DecodingOptions* decoding) {
  if (last > 0) decoding->set_penalty_window(static_cast<uint32_t>(last));
  if (last != 0) return;
  // The model's folder may have a penalty of its own.
  decoding->set_repetition_penalty(1);
  decoding->clear_presence_penalty();
  decoding->clear_frequency_penalty();
}

bool CutsPrompts(JsonFields* fields) {
  constexpr char kName[] = "truncate_prompt_tokens";
  const json* const value = fields->Value(kName);
  fields->Only(kName, {-1, 0},
               "must be -1: what is too long is cut to what the model reads");
  return value != nullptr && *value == -1;
}

void ReadKinChatOptions(JsonFields* fields) {
  static const auto* const kAll =
      new std::vector<Neutral>{{"add_special_tokens", {false}},
                               {"best_of", {1}},
                               {"chat_template", {}},
                               {"documents", {json::array()}},
                               {"echo", {false}},
                               {"include_reasoning", {true}},
                               // Thoughts come as reasoning_content.
                               {"reasoning_format", {"auto", "deepseek"}},
                               {"safe_prompt", {false}},
                               {"thinking_forced_open", {false}}};
  ReadNeutral(*kAll, fields);
  fields->Only("verbosity", {"medium"},
               "must be medium: templates have no place for another; say it in "
               "a message");
  fields->Only("web_search_options", {},
               "is not supported: the server searches no web; leave it out");
  fields->Only("audio", {}, "is not supported; leave it out");
}

}  // namespace trivium
