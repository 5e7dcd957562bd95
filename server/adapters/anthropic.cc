// Messages, counts of their tokens, and errors. The stop of a message that
// ended with a call of a tool is the call, whatever else ended the text.
#include "server/adapters/anthropic.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "internal/completions.pb.h"
#include "server/adapters/answers.h"
#include "server/adapters/anthropic_answer.h"
#include "server/adapters/anthropic_request.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr ChatShape kAnthropicChats = {.field = "messages",
                                       .prompt = "send it to /translate",
                                       .models = "/v1/models"};

constexpr FieldName kAnthropicNames[] = {
    {"chat.variables", "thinking"},
    {"chat.tool_name", "tool_choice.name"},
    {"chat.parallel_tool_calls", "tool_choice.disable_parallel_tool_use"},
    {"chat.continue_final_message", "messages"},
    {"chat.answer_parts", "tools"},
    {"chat.max_thinking_tokens", "thinking.budget_tokens"},
    {"chat.", ""},
    {"chat", "messages"},
    {"decoding.max_new_tokens", "max_tokens"},
    {"decoding.stop", "stop_sequences"},
    {"decoding.constraint.json_schema", "output_config.format.schema"},
    {"decoding.constraint", "output_config.format"},
    {"decoding.", ""},
};

// https://docs.anthropic.com/en/api/errors
const char* TypeOfStatus(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

ordered_json AnthropicError(const Ending& ending, int status) {
  std::string message = MessageOf(ending, kAnthropicNames);
  absl::StrReplaceAll({{"]: function.parameters: ", "].input_schema: "}},
                      &message);
  ordered_json error = {
      {"type", "error"},
      {"error", {{"type", TypeOfStatus(status)}, {"message", message}}}};
  if (FieldOf(ending.status) == "thread") {
    // The client's loop with tools goes on without a thread then.
    error["error"]["details"] = {
        {"error_code", "thread_unsupported_request"},
        {"unsupported", ordered_json::array({"thread"})}};
  }
  if (!ending.request_id.empty()) error["request_id"] = ending.request_id;
  return error;
}

// The prompt, the model, and errors, which the two paths share.
class AnthropicCodec : public Codec {
 public:
  AnthropicCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant),
        ignored_(environment.ignored_members) {}

  HttpAnswer Refuse(const Ending& ending, int status) override {
    HttpAnswer answer = {.status = status,
                         .body = ToJsonText(AnthropicError(ending, status))};
    if (!ending.request_id.empty()) {
      answer.headers.emplace_back("request-id", ending.request_id);
    }
    return answer;
  }

 protected:
  // Reads a body. `read` reads the members that are not of the prompt.
  template <typename ReadMore>
  absl::Status ReadBody(std::string_view body, v1::GenerateRequest* request,
                        const ReadMore& read) {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    const AnthropicThinking asked =
        ReadAnthropicPrompt(body, &fields, ignored_, request);
    omits_thoughts_ = asked.omitted;
    read(&fields);
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_ASSIGN_OR_RETURN(model_, FindChatModel(models_, request));
    TRIVIUM_RETURN_IF_ERROR(CheckTakesChats(*model_, kAnthropicChats));
    return SetThinking(asked.thinking, "thinking", *model_->model,
                       request->mutable_chat());
  }

  HttpAnswer Failure(const Ending& ending) {
    return Refuse(ending, StatusOf(ending.status.code()));
  }

  const AllowedModels models_;
  IgnoredMembers* const ignored_;
  // After ReadBody.
  ModelHandle model_;
  bool omits_thoughts_ = false;
};

class AnthropicMessagesCodec : public AnthropicCodec {
 public:
  AnthropicMessagesCodec(const Environment& environment,
                         const RequestHead& head)
      : AnthropicCodec(environment, head),
        kept_(environment.limits.max_response_bytes),
        id_(NewAnswerId("msg_")) {}

  absl::Status Read(std::string_view body, Message* message) override {
    auto* const request = static_cast<v1::GenerateRequest*>(message);
    TRIVIUM_RETURN_IF_ERROR(ReadBody(body, request, [&](JsonFields* fields) {
      stream_ = ReadAnthropicOptions(fields, ignored_, request);
    }));
    answer_.emplace(stream_, omits_thoughts_);
    return absl::OkStatus();
  }

