#include <fmt/format.h>

#include <bit>
#include <climits>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_kin.h"
#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "embeddings go out in base64 as they lie in memory");

void AddText(const json& text, const std::string& field, JsonFields* fields,
             v1::EncodeRequest* request) {
  request->add_inputs()->set_text(text.get<std::string>());
  if (request->inputs().rbegin()->text().empty()) {
    fields->Fail(field, "is empty; send a text");
  }
}

// Reads any of the four shapes of input that OpenAI accepts.
void ReadInput(JsonFields* fields, v1::EncodeRequest* request) {
  const json* const input = fields->Value("input");
  if (input == nullptr) return fields->Require("input");
  if (input->is_string()) return AddText(*input, "input", fields, request);
  if (IsIds(*input)) {
    return AddIds(*input, request->add_inputs()->mutable_ids()->mutable_ids());
  }
  if (!input->is_array()) {
    return fields->Fail("input", "must be a text, a list of texts, or ids");
  }
  if (input->empty()) return fields->Fail("input", "is empty; send a text");
  for (size_t i = 0; i < input->size(); ++i) {
    const json& one = (*input)[i];
    if (one.is_string()) {
      AddText(one, fmt::format("input[{}]", i), fields, request);
    } else if (IsIds(one)) {
      AddIds(one, request->add_inputs()->mutable_ids()->mutable_ids());
    } else if (one.is_object()) {
      // Jina's shape.
      const std::string path = fmt::format("input[{}]", i);
      JsonFields object(one, path + ".");
      object.Require("text");
      if (object.String("text")) {
        AddText(one["text"], path + ".text", fields, request);
      }
      fields->Keep(object.Done());
    } else {
      return fields->Fail(fmt::format("input[{}]", i),
                          "must be a text or a list of ids");
    }
  }
}

// Reads which embeddings to make and what the texts are, which OpenAI's API
// does not have.
void ReadOutputs(JsonFields* fields, v1::EncodeRequest* request) {
  const std::vector<std::string> names = fields->Strings("outputs");
  for (const std::string& name : names) {
    if (name == "dense") {
      request->add_outputs(v1::ENCODE_OUTPUT_DENSE);
    } else if (name == "sparse") {
      request->add_outputs(v1::ENCODE_OUTPUT_SPARSE);
    } else if (name == "multi_vector") {
      request->add_outputs(v1::ENCODE_OUTPUT_MULTI_VECTOR);
    } else {
      fields->Fail("outputs", "must be of dense, sparse and multi_vector");
    }
  }
  if (names.empty()) request->add_outputs(v1::ENCODE_OUTPUT_DENSE);
}

// Reads what the texts are. `input_type` is NVIDIA's and Voyage's name for it;
// a model that reads both alike ignores it.
void ReadKind(JsonFields* fields, v1::EncodeRequest* request) {
  const char* const name = fields->NameAmong({"kind", "input_type"});
  const auto kind = fields->String(name);
  if (!kind) return;
  if (*kind == "query" || *kind == "search_query") {
    request->set_kind(v1::TEXT_KIND_QUERY);
  } else if (*kind == "document" || *kind == "passage" ||
             *kind == "search_document") {
    request->set_kind(v1::TEXT_KIND_DOCUMENT);
  } else {
    fields->Fail(name, "must be query or document");
  }
}

// Reads whether texts that are too long are cut: `truncate` as a boolean, or in
// NVIDIA's and Cohere's words; vLLM's `truncate_prompt_tokens` of -1. Sets the
// request's name for it.
void ReadTruncation(JsonFields* fields, v1::EncodeRequest* request,
                    const char** name) {
  *name = fields->NameAmong({"truncate", "truncate_prompt_tokens"});
  const json* const value = fields->Value("truncate");
  if (value != nullptr && value->is_string()) {
    const std::string end = absl::AsciiStrToUpper(value->get<std::string>());
    request->set_truncate(end != "NONE");
    if (end == "START") {
      request->set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
    } else if (end != "END" && end != "NONE") {
      fields->Fail("truncate", "must be true, false, NONE, START or END");
    }
  } else if (const auto truncate = fields->Bool("truncate")) {
    request->set_truncate(*truncate);
  }
  if (CutsPrompts(fields)) request->set_truncate(true);
}

