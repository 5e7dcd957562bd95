// /api/embed and the older /api/embeddings.
#include <fmt/format.h>

#include <climits>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/ollama.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;

// The part of the two codecs that is the same.
class OllamaEmbedFrame : public OllamaCodec {
 public:
  // `one`: /api/embeddings.
  OllamaEmbedFrame(const Environment& environment,
                   std::shared_ptr<const Grant> grant, bool one)
      : one_(one),
        models_(environment.models, std::move(grant)),
        ignored_(environment.ignored_members) {}

 protected:
  // The members beside the text.
  struct Shared {
    std::string model;
    bool truncate = true;
    std::optional<int64_t> dimensions;
  };
  Shared ReadShared(JsonFields* fields) const {
    Shared shared;
    shared.model =
        OllamaModelName(models_, fields->String("model").value_or(""));
    shared.truncate = fields->Bool("truncate").value_or(true);
    if (!one_) shared.dimensions = fields->Integer("dimensions", 1, INT_MAX);
    // Options are about texts that are generated, and about Ollama's engine.
    fields->Ignore("Ollama", ignored_, {"options", "keep_alive"});
    return shared;
  }

  bool one() const { return one_; }
  const char* text_name() const { return one_ ? "prompt" : "input"; }
  const AllowedModels& models() const { return models_; }

 private:
  const bool one_;
  const AllowedModels models_;
  IgnoredMembers* const ignored_;
};

class OllamaEmbedCodec final : public OllamaEmbedFrame {
 public:
  using OllamaEmbedFrame::OllamaEmbedFrame;

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    JsonFields fields(value, "");
    const Shared shared = ReadShared(&fields);
    request->set_model(shared.model);
    request->add_outputs(v1::ENCODE_OUTPUT_DENSE);
    ReadTexts(&fields, request);
    request->set_truncate(shared.truncate);
    if (shared.dimensions) {
      request->set_dimensions(static_cast<uint32_t>(*shared.dimensions));
    }
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) {
      constexpr FieldName kNames[] = {{"inputs", "input"}};
      constexpr FieldName kOneName[] = {{"inputs[0].text", "prompt"},
                                        {"inputs[0]", "prompt"},
                                        {"inputs", "prompt"}};
      return one() ? OllamaFailure(ending, kOneName)
                   : OllamaFailure(ending, kNames);
    }
    const auto& response = *static_cast<const v1::EncodeResponse*>(last);
    // Written as text, since values of json would be most of the work.
    std::string text = "{";
    if (one()) {
      text += R"("embedding":)";
      AddJsonList(response.results(0).embedding(), &text);
      return {.body = text + "}"};
    }
    fmt::format_to(std::back_inserter(text), R"("model":{},"embeddings":[)",
                   ToJsonText(json(response.model().name())));
    uint64_t tokens = 0;
    for (int i = 0; i < response.results_size(); ++i) {
      if (i > 0) text += ',';
      tokens += response.results(i).token_count();
      AddJsonList(response.results(i).embedding(), &text);
    }
    fmt::format_to(std::back_inserter(text),
                   R"(],"total_duration":{},"prompt_eval_count":{}}})",
                   OllamaNanoseconds(response.timings().total()), tokens);
    return {.body = std::move(text)};
  }

 private:
  void ReadTexts(JsonFields* fields, v1::EncodeRequest* request) {
    const char* const name = text_name();
    const json* const value = fields->Value(name);
    if (value == nullptr) return fields->Require(name);
    const bool list = !one() && value->is_array();
    if (!list && !value->is_string()) {
      return fields->Fail(
          name, one() ? "must be a text" : "must be a text or a list of texts");
    }
    if (list && value->empty()) fields->Fail(name, "is empty; send a text");
    const std::vector<std::string> texts = fields->Strings(name);
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) {
        fields->Fail(list ? fmt::format("{}[{}]", name, i) : name,
                     "is empty; send a text");
      }
      request->add_inputs()->set_text(texts[i]);
    }
  }
};

// A request that asks for nothing but the model.
class OllamaEmbedLoadCodec final : public OllamaEmbedFrame {
 public:
  using OllamaEmbedFrame::OllamaEmbedFrame;

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    const Shared shared = ReadShared(&fields);
    v1::EncodeRequest like_texts;
    like_texts.add_outputs(v1::ENCODE_OUTPUT_DENSE);
    TRIVIUM_ASSIGN_OR_RETURN(
        const ModelHandle model,
        models().FindFor(Rpc::kEncode, shared.model, NeedOf(like_texts)));
    static_cast<v1::GetModelRequest*>(message)->set_name(model->name);
    fields.Value(text_name());
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OllamaFailure(ending, {});
    if (one()) return {.body = R"({"embedding":[]})"};
    const auto& model = *static_cast<const v1::Model*>(last);
    return {.body = fmt::format(R"({{"model":{},"embeddings":[]}})",
                                ToJsonText(json(model.name())))};
  }
};

}  // namespace

std::unique_ptr<Codec> NewOllamaEmbedLoadCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<OllamaEmbedLoadCodec>(environment, head.grant,
                                                /*one=*/false);
}

std::unique_ptr<Codec> NewOllamaEmbeddingsLoadCodec(
    const Environment& environment, const RequestHead& head) {
  return std::make_unique<OllamaEmbedLoadCodec>(environment, head.grant,
                                                /*one=*/true);
}

std::unique_ptr<Codec> NewOllamaEmbedCodec(const Environment& environment,
                                           const RequestHead& head) {
  return std::make_unique<OllamaEmbedCodec>(environment, head.grant,
                                            /*one=*/false);
}

std::unique_ptr<Codec> NewOllamaEmbeddingsCodec(const Environment& environment,
                                                const RequestHead& head) {
  return std::make_unique<OllamaEmbedCodec>(environment, head.grant,
                                            /*one=*/true);
}

}  // namespace trivium
