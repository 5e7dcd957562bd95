// Tokens of texts and of chats, and texts of both, in the shapes of vLLM and
// llama-server.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "internal/completions.pb.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_request.h"
#include "server/adapters/vllm.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

// The frame of these codecs: a JSON object in, JSON out, errors of OpenAI's
// shape. `input_name` is the member that has the text or the ids.
class TokensCodec : public Codec {
 public:
  explicit TokensCodec(const char* input_name) : input_name_(input_name) {}

  absl::Status Read(std::string_view body, Message* message) final {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    fields.Require(input_name_);
    ReadFields(&fields, message);
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) final {
    const FieldName names[] = {{"texts[0]", input_name_},
                               {"inputs[0].ids", input_name_},
                               {"inputs[0]", input_name_}};
    if (!ending.status.ok()) return OpenAiFailure(ending, names);
    return {.body = ToJsonText(AnswerOf(*last))};
  }

 protected:
  virtual void ReadFields(JsonFields* fields, Message* message) = 0;
  virtual ordered_json AnswerOf(const Message& response) const = 0;

  const char* input_name() const { return input_name_; }

 private:
  const char* const input_name_;
};

class VllmTokenizeCodec final : public TokensCodec {
 public:
  VllmTokenizeCodec(const Environment& environment, const RequestHead& head)
      : TokensCodec("prompt"), models_(environment.models, head.grant) {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::TokenizeRequest*>(message);
    request->set_model(fields->String("model").value_or(""));
    request->add_texts(fields->String(input_name()).value_or(""));
    request->set_add_special_tokens(
        fields->Bool("add_special_tokens").value_or(true));
    spell_ = fields->Bool("return_token_strs").value_or(false);
    const auto model = models_.FindFor(Rpc::kTokenize, request->model());
    if (model.ok()) most_tokens_ = (*model)->model->info().max_target_tokens;
  }

  ordered_json AnswerOf(const Message& message) const override {
    const auto& response = static_cast<const v1::TokenizeResponse&>(message);
    ordered_json ids = ordered_json::array(), pieces = ordered_json::array();
    for (const v1::Token& token : response.results(0).tokens()) {
      ids.push_back(token.id());
      if (spell_) pieces.push_back(token.piece());
    }
    ordered_json answer = {{"count", ids.size()},
                           {"max_model_len", most_tokens_},
                           {"tokens", std::move(ids)},
                           {"token_strs", nullptr}};
    if (spell_) answer["token_strs"] = std::move(pieces);
    return answer;
  }

  const AllowedModels models_;
  bool spell_ = false;
  int64_t most_tokens_ = 0;
};

// The prompt of a chat, which nobody answers.
class ChatPromptCodec : public Codec {
 public:
  ChatPromptCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) final {
    TRIVIUM_ASSIGN_OR_RETURN(
        model_,
        ReadOpenAiChat(body, models_, ignored_,
                       static_cast<v1::GenerateRequest*>(message), &options_,
                       [this](JsonFields* fields) { ReadMore(fields); }));
    return absl::OkStatus();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) final {
    if (!ending.status.ok()) {
      return OpenAiFailure(ending, CompletionNames(options_));
    }
    return {.body = ToJsonText(
                AnswerOf(*static_cast<const internal::Prompt*>(last)))};
  }

 protected:
  virtual void ReadMore(JsonFields* fields) {}
  virtual ordered_json AnswerOf(const internal::Prompt& prompt) const = 0;

  const Model& model() const { return *model_->model; }  // after Read

 private:
  const AllowedModels models_;
  IgnoredMembers* const ignored_;
  ModelHandle model_;
  CompletionOptions options_;
};

class VllmChatTokensCodec final : public ChatPromptCodec {
 public:
  using ChatPromptCodec::ChatPromptCodec;

 private:
  void ReadMore(JsonFields* fields) override {
    spell_ = fields->Bool("return_token_strs").value_or(false);
  }

