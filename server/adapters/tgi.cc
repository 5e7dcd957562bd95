// A token's event needs to know whether it is the last one, so each piece of
// the answer is held until the next one or the end comes.
#include "server/adapters/tgi.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "model/tokenizer/token_bytes.h"
#include "server/adapters/answers.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai_constraint.h"
#include "server/adapters/tei_codec.h"
#include "server/adapters/written_body.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

enum class TgiPath { kGenerate, kStream, kRoot };

constexpr uint32_t kTgiDefaultTokens = 100;
constexpr int kMostTopTokens = 20;

std::vector<FieldName> TgiNames() {
  std::vector<FieldName> names = {
      {"input.text", "inputs"},
      {"input", "inputs"},
      {"decoding.top_logprobs", "parameters.top_n_tokens"}};
  AddConstraintNames("parameters.grammar", &names);
  names.push_back({"decoding.", "parameters."});
  return names;
}

ordered_json TgiError(const Ending& ending) {
  const int status = TeiStatus(ending.status.code());
  return {{"error", MessageOf(ending, TgiNames())},
          {"error_type", status == 429 || status == 503 ? "overloaded"
                         : status >= 500                ? "generation"
                                                        : "validation"}};
}

class TgiParameters {
 public:
  TgiParameters(WrittenBody* written, JsonFields* in,
                v1::DecodingOptions* decoding)
      : written_(written), in_(in), decoding_(decoding) {}

  void Read() {
    decoding_->set_max_new_tokens(
        static_cast<uint32_t>(in_->Integer("max_new_tokens", 1, INT_MAX)
                                  .value_or(kTgiDefaultTokens)));
    ReadDraws();
    if (const auto penalty = in_->Number("repetition_penalty")) {
      decoding_->set_repetition_penalty(*penalty);
    }
    if (const auto penalty = in_->Number("frequency_penalty")) {
      decoding_->set_frequency_penalty(*penalty);
    }
    for (std::string& stop : in_->Strings("stop")) {
      decoding_->add_stop(std::move(stop));
      decoding_->set_keep_stop(true);  // as TGI's answers do
    }
    ReadGrammar();
    in_->Only("best_of", {1}, kNotSupported);
    in_->Only("watermark", {false}, kNotSupported);
    in_->Only("adapter_id", {}, kNotSupported);
    in_->Only("decoder_input_details", {false},
              "is not supported; /v1/completions with echo and logprobs tells "
              "the tokens of a prompt");
    in_->Only("truncate", {},
              "is not supported: a prompt that is too long is an error; leave "
              "it out");
  }

 private:
  // Any filter of tokens means draws, as do_sample does.
  void ReadDraws() {
    bool draws = in_->Bool("do_sample").value_or(false);
    const auto temperature = in_->Number("temperature");
    draws = draws || (temperature && *temperature != 1);
    if (const auto k = in_->Integer("top_k", 1, INT_MAX)) {
      decoding_->set_top_k(static_cast<uint32_t>(*k));
      draws = true;
    }
    if (const auto p = in_->Number("top_p")) {
      decoding_->set_top_p(*p);
      draws = true;
    }
    if (const auto p = in_->Number("typical_p")) {
      decoding_->set_typical_p(*p);
      draws = true;
    }
    const auto seed = in_->Integer("seed", 0, INT64_MAX);
    if (!draws) return decoding_->set_temperature(0);
    decoding_->set_temperature(temperature.value_or(1));
    // Without top_k, TGI draws from all tokens.
    if (!decoding_->has_top_k()) decoding_->set_top_k(0);
    if (seed) decoding_->set_seed(static_cast<uint64_t>(*seed));
  }

  void ReadGrammar() {
    const json* const value = in_->Value("grammar");
    if (value == nullptr) return;
    JsonFields grammar(*value, "parameters.grammar.");
    grammar.Require("type");
    grammar.Only("type", {"json", "regex", "json_schema"},
                 "must be json, json_schema or regex");
    grammar.Require("value");
    const std::string type = grammar.String("type").value_or("");
    const json* const form = grammar.Value("value");
    std::string place = "/parameters/grammar/value";
    if (type == "regex") {
      if (const auto text = grammar.String("value")) {
        decoding_->mutable_constraint()->set_regex(*text);
      }
    } else if (form != nullptr) {
      // {"name": , "schema": }.
      if (type == "json_schema" && form->is_object() &&
          form->contains("schema")) {
        place += "/schema";
      }
      decoding_->mutable_constraint()->set_json_schema(
          ToJsonText(written_->At(place)));
    }
    in_->Keep(grammar.Done());
  }