  bool streams() const override { return stream_; }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    std::string events = Start();
    if (response.has_done()) done_ = response.done();
    if (!stream_ && !kept_.Add(response)) return "";
    if (response.has_piece()) events += answer_->Add(response.piece());
    return events;
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told =
        kept_.Check(ending, "set stream, or ask for fewer tokens");
    if (!told.status.ok()) return Failure(told);
    answer_->End();
    return {.body = ToJsonText(WholeMessage()),
            .headers = {{"request-id", ending.request_id}}};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    std::string events = last != nullptr ? Write(*last) : "";
    if (!ending.status.ok()) {
      return events + AnthropicEvent(AnthropicError(
                          ending, StatusOf(ending.status.code())));
    }
    events += Start() + answer_->End();
    events += AnthropicEvent(
        {{"type", "message_delta"},
         {"delta",
          {{"stop_reason", StopReason()}, {"stop_sequence", StopSequence()}}},
         {"usage", Usage()}});
    return events + AnthropicEvent({{"type", "message_stop"}});
  }

 private:
  // Begins a stream, if it has not begun.
  std::string Start() {
    if (!stream_ || std::exchange(started_, true)) return "";
    return AnthropicEvent(
        {{"type", "message_start"}, {"message", WholeMessage()}});
  }

  // Returns the message as far as it has come.
  ordered_json WholeMessage() const {
    ordered_json message = {{"id", id_},
                            {"type", "message"},
                            {"role", "assistant"},
                            {"model", model_->name},
                            {"content", answer_->blocks()},
                            {"stop_reason", nullptr},
                            {"stop_sequence", nullptr},
                            {"usage", Usage()}};
    if (!stream_) {
      message["stop_reason"] = StopReason();
      message["stop_sequence"] = StopSequence();
    }
    return message;
  }

  std::string StopReason() const {
    const v1::FinishReason reason = done_.finish_reason();
    if (IsCut(reason)) return "max_tokens";
    if (answer_->calls()) return "tool_use";
    return reason == v1::FINISH_REASON_STOP ? "stop_sequence" : "end_turn";
  }
  ordered_json StopSequence() const {
    if (StopReason() != "stop_sequence" || !done_.has_stop()) return nullptr;
    return done_.stop();
  }

  // Zero until the call tells it, in its last response.
  ordered_json Usage() const {
    const v1::Usage& usage = done_.usage();
    return {{"input_tokens", usage.prompt_tokens() - usage.cached_tokens()},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", usage.cached_tokens()},
            {"output_tokens", usage.new_tokens()}};
  }

  KeptResponses kept_;  // in answer_, without a stream
  const std::string id_;
  bool stream_ = false;
  std::optional<AnthropicAnswer> answer_;  // after Read
  v1::GenerateResponse::Done done_;        // empty until it comes
  bool started_ = false;                   // the stream
};

class AnthropicCountTokensCodec : public AnthropicCodec {
 public:
  using AnthropicCodec::AnthropicCodec;

  absl::Status Read(std::string_view body, Message* message) override {
    return ReadBody(body, static_cast<v1::GenerateRequest*>(message),
                    [](JsonFields*) {});
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return Failure(ending);
    const auto& prompt = *static_cast<const internal::Prompt*>(last);
    return {
        .body = ToJsonText(ordered_json{{"input_tokens", prompt.ids_size()}}),
        .headers = {{"request-id", ending.request_id}}};
  }
};

ordered_json AnthropicModelOf(const v1::Model& model) {
  // The time at which a folder was made is not known.
  return {{"type", "model"},
          {"id", model.name()},
          {"display_name", model.name()},
          {"created_at", "1970-01-01T00:00:00Z"}};
}

// All models at once, whatever page is asked for.
class AnthropicModelsCodec : public AnthropicCodec {
 public:
  using AnthropicCodec::AnthropicCodec;

  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return Failure(ending);
    ordered_json models = ordered_json::array();
    for (const v1::Model& model :
         static_cast<const v1::ListModelsResponse*>(last)->models()) {
      models.push_back(AnthropicModelOf(model));
    }
    const bool any = !models.empty();
    return {.body = ToJsonText(ordered_json{
                {"data", models},
                {"has_more", false},
                {"first_id", any ? models.front()["id"] : ordered_json()},
                {"last_id", any ? models.back()["id"] : ordered_json()}})};
  }
};

class AnthropicModelCodec : public AnthropicCodec {
 public:
  AnthropicModelCodec(const Environment& environment, const RequestHead& head)
      : AnthropicCodec(environment, head),
        name_(head.path.substr(std::string_view("/v1/models/").size())) {}

  absl::Status Read(std::string_view, Message* request) override {
    static_cast<v1::GetModelRequest*>(request)->set_name(name_);
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return Failure(ending);
    return {.body = ToJsonText(
                AnthropicModelOf(*static_cast<const v1::Model*>(last)))};
  }

 private:
  const std::string name_;
};

}  // namespace

std::unique_ptr<Codec> NewAnthropicModelsCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<AnthropicModelsCodec>(environment, head);
}

std::unique_ptr<Codec> NewAnthropicModelCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<AnthropicModelCodec>(environment, head);
}

std::unique_ptr<Codec> NewAnthropicMessagesCodec(const Environment& environment,
                                                 const RequestHead& head) {
  return std::make_unique<AnthropicMessagesCodec>(environment, head);
}

std::unique_ptr<Codec> NewAnthropicCountTokensCodec(
    const Environment& environment, const RequestHead& head) {
  return std::make_unique<AnthropicCountTokensCodec>(environment, head);
}

}  // namespace trivium
