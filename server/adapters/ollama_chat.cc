// /api/chat and /api/generate. The responses of a stream become lines as they
// come. Without a stream, they are joined and sent at the end.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/adapters/answers.h"
#include "server/adapters/json_body.h"
#include "server/adapters/ollama.h"
#include "server/adapters/ollama_request.h"
#include "server/adapters/openai_logprobs.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

constexpr FieldName kChatNames[] = {
    {"chat.variables", "think"},
    {"chat.answer_parts", "tools"},
    {"chat.", ""},
    {"chat", "messages"},
    {"decoding.top_logprobs", "top_logprobs"},
    {"decoding.max_new_tokens", "options.num_predict"},
    {"decoding.repetition_penalty", "options.repeat_penalty"},
    {"decoding.constraint.json_schema", "format"},
    {"decoding.constraint.json_object", "format"},
    {"decoding.constraint", "format"},
    {"decoding.", "options."},
};
// The chat of one message that a prompt becomes is the prompt.
constexpr FieldName kGenerateNames[] = {
    {"input.text", "prompt"},
    {"input", "prompt"},
    {"chat.variables", "think"},
    {"chat", "prompt"},
    {"decoding.top_logprobs", "top_logprobs"},
    {"decoding.max_new_tokens", "options.num_predict"},
    {"decoding.repetition_penalty", "options.repeat_penalty"},
    {"decoding.constraint.json_schema", "format"},
    {"decoding.constraint.json_object", "format"},
    {"decoding.constraint", "format"},
    {"decoding.", "options."},
};

std::span<const FieldName> OllamaNames(OllamaPath path) {
  return path == OllamaPath::kChat ? std::span<const FieldName>(kChatNames)
                                   : std::span<const FieldName>(kGenerateNames);
}

// The parts of an answer, or of a piece of one.
struct OllamaAnswer {
  std::string text, thinking;
  std::vector<ordered_json> calls;  // whole ones
  std::vector<v1::TokenLogprobs> logprobs;

  bool empty() const {
    return text.empty() && thinking.empty() && calls.empty() &&
           logprobs.empty();
  }
  void Append(OllamaAnswer more) {
    text += more.text;
    thinking += more.thinking;
    calls.insert(calls.end(), more.calls.begin(), more.calls.end());
    logprobs.insert(logprobs.end(), more.logprobs.begin(), more.logprobs.end());
  }
};

// Collects tool calls, which come in pieces and are sent whole. A call that the
// end of the text cuts is never whole: its arguments are no object.
class OllamaCalls {
 public:
  // Appends the call to `calls` if this piece is its last.
  void Add(const v1::GenerateResponse::ToolCallPiece& piece,
           std::vector<ordered_json>* calls) {
    Call& call = open_[piece.index()];
    call.name += piece.name();
    call.id += piece.id();
    call.arguments += piece.arguments();
    if (!piece.complete()) return;
    ordered_json out = ordered_json::object();
    if (!call.id.empty()) out["id"] = call.id;
    ordered_json arguments = ordered_json::parse(call.arguments, nullptr,
                                                 /*allow_exceptions=*/false);
    if (!arguments.is_object()) arguments = ordered_json::object();
    out["function"] = {{"index", piece.index()},
                       {"name", call.name},
                       {"arguments", std::move(arguments)}};
    calls->push_back(std::move(out));
    open_.erase(piece.index());
  }

 private:
  struct Call {
    std::string id, name, arguments;
  };
  std::map<uint32_t, Call> open_;
};

// Writes the lines of both paths.
class OllamaLines {
 public:
  OllamaLines(OllamaPath path, const Clock* clock)
      : path_(path), clock_(clock) {}

  // Without "done". `logprobs` null: nobody asked for them.
  ordered_json Line(const std::string& model, const OllamaAnswer& answer,
                    const OpenAiLogprobs* logprobs) const {
    ordered_json line = {
        {"model", model},
        {"created_at", OllamaTime(clock_->WallTime(clock_->Now()))}};
    if (path_ == OllamaPath::kChat) {
      ordered_json message = {{"role", "assistant"}, {"content", answer.text}};
      if (!answer.thinking.empty()) message["thinking"] = answer.thinking;
      if (!answer.calls.empty()) message["tool_calls"] = answer.calls;
      line["message"] = std::move(message);
    } else {
      line["response"] = answer.text;
      if (!answer.thinking.empty()) line["thinking"] = answer.thinking;
    }
    if (logprobs != nullptr && !answer.logprobs.empty()) {
      line["logprobs"] = logprobs->OfChat(answer.logprobs)["content"];
    }
    return line;
  }

 private:
  const OllamaPath path_;
  const Clock* const clock_;
};

