// Cohere's embeddings. The call asks for floats, of which all types are made.
#include <fmt/format.h>

#include <climits>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/status.h"
#include "server/adapters/cohere.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/calls/allowed_models.h"
#include "server/calls/convert/embedding_bytes.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;

// A type of embedding: how its values are made of EmbeddingFormat's bytes.
struct EmbeddingType {
  std::string_view name;
  v1::EmbeddingFormat format;
  bool is_signed;  // of the bytes
  int shift;       // added to each
};
constexpr EmbeddingType kByteTypes[] = {
    {"int8", v1::EMBEDDING_FORMAT_INT8, true, 0},
    {"uint8", v1::EMBEDDING_FORMAT_INT8, true, 128},
    {"ubinary", v1::EMBEDDING_FORMAT_BINARY, false, 0},
    {"binary", v1::EMBEDDING_FORMAT_BINARY, false, -128},
};
constexpr char kTypes[] =
    "must be of float, int8, uint8, binary, ubinary and base64";

// The kinds of inputs, and the names of their prompts in folders; the first
// that the model has counts.
struct InputType {
  std::string_view name;
  std::vector<std::string> prompts;
  v1::TextKind kind;
};
const std::vector<InputType>& InputTypes() {
  static const auto* const kAll = new std::vector<InputType>{
      {"search_query", {"search_query", "query"}, v1::TEXT_KIND_QUERY},
      {"search_document",
       {"search_document", "document", "passage"},
       v1::TEXT_KIND_DOCUMENT},
      {"classification",
       {"classification", "Classification"},
       v1::TEXT_KIND_UNSPECIFIED},
      {"clustering", {"clustering", "Clustering"}, v1::TEXT_KIND_UNSPECIFIED},
  };
  return *kAll;
}