  WrittenBody* const written_;
  JsonFields* const in_;
  v1::DecodingOptions* const decoding_;
};

class TgiCodec final : public Codec {
 public:
  TgiCodec(const Environment& environment, const RequestHead& head,
           TgiPath path)
      : path_(path),
        models_(environment.models, head.grant),
        kept_(environment.limits.max_response_bytes) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::GenerateRequest*>(message);
    JsonFields fields(value, "");
    request->set_model(fields.String("model").value_or(""));
    fields.Require("inputs");
    const std::string prompt = fields.String("inputs").value_or("");
    request->mutable_input()->set_text(prompt);
    // Clients send it with the paths of one answer, too.
    const bool stream = fields.Bool("stream").value_or(false);
    stream_ = path_ == TgiPath::kRoot ? stream : path_ == TgiPath::kStream;
    const json none = json::object();
    const json* const parameters = fields.Value("parameters");
    JsonFields in(parameters != nullptr ? *parameters : none, "parameters.");
    WrittenBody written(body);
    TgiParameters(&written, &in, request->mutable_decoding()).Read();
    details_ = in.Bool("details").value_or(false);
    top_tokens_ = static_cast<int>(
        in.Integer("top_n_tokens", 0, kMostTopTokens).value_or(0));
    if (in.Bool("return_full_text").value_or(false)) text_ = prompt;
    fields.Keep(in.Done());
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_ASSIGN_OR_RETURN(model_,
                             models_.FindFor(Rpc::kGenerate, request->model()));
    if (!stream_ && !details_) return absl::OkStatus();
    // A token's own log-probability comes with its alternatives.
    request->mutable_decoding()->set_top_logprobs(
        static_cast<uint32_t>(std::max(1, top_tokens_)));
    if (const Tokenizer* const tokenizer = model_->model->tokenizer()) {
      bytes_.emplace(*tokenizer);
    }
    return absl::OkStatus();
  }

  bool streams() const override { return stream_; }
  int StatusOf(absl::StatusCode code) const override { return TeiStatus(code); }

  std::string Write(const Message& message) override {
    const auto& response = static_cast<const v1::GenerateResponse&>(message);
    if (!stream_ && !kept_.Add(response)) return "";
    text_ += response.piece().text();
    std::string events;
    if (!response.piece().logprobs().empty()) {
      events = Release(/*last=*/false);
      for (const v1::TokenLogprobs& token : response.piece().logprobs()) {
        held_.push_back({token});
      }
    }
    if (stream_ || details_) ShareText(response.piece().text());
    if (!response.has_done()) return events;
    done_ = response.done();
    return events + Release(/*last=*/true);
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) Write(*last);
    const Ending told =
        kept_.Check(ending, "ask for fewer tokens, or a stream");
    if (!told.status.ok()) {
      return {.status = TeiStatus(told.status.code()),
              .body = ToJsonText(TgiError(told))};
    }
    ordered_json answer = {{"generated_text", text_}};
    if (details_) {
      answer["details"] = Details();
      answer["details"]["prefill"] = ordered_json::array();
      answer["details"]["tokens"] = std::move(tokens_);
      if (top_tokens_ > 0) {
        answer["details"]["top_tokens"] = std::move(alternatives_);
      }
    }
    if (path_ == TgiPath::kRoot) answer = ordered_json::array({answer});
    return {.body = ToJsonText(answer)};
  }

  std::string EndStream(const Ending& ending, const Message* last) override {
    std::string events = last != nullptr ? Write(*last) : "";
    if (!ending.status.ok()) {
      events += ServerSentEvent("", ToJsonText(TgiError(ending)));
    }
    return events;
  }

 private:
  struct Token {
    v1::TokenLogprobs logprobs;
    std::string text = "";
    bool special = false;  // no part of the answer's text
  };

  // Gives each of the tokens that are held its part of their text. The parts of
  // a character are one text, which its last token has; so is a text that
  // tokens do not spell one by one.
  void ShareText(std::string_view text) {
    std::string spelled;
    std::string* last = &early_;
    for (Token& token : held_) {
      if (!bytes_ || !token.text.empty()) {
        if (!token.special) last = &token.text;
        continue;
      }
      TokenBytes::Bytes bytes =
          bytes_->Of(static_cast<int32_t>(token.logprobs.token().id()));
      if (bytes.special) {
        token.special = true;
        token.text = bytes.bytes;
        continue;
      }
      last = &token.text;
      // Decoders drop the space of a text's first token.
      if (!std::exchange(begun_, true) && bytes.bytes.starts_with(' ') &&
          !text.starts_with(' ')) {
        bytes.bytes.erase(0, 1);
      }
      spelled += bytes.bytes;
      if (!text.starts_with(spelled) || WholeSize(spelled) != spelled.size()) {
        continue;
      }
      token.text = spelled;
      text.remove_prefix(spelled.size());
      spelled.clear();
    }
    *last += text;
  }

  // Returns the events of the tokens that are held, or keeps them for Finish.
  std::string Release(bool last) {
    std::string events;
    for (size_t i = 0; i < held_.size(); ++i) {
      Token& token = held_[i];
      if (!token.special) token.text.insert(0, std::exchange(early_, ""));
      ++count_;
      ordered_json out = TokenOf(token.logprobs.token());
      out["text"] = token.text;
      out["special"] = token.special;
      ordered_json top = ordered_json::array();
      for (const auto& other : token.logprobs.alternatives()) {
        if (static_cast<int>(top.size()) < top_tokens_) {
          top.push_back(TokenOf(other));
        }
      }
      if (!stream_) {
        tokens_.push_back(std::move(out));
        alternatives_.push_back(std::move(top));
        continue;
      }
      ordered_json event = {{"index", count_}, {"token", std::move(out)}};
      if (top_tokens_ > 0) event["top_tokens"] = std::move(top);
      const bool ends = last && i + 1 == held_.size();
      event["generated_text"] = ends ? ordered_json(text_) : ordered_json();
      event["details"] = ends ? Details() : ordered_json();
      events += ServerSentEvent("", ToJsonText(event));
    }
    held_.clear();
    return events;
  }

  static ordered_json TokenOf(const v1::TokenLogprob& token) {
    return {{"id", token.id()},
            {"text", token.piece()},
            {"logprob", token.logprob()},
            {"special", false}};
  }

  ordered_json Details() const {
    const v1::FinishReason reason = done_.finish_reason();
    ordered_json details = {
        {"finish_reason", IsCut(reason)                      ? "length"
                          : reason == v1::FINISH_REASON_STOP ? "stop_sequence"
                                                             : "eos_token"},
        {"generated_tokens", done_.token_count()},
        {"seed", nullptr},
        {"input_length", done_.source_token_count()}};
    if (done_.has_seed()) details["seed"] = done_.seed();
    return details;
  }

  const TgiPath path_;
  const AllowedModels models_;
  ModelHandle model_;
  std::optional<TokenBytes> bytes_;  // with tokens
  KeptResponses kept_;               // without a stream
  bool stream_ = false;
  bool details_ = false;
  int top_tokens_ = 0;
  std::string text_;    // with the prompt, if asked
  std::string early_;   // text that came before its token
  bool begun_ = false;  // the answer's first token was read
  std::vector<Token> held_;
  size_t count_ = 0;                             // tokens that were released
  ordered_json tokens_ = ordered_json::array();  // without a stream
  ordered_json alternatives_ = ordered_json::array();  // [tokens_]
  v1::GenerateResponse::Done done_;
};

}  // namespace

std::unique_ptr<Codec> NewTgiGenerateCodec(const Environment& environment,
                                           const RequestHead& head) {
  return std::make_unique<TgiCodec>(environment, head, TgiPath::kGenerate);
}
std::unique_ptr<Codec> NewTgiStreamCodec(const Environment& environment,
                                         const RequestHead& head) {
  return std::make_unique<TgiCodec>(environment, head, TgiPath::kStream);
}
std::unique_ptr<Codec> NewTgiRootCodec(const Environment& environment,
                                       const RequestHead& head) {
  return std::make_unique<TgiCodec>(environment, head, TgiPath::kRoot);
}

}  // namespace trivium
