#include "server/adapters/openai_request.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <climits>
#include <string>

#include "absl/strings/numbers.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kNotSupported[] = "is not supported; leave it out";
constexpr int kMostTopLogprobs = 20;
constexpr size_t kMostStops = 4;
constexpr float kMostTemperature = 2;
constexpr char kShape[] = "OpenAI";

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
}

void ReadPenalties(JsonFields* fields, v1::DecodingOptions* decoding) {
  if (const auto penalty = fields->Number("presence_penalty")) {
    decoding->set_presence_penalty(*penalty);
  }
  if (const auto penalty = fields->Number("frequency_penalty")) {
    decoding->set_frequency_penalty(*penalty);
  }
  if (const auto penalty = fields->Number("repetition_penalty")) {
    decoding->set_repetition_penalty(*penalty);
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

void ReadPrompt(const json& prompt, const std::string& field,
                JsonFields* fields, v1::Input* input) {
  if (prompt.is_string()) return input->set_text(prompt.get<std::string>());
  if (!IsIds(prompt)) {
    return fields->Fail(field, "must be a text or a list of ids");
  }
  AddIds(prompt, input->mutable_ids()->mutable_ids());
}

// Reads a message's content: a text, or parts that are texts.
void ReadContent(const json& content, const std::string& field,
                 IgnoredMembers* ignored, JsonFields* fields,
                 v1::Chat::Message* message) {
  if (content.is_string()) {
    return message->set_content(content.get<std::string>());
  }
  if (!content.is_array()) {
    return fields->Fail(field, "must be a text or a list of parts");
  }
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    JsonFields part(content[i], fmt::format("{}[{}].", field, i));
    const auto type = part.String("type").value_or("");
    part.Require("text");
    text += part.String("text").value_or("");
    // A hint for the caches of others, and where a text is from.
    part.Ignore(kShape, ignored, {"cache_control", "annotations"});
    if ((type != "text" && type != "input_text") || !part.Done().ok()) {
      return fields->Fail(fmt::format("{}[{}]", field, i),
                          "is not a text; the models here read texts only");
    }
  }
  message->set_content(text);
}

void ReadToolCalls(const json& calls, const std::string& field,
                   JsonFields* fields, v1::Chat::Message* message) {
  if (!calls.is_array()) return fields->Fail(field, "must be a list");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", field, i);
    JsonFields call(calls[i], path + ".");
    v1::Chat::ToolCall* const out = message->add_tool_calls();
    if (const auto id = call.String("id")) out->set_id(*id);
    call.Only("type", {"function"}, "must be function");
    call.Require("function");
    if (const json* const value = call.Value("function")) {
      JsonFields function(*value, path + ".function.");
      function.Require("name");
      out->set_name(function.String("name").value_or(""));
      out->set_arguments(function.String("arguments").value_or(""));
      call.Keep(function.Done());
    }
    fields->Keep(call.Done());
  }
}

// Newer clients call a system message "developer".
absl::Status ReadRole(const std::string& role, const std::string& field,
                      v1::Chat::Message* message) {
  for (const char* const known : {"system", "user", "assistant", "tool"}) {
    if (role == known) message->set_role(role);
  }
  if (role == "developer") message->set_role("system");
  if (!message->role().empty()) return absl::OkStatus();
  return InvalidField(
      field, fmt::format("is '{}'; it must be system, developer, user, "
                         "assistant or tool",
                         Shorten(role)));
}

void ReadOpenAiMessage(const json& value, int i, IgnoredMembers* ignored,
                       JsonFields* fields, v1::Chat::Message* message) {
  const std::string path = fmt::format("messages[{}]", i);
  JsonFields in(value, path + ".");
  in.Require("role");
  if (const auto role = in.String("role")) {
    in.Keep(ReadRole(*role, path + ".role", message));
  }
  if (const auto name = in.String("name")) message->set_name(*name);
  if (const auto id = in.String("tool_call_id")) message->set_tool_call_id(*id);
  if (const auto thought = in.String("reasoning_content")) {
    message->set_reasoning_content(*thought);
  }
  if (const json* const content = in.Value("content")) {
    ReadContent(*content, path + ".content", ignored, fields, message);
  }
  if (const json* const calls = in.Value("tool_calls")) {
    ReadToolCalls(*calls, path + ".tool_calls", fields, message);
  }
  // A refusal that another server gave instead of an answer.
  const auto refusal = in.String("refusal");
  if (refusal && !message->has_content()) message->set_content(*refusal);
  // An answer without text, sent back: `"content": null`.
  if (message->role() == "assistant" && !message->has_content() &&
      message->tool_calls().empty() && value.contains("content")) {
    message->set_content("");
  }
  // Clients send these back with an answer; no template reads them.
  in.Ignore(kShape, ignored,
            {"annotations", "id", "status", "timestamp", "audio"});
  fields->Keep(in.Done());
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

}  // namespace

