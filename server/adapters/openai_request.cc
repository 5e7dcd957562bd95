#include "server/adapters/openai_request.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <climits>
#include <string>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_body.h"
#include "server/adapters/openai_constraint.h"
#include "server/adapters/openai_kin.h"
#include "server/adapters/openai_messages.h"
#include "server/adapters/openai_tools.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr int kMostTopLogprobs = 20;
constexpr ChatShape kOpenAiChats = {
    .field = "messages",
    .prompt = "send it as prompt to /v1/completions, or to /translate",
    .models = "/v1/models"};
constexpr size_t kMostStops = 4;
constexpr float kMostTemperature = 2;

void ReadBias(JsonFields* fields, v1::DecodingOptions* decoding) {
  const json* const bias = fields->Value("logit_bias");
  if (bias == nullptr) return;
  if (!bias->is_object()) {
    return fields->Fail("logit_bias", "must be an object of ids to numbers");
  }
  for (const auto& [id, value] : bias->items()) {
    uint32_t token = 0;
    if (!absl::SimpleAtoi(id, &token) || !value.is_number()) {
      return fields->Fail(fmt::format("logit_bias[{}]", id),
                          "must be a number for the id of a token");
    }
    (*decoding->mutable_logit_bias())[token] =
        static_cast<float>(value.get<double>());
  }
}

// Several answers without chance are the same one several times. A greedy
// search has one, so draws among the best token alone make them.
void DrawTheBest(v1::DecodingOptions* decoding) {
  decoding->set_temperature(1);
  decoding->set_top_k(1);
}

void ReadSampling(JsonFields* fields, v1::DecodingOptions* decoding) {
  const auto temperature = fields->Number("temperature");
  if (temperature) {
    if (*temperature < 0 || *temperature > kMostTemperature) {
      fields->Fail("temperature", fmt::format("is {}; it must be in 0 .. {}",
                                              *temperature, kMostTemperature));
    }
    decoding->set_temperature(*temperature);
  } else {
    decoding->set_sample(true);
  }
  if (const auto p = fields->Number("top_p")) {
    // Clients that mean "greedy" send 0 for both.
    if (*p != 0 || temperature != 0) decoding->set_top_p(*p);
  }
  if (const auto p = fields->Number("min_p")) decoding->set_min_p(*p);
  // -1, as in vLLM: no limit.
  if (const auto k = fields->Integer("top_k", -1, UINT32_MAX)) {
    decoding->set_top_k(static_cast<uint32_t>(std::max<int64_t>(*k, 0)));
  }
  if (const auto seed = fields->Integer("seed", INT64_MIN, INT64_MAX)) {
    decoding->set_seed(static_cast<uint64_t>(*seed));
  }
  if (temperature == 0 && decoding->num_hypotheses() > 1) DrawTheBest(decoding);
}

void ReadPenalties(JsonFields* fields, v1::DecodingOptions* decoding) {
  if (const auto penalty = fields->Number("presence_penalty")) {
    decoding->set_presence_penalty(*penalty);
  }
  if (const auto penalty = fields->Number("frequency_penalty")) {
    decoding->set_frequency_penalty(*penalty);
  }
  ReadBias(fields, decoding);
}

void ReadStream(JsonFields* fields, CompletionOptions* options) {
  options->stream = fields->Bool("stream").value_or(false);
  const json* const value = fields->Value("stream_options");
  if (value == nullptr) return;
  if (!options->stream) {
    return fields->Fail("stream_options", "is for streams; set stream, too");
  }
  JsonFields stream(*value, "stream_options.");
  options->include_usage = stream.Bool("include_usage").value_or(false);
  // The name is vLLM's.
  options->chunk_usage = stream.Bool("continuous_usage_stats").value_or(false);
  if (options->chunk_usage && !options->include_usage) {
    stream.Fail("continuous_usage_stats",
                "needs include_usage: set it to true");
  }
  stream.Only("include_obfuscation", {false}, kNotSupported);
  fields->Keep(stream.Done());
}

void SetLogprobs(int alternatives, v1::GenerateRequest* request,
                 CompletionOptions* options) {
  options->logprobs = true;
  options->top_logprobs = alternatives;
  request->mutable_decoding()->set_top_logprobs(
      static_cast<uint32_t>(std::max(1, alternatives)));
}

// vLLM's `prompt_logprobs`, which it gives with whole answers only.
void ReadPromptLogprobs(JsonFields* fields, v1::GenerateRequest* request,
                        CompletionOptions* options) {
  const auto alternatives =
      fields->Integer("prompt_logprobs", 0, kMostTopLogprobs);
  if (!alternatives) return;
  if (options->stream) {
    fields->Fail("prompt_logprobs",
                 "is not told in a stream; leave one of the two out");
  }
  options->prompt_logprobs = static_cast<int>(*alternatives);
  request->set_prompt_logprobs(std::max(request->prompt_logprobs(),
                                        static_cast<uint32_t>(*alternatives)));
}

