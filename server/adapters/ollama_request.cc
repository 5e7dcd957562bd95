#include "server/adapters/ollama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/ollama.h"
#include "server/adapters/openai_kin.h"
#include "server/adapters/written_body.h"
#include "server/calls/convert/model_calls.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kOllama[] = "Ollama";
constexpr char kNoOllamaImages[] =
    "is not supported: the models here read texts only; leave it out";
constexpr char kNoOllamaHistory[] =
    "is not supported: a chat that is too long is an error; leave it out";
constexpr int kMostOllamaAlternatives = 20;

constexpr ChatShape kOllamaChats = {
    .field = "messages",
    .prompt = "send it as prompt to /api/generate",
    .models = "/api/tags"};

class OllamaReader {
 public:
  OllamaReader(std::string_view body, OllamaPath path,
               const AllowedModels& models, IgnoredMembers* ignored)
      : written_(body), path_(path), models_(models), ignored_(ignored) {}

  absl::Status Read(const json& body) {
    JsonFields fields(body, "");
    model_name_ = OllamaModelName(models_, fields.String("model").value_or(""));
    request_.stream = fields.Bool("stream").value_or(true);
    truncate_ = fields.Bool("truncate");
    // Ollama forgets the beginning of the prompt when the answer no longer
    // fits.
    fields.Only("shift", {false},
                "is not supported: an answer ends where the model's limit is; "
                "leave it out");
    ReadOptions(&fields);
    ReadFormat(&fields);
    ReadThink(&fields);
    ReadLogprobs(&fields);
    // Models stay until they are unloaded by name.
    fields.Ignore(kOllama, ignored_, {"keep_alive"});
    if (path_ == OllamaPath::kChat) {
      ReadMessages(&fields);
      ReadTools(&fields);
    } else {
      ReadPrompt(&fields);
    }
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_RETURN_IF_ERROR(FindModel());
    return path_ == OllamaPath::kChat || PromptIsChat() ? MakeChat()
                                                        : MakePrompt();
  }

  OllamaRequest Take() { return std::move(request_); }

 private:
  v1::DecodingOptions* decoding() {
    return request_.generate.mutable_decoding();
  }
  v1::Chat* chat() { return request_.generate.mutable_chat(); }

  void ReadOptions(JsonFields* fields) {
    const json* const value = fields->Value("options");
    const json none = json::object();
    JsonFields options(value == nullptr ? none : *value, "options.");
    // -1 and -2 are Ollama's "without end" and "as long as there is room"; it
    // takes 0 for -1.
    if (const auto most = options.Integer("num_predict", -2, INT_MAX);
        most && *most > 0) {
      decoding()->set_max_new_tokens(static_cast<uint32_t>(*most));
    }
    for (std::string& stop : options.Strings("stop")) {
      decoding()->add_stop(std::move(stop));
    }
    ReadSampling(&options);
    ReadPenalties(&options);
    // They say how Ollama's engine uses the machine. A model here always has
    // its whole context.
    options.Ignore(
        kOllama, ignored_,
        {"num_ctx", "num_keep", "num_batch", "num_gpu", "main_gpu", "low_vram",
         "f16_kv", "logits_all", "vocab_only", "use_mmap", "use_mlock",
         "embedding_only", "num_thread", "numa", "num_gqa", "draft_num_predict",
         "mirostat_tau", "mirostat_eta"});
    fields->Keep(options.Done());
  }

  void ReadSampling(JsonFields* options) {
    const auto temperature = options->Number("temperature");
    if (temperature) {
      decoding()->set_temperature(*temperature);
    } else {
      decoding()->set_sample(true);
    }
    if (const auto p = options->Number("top_p")) {
      // Clients that mean "greedy" send 0 for both.
      if (*p != 0 || temperature != 0) decoding()->set_top_p(*p);
    }
    if (const auto p = options->Number("min_p")) decoding()->set_min_p(*p);
    if (const auto p = options->Number("typical_p")) {
      decoding()->set_typical_p(*p);
    }
    // -1 and 0: no limit.
    if (const auto k = options->Integer("top_k", -1, UINT32_MAX)) {
      decoding()->set_top_k(static_cast<uint32_t>(std::max<int64_t>(*k, 0)));
    }
    // -1: the server chooses.
    if (const auto seed = options->Integer("seed", INT64_MIN, INT64_MAX);
        seed && *seed != -1) {
      decoding()->set_seed(static_cast<uint64_t>(*seed));
    }
    options->Only("tfs_z", {1}, "is not supported; leave it out");
    options->Only("mirostat", {0}, "is not supported; leave it out");
  }