void ReadCompletionOptions(JsonFields* fields, IgnoredMembers* ignored,
                           v1::GenerateRequest* request,
                           CompletionOptions* options) {
  request->set_model(fields->String("model").value_or(""));
  v1::DecodingOptions* const decoding = request->mutable_decoding();
  decoding->set_num_hypotheses(
      static_cast<uint32_t>(fields->Integer("n", 1, 128).value_or(1)));
  // -1, as in llama-server: as many as there is room for.
  if (const auto most = fields->Integer("max_tokens", -1, INT_MAX);
      most && *most != -1) {
    options->prompt_only = *most == 0;
    decoding->set_max_new_tokens(
        static_cast<uint32_t>(std::max<int64_t>(*most, 1)));
  }
  for (std::string& stop : fields->Strings("stop")) {
    decoding->add_stop(std::move(stop));
  }
  if (static_cast<size_t>(decoding->stop_size()) > kMostStops) {
    fields->Fail("stop", fmt::format("has {} texts; there may be at most {}",
                                     decoding->stop_size(), kMostStops));
  }
  ReadSampling(fields, decoding);
  ReadPenalties(fields, decoding);
  ReadStream(fields, options);
  // The name is vLLM's.
  if (const auto salt = fields->String("cache_salt")) {
    request->set_cache_salt(*salt);
  }
  fields->Value("user");  // for logs, and ours have no names of users
  // They are about logs, bills, stores and caches of others: metadata of the
  // request, who sent it, which machines answer it, and hints for caches. What
  // one request leaves in the prefix cache here changes no other's answer.
  fields->Ignore(kShape, ignored,
                 {"metadata", "service_tier", "safety_identifier",
                  "prompt_cache_key", "prompt_cache_retention", "cache_prompt",
                  "id_slot", "store", "prediction"});
}

std::vector<v1::Input> ReadPrompts(JsonFields* fields,
                                   v1::GenerateRequest* request,
                                   CompletionOptions* options) {
  if (const auto count = fields->Integer("logprobs", 0, kMostTopLogprobs)) {
    SetLogprobs(static_cast<int>(*count), request, options);
  }
  fields->Only("best_of", {1, request->decoding().num_hypotheses()},
               "is not supported; ask for as many with n and choose");
  options->echo = fields->Bool("echo").value_or(false);
  if (options->prompt_only && !options->echo) {
    fields->Fail("max_tokens", "must be at least 1, or 0 with echo");
  }
  if (const auto truncate = fields->Bool("truncate")) {
    request->set_truncate(*truncate);
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
  fields->Only("suffix", {""}, kNotSupported);

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

void ReadChat(JsonFields* fields, IgnoredMembers* ignored,
              v1::GenerateRequest* request, CompletionOptions* options) {
  if (options->prompt_only) fields->Fail("max_tokens", "must be at least 1");
  const json* const messages = fields->Value("messages");
  if (messages == nullptr) return fields->Require("messages");
  if (!messages->is_array() || messages->empty()) {
    return fields->Fail("messages", "must be a list of at least one message");
  }
  for (size_t i = 0; i < messages->size() && fields->ok(); ++i) {
    ReadOpenAiMessage((*messages)[i], static_cast<int>(i), ignored, fields,
                      request->mutable_chat()->add_messages());
  }
  ReadTemplateOptions(fields, request->mutable_chat());
  request->mutable_decoding()->set_sampling_defaults(
      v1::SAMPLING_DEFAULTS_CHAT);
  if (const auto most = fields->Integer("max_completion_tokens", 1, INT_MAX)) {
    if (request->decoding().has_max_new_tokens()) {
      fields->Fail("max_completion_tokens",
                   "is there beside max_tokens; send one of them");
    }
    request->mutable_decoding()->set_max_new_tokens(
        static_cast<uint32_t>(*most));
    options->max_tokens_name = "max_completion_tokens";
  }
  const auto alternatives =
      fields->Integer("top_logprobs", 0, kMostTopLogprobs);
  if (fields->Bool("logprobs").value_or(false)) {
    SetLogprobs(static_cast<int>(alternatives.value_or(0)), request, options);
  } else if (alternatives) {
    fields->Fail("top_logprobs", "needs logprobs: set it to true");
  }
  fields->Only("tools", {json::array()}, kNotSupported);
  fields->Only("tool_choice", {"none", "auto"}, kNotSupported);
  fields->Only("parallel_tool_calls", {true, false}, kNotSupported);
  fields->Only("modalities", {json::array({"text"})}, kNotSupported);
}

}  // namespace trivium