void ReadPrompt(const json& prompt, const std::string& field,
                JsonFields* fields, v1::Input* input) {
  if (prompt.is_string()) return input->set_text(prompt.get<std::string>());
  if (!IsIds(prompt)) {
    return fields->Fail(field, "must be a text or a list of ids");
  }
  AddIds(prompt, input->mutable_ids()->mutable_ids());
}

// The names are vLLM's and Transformers'.
void ReadTemplateOptions(JsonFields* fields, v1::Chat* chat) {
  if (const auto begin = fields->Bool("add_generation_prompt")) {
    chat->set_add_generation_prompt(*begin);
  }
  if (const auto last = fields->Bool("continue_final_message")) {
    chat->set_continue_final_message(*last);
  }
  const json* const variables = fields->Value("chat_template_kwargs");
  if (variables == nullptr) return;
  if (!variables->is_object() ||
      !google::protobuf::util::JsonStringToMessage(variables->dump(),
                                                   chat->mutable_variables())
           .ok()) {
    fields->Fail("chat_template_kwargs", "must be an object of variables");
  }
}

// Reads `messages` and the other options of chats alone. `written` is the
// fields' object.
void ReadChat(WrittenBody* written, JsonFields* fields, IgnoredMembers* ignored,
              v1::GenerateRequest* request, CompletionOptions* options) {
  ReadLimit(fields, {"max_tokens", "max_completion_tokens", "n_predict"},
            request, options);
  if (options->prompt_only) {
    fields->Fail(options->max_tokens_name, "must be at least 1");
  }
  v1::Chat* const chat = request->mutable_chat();
  chat->set_answer_parts(true);
  ReadOpenAiMessages(fields, ignored, chat);
  ReadOpenAiTools(written, fields, ignored, chat, &options->tool_names);
  ReadTemplateOptions(fields, chat);
  options->thinking = ReadOpenAiThinking(fields);
  request->mutable_decoding()->set_sampling_defaults(
      v1::SAMPLING_DEFAULTS_CHAT);
  const auto alternatives =
      fields->Integer("top_logprobs", 0, kMostTopLogprobs);
  if (fields->Bool("logprobs").value_or(false)) {
    SetLogprobs(static_cast<int>(alternatives.value_or(0)), request, options);
  } else if (alternatives.value_or(0) > 0) {
    fields->Fail("top_logprobs", "needs logprobs: set it to true");
  }
  ReadPromptLogprobs(fields, request, options);
  ReadKinChatOptions(fields);
  fields->Only("modalities", {json::array({"text"})}, kNotSupported);
}

}  // namespace

void AddOptionNames(const CompletionOptions& options,
                    std::vector<FieldName>* names) {
  names->insert(names->end(),
                {{"truncate", options.truncate_name},
                 {"decoding.max_new_tokens", options.max_tokens_name},
                 {"decoding.min_new_tokens", "min_tokens"},
                 {"decoding.stop_ids", "stop_token_ids"},
                 {"decoding.num_hypotheses", "n"},
                 {"decoding.repetition_penalty", options.repetition_name}});
  AddConstraintNames(options.constraint_name, names);
  names->push_back({"decoding.", ""});
}

std::vector<FieldName> CompletionNames(const CompletionOptions& options) {
  std::vector<FieldName> names;
  for (const auto& [field, name] : options.tool_names) {
    names.push_back({field, name});
  }
  names.insert(names.end(),
               {
                   {"input.text", "prompt"},
                   {"input", "prompt"},
                   {"chat.variables", "chat_template_kwargs"},
                   {"chat.tool_name", "tool_choice.function.name"},
                   {"chat.answer_parts", "tools"},
                   {"chat.max_thinking_tokens", options.thinking.budget_name},
                   {"chat.", ""},
                   {"chat", "messages"},
               });
  AddOptionNames(options, &names);
  return names;
}

void RefuseChunkUsage(JsonFields* fields) {
  fields->Fail("stream_options.continuous_usage_stats",
               "is for completions; the usage is told at the end here; leave "
               "it out");
}

void ReadLimit(JsonFields* fields, std::initializer_list<const char*> names,
               v1::GenerateRequest* request, CompletionOptions* options) {
  options->max_tokens_name = fields->NameAmong(names);
  // -1, as in llama-server: as many as there is room for.
  const auto most = fields->Integer(options->max_tokens_name, -1, INT_MAX);
  if (!most || *most == -1) return;
  options->prompt_only = *most == 0;
  request->mutable_decoding()->set_max_new_tokens(
      static_cast<uint32_t>(std::max<int64_t>(*most, 1)));
}