  void ReadPenalties(JsonFields* options) {
    const auto repeat = options->Number("repeat_penalty");
    const auto presence = options->Number("presence_penalty");
    const auto frequency = options->Number("frequency_penalty");
    // The last tokens that penalties look at: -1 all, 0 none.
    const auto last = options->Integer("repeat_last_n", -1, INT_MAX);
    options->Only("penalize_newline", {true},
                  "is not supported: penalties are for all tokens; leave it "
                  "out");
    if (repeat) decoding()->set_repetition_penalty(*repeat);
    if (presence) decoding()->set_presence_penalty(*presence);
    if (frequency) decoding()->set_frequency_penalty(*frequency);
    if (last) SetPenaltyWindow(static_cast<int>(*last), decoding());
  }

  void ReadFormat(JsonFields* fields) {
    const json* const format = fields->Value("format");
    if (format == nullptr || *format == "") return;
    v1::Constraint* const constraint = decoding()->mutable_constraint();
    if (format->is_object()) {
      constraint->set_json_schema(ToJsonText(written_.At("/format")));
    } else if (*format == "json") {
      constraint->set_json_object(true);
    } else {
      fields->Fail("format", "must be \"json\" or a JSON schema");
    }
  }

  void ReadThink(JsonFields* fields) {
    const json* const think = fields->Value("think");
    if (think == nullptr) return;
    if (think->is_boolean()) {
      thinking_.on = think->get<bool>();
      thinking_.required = *thinking_.on;
    } else if (*think == "low" || *think == "medium" || *think == "high") {
      thinking_.effort = think->get<std::string>();
    } else {
      fields->Fail("think", "must be true, false, low, medium or high");
    }
  }

  void ReadLogprobs(JsonFields* fields) {
    request_.logprobs = fields->Bool("logprobs").value_or(false);
    request_.top_logprobs = static_cast<int>(
        fields->Integer("top_logprobs", 0, kMostOllamaAlternatives)
            .value_or(0));
    if (!request_.logprobs) {
      if (request_.top_logprobs > 0) {
        fields->Fail("top_logprobs", "needs logprobs: set it to true");
      }
      return;
    }
    // A token's own log-probability comes with its alternatives.
    decoding()->set_top_logprobs(
        static_cast<uint32_t>(std::max(1, request_.top_logprobs)));
  }

  void ReadMessages(JsonFields* fields) {
    const json* const messages = fields->Value("messages");
    if (messages == nullptr) return;
    if (!messages->is_array()) {
      return fields->Fail("messages", "must be a list of messages");
    }
    for (size_t i = 0; i < messages->size() && fields->ok(); ++i) {
      ReadOneMessage((*messages)[i], i, fields, chat()->add_messages());
    }
  }

  void ReadOneMessage(const json& value, size_t i, JsonFields* fields,
                      v1::Chat::Message* message) {
    const std::string path = fmt::format("messages[{}].", i);
    JsonFields in(value, path);
    in.Require("role");
    const std::string role = in.String("role").value_or("");
    if (role != "system" && role != "user" && role != "assistant" &&
        role != "tool") {
      in.Fail("role", "must be system, user, assistant or tool");
    }
    message->set_role(role);
    if (const auto content = in.String("content")) {
      message->set_content(*content);
    }
    if (const auto thoughts = in.String("thinking")) {
      message->set_reasoning_content(*thoughts);
    }
    if (const auto name = in.String("tool_name")) message->set_name(*name);
    if (const auto id = in.String("tool_call_id")) {
      message->set_tool_call_id(*id);
    }
    in.Only("images", {json::array()}, kNoOllamaImages);
    if (const json* const calls = in.Value("tool_calls")) {
      ReadCalls(*calls, i, &in, message);
    }
    // An answer of thoughts alone, sent back.
    if (role == "assistant" && !message->has_content() &&
        message->tool_calls().empty()) {
      message->set_content("");
    }
    fields->Keep(in.Done());
  }

  // The tool calls of message `i`. Their arguments are objects, not texts.
  void ReadCalls(const json& calls, size_t i, JsonFields* message_fields,
                 v1::Chat::Message* message) {
    if (!calls.is_array()) {
      return message_fields->Fail("tool_calls", "must be a list");
    }
    for (size_t k = 0; k < calls.size(); ++k) {
      const std::string path =
          fmt::format("messages[{}].tool_calls[{}].", i, k);
      JsonFields call(calls[k], path);
      v1::Chat::ToolCall* const out = message->add_tool_calls();
      if (const auto id = call.String("id")) out->set_id(*id);
      call.Only("type", {"function"}, "must be function");
      call.Require("function");
      if (const json* const value = call.Value("function")) {
        JsonFields function(*value, path + "function.");
        out->set_name(function.String("name").value_or(""));
        if (out->name().empty()) {
          function.Fail("name", "is missing or empty; name the function");
        }
        const json* const arguments = function.Value("arguments");
        if (arguments != nullptr && !arguments->is_object()) {
          function.Fail("arguments", "must be an object");
        } else if (arguments != nullptr) {
          out->set_arguments(ToJsonText(written_.At(fmt::format(
              "/messages/{}/tool_calls/{}/function/arguments", i, k))));
        }
        // The call's place in the answer.
        function.Ignore(kOllama, ignored_, {"index"});
        call.Keep(function.Done());
      }
      message_fields->Keep(call.Done());
    }
  }

