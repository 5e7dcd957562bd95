// Completions of texts and of chats. The responses of a stream become events as
// they come. Without a stream, they are kept by choice and sent at the end.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/random_bits.h"
#include "base/status.h"
#include "internal/completions.pb.h"
#include "server/adapters/json_body.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_request.h"
#include "server/calls/allowed_models.h"
#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr FieldName kNames[] = {
    {"input.text", "prompt"},
    {"input", "prompt"},
    {"chat.", ""},
    {"decoding.max_new_tokens", "max_tokens"},
    {"decoding.", ""},
};

std::string NewId(const char* kind) {
  return fmt::format("{}-{:016x}{:016x}", kind, RandomBits(), RandomBits());
}

const char* ReasonOf(v1::FinishReason reason) {
  return reason == v1::FINISH_REASON_LENGTH ? "length" : "stop";
}

ordered_json UsageOf(const v1::Usage& usage) {
  return {
      {"prompt_tokens", usage.prompt_tokens()},
      {"completion_tokens", usage.new_tokens()},
      {"total_tokens", usage.prompt_tokens() + usage.new_tokens()},
      {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens()}}}};
}

std::string Event(const ordered_json& data) {
  return "data: " + ToJsonText(data) + "\n\n";
}

// A choice of the answer, as far as it has come.
struct Choice {
  std::string text;
  std::vector<v1::TokenLogprobs> logprobs;
  v1::FinishReason reason = v1::FINISH_REASON_UNSPECIFIED;
};