void ReadCompletionOptions(JsonFields* fields, IgnoredMembers* ignored,
                           v1::GenerateRequest* request,
                           CompletionOptions* options) {
  request->set_model(fields->String("model").value_or(""));
  v1::DecodingOptions* const decoding = request->mutable_decoding();
  decoding->set_num_hypotheses(
      static_cast<uint32_t>(fields->Integer("n", 1, 128).value_or(1)));
  for (std::string& stop : fields->Strings("stop")) {
    decoding->add_stop(std::move(stop));
  }
  if (static_cast<size_t>(decoding->stop_size()) > kMostStops) {
    fields->Fail("stop", fmt::format("has {} texts; there may be at most {}",
                                     decoding->stop_size(), kMostStops));
  }
  ReadSampling(fields, decoding);
  ReadPenalties(fields, decoding);
  ReadKinOptions(fields, ignored, request, options);
  ReadStream(fields, options);
  // The name is vLLM's.
  if (const auto salt = fields->String("cache_salt")) {
    request->set_cache_salt(*salt);
  }
  // They are about logs, bills, stores and caches of others: metadata of the
  // request, who sent it, which machines answer it, and hints for caches. What
  // one request leaves in the prefix cache here changes no other's answer.
  fields->Ignore(kOpenAiShape, ignored,
                 {"metadata", "user", "service_tier", "safety_identifier",
                  "prompt_cache_key", "prompt_cache_retention", "cache_prompt",
                  "id_slot", "store", "prediction"});
}

std::vector<v1::Input> ReadPrompts(JsonFields* fields,
                                   v1::GenerateRequest* request,
                                   CompletionOptions* options) {
  ReadLimit(fields, {"max_tokens", "n_predict"}, request, options);
  if (const auto count = fields->Integer("logprobs", 0, kMostTopLogprobs)) {
    SetLogprobs(static_cast<int>(*count), request, options);
  }
  fields->Only("best_of", {1, request->decoding().num_hypotheses()},
               "is not supported; ask for as many with n and choose");
  options->echo = fields->Bool("echo").value_or(false);
  if (options->prompt_only && !options->echo) {
    fields->Fail(options->max_tokens_name,
                 "must be at least 1, or 0 with echo");
  }
  if (options->echo && options->logprobs) {
    request->set_prompt_logprobs(
        static_cast<uint32_t>(std::max(1, options->top_logprobs)));
    if (options->stream || request->truncate()) {
      fields->Fail("echo",
                   "with logprobs needs the whole prompt and answer at once; "
                   "leave stream and truncate out");
    }
  }
  ReadPromptLogprobs(fields, request, options);
  fields->Only("suffix", {""}, kNotSupported);
  fields->Only("add_special_tokens", {true},
               "must be true: a model reads a text with its special tokens; "
               "send ids to leave them out");

  std::vector<v1::Input> inputs;
  fields->Require("prompt");
  const json* const prompt = fields->Value("prompt");
  if (prompt == nullptr) return inputs;
  if (!prompt->is_array() || IsIds(*prompt)) {
    ReadPrompt(*prompt, "prompt", fields, &inputs.emplace_back());
    return inputs;
  }
  if (prompt->empty()) fields->Fail("prompt", "must have at least one prompt");
  for (size_t i = 0; i < prompt->size() && fields->ok(); ++i) {
    ReadPrompt((*prompt)[i], fmt::format("prompt[{}]", i), fields,
               &inputs.emplace_back());
  }
  return inputs;
}

absl::StatusOr<ModelHandle> ReadOpenAiChat(
    std::string_view body, const AllowedModels& models, IgnoredMembers* ignored,
    v1::GenerateRequest* request, CompletionOptions* options,
    const std::function<void(JsonFields*)>& read_more) {
  TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
  JsonFields fields(value, "");
  WrittenBody written(body);
  ReadCompletionOptions(&fields, ignored, request, options);
  ReadOpenAiConstraint(&written, &fields, request->mutable_decoding(), options);
  ReadChat(&written, &fields, ignored, request, options);
  if (read_more) read_more(&fields);
  TRIVIUM_RETURN_IF_ERROR(fields.Done());
  TRIVIUM_ASSIGN_OR_RETURN(ModelHandle model, FindChatModel(models, request));
  TRIVIUM_RETURN_IF_ERROR(CheckTakesChats(*model, kOpenAiChats));
  TRIVIUM_RETURN_IF_ERROR(SetOpenAiThinking(options->thinking, *model->model,
                                            request->mutable_chat()));
  return model;
}

}  // namespace trivium