class OllamaTextCodec final : public OllamaCodec {
 public:
  OllamaTextCodec(const Environment& environment,
                  std::shared_ptr<const Grant> grant, OllamaPath path)
      : path_(path),
        lines_(path, environment.clock),
        models_(environment.models, std::move(grant)),
        kept_(environment.limits.max_response_bytes),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(request_,
                             ReadOllamaRequest(body, path_, models_, ignored_));
    *static_cast<v1::GenerateRequest*>(message) = request_.generate;
    if (request_.logprobs) {
      logprobs_.emplace(request_.model->model->tokenizer(),
                        request_.top_logprobs);
    }
    return absl::OkStatus();
  }

  bool streams() const override { return request_.stream; }
  std::string stream_type() const override { return "application/x-ndjson"; }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    OllamaAnswer now;
    now.text = response.piece().text();
    now.thinking = response.piece().reasoning();
    for (const auto& piece : response.piece().tool_calls()) {
      calls_.Add(piece, &now.calls);
    }
    now.logprobs.assign(response.piece().logprobs().begin(),
                        response.piece().logprobs().end());
    if (request_.stream) {
      if (response.has_done()) return LastLine(now, response.done()) + "\n";
      if (now.empty()) return "";
      ordered_json line = LineOf(now);
      line["done"] = false;
      return ToJsonText(line) + "\n";
    }
    if (!kept_.Add(response)) return "";
    whole_.Append(std::move(now));
    if (response.has_done()) done_ = response.done();
    return "";
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told = kept_.Check(
        ending, "leave stream out, or ask for fewer tokens or alternatives");
    if (!told.status.ok()) return OllamaFailure(told, OllamaNames(path_));
    return {.body = LastLine(whole_, done_)};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    std::string lines = last != nullptr ? Write(*last) : "";
    if (!ending.status.ok()) {
      lines += OllamaError(ending, OllamaNames(path_)) + "\n";
    }
    return lines;
  }

 private:
  ordered_json LineOf(const OllamaAnswer& answer) const {
    return lines_.Line(request_.model->name, answer,
                       logprobs_ ? &*logprobs_ : nullptr);
  }

  // The times are nanoseconds. eval_duration is the time from the model's first
  // step to its last, the reading of the prompt included, which is not timed by
  // itself; so there is no prompt_eval_duration, nor a load_duration, since the
  // model was loaded before.
  std::string LastLine(const OllamaAnswer& answer,
                       const v1::GenerateResponse::Done& done) const {
    ordered_json line = LineOf(answer);
    line["done"] = true;
    line["done_reason"] = IsCut(done.finish_reason()) ? "length" : "stop";
    line["total_duration"] = OllamaNanoseconds(done.timings().total());
    line["prompt_eval_count"] = done.usage().prompt_tokens();
    line["eval_count"] = done.usage().new_tokens();
    line["eval_duration"] = OllamaNanoseconds(done.timings().inference());
    return ToJsonText(line);
  }

  const OllamaPath path_;
  const OllamaLines lines_;
  const AllowedModels models_;
  KeptResponses kept_;  // in whole_
  IgnoredMembers* const ignored_;
  OllamaRequest request_;
  std::optional<OpenAiLogprobs> logprobs_;  // unset: nobody asked for them
  OllamaCalls calls_;
  OllamaAnswer whole_;  // without a stream
  v1::GenerateResponse::Done done_;
};

// A request that asks for nothing but the model.
class OllamaLoadCodec final : public OllamaCodec {
 public:
  OllamaLoadCodec(const Environment& environment,
                  std::shared_ptr<const Grant> grant, OllamaPath path)
      : path_(path),
        lines_(path, environment.clock),
        models_(environment.models, std::move(grant)),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const OllamaRequest request,
                             ReadOllamaRequest(body, path_, models_, ignored_));
    static_cast<v1::GetModelRequest*>(message)->set_name(request.model->name);
    return absl::OkStatus();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OllamaFailure(ending, OllamaNames(path_));
    ordered_json line = lines_.Line(static_cast<const v1::Model*>(last)->name(),
                                    OllamaAnswer(), nullptr);
    line["done"] = true;
    line["done_reason"] = "load";
    return {.body = ToJsonText(line)};
  }

 private:
  const OllamaPath path_;
  const OllamaLines lines_;
  const AllowedModels models_;
  IgnoredMembers* const ignored_;
};

}  // namespace

std::unique_ptr<Codec> NewOllamaChatCodec(const Environment& environment,
                                          const RequestHead& head) {
  return std::make_unique<OllamaTextCodec>(environment, head.grant,
                                           OllamaPath::kChat);
}

std::unique_ptr<Codec> NewOllamaGenerateCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<OllamaTextCodec>(environment, head.grant,
                                           OllamaPath::kGenerate);
}

std::unique_ptr<Codec> NewOllamaChatLoadCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<OllamaLoadCodec>(environment, head.grant,
                                           OllamaPath::kChat);
}

std::unique_ptr<Codec> NewOllamaGenerateLoadCodec(
    const Environment& environment, const RequestHead& head) {
  return std::make_unique<OllamaLoadCodec>(environment, head.grant,
                                           OllamaPath::kGenerate);
}

}  // namespace trivium