class CohereEmbedCodec : public Codec {
 public:
  // `first`: the API's first version, which gives floats without their name
  // unless the request names types.
  CohereEmbedCodec(const Environment& environment, const RequestHead& head,
                   bool first)
      : environment_(environment),
        models_(environment.models, head.grant),
        first_(first) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    JsonFields fields(value, "");
    request->set_model(fields.String("model").value_or(""));
    request->set_normalize(true);
    request->add_outputs(v1::ENCODE_OUTPUT_DENSE);
    ReadTexts(&fields, request);
    ReadInputType(&fields, request);
    ReadTypes(&fields);
    ReadTruncation(&fields, request);
    if (const auto size = fields.Integer("output_dimension", 1, INT_MAX)) {
      request->set_dimensions(static_cast<uint32_t>(*size));
    }
    fields.Ignore("Cohere", environment_.ignored_members,
                  {"priority", "client_name"});
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return CohereFailure(ending, inputs_);
    const auto& response = *static_cast<const v1::EncodeResponse*>(last);
    // Written as text, since values of json would be most of the work.
    std::string text =
        fmt::format(R"({{"id":{},"embeddings":{})",
                    ToJsonText(json(ending.request_id)), plain_ ? "" : "{");
    bool first = true;
    for (const std::string& type : types_) {
      if (!std::exchange(first, false)) text += ',';
      text += plain_ ? "[" : '"' + type + "\":[";
      for (int i = 0; i < response.results_size(); ++i) {
        if (i > 0) text += ',';
        AddEmbedding(response.results(i), type, &text);
      }
      text += ']';
    }
    uint64_t tokens = 0;
    for (const auto& result : response.results()) {
      tokens += result.token_count();
    }
    fmt::format_to(
        std::back_inserter(text),
        R"({},"texts":{},"model":{},"meta":{{"api_version":)"
        R"({{"version":"{}"}},"billed_units":{{"input_tokens":{}}}}},)"
        R"("response_type":"embeddings_{}"}})",
        plain_ ? "" : "}", ToJsonText(json(texts_)),
        ToJsonText(json(response.model().name())), first_ ? 1 : 2, tokens,
        plain_ ? "floats" : "by_type");
    return {.body = std::move(text)};
  }

 private:
  // Reads `texts`, or `inputs` of parts that are texts.
  void ReadTexts(JsonFields* fields, v1::EncodeRequest* request) {
    texts_ = fields->Strings("texts");
    if (const json* const inputs = fields->Value("inputs")) {
      inputs_ = "inputs";
      if (!texts_.empty()) {
        return fields->Fail("inputs",
                            "is there beside texts; send one of them");
      }
      if (!inputs->is_array()) return fields->Fail("inputs", "must be a list");
      for (size_t i = 0; i < inputs->size() && fields->ok(); ++i) {
        texts_.push_back(ReadParts((*inputs)[i], i, fields));
      }
    }
    if (texts_.empty() && fields->ok()) {
      fields->Fail(inputs_, "is missing or empty; send at least one");
    }
    for (const std::string& text : texts_) {
      request->add_inputs()->set_text(text);
    }
  }

  static std::string ReadParts(const json& value, size_t i,
                               JsonFields* fields) {
    const std::string path = fmt::format("inputs[{}].", i);
    JsonFields input(value, path);
    std::string text;
    input.Require("content");
    const json* const parts = input.Value("content");
    if (parts != nullptr && !parts->is_array()) {
      fields->Fail(path + "content", "must be a list of parts");
      return text;
    }
    for (size_t k = 0; parts != nullptr && k < parts->size(); ++k) {
      const std::string name = fmt::format("{}content[{}]", path, k);
      JsonFields part((*parts)[k], name + ".");
      part.Only("type", {"text"}, "is not text; the models here read texts");
      part.Require("text");
      text += part.String("text").value_or("");
      fields->Keep(part.Done());
    }
    fields->Keep(input.Done());
    return text;
  }

  // A kind for which the model has no prompt changes nothing.
  void ReadInputType(JsonFields* fields, v1::EncodeRequest* request) const {
    const auto type = fields->String("input_type");
    if (!type) return;
    for (const InputType& known : InputTypes()) {
      if (known.name != *type) continue;
      request->set_kind(known.kind);
      const auto model =
          models_.FindFor(Rpc::kEncode, request->model(), NeedOf(*request));
      if (!model.ok()) return;  // the call says so
      for (const std::string& name : known.prompts) {
        if (!(*model)->model->sentence_encoder().prompts().contains(name)) {
          continue;
        }
        return request->set_prompt_name(name);
      }
      IgnoredMembers* const log = environment_.ignored_members;
      if (log == nullptr) return;
      if (!log->strict()) return log->Note("Cohere", "input_type");
      return fields->Fail("input_type",
                          "is for models with prompts, and this one has none "
                          "for it; leave it out");
    }
    fields->Fail("input_type",
                 "must be search_query, search_document, classification or "
                 "clustering");
  }

  void ReadTypes(JsonFields* fields) {
    types_ = fields->Strings("embedding_types");
    for (const std::string& type : types_) {
      if (type != "float" && type != "base64" && Find(type) == nullptr) {
        fields->Fail("embedding_types", kTypes);
      }
    }
    plain_ = first_ && types_.empty();
    if (types_.empty()) types_ = {"float"};
  }

  static const EmbeddingType* Find(const std::string& name) {
    for (const EmbeddingType& type : kByteTypes) {
      if (type.name == name) return &type;
    }
    return nullptr;
  }

  // NONE refuses texts that are too long. END, the default, cuts their end.
  // Names are in any case; a boolean, as others have it, is END or NONE.
  static void ReadTruncation(JsonFields* fields, v1::EncodeRequest* request) {
    const json* const value = fields->Value("truncate");
    if (value != nullptr && value->is_boolean()) {
      return request->set_truncate(value->get<bool>());
    }
    const std::string end =
        absl::AsciiStrToUpper(fields->String("truncate").value_or("END"));
    request->set_truncate(end != "NONE");
    if (end == "START") {
      request->set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
    } else if (end != "END" && end != "NONE") {
      fields->Fail("truncate", "must be NONE, START or END");
    }
  }

  static void AddEmbedding(const v1::EncodeResult& result,
                           const std::string& name, std::string* text) {
    const std::vector<float> values(result.embedding().begin(),
                                    result.embedding().end());
    if (name == "base64") {
      *text += '"';
      *text += absl::Base64Escape({reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(float)});
      *text += '"';
      return;
    }
    if (name == "float") return AddJsonList(values, text);
    const EmbeddingType& type = *Find(name);
    v1::EncodeResult bytes;
    SetEmbedding(values, type.format, &bytes);
    std::vector<int> numbers;
    for (const char byte : bytes.embedding_bytes()) {
      numbers.push_back((type.is_signed ? static_cast<int8_t>(byte)
                                        : static_cast<uint8_t>(byte)) +
                        type.shift);
    }
    AddJsonList(numbers, text);
  }

  const Environment& environment_;
  const AllowedModels models_;
  const bool first_;
  bool plain_ = false;            // the embeddings are floats without a name
  const char* inputs_ = "texts";  // the member that has them
  std::vector<std::string> texts_;
  std::vector<std::string> types_;  // as the request names them
};

}  // namespace

std::unique_ptr<Codec> NewCohereEmbedCodec(const Environment& environment,
                                           const RequestHead& head) {
  return std::make_unique<CohereEmbedCodec>(environment, head,
                                            /*first=*/false);
}
std::unique_ptr<Codec> NewCohereEmbed1Codec(const Environment& environment,
                                            const RequestHead& head) {
  return std::make_unique<CohereEmbedCodec>(environment, head, /*first=*/true);
}

}  // namespace trivium