class OpenAiEmbeddingsCodec : public Codec {
 public:
  explicit OpenAiEmbeddingsCodec(IgnoredMembers* ignored) : ignored_(ignored) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    JsonFields fields(value, "");
    request->set_model(fields.String("model").value_or(""));
    ReadOutputs(&fields, request);
    ReadInput(&fields, request);
    const std::string format =
        fields.String("encoding_format").value_or("float");
    base64_ = format == "base64";
    if (!base64_ && format != "float") {
      fields.Fail("encoding_format", "must be float or base64");
    }
    if (const auto dimensions = fields.Integer("dimensions", 1, INT_MAX)) {
      request->set_dimensions(static_cast<uint32_t>(*dimensions));
    }
    ReadKind(&fields, request);
    ReadTruncation(&fields, request, &truncate_name_);
    fields.Only("add_special_tokens", {true},
                "must be true: a model reads a text with its special tokens; "
                "send ids to leave them out");
    // For logs, bills and stores of others.
    fields.Ignore("OpenAI", ignored_,
                  {"metadata", "user", "service_tier", "safety_identifier"});
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) {
      const FieldName names[] = {{"inputs", "input"},
                                 {"truncation_direction", "truncate"},
                                 {"truncate", truncate_name_}};
      return OpenAiFailure(ending, names);
    }
    const auto& response = *static_cast<const v1::EncodeResponse*>(last);
    // Written as text, since values of json would be most of the work.
    std::string text = R"({"object":"list","data":[)";
    uint64_t tokens = 0;
    for (int i = 0; i < response.results_size(); ++i) {
      const v1::EncodeResult& result = response.results(i);
      tokens += result.token_count();
      if (i > 0) text += ',';
      fmt::format_to(std::back_inserter(text),
                     R"({{"object":"embedding","index":{})", i);
      AddEmbedding(result, &text);
      AddOthers(result, &text);
      text += '}';
    }
    fmt::format_to(
        std::back_inserter(text),
        R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
        ToJsonText(json(response.model().name())), tokens, tokens);
    return {.body = std::move(text)};
  }

 private:
  void AddEmbedding(const v1::EncodeResult& result, std::string* text) const {
    const auto& values = result.embedding();
    if (values.empty()) return;
    *text += R"(,"embedding":)";
    if (base64_) {
      std::string coded;
      absl::Base64Escape({reinterpret_cast<const char*>(values.data()),
                          values.size() * sizeof(float)},
                         &coded);
      *text += '"' + coded + '"';
      return;
    }
    AddJsonList(values, text);
  }

  // Adds the embeddings that are not dense.
  static void AddOthers(const v1::EncodeResult& result, std::string* text) {
    if (result.has_sparse()) {
      *text += R"(,"sparse_embedding":{"indices":)";
      AddJsonList(result.sparse().ids(), text);
      *text += R"(,"values":)";
      AddJsonList(result.sparse().weights(), text);
      *text += '}';
    }
    if (!result.has_multi_vector()) return;
    const v1::MultiVector& rows = result.multi_vector();
    const auto size = static_cast<size_t>(rows.size());
    *text += R"(,"multi_vector":[)";
    for (size_t row = 0; row < rows.row_count(); ++row) {
      if (row > 0) *text += ',';
      AddJsonList(std::span(rows.values().data() + row * size, size), text);
    }
    *text += ']';
  }

  IgnoredMembers* const ignored_;
  bool base64_ = false;
  const char* truncate_name_ = "truncate";  // as the request has it
};

}  // namespace

std::unique_ptr<Codec> NewOpenAiEmbeddingsCodec(const Environment& environment,
                                                const RequestHead&) {
  return std::make_unique<OpenAiEmbeddingsCodec>(environment.ignored_members);
}

}  // namespace trivium
