#include "server/adapters/tei.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/calls/allowed_models.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"
#include "server/observability/version.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

int TeiStatus(absl::StatusCode code) {
  const int status = HttpStatusOf(code);
  return status == 400 ? 422 : status;
}

// TEI has three types of errors.
HttpAnswer TeiFailure(const Ending& ending) {
  const int status = TeiStatus(ending.status.code());
  const char* const type = status == 429 || status == 503 ? "Overloaded"
                           : status >= 500                ? "Backend"
                                                          : "Validation";
  constexpr FieldName kNames[] = {{"documents", "texts"}};
  return {.status = status,
          .body = ToJsonText(ordered_json{{"error", MessageOf(ending, kNames)},
                                          {"error_type", type}})};
}

class TeiCodec : public Codec {
 public:
  absl::Status Read(std::string_view body, Message* request) final {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    ReadFields(&fields, request);
    return fields.Done();
  }
  int StatusOf(absl::StatusCode code) const final { return TeiStatus(code); }
  HttpAnswer Finish(const Ending& ending, const Message* last) final {
    if (!ending.status.ok()) return TeiFailure(ending);
    return {.body = AnswerOf(*last)};
  }

 protected:
  virtual void ReadFields(JsonFields* fields, Message* request) = 0;
  virtual std::string AnswerOf(const Message& response) const = 0;

  // Without `truncate`, the server's default holds: not to cut, like TEI's,
  // unless the server was started to cut.
  template <typename Request>
  static void ReadTruncation(JsonFields* fields, Request* request) {
    if (const auto truncate = fields->Bool("truncate")) {
      request->set_truncate(*truncate);
    }
    const std::string end = absl::AsciiStrToLower(
        fields->String("truncation_direction").value_or("right"));
    if (end == "left") {
      request->set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
    } else if (end != "right") {
      fields->Fail("truncation_direction", "must be Right or Left");
    }
  }
};

class TeiEmbedCodec : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    ReadInputs(fields, request);
    // Normalizes by default like TEI, whatever the folder says.
    request->set_normalize(fields->Bool("normalize").value_or(true));
    if (const auto name = fields->String("prompt_name")) {
      request->set_prompt_name(*name);
    }
    if (const auto size = fields->Integer("dimensions", 1, INT32_MAX)) {
      request->set_dimensions(static_cast<uint32_t>(*size));
    }
    ReadTruncation(fields, request);
  }

  static void ReadInputs(JsonFields* fields, v1::EncodeRequest* request) {
    const json* const inputs = fields->Value("inputs");
    if (inputs == nullptr) return fields->Require("inputs");
    const auto add_ids = [request](const json& ids) {
      auto* const out = request->add_inputs()->mutable_ids()->mutable_ids();
      for (const json& id : ids) out->Add(id.get<uint32_t>());
    };
    if (IsIds(*inputs)) return add_ids(*inputs);
    if (inputs->is_array() && !inputs->empty() && inputs->front().is_array()) {
      for (size_t i = 0; i < inputs->size(); ++i) {
        if (!IsIds((*inputs)[i])) {
          return fields->Fail(fmt::format("inputs[{}]", i),
                              "must be a list of ids");
        }
        add_ids((*inputs)[i]);
      }
      return;
    }
    for (std::string& text : fields->Strings("inputs")) {
      request->add_inputs()->set_text(std::move(text));
    }
  }

  std::string AnswerOf(const Message& message) const override {
    std::string text = "[";
    for (const v1::EncodeResult& result :
         static_cast<const v1::EncodeResponse&>(message).results()) {
      if (text.size() > 1) text += ',';
      char before = '[';
      for (const float value : result.embedding()) {
        fmt::format_to(std::back_inserter(text), "{}{}", before, value);
        before = ',';
      }
      text += ']';
    }
    return text + "]";
  }
};

class TeiRerankCodec : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::RerankRequest*>(message);
    fields->Require("query");
    request->set_query(fields->String("query").value_or(""));
    fields->Require("texts");
    for (std::string& text : fields->Strings("texts")) {
      request->add_documents(std::move(text));
    }
    raw_ = fields->Bool("raw_scores").value_or(false);
    text_ = fields->Bool("return_text").value_or(false);
    request->set_return_text(text_);
    ReadTruncation(fields, request);
  }

  std::string AnswerOf(const Message& message) const override {
    ordered_json ranks = ordered_json::array();
    for (const auto& document :
         static_cast<const v1::RerankResponse&>(message).documents()) {
      ordered_json rank = {{"index", document.index()}};
      if (text_) rank["text"] = document.text();
      rank["score"] = raw_ ? document.logit() : document.score();
      ranks.push_back(rank);
    }
    return ToJsonText(ranks);
  }

  bool raw_ = false;
  bool text_ = false;
};

