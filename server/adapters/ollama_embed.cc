// /api/embed and the older /api/embeddings.
#include <fmt/format.h>

#include <climits>
#include <iterator>
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

class OllamaEmbedCodec final : public OllamaCodec {
 public:
  // `one`: /api/embeddings.
  OllamaEmbedCodec(const Environment& environment,
                   std::shared_ptr<const Grant> grant, bool one)
      : one_(one),
        models_(environment.models, std::move(grant)),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    JsonFields fields(value, "");
    request->set_model(
        OllamaModelName(models_, fields.String("model").value_or("")));
    request->add_outputs(v1::ENCODE_OUTPUT_DENSE);
    ReadTexts(&fields, request);
    request->set_truncate(fields.Bool("truncate").value_or(true));
    if (!one_) {
      if (const auto dimensions = fields.Integer("dimensions", 1, INT_MAX)) {
        request->set_dimensions(static_cast<uint32_t>(*dimensions));
      }
    }
    // Options are about texts that are generated, and about Ollama's engine.
    fields.Ignore("Ollama", ignored_, {"options", "keep_alive"});
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) {
      constexpr FieldName kNames[] = {{"inputs", "input"}};
      constexpr FieldName kOneName[] = {{"inputs[0].text", "prompt"},
                                        {"inputs[0]", "prompt"},
                                        {"inputs", "prompt"}};
      return one_ ? OllamaFailure(ending, kOneName)
                  : OllamaFailure(ending, kNames);
    }
    const auto& response = *static_cast<const v1::EncodeResponse*>(last);
    // Written as text, since values of json would be most of the work.
    std::string text = "{";
    if (one_) {
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
    const char* const name = one_ ? "prompt" : "input";
    const json* const value = fields->Value(name);
    if (value == nullptr) return fields->Require(name);
    const bool list = !one_ && value->is_array();
    if (!list && !value->is_string()) {
      return fields->Fail(
          name, one_ ? "must be a text" : "must be a text or a list of texts");
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

  const bool one_;
  const AllowedModels models_;
  IgnoredMembers* const ignored_;
};

// A request that asks for nothing but the model.
class OllamaEmbedLoadCodec final : public OllamaCodec {
 public:
  // `one`: /api/embeddings.
  OllamaEmbedLoadCodec(const Environment& environment,
                       std::shared_ptr<const Grant> grant, bool one)
      : one_(one),
        models_(environment.models, std::move(grant)),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    const std::string name =
        OllamaModelName(models_, fields.String("model").value_or(""));
    TRIVIUM_ASSIGN_OR_RETURN(const ModelHandle model,
                             models_.FindFor(Rpc::kEncode, name));
    static_cast<v1::GetModelRequest*>(message)->set_name(model->name);
    fields.Value(one_ ? "prompt" : "input");
    fields.Bool("truncate");
    if (!one_) fields.Integer("dimensions", 1, INT_MAX);
    fields.Ignore("Ollama", ignored_, {"options", "keep_alive"});
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OllamaFailure(ending, {});
    if (one_) return {.body = R"({"embedding":[]})"};
    const auto& model = *static_cast<const v1::Model*>(last);
    return {.body = fmt::format(R"({{"model":{},"embeddings":[]}})",
                                ToJsonText(json(model.name())))};
  }

 private:
  const bool one_;
  const AllowedModels models_;
  IgnoredMembers* const ignored_;
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
