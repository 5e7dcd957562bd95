#include "server/adapters/openai_responses.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/status.h"
#include "internal/completions.pb.h"
#include "server/adapters/answers.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_body.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_logprobs.h"
#include "server/adapters/openai_responses_output.h"
#include "server/adapters/openai_responses_request.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

constexpr ChatShape kResponses = {
    .field = "input",
    .prompt = "send it as prompt to /v1/completions, or to /translate",
    .models = "/v1/models"};

// The prompt, the model, and errors, which the two paths share.
class ResponsesFrame : public Codec {
 public:
  ResponsesFrame(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant),
        ignored_(environment.ignored_members) {}

 protected:
  absl::Status ReadBody(std::string_view body) {
    TRIVIUM_RETURN_IF_ERROR(ReadResponsesRequest(body, ignored_, &asked_));
    TRIVIUM_ASSIGN_OR_RETURN(model_, FindChatModel(models_, &asked_.request));
    TRIVIUM_RETURN_IF_ERROR(CheckTakesChats(*model_, kResponses));
    return SetThinking({.effort = asked_.effort}, "reasoning.effort",
                       *model_->model, asked_.request.mutable_chat());
  }

  HttpAnswer Failure(const Ending& ending) const {
    return OpenAiFailure(ending, asked_.field_names());
  }

  // Both after ReadBody.
  ResponsesRequest asked_;
  ModelHandle model_;

 private:
  const AllowedModels models_;
  IgnoredMembers* const ignored_;
};

class ResponsesCodec : public ResponsesFrame {
 public:
  ResponsesCodec(const Environment& environment, const RequestHead& head)
      : ResponsesFrame(environment, head),
        id_(NewAnswerId("resp_")),
        clock_(*environment.clock),
        created_(absl::ToUnixSeconds(clock_.WallTime(clock_.Now()))),
        kept_(environment.limits.max_response_bytes) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_RETURN_IF_ERROR(ReadBody(body));
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
    if (kept_.Add(response)) output_->Add(response.piece());
    if (response.has_done()) {
      reason_ = response.done().finish_reason();
      usage_ = response.done().usage();
    }
    return events_.Take();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told = WithLimit(ending);
    if (!told.status.ok()) return Failure(told);
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
  // Events before the first item.
  void Begin() {
    if (!streams() || std::exchange(begun_, true)) return;
    const ordered_json response = Head("in_progress");
    events_.Add("response.created", {{"response", response}});
    events_.Add("response.in_progress", {{"response", response}});
  }

  // Streams are kept, too, since their last events tell the answer whole.
  Ending WithLimit(const Ending& ending) const {
    return kept_.Check(ending, "ask for fewer tokens or top_logprobs");
  }

  bool complete() const { return !IsCut(reason_); }

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
      response["completed_at"] =
          absl::ToUnixSeconds(clock_.WallTime(clock_.Now()));
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
            {"output_tokens_details",
             {{"reasoning_tokens", usage_.reasoning_tokens()}}},
            {"total_tokens", usage_.prompt_tokens() + usage_.new_tokens()}};
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
  KeptResponses kept_;
  ResponsesEvents events_;
  std::optional<OpenAiLogprobs> logprobs_;  // unset: nobody asked for them
  std::optional<ResponsesOutput> output_;   // set by Read
  bool begun_ = false;
  v1::FinishReason reason_ = v1::FINISH_REASON_UNSPECIFIED;
  v1::Usage usage_;
};

class ResponsesTokensCodec : public ResponsesFrame {
 public:
  using ResponsesFrame::ResponsesFrame;

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_RETURN_IF_ERROR(ReadBody(body));
    *static_cast<v1::GenerateRequest*>(message) = std::move(asked_.request);
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return Failure(ending);
    const auto& prompt = *static_cast<const internal::Prompt*>(last);
    return {.body =
                ToJsonText(ordered_json{{"object", "response.input_tokens"},
                                        {"input_tokens", prompt.ids_size()}})};
  }
};

}  // namespace

std::unique_ptr<Codec> NewOpenAiResponsesCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<ResponsesCodec>(environment, head);
}

std::unique_ptr<Codec> NewOpenAiResponsesTokensCodec(
    const Environment& environment, const RequestHead& head) {
  return std::make_unique<ResponsesTokensCodec>(environment, head);
}

}  // namespace trivium
