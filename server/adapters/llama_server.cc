#include "server/adapters/llama_server.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/adapters/answers.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_constraint.h"
#include "server/adapters/openai_request.h"
#include "server/adapters/written_body.h"
#include "server/calls/allowed_models.h"
#include "server/observability/version.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

class LlamaCompletionCodec final : public Codec {
 public:
  LlamaCompletionCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant),
        kept_(environment.limits.max_response_bytes),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::GenerateRequest*>(message);
    JsonFields fields(value, "");
    ReadCompletionOptions(&fields, ignored_, request, &options_);
    WrittenBody written(body);
    ReadOpenAiConstraint(&written, &fields, request->mutable_decoding(),
                         &options_);
    ReadLimit(&fields, {"n_predict", "max_tokens"}, request, &options_);
    if (options_.prompt_only) {
      fields.Fail(options_.max_tokens_name, "must be at least 1, or -1");
    }
    if (request->decoding().num_hypotheses() > 1) {
      fields.Fail("n", "must be 1; /v1/completions gives several answers");
    }
    ReadPrompt(&fields, request->mutable_input());
    fields.Only("return_tokens", {false}, kNotSupported);
    if (options_.chunk_usage) RefuseChunkUsage(&fields);
    request->mutable_decoding()->set_sampling_defaults(
        v1::SAMPLING_DEFAULTS_CHAT);
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_ASSIGN_OR_RETURN(model_,
                             models_.FindFor(Rpc::kGenerate, request->model()));
    return absl::OkStatus();
  }

  bool streams() const override { return options_.stream; }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    if (response.has_done()) done_ = response.done();
    const std::string& text = response.piece().text();
    if (options_.stream) return text.empty() ? "" : Event(Part(text));
    if (kept_.Add(response)) text_ += text;
    return "";
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told = kept_.Check(ending, "set stream, or ask for less text");
    if (!told.status.ok()) return OpenAiFailure(told, Names());
    return {.body = ToJsonText(Last(text_))};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    std::string events = last != nullptr ? Write(*last) : "";
    return events +
           Event(ending.status.ok() ? Last("") : OpenAiError(ending, Names()));
  }

 private:
  static void ReadPrompt(JsonFields* fields, v1::Input* input) {
    fields->Require("prompt");
    const json* const prompt = fields->Value("prompt");
    if (prompt == nullptr) return;
    if (prompt->is_string()) {
      input->set_text(prompt->get<std::string>());
    } else if (IsIds(*prompt)) {
      AddIds(*prompt, input->mutable_ids()->mutable_ids());
    } else {
      fields->Fail("prompt",
                   "must be a text or a list of ids; /v1/completions takes "
                   "several prompts");
    }
  }

  std::vector<FieldName> Names() const {
    std::vector<FieldName> names = {{"input.text", "prompt"},
                                    {"input", "prompt"}};
    AddOptionNames(options_, &names);
    return names;
  }

  static std::string Event(const ordered_json& data) {
    return ServerSentEvent("", ToJsonText(data));
  }

  static ordered_json Part(const std::string& text) {
    return {{"index", 0}, {"content", text}, {"stop", false}};
  }

  ordered_json Last(const std::string& text) const {
    const v1::FinishReason reason = done_.finish_reason();
    const v1::Usage& usage = done_.usage();
    ordered_json answer = Part(text);
    answer["stop"] = true;
    answer.update({{"model", model_->name},
                   {"tokens_predicted", usage.new_tokens()},
                   {"tokens_evaluated", usage.prompt_tokens()},
                   {"tokens_cached", usage.cached_tokens()},
                   {"truncated", done_.truncated_tokens() > 0},
                   {"stopping_word", done_.stop()},
                   {"stop_type", IsCut(reason)                      ? "limit"
                                 : reason == v1::FINISH_REASON_STOP ? "word"
                                                                    : "eos"}});
    return answer;
  }

  const AllowedModels models_;
  KeptResponses kept_;  // in text_
  IgnoredMembers* const ignored_;
  ModelHandle model_;
  CompletionOptions options_;
  std::string text_;  // without a stream
  v1::GenerateResponse::Done done_;
};

class LlamaPropsCodec final : public Codec {
 public:
  LlamaPropsCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant) {
    for (const auto& [name, value] : head.query()) {
      if (name == "model") name_ = value;
    }
  }

  absl::Status Read(std::string_view, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(model_, models_.FindFor(Rpc::kGenerate, name_));
    static_cast<v1::GetModelRequest*>(message)->set_name(model_->name);
    return absl::OkStatus();
  }

  // There are no slots: requests share the model's memory as they come.
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OpenAiFailure(ending);
    const auto& model = *static_cast<const v1::Model*>(last);
    const auto chat =
        model_->model->chat_templates().Find(/*name=*/"", /*has_tools=*/false);
    return {.body = ToJsonText(ordered_json{
                {"default_generation_settings",
                 {{"n_ctx", model.limits().max_target_tokens()}}},
                {"model_alias", model.name()},
                {"model_path", model.name()},
                {"chat_template", chat.ok() ? (*chat)->source() : ""},
                {"modalities", {{"vision", false}, {"audio", false}}},
                {"build_info", std::string("trivium-") + kVersion}})};
  }

 private:
  const AllowedModels models_;
  std::string name_;  // empty: the first
  ModelHandle model_;
};

}  // namespace

std::unique_ptr<Codec> NewLlamaPropsCodec(const Environment& environment,
                                          const RequestHead& head) {
  return std::make_unique<LlamaPropsCodec>(environment, head);
}

std::unique_ptr<Codec> NewLlamaCompletionCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<LlamaCompletionCodec>(environment, head);
}

}  // namespace trivium