class TeiPredictCodec : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::ClassifyRequest*>(message);
    raw_ = fields->Bool("raw_scores").value_or(false);
    ReadTruncation(fields, request);
    const json* const inputs = fields->Value("inputs");
    if (inputs == nullptr) return fields->Require("inputs");
    if (!inputs->is_array()) {
      return AddInput(json::array({*inputs}), "inputs", fields, request);
    }
    // A list of texts is one text or one pair, as in TEI.
    many_ = inputs->empty() || !inputs->front().is_string();
    if (!many_) return AddInput(*inputs, "inputs", fields, request);
    for (size_t i = 0; i < inputs->size(); ++i) {
      AddInput((*inputs)[i], fmt::format("inputs[{}]", i), fields, request);
    }
  }

  // Reads a list of one text or two.
  static void AddInput(const json& texts, const std::string& name,
                       JsonFields* fields, v1::ClassifyRequest* request) {
    const bool good = texts.is_array() && !texts.empty() && texts.size() <= 2 &&
                      texts.front().is_string() && texts.back().is_string();
    if (!good) {
      return fields->Fail(name,
                          "must be a text, a list of one text or two, or a "
                          "list of such lists");
    }
    v1::Input* const input = request->add_inputs();
    const auto first = texts.front().get<std::string>();
    if (texts.size() == 1) return input->set_text(first);
    input->mutable_pair()->set_first(first);
    input->mutable_pair()->set_second(texts.back().get<std::string>());
  }

  std::string AnswerOf(const Message& message) const override {
    ordered_json all = ordered_json::array();
    for (const v1::Classification& result :
         static_cast<const v1::ClassifyResponse&>(message).results()) {
      ordered_json labels = ordered_json::array();
      for (const v1::Label& label : result.labels()) {
        labels.push_back({{"score", raw_ ? label.logit() : label.score()},
                          {"label", label.label()}});
      }
      all.push_back(labels);
    }
    return ToJsonText(many_ ? all : all.front());
  }

  bool raw_ = false;
  bool many_ = false;
};

class TeiTokenizeCodec : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::TokenizeRequest*>(message);
    fields->Require("inputs");
    texts_ = fields->Strings("inputs");
    for (const std::string& text : texts_) request->add_texts(text);
    request->set_add_special_tokens(
        fields->Bool("add_special_tokens").value_or(true));
    fields->Only("prompt_name", {}, "is not supported for /tokenize");
  }

  std::string AnswerOf(const Message& message) const override {
    const auto& response = static_cast<const v1::TokenizeResponse&>(message);
    // Written as text, since values of json take a hundred times a token's
    // bytes.
    std::string text = "[";
    for (int i = 0; i < response.results_size(); ++i) {
      text += i == 0 ? "[" : ",[";
      bool first = true;
      for (const v1::Token& token : response.results(i).tokens()) {
        if (!std::exchange(first, false)) text += ',';
        AddToken(texts_[i], token, &text);
      }
      text += ']';
    }
    return text + "]";
  }

  static void AddToken(std::string_view text, const v1::Token& token,
                       std::string* out) {
    const std::string piece =
        token.special()
            ? token.piece()
            : std::string(text.substr(token.byte_begin(),
                                      token.byte_end() - token.byte_begin()));
    fmt::format_to(std::back_inserter(*out),
                   R"({{"id":{},"text":{},"special":{})", token.id(),
                   ToJsonText(json(piece)), token.special());
    if (token.special()) {
      *out += R"(,"start":null,"stop":null})";
    } else {
      fmt::format_to(std::back_inserter(*out), R"(,"start":{},"stop":{}}})",
                     token.char_begin(), token.char_end());
    }
  }

  std::vector<std::string> texts_;
};

class TeiInfoCodec : public Codec {
 public:
  TeiInfoCodec(const Environment& environment,
               std::shared_ptr<const Grant> grant)
      : environment_(environment),
        models_(environment.models, std::move(grant)) {}

  absl::Status Read(std::string_view, Message* message) override {
    // The model that /embed, /rerank or /predict asks.
    for (const Rpc rpc : {Rpc::kEncode, Rpc::kRerank, Rpc::kClassify}) {
      const ModelHandle model = models_.FirstFor(rpc);
      if (model == nullptr) continue;
      static_cast<v1::GetModelRequest*>(message)->set_name(model->name);
      break;
    }
    return absl::OkStatus();
  }

  int StatusOf(absl::StatusCode code) const override { return TeiStatus(code); }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return TeiFailure(ending);
    const auto& model = *static_cast<const v1::Model*>(last);
    return {.body = ToJsonText(ordered_json{
                {"model_id", model.name()},
                {"model_sha", model.revision()},
                {"model_dtype", DtypeOf(model.precision())},
                {"model_type", TypeOf(model)},
                {"max_input_length", model.limits().max_source_tokens()},
                {"max_client_batch_size", model.limits().max_inputs()},
                {"auto_truncate", environment_.truncate},
                {"version", kVersion}})};
  }

 private:
  static const char* DtypeOf(v1::Precision precision) {
    switch (precision) {
      case v1::PRECISION_BF16:
        return "bfloat16";
      case v1::PRECISION_INT8:
        return "int8";
      default:
        return "float32";
    }
  }
  static ordered_json TypeOf(const v1::Model& model) {
    if (model.labels().empty()) {
      return {{"embedding", {{"dimensions", model.embedding_size()}}}};
    }
    ordered_json id2label = ordered_json::object();
    for (int i = 0; i < model.labels_size(); ++i) {
      id2label[std::to_string(i)] = model.labels(i);
    }
    return {{model.labels_size() == 1 ? "reranker" : "classifier",
             {{"id2label", id2label}}}};
  }

  const Environment& environment_;
  const AllowedModels models_;
};

}  // namespace

std::unique_ptr<Codec> NewTeiEmbedCodec(const Environment&,
                                        const RequestHead&) {
  return std::make_unique<TeiEmbedCodec>();
}
std::unique_ptr<Codec> NewTeiRerankCodec(const Environment&,
                                         const RequestHead&) {
  return std::make_unique<TeiRerankCodec>();
}
std::unique_ptr<Codec> NewTeiPredictCodec(const Environment&,
                                          const RequestHead&) {
  return std::make_unique<TeiPredictCodec>();
}
std::unique_ptr<Codec> NewTeiTokenizeCodec(const Environment&,
                                           const RequestHead&) {
  return std::make_unique<TeiTokenizeCodec>();
}
std::unique_ptr<Codec> NewTeiInfoCodec(const Environment& environment,
                                       const RequestHead& head) {
  return std::make_unique<TeiInfoCodec>(environment, head.grant);
}

}  // namespace trivium
