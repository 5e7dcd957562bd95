// Completions of texts and of chats. The responses of a stream become events as
// they come. Without a stream, they are kept by choice and sent at the end.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status.h"
#include "internal/completions.pb.h"
#include "server/adapters/answers.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_body.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_answer.h"
#include "server/adapters/openai_constraint.h"
#include "server/adapters/openai_logprobs.h"
#include "server/adapters/openai_request.h"
#include "server/adapters/written_body.h"
#include "server/calls/allowed_models.h"
#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

const char* ReasonOf(v1::FinishReason reason, bool calls) {
  if (IsCut(reason)) return "length";
  return calls ? "tool_calls" : "stop";
}

ordered_json UsageOf(const v1::Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens()},
          {"completion_tokens", usage.new_tokens()},
          {"total_tokens", usage.prompt_tokens() + usage.new_tokens()},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens()}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", usage.reasoning_tokens()}}}};
}

std::string Event(const ordered_json& data) {
  return ServerSentEvent("", ToJsonText(data));
}

// Null if the text did not end by a stop string or id.
ordered_json StopOf(const v1::GenerateResponse::Done& done) {
  if (done.has_stop()) return done.stop();
  return done.has_stop_id() ? ordered_json(done.stop_id()) : ordered_json();
}

// A choice of the answer, as far as it has come.
struct Choice {
  std::string text;     // of a completion of a text
  OpenAiAnswer answer;  // of a chat
  std::vector<v1::TokenLogprobs> logprobs;
  v1::FinishReason reason = v1::FINISH_REASON_UNSPECIFIED;
  ordered_json stop;  // StopOf
};

// A prompt that is a part of its answers (`echo`).
struct Echo {
  std::string text;
  std::optional<int32_t> first;  // token, with logprobs
};

// The state of a choice: the place of its next logprobs in its text, and
// whether it has begun.
struct Progress {
  OpenAiLogprobs::Place place;
  bool started = false;
};