class CompletionCodec : public Codec {
 public:
  CompletionCodec(const Environment& environment,
                  std::shared_ptr<const Grant> grant, bool chat)
      : chat_(chat),
        id_(NewId(chat ? "chatcmpl" : "cmpl")),
        created_(absl::ToUnixSeconds(environment.clock->Now())),
        models_(environment.models, std::move(grant)),
        limits_(environment.limits) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    v1::GenerateRequest request;
    ReadCompletionOptions(&fields, &request, &options_);
    size_t prompts = 1;
    if (chat_) {
      ReadChat(&fields, &request, &options_);
      *static_cast<v1::GenerateRequest*>(message) = request;
    } else {
      const auto inputs = ReadPrompts(&fields, &request, &options_);
      prompts = inputs.size();
      TRIVIUM_RETURN_IF_ERROR(fields.Done());
      TRIVIUM_RETURN_IF_ERROR(CheckPrompts(prompts, request));
      auto* const all = static_cast<internal::Completions*>(message);
      for (const v1::Input& input : inputs) {
        v1::GenerateRequest* const one = all->add_requests();
        *one = request;
        *one->mutable_input() = input;
      }
    }
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_ASSIGN_OR_RETURN(const ModelHandle model,
                             models_.FindFor(Rpc::kGenerate, request.model()));
    model_ = model->name;
    choices_.resize(prompts * request.decoding().num_hypotheses());
    return absl::OkStatus();
  }

  bool streams() const override { return options_.stream; }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    Choice now;
    now.text = response.piece().text();
    now.logprobs.assign(response.piece().logprobs().begin(),
                        response.piece().logprobs().end());
    if (response.has_done()) {
      now.reason = response.done().finish_reason();
      AddUsage(response.done().usage());
    }
    if (response.index() >= choices_.size()) return "";
    if (options_.stream) return ChunkOf(response.index(), now);
    kept_bytes_ += static_cast<int64_t>(response.ByteSizeLong());
    if (kept_bytes_ > limits_.max_response_bytes) return "";
    Choice& choice = choices_[response.index()];
    choice.text += now.text;
    if (response.has_done()) choice.reason = now.reason;
    choice.logprobs.insert(choice.logprobs.end(), now.logprobs.begin(),
                           now.logprobs.end());
    return "";
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    if (!ending.status.ok()) return OpenAiFailure(ending, kNames);
    if (kept_bytes_ > limits_.max_response_bytes) {
      return OpenAiFailure(
          {absl::InvalidArgumentError(fmt::format(
               "the answer has more than the {} bytes that the server sends at "
               "once; set stream, or ask for fewer tokens or alternatives",
               limits_.max_response_bytes)),
           ending.request_id});
    }
    ordered_json choices = ordered_json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      choices.push_back(WholeChoice(i));
    }
    ordered_json answer = Head(chat_ ? "chat.completion" : "text_completion");
    answer["choices"] = choices;
    answer["usage"] = UsageOf(usage_);
    return {.body = ToJsonText(answer)};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    std::string events = last != nullptr ? Write(*last) : "";
    if (!ending.status.ok()) return events + Event(OpenAiError(ending, kNames));
    if (options_.include_usage) {
      ordered_json chunk = Head(ChunkName());
      chunk["choices"] = ordered_json::array();
      chunk["usage"] = UsageOf(usage_);
      events += Event(chunk);
    }
    return events + "data: [DONE]\n\n";
  }

 private:
  // Each prompt's request gets a copy of `options`.
  absl::Status CheckPrompts(size_t count,
                            const v1::GenerateRequest& options) const {
    if (count > static_cast<size_t>(limits_.max_inputs)) {
      return InvalidField(
          "prompt", fmt::format("has {} prompts; the server takes at most {}",
                                count, limits_.max_inputs));
    }
    const auto most = static_cast<size_t>(limits_.max_request_bytes);
    if (count > 1 && options.ByteSizeLong() > most / count) {
      return InvalidField(
          "prompt", fmt::format("has {} prompts, which is too many for "
                                "options of so many bytes; send fewer at a "
                                "time",
                                count));
    }
    return absl::OkStatus();
  }

  // Adds the usage of one prompt, which is in its last `done`.
  void AddUsage(const v1::Usage& usage) {
    usage_.set_prompt_tokens(usage_.prompt_tokens() + usage.prompt_tokens());
    usage_.set_new_tokens(usage_.new_tokens() + usage.new_tokens());
    usage_.set_cached_tokens(usage_.cached_tokens() + usage.cached_tokens());
  }

  const char* ChunkName() const {
    return chat_ ? "chat.completion.chunk" : "text_completion";
  }
  ordered_json Head(const char* object) const {
    return {{"id", id_},
            {"object", object},
            {"created", created_},
            {"model", model_}};
  }

  ordered_json WholeChoice(size_t index) const {
    const Choice& choice = choices_[index];
    ordered_json out = {{"index", index}};
    if (chat_) {
      out["message"] = {{"role", "assistant"},
                        {"content", choice.text},
                        {"refusal", nullptr}};
    } else {
      out["text"] = choice.text;
    }
    out["logprobs"] = LogprobsOf(choice);
    out["finish_reason"] = ReasonOf(choice.reason);
    return out;
  }

  std::string ChunkOf(size_t index, const Choice& now) {
    ordered_json out = {{"index", index}};
    if (chat_) {
      ordered_json delta = ordered_json::object();
      if (started_.size() <= index) started_.resize(index + 1);
      if (!started_[index]) delta["role"] = "assistant";
      started_[index] = true;
      if (!now.text.empty()) delta["content"] = now.text;
      out["delta"] = delta;
    } else {
      out["text"] = now.text;
    }
    out["logprobs"] = LogprobsOf(now);
    out["finish_reason"] = nullptr;
    if (now.reason != v1::FINISH_REASON_UNSPECIFIED) {
      out["finish_reason"] = ReasonOf(now.reason);
    }
    ordered_json chunk = Head(ChunkName());
    chunk["choices"] = ordered_json::array({out});
    if (options_.include_usage) chunk["usage"] = nullptr;
    return Event(chunk);
  }

  ordered_json LogprobsOf(const Choice& choice) const {
    if (!options_.logprobs) return nullptr;
    return chat_ ? ChatLogprobs(choice) : TextLogprobs(choice);
  }

  ordered_json ChatLogprobs(const Choice& choice) const {
    const auto entry = [](const v1::TokenLogprob& token) {
      return ordered_json{{"token", token.piece()},
                          {"logprob", token.logprob()},
                          {"bytes", nullptr}};
    };
    ordered_json content = ordered_json::array();
    for (const v1::TokenLogprobs& token : choice.logprobs) {
      ordered_json one = entry(token.token());
      one["top_logprobs"] = ordered_json::array();
      for (int k = 0; k < Shown(token); ++k) {
        one["top_logprobs"].push_back(entry(token.alternatives(k)));
      }
      content.push_back(one);
    }
    return {{"content", content}, {"refusal", nullptr}};
  }

  // Offsets in pieces are not those in the text, so none are sent.
  ordered_json TextLogprobs(const Choice& choice) const {
    ordered_json out = {{"tokens", ordered_json::array()},
                        {"token_logprobs", ordered_json::array()},
                        {"top_logprobs", nullptr},
                        {"text_offset", nullptr}};
    if (options_.top_logprobs > 0) {
      out["top_logprobs"] = ordered_json::array();
    }
    for (const v1::TokenLogprobs& token : choice.logprobs) {
      out["tokens"].push_back(token.token().piece());
      out["token_logprobs"].push_back(token.token().logprob());
      if (options_.top_logprobs == 0) continue;
      ordered_json best = ordered_json::object();
      for (int k = 0; k < Shown(token); ++k) {
        best[token.alternatives(k).piece()] = token.alternatives(k).logprob();
      }
      out["top_logprobs"].push_back(best);
    }
    return out;
  }

  int Shown(const v1::TokenLogprobs& token) const {
    return std::min(options_.top_logprobs, token.alternatives_size());
  }

  const bool chat_;
  const std::string id_;
  const int64_t created_;
  const AllowedModels models_;
  const RequestLimits& limits_;
  std::string model_;
  CompletionOptions options_;
  std::vector<Choice> choices_;
  std::vector<bool> started_;  // choices whose role was sent in a chunk
  int64_t kept_bytes_ = 0;     // of the responses in choices_
  v1::Usage usage_;
};

}  // namespace

std::unique_ptr<Codec> NewOpenAiCompletionsCodec(const Environment& environment,
                                                 const RequestHead& head) {
  return std::make_unique<CompletionCodec>(environment, head.grant,
                                           /*chat=*/false);
}

std::unique_ptr<Codec> NewOpenAiChatCodec(const Environment& environment,
                                          const RequestHead& head) {
  return std::make_unique<CompletionCodec>(environment, head.grant,
                                           /*chat=*/true);
}

}  // namespace trivium
