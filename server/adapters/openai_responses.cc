#include "server/adapters/openai_responses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_logprobs.h"
#include "server/adapters/openai_responses_output.h"
#include "server/adapters/openai_responses_request.h"
#include "server/adapters/openai_thinking.h"
#include "server/calls/allowed_models.h"
#include "server/calls/convert/model_calls.h"
#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

class ResponsesCodec : public Codec {
 public:
  ResponsesCodec(const Environment& environment,
                 std::shared_ptr<const Grant> grant)
      : id_(NewResponsesId("resp")),
        clock_(*environment.clock),
        created_(absl::ToUnixSeconds(clock_.Now())),
        models_(environment.models, std::move(grant)),
        limits_(environment.limits),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_RETURN_IF_ERROR(ReadResponsesRequest(body, ignored_, &asked_));
    TRIVIUM_RETURN_IF_ERROR(FindModel());
    TRIVIUM_RETURN_IF_ERROR(SetVariables(asked_.request.mutable_chat()));
    if (asked_.options.logprobs) {
      logprobs_.emplace(model_->model->tokenizer(),
                        asked_.options.top_logprobs);
    }
    output_.emplace(streams() ? &events_ : nullptr,
                    logprobs_ ? &*logprobs_ : nullptr);
    *static_cast<v1::GenerateRequest*>(message) = std::move(asked_.request);
    return absl::OkStatus();
  }

  bool streams() const override { return asked_.options.stream; }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    Begin();
    kept_bytes_ += static_cast<int64_t>(response.ByteSizeLong());
    if (Fits()) output_->Add(response.piece());
    if (response.has_done()) {
      reason_ = response.done().finish_reason();
      usage_ = response.done().usage();
    }
    return events_.Take();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told = WithLimit(ending);
    if (!told.status.ok()) return OpenAiFailure(told, asked_.field_names());
    return {.body = ToJsonText(Ended())};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    Begin();
    const Ending told = WithLimit(ending);
    if (!told.status.ok()) {
      output_->Finish(/*complete=*/false);
      ordered_json response = Head("failed");
      response["output"] = output_->items();
      response["error"] = ErrorOf(told);
      events_.Add("response.failed", {{"response", response}});
    } else {
      const ordered_json response = Ended();
      events_.Add(complete() ? "response.completed" : "response.incomplete",
                  {{"response", response}});
    }
    return events_.Take();
  }

 private:
  // A request that names no model goes to the first that takes chats.
  absl::Status FindModel() {
    v1::GenerateRequest& request = asked_.request;
    if (!models_.Names(request.model())) {
      for (const ModelHandle& model : models_.List()) {
        if (!TakesChats(*model->model)) continue;
        request.set_model(model->name);
        break;
      }
    }
    TRIVIUM_ASSIGN_OR_RETURN(model_,
                             models_.FindFor(Rpc::kGenerate, request.model()));
    if (model_->model->info().design == Design::kDecoder) {
      return absl::OkStatus();
    }
    return InvalidField("input", fmt::format("is for models that chat, and "
                                             "'{}' does not; /v1/models lists "
                                             "the others",
                                             model_->name));
  }

  // Tells the chat's template how much to think.
  absl::Status SetVariables(v1::Chat* chat) const {
    const bool shows_tools = !chat->tools().empty() &&
                             chat->tool_choice() != v1::Chat::TOOL_CHOICE_NONE;
    const auto found =
        model_->model->chat_templates().Find(/*name=*/"", shows_tools);
    // The call says why there is no template.
    if (!found.ok()) return absl::OkStatus();
    return SetOpenAiThinking({.effort = asked_.effort, .enabled = std::nullopt},
                             **found, chat);
  }

  // Events before the first item.
  void Begin() {
    if (!streams() || std::exchange(begun_, true)) return;
    const ordered_json response = Head("in_progress");
    events_.Add("response.created", {{"response", response}});
    events_.Add("response.in_progress", {{"response", response}});
  }

  // Responses are kept for the end, of streams, too.
  bool Fits() const { return kept_bytes_ <= limits_.max_response_bytes; }
  Ending WithLimit(const Ending& ending) const {
    if (!ending.status.ok() || Fits()) return ending;
    return {absl::InvalidArgumentError(fmt::format(
                "the answer has more than the {} bytes that the server keeps "
                "for its end; ask for fewer tokens or top_logprobs",
                limits_.max_response_bytes)),
            ending.request_id};
  }

  bool complete() const {
    return reason_ != v1::FINISH_REASON_LENGTH &&
           reason_ != v1::FINISH_REASON_REPETITION;
  }

  // The response, with what a response has whose answer did not come yet.
  ordered_json Head(const char* status) const {
    ordered_json response = {{"id", id_},
                             {"object", "response"},
                             {"created_at", created_},
                             {"status", status},
                             {"background", false},
                             {"completed_at", nullptr},
                             {"error", nullptr},
                             {"incomplete_details", nullptr},
                             {"model", model_->name},
                             {"output", ordered_json::array()},
                             {"previous_response_id", nullptr},
                             {"store", false},
                             {"truncation", "disabled"},
                             {"usage", nullptr}};
    response.update(asked_.echo);
    return response;
  }

  // The whole response to a call that ended well.
  ordered_json Ended() {
    output_->Finish(complete());
    ordered_json response = Head(complete() ? "completed" : "incomplete");
    if (complete()) {
      response["completed_at"] = absl::ToUnixSeconds(clock_.Now());
    } else {
      response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    }
    response["output"] = output_->items();
    response["usage"] = ResponsesUsage();
    return response;
  }

  ordered_json ResponsesUsage() const {
    return {{"input_tokens", usage_.prompt_tokens()},
            {"input_tokens_details",
             {{"cached_tokens", usage_.cached_tokens()},
              // No tokens are charged for what later requests reuse.
              {"cache_write_tokens", 0}}},
            {"output_tokens", usage_.new_tokens()},
            {"output_tokens_details", {{"reasoning_tokens", ThoughtTokens()}}},
            {"total_tokens", usage_.prompt_tokens() + usage_.new_tokens()}};
  }

  uint32_t ThoughtTokens() const {
    const Tokenizer* const tokenizer = model_->model->tokenizer();
    if (output_->thoughts().empty() || tokenizer == nullptr) return 0;
    EncodeOptions options;
    options.add_special_tokens = false;
    const auto encoding = tokenizer->Encode(output_->thoughts(), options);
    if (!encoding.ok()) return 0;
    return std::min(static_cast<uint32_t>(encoding->ids.size()),
                    usage_.new_tokens());
  }

  // The error of a stream, whose response has already begun.
  ordered_json ErrorOf(const Ending& ending) const {
    const int status = HttpStatusOf(ending.status.code());
    return {{"code", status == 429  ? "rate_limit_exceeded"
                     : status < 500 ? "invalid_prompt"
                                    : "server_error"},
            {"message", MessageOf(ending, asked_.field_names())}};
  }

  const std::string id_;
  const Clock& clock_;
  const int64_t created_;
  const AllowedModels models_;
  const RequestLimits& limits_;
  IgnoredMembers* const ignored_;
  ResponsesRequest asked_;  // without the request, after Read
  ModelHandle model_;
  ResponsesEvents events_;
  std::optional<OpenAiLogprobs> logprobs_;  // unset: nobody asked for them
  std::optional<ResponsesOutput> output_;   // set by Read
  bool begun_ = false;
  int64_t kept_bytes_ = 0;
  v1::FinishReason reason_ = v1::FINISH_REASON_UNSPECIFIED;
  v1::Usage usage_;
};

}  // namespace

std::unique_ptr<Codec> NewOpenAiResponsesCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<ResponsesCodec>(environment, head.grant);
}

}  // namespace trivium