class CompletionCodec : public Codec {
 public:
  CompletionCodec(const Environment& environment,
                  std::shared_ptr<const Grant> grant, bool chat)
      : chat_(chat),
        id_(NewAnswerId(chat ? "chatcmpl-" : "cmpl-")),
        created_(absl::ToUnixSeconds(
            environment.clock->WallTime(environment.clock->Now()))),
        models_(environment.models, std::move(grant)),
        limits_(environment.limits),
        kept_(limits_.max_response_bytes),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    v1::GenerateRequest request;
    std::vector<v1::Input> prompts;
    if (chat_) {
      TRIVIUM_ASSIGN_OR_RETURN(
          model_, ReadOpenAiChat(body, models_, ignored_, &request, &options_));
    } else {
      TRIVIUM_ASSIGN_OR_RETURN(prompts, ReadTexts(body, &request));
    }
    request.set_piece_usage(options_.chunk_usage);
    per_prompt_ = request.decoding().num_hypotheses();
    if (chat_) {
      choices_.resize(per_prompt_);
      prompt_logprobs_.resize(1);
      *static_cast<v1::GenerateRequest*>(message) = request;
    } else {
      TRIVIUM_RETURN_IF_ERROR(CheckPrompts(prompts.size(), request));
      if (options_.echo) TRIVIUM_RETURN_IF_ERROR(ReadEchoes(&prompts));
      choices_.resize(prompts.size() * per_prompt_);
      prompt_logprobs_.resize(prompts.size());
      auto* const all = static_cast<internal::Completions*>(message);
      for (const v1::Input& input : prompts) {
        v1::GenerateRequest* const one = all->add_requests();
        *one = request;
        *one->mutable_input() = input;
      }
    }
    BeginLogprobs();
    return absl::OkStatus();
  }

  bool streams() const override { return options_.stream; }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    if (response.has_done()) AddUsage(response.done().usage());
    if (response.index() >= choices_.size()) return "";
    if (options_.stream) return ChunkOf(response);
    if (!kept_.Add(response)) return "";
    if (response.has_prompt()) {
      auto& kept = prompt_logprobs_.at(response.index() / per_prompt_);
      const auto& more = response.prompt().logprobs();
      kept.insert(kept.end(), more.begin(), more.end());
    }
    Choice& choice = choices_[response.index()];
    if (response.has_done()) {
      choice.reason = ReasonIn(response);
      choice.stop = StopOf(response.done());
    }
    if (options_.prompt_only) return "";
    const v1::GenerateResponse::Piece& piece = response.piece();
    if (chat_) {
      choice.answer.Add(piece);
    } else {
      choice.text += piece.text();
    }
    choice.logprobs.insert(choice.logprobs.end(), piece.logprobs().begin(),
                           piece.logprobs().end());
    return "";
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told = kept_.Check(
        ending, "set stream, or ask for fewer tokens or alternatives");
    if (!told.status.ok()) {
      return OpenAiFailure(told, CompletionNames(options_));
    }
    ordered_json choices = ordered_json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      choices.push_back(WholeChoice(i));
    }
    ordered_json answer = Head(chat_ ? "chat.completion" : "text_completion");
    answer["choices"] = choices;
    answer["usage"] = UsageOf(usage_);
    if (options_.prompt_logprobs && chat_) {
      answer["prompt_logprobs"] = PromptLogprobs(0);
    }
    return {.body = ToJsonText(answer)};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    std::string events = last != nullptr ? Write(*last) : "";
    if (!ending.status.ok()) {
      return events + Event(OpenAiError(ending, CompletionNames(options_)));
    }
    if (options_.include_usage) {
      ordered_json chunk = Head(ChunkName());
      chunk["choices"] = ordered_json::array();
      chunk["usage"] = UsageOf(usage_);
      events += Event(chunk);
    }
    return events + "data: [DONE]\n\n";
  }

 private:
  // Returns the prompts of a completion of texts, and finds its model.
  absl::StatusOr<std::vector<v1::Input>> ReadTexts(
      std::string_view body, v1::GenerateRequest* request) {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    WrittenBody written(body);
    ReadCompletionOptions(&fields, ignored_, request, &options_);
    ReadOpenAiConstraint(&written, &fields, request->mutable_decoding(),
                         &options_);
    std::vector<v1::Input> prompts = ReadPrompts(&fields, request, &options_);
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_ASSIGN_OR_RETURN(model_,
                             models_.FindFor(Rpc::kGenerate, request->model()));
    if (!options_.echo || model_->model->info().design == Design::kDecoder) {
      return prompts;
    }
    return InvalidField("echo",
                        fmt::format("is for models that continue a prompt, and "
                                    "'{}' has a source instead; leave it out",
                                    model_->name));
  }

  // Reads the prompts' texts. With logprobs, prompts become ids, as the call
  // would make them, so that their first tokens are known, too.
  absl::Status ReadEchoes(std::vector<v1::Input>* prompts) {
    const Tokenizer* const tokenizer = model_->model->tokenizer();
    for (v1::Input& input : *prompts) {
      Echo& echo = echoes_.emplace_back();
      if (input.has_text()) {
        echo.text = input.text();
        if (options_.logprobs && tokenizer != nullptr &&
            static_cast<int64_t>(echo.text.size()) <= limits_.max_text_bytes) {
          EncodeOptions options;
          options.most_tokens = model_->model->info().max_target_tokens;
          TRIVIUM_ASSIGN_OR_RETURN(const Encoding encoding,
                                   tokenizer->Encode(echo.text, options));
          auto* const ids = input.mutable_ids()->mutable_ids();
          ids->Add(encoding.ids.begin(), encoding.ids.end());
        }
      } else if (tokenizer != nullptr) {
        const auto& in = input.ids().ids();
        echo.text =
            tokenizer->Decode(std::vector<int32_t>(in.begin(), in.end()));
      }
      if (options_.logprobs && input.ids().ids_size() > 0) {
        echo.first = static_cast<int32_t>(input.ids().ids(0));
      }
    }
    return absl::OkStatus();
  }

  // The text of a source's answer begins without the space of its first token;
  // that of a prompt has what the prompt has.
  void BeginLogprobs() {
    progress_.resize(choices_.size());
    if (options_.prompt_logprobs) {
      prompt_logprobs_of_.emplace(model_->model->tokenizer(),
                                  *options_.prompt_logprobs);
    }
    if (!options_.logprobs) return;
    logprobs_.emplace(model_->model->tokenizer(), options_.top_logprobs);
    const bool has_source =
        model_->model->info().design == Design::kEncoderDecoder;
    for (size_t i = 0; i < progress_.size(); ++i) {
      progress_[i].place.drops_space =
          options_.echo ? !echoes_[i / per_prompt_].text.starts_with(' ')
                        : has_source;
    }
  }

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
    if (!options_.prompt_only) {
      usage_.set_new_tokens(usage_.new_tokens() + usage.new_tokens());
      usage_.set_reasoning_tokens(usage_.reasoning_tokens() +
                                  usage.reasoning_tokens());
    }
    usage_.set_cached_tokens(usage_.cached_tokens() + usage.cached_tokens());
  }

  const char* ChunkName() const {
    return chat_ ? "chat.completion.chunk" : "text_completion";
  }
  ordered_json Head(const char* object) const {
    return {{"id", id_},
            {"object", object},
            {"created", created_},
            {"model", model_->name}};
  }

  ordered_json WholeChoice(size_t index) {
    const Choice& choice = choices_[index];
    ordered_json out = {{"index", index}};
    if (chat_) {
      out["message"] = choice.answer.Message();
    } else {
      out["text"] = options_.echo
                        ? echoes_[index / per_prompt_].text + choice.text
                        : choice.text;
    }
    out["logprobs"] = LogprobsOf(index, choice.logprobs);
    out["finish_reason"] = ReasonOf(choice.reason, choice.answer.calls());
    if (!choice.stop.is_null()) out["stop_reason"] = choice.stop;
    if (options_.prompt_logprobs && !chat_) {
      out["prompt_logprobs"] = PromptLogprobs(index / per_prompt_);
    }
    return out;
  }

  // In vLLM's shape.
  ordered_json PromptLogprobs(size_t prompt) const {
    return prompt_logprobs_of_->OfPrompt(prompt_logprobs_[prompt]);
  }

  // The reason in the last response of a choice.
  v1::FinishReason ReasonIn(const v1::GenerateResponse& response) const {
    return options_.prompt_only ? v1::FINISH_REASON_LENGTH
                                : response.done().finish_reason();
  }

  std::string ChunkOf(const v1::GenerateResponse& response) {
    const size_t index = response.index();
    v1::GenerateResponse::Piece none;
    const auto& piece = options_.prompt_only ? none : response.piece();
    ordered_json out = {{"index", index}};
    const bool first = !std::exchange(progress_[index].started, true);
    OpenAiAnswer& answer = choices_[index].answer;
    if (chat_) {
      out["delta"] = ordered_json::object();
      if (first) out["delta"]["role"] = "assistant";
      out["delta"].update(answer.Delta(piece));
      if (out["delta"].empty() && piece.logprobs().empty() &&
          !response.has_done()) {
        return "";
      }
    } else {
      out["text"] = first && options_.echo
                        ? echoes_[index / per_prompt_].text + piece.text()
                        : piece.text();
    }
    out["logprobs"] =
        LogprobsOf(index, {piece.logprobs().begin(), piece.logprobs().end()});
    out["finish_reason"] = nullptr;
    if (response.has_done()) {
      out["finish_reason"] = ReasonOf(ReasonIn(response), answer.calls());
      ordered_json stop = StopOf(response.done());
      if (!stop.is_null()) out["stop_reason"] = std::move(stop);
    }
    ordered_json chunk = Head(ChunkName());
    chunk["choices"] = ordered_json::array({out});
    if (options_.chunk_usage) {
      chunk["usage"] = UsageUntil(response);
    } else if (options_.include_usage) {
      chunk["usage"] = nullptr;
    }
    return Event(chunk);
  }

  // The tokens that a choice has used until this response.
  ordered_json UsageUntil(const v1::GenerateResponse& response) const {
    const v1::GenerateResponse::Done& done = response.done();
    const v1::Usage& usage = response.piece().usage();
    const uint32_t prompt =
        response.has_done() ? done.source_token_count() : usage.prompt_tokens();
    const uint32_t made = options_.prompt_only  ? 0
                          : response.has_done() ? done.token_count()
                                                : usage.new_tokens();
    return {{"prompt_tokens", prompt},
            {"completion_tokens", made},
            {"total_tokens", prompt + made}};
  }

  ordered_json LogprobsOf(size_t index,
                          const std::vector<v1::TokenLogprobs>& tokens) {
    if (!logprobs_) return nullptr;
    if (chat_) return logprobs_->OfChat(tokens);
    OpenAiLogprobs::Place* const place = &progress_[index].place;
    if (!options_.echo) {
      return logprobs_->OfText(std::nullopt, tokens, place);
    }
    const Echo& echo = echoes_[index / per_prompt_];
    std::vector<v1::TokenLogprobs> all = prompt_logprobs_[index / per_prompt_];
    all.insert(all.end(), tokens.begin(), tokens.end());
    return logprobs_->OfText(echo.first, all, place);
  }

  const bool chat_;
  const std::string id_;
  const int64_t created_;
  const AllowedModels models_;
  const RequestLimits& limits_;
  KeptResponses kept_;  // in choices_
  IgnoredMembers* const ignored_;
  ModelHandle model_;
  CompletionOptions options_;
  size_t per_prompt_ = 1;     // choices
  std::vector<Echo> echoes_;  // [prompts], with echo
  // [prompts], each of its tokens but the first; with echo or prompt_logprobs.
  std::vector<std::vector<v1::TokenLogprobs>> prompt_logprobs_;
  std::vector<Choice> choices_;
  std::vector<Progress> progress_;  // [choices]
  // Unset: nobody asked for them.
  std::optional<OpenAiLogprobs> logprobs_, prompt_logprobs_of_;
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