  void ReadTools(JsonFields* fields) {
    const json* const tools = fields->Value("tools");
    if (tools == nullptr) return;
    if (!tools->is_array()) return fields->Fail("tools", "must be a list");
    for (size_t i = 0; i < tools->size(); ++i) {
      if (!(*tools)[i].is_object()) {
        return fields->Fail(fmt::format("tools[{}]", i), "must be an object");
      }
      chat()->add_tools(ToJsonText(written_.At(fmt::format("/tools/{}", i))));
    }
  }

  void ReadPrompt(JsonFields* fields) {
    prompt_ = fields->String("prompt").value_or("");
    system_ = fields->String("system").value_or("");
    raw_ = fields->Bool("raw").value_or(false);
    fields->Only("suffix", {""},
                 "is not supported: chat templates have no place for a text "
                 "behind the gap; send the whole prompt, with the model's own "
                 "marks for filling in, with raw");
    fields->Only("template", {""},
                 "is not supported: the model's own chat template makes the "
                 "prompt; leave it out, or send the whole prompt with raw");
    fields->Only("context", {json::array()},
                 "is not supported; send the conversation to /api/chat");
    fields->Only("images", {json::array()}, kNoOllamaImages);
  }

  bool PromptIsChat() const {
    return !raw_ && TakesChats(*request_.model->model);
  }

  absl::Status FindModel() {
    request_.generate.set_model(model_name_);
    TRIVIUM_ASSIGN_OR_RETURN(request_.model,
                             raw_ ? models_.FindFor(Rpc::kGenerate, model_name_)
                                  : FindChatModel(models_, &request_.generate));
    request_.generate.set_model(request_.model->name);
    if (path_ == OllamaPath::kGenerate) return absl::OkStatus();
    return CheckTakesChats(*request_.model, kOllamaChats);
  }

  absl::Status MakeChat() {
    if (truncate_.value_or(false)) {
      return InvalidField("truncate", kNoOllamaHistory);
    }
    if (path_ == OllamaPath::kGenerate && !prompt_.empty()) {
      AddText("system", system_);
      AddText("user", prompt_);
    }
    chat()->set_answer_parts(true);
    decoding()->set_sampling_defaults(v1::SAMPLING_DEFAULTS_CHAT);
    return SetThinking(thinking_, "think", *request_.model->model, chat());
  }
  void AddText(const char* role, const std::string& text) {
    if (text.empty()) return;
    v1::Chat::Message* const message = chat()->add_messages();
    message->set_role(role);
    message->set_content(text);
  }

  absl::Status MakePrompt() {
    const std::string why =
        raw_ ? "is for prompts that the model's chat template makes; leave it "
               "or raw out"
             : fmt::format(
                   "is for models with a chat template, and '{}' has "
                   "none; leave it out",
                   request_.model->name);
    if (!system_.empty()) return InvalidField("system", why);
    if (thinking_.on.value_or(false) || thinking_.effort) {
      return InvalidField("think", why);
    }
    request_.generate.mutable_input()->set_text(prompt_);
    if (truncate_) request_.generate.set_truncate(*truncate_);
    return absl::OkStatus();
  }

  WrittenBody written_;
  const OllamaPath path_;
  const AllowedModels& models_;
  IgnoredMembers* const ignored_;
  std::string model_name_;
  std::string prompt_, system_;  // of /api/generate
  bool raw_ = false;
  std::optional<bool> truncate_;
  ChatThinking thinking_;  // `think`
  OllamaRequest request_;
};

}  // namespace

absl::StatusOr<OllamaRequest> ReadOllamaRequest(std::string_view body,
                                                OllamaPath path,
                                                const AllowedModels& models,
                                                IgnoredMembers* ignored) {
  TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
  OllamaReader reader(body, path, models, ignored);
  TRIVIUM_RETURN_IF_ERROR(reader.Read(value));
  return reader.Take();
}

}  // namespace trivium