  ordered_json AnswerOf(const internal::Prompt& prompt) const override {
    ordered_json pieces = ordered_json::array();
    for (const uint32_t id : prompt.ids()) {
      if (!spell_) break;
      pieces.push_back(model().tokenizer()->IdToPiece(static_cast<int32_t>(id),
                                                      TextSide::kTarget));
    }
    ordered_json answer = {
        {"count", prompt.ids_size()},
        {"max_model_len", model().info().max_target_tokens},
        {"tokens",
         std::vector<uint32_t>(prompt.ids().begin(), prompt.ids().end())},
        {"token_strs", nullptr}};
    if (spell_) answer["token_strs"] = std::move(pieces);
    return answer;
  }

  bool spell_ = false;
};

class LlamaTemplateCodec final : public ChatPromptCodec {
 public:
  using ChatPromptCodec::ChatPromptCodec;

 private:
  ordered_json AnswerOf(const internal::Prompt& prompt) const override {
    return {{"prompt", prompt.text()}};
  }
};

class LlamaTokenizeCodec final : public TokensCodec {
 public:
  LlamaTokenizeCodec() : TokensCodec("content") {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::TokenizeRequest*>(message);
    request->set_model(fields->String("model").value_or(""));
    text_ = fields->String(input_name()).value_or("");
    request->add_texts(text_);
    request->set_add_special_tokens(
        fields->Bool("add_special").value_or(false));
    fields->Only("parse_special", {true}, kNotSupported);
    pieces_ = fields->Bool("with_pieces").value_or(false);
  }

  ordered_json AnswerOf(const Message& message) const override {
    const auto& response = static_cast<const v1::TokenizeResponse&>(message);
    ordered_json tokens = ordered_json::array();
    for (const v1::Token& token : response.results(0).tokens()) {
      if (!pieces_) {
        tokens.push_back(token.id());
        continue;
      }
      const uint32_t size = token.byte_end() - token.byte_begin();
      tokens.push_back(
          {{"id", token.id()},
           {"piece", size == 0 ? token.piece()
                               : text_.substr(token.byte_begin(), size)}});
    }
    return {{"tokens", std::move(tokens)}};
  }

  std::string text_;
  bool pieces_ = false;
};

class VllmDetokenizeCodec final : public TokensCodec {
 public:
  VllmDetokenizeCodec() : TokensCodec("tokens") {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::DetokenizeRequest*>(message);
    request->set_model(fields->String("model").value_or(""));
    v1::TokenIds* const input = request->add_inputs();
    const json* const ids = fields->Value(input_name());
    if (ids == nullptr) return;
    if (IsIds(*ids)) return AddIds(*ids, input->mutable_ids());
    if (*ids != json::array()) {
      fields->Fail(input_name(), "must be a list of ids");
    }
  }

  ordered_json AnswerOf(const Message& message) const override {
    const std::string& text =
        static_cast<const v1::DetokenizeResponse&>(message).texts(0);
    return {{"prompt", text}, {"content", text}};
  }
};

}  // namespace

std::unique_ptr<Codec> NewVllmTokenizeCodec(const Environment& environment,
                                            const RequestHead& head) {
  return std::make_unique<VllmTokenizeCodec>(environment, head);
}
std::unique_ptr<Codec> NewVllmChatTokensCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<VllmChatTokensCodec>(environment, head);
}
std::unique_ptr<Codec> NewLlamaTemplateCodec(const Environment& environment,
                                             const RequestHead& head) {
  return std::make_unique<LlamaTemplateCodec>(environment, head);
}
std::unique_ptr<Codec> NewLlamaTokenizeCodec(const Environment&,
                                             const RequestHead&) {
  return std::make_unique<LlamaTokenizeCodec>();
}
std::unique_ptr<Codec> NewVllmDetokenizeCodec(const Environment&,
                                              const RequestHead&) {
  return std::make_unique<VllmDetokenizeCodec>();
}

}  // namespace trivium
