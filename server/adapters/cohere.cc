#include "server/adapters/cohere.h"

#include <fmt/format.h>

#include <climits>
#include <string>

#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai_kin.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

class CohereRerankCodec : public Codec {
 public:
  enum class Shape { kFirst, kSecond, kInfinity };

  CohereRerankCodec(const Environment& environment, const RequestHead& head,
                    Shape shape)
      : environment_(environment),
        models_(environment.models, head.grant),
        shape_(shape) {}

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<v1::RerankRequest*>(message);
    JsonFields fields(value, "");
    const auto model = fields.String("model");
    request->set_model(model.value_or(""));
    fields.Require("query");
    request->set_query(fields.String("query").value_or(""));
    ReadDocuments(&fields, request);
    if (const auto top = fields.Integer("top_n", 1, INT_MAX)) {
      request->set_top(static_cast<uint32_t>(*top));
    }
    documents_ = fields.Bool("return_documents").value_or(false);
    request->set_return_text(documents_);
    ReadTruncation(&fields, request);
    raw_ = fields.Bool("raw_scores").value_or(false);
    fields.Only("rank_fields", {json::array({"text"})},
                "must be text alone; join the others in the document's text");
    fields.Only("max_chunks_per_doc", {1},
                "is not supported: a document is read once");
    // They tell Cohere's servers how urgent a request is, and whose it is.
    fields.Ignore("Cohere", environment_.ignored_members,
                  {"priority", "client_name", "user"});
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return CohereFailure(ending, "documents");
    const auto& response = *static_cast<const v1::RerankResponse*>(last);
    ordered_json results = ordered_json::array();
    uint64_t tokens = 0;
    for (const auto& document : response.documents()) {
      tokens += document.token_count();
      ordered_json result = {
          {"index", document.index()},
          {"relevance_score", raw_ ? document.logit() : document.score()}};
      if (documents_ && shape_ == Shape::kInfinity) {
        result["document"] = document.text();
      } else if (documents_) {
        result["document"] = {{"text", document.text()}};
      }
      results.push_back(result);
    }
    return {
        .body = ToJsonText(ordered_json{
            {"id", ending.request_id},
            {"model", response.model().name()},
            {"results", results},
            {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
            {"meta",
             {{"api_version",
               {{"version", shape_ == Shape::kSecond ? "2" : "1"}}},
              {"billed_units", {{"search_units", 1}}}}}})};
  }

 private:
  static void ReadDocuments(JsonFields* fields, v1::RerankRequest* request) {
    const json* const documents = fields->Value("documents");
    if (documents == nullptr) return fields->Require("documents");
    if (!documents->is_array()) {
      return fields->Fail("documents", "must be a list");
    }
    for (size_t i = 0; i < documents->size(); ++i) {
      const json& document = (*documents)[i];
      if (document.is_string()) {
        request->add_documents(document.get<std::string>());
        continue;
      }
      if (!document.is_object()) {
        return fields->Fail(fmt::format("documents[{}]", i),
                            "must be a text, or an object with a text");
      }
      JsonFields object(document, fmt::format("documents[{}].", i));
      object.Require("text");
      request->add_documents(object.String("text").value_or(""));
      // Its other members are the client's: a document is ranked by its text.
      for (const auto& [name, value] : document.items()) {
        object.Value(name.c_str());
      }
      fields->Keep(object.Done());
    }
  }

  // Cohere's second version cuts what is too long.
  void ReadTruncation(JsonFields* fields, v1::RerankRequest* request) const {
    fields->NameAmong({"truncation", "truncate", "truncate_prompt_tokens"});
    for (const char* const name : {"truncation", "truncate"}) {
      if (const auto truncate = fields->Bool(name)) {
        request->set_truncate(*truncate);
      }
    }
    if (CutsPrompts(fields)) request->set_truncate(true);
    const auto most = fields->Integer("max_tokens_per_doc", 1, INT_MAX);
    if (most && fields->ok()) CutDocuments(*most, request);
    if ((shape_ == Shape::kSecond || most) && !request->has_truncate()) {
      request->set_truncate(true);
    }
  }

  // Keeps the first `most` tokens of each document. Leaves what cannot be cut
  // for the call to refuse.
  void CutDocuments(int64_t most, v1::RerankRequest* request) const {
    const auto model = models_.FindFor(Rpc::kRerank, request->model());
    if (!model.ok() || (*model)->model->tokenizer() == nullptr) return;
    EncodeOptions options;
    options.add_special_tokens = false;
    options.most_tokens = most;
    for (std::string& text : *request->mutable_documents()) {
      if (static_cast<int64_t>(text.size()) <= most ||
          static_cast<int64_t>(text.size()) >
              environment_.limits.max_text_bytes) {
        continue;
      }
      const auto tokens = (*model)->model->tokenizer()->Tokenize(text, options);
      if (!tokens.ok() || static_cast<int64_t>(tokens->size()) <= most) {
        continue;
      }
      text.resize((*tokens)[most].byte_begin);
    }
  }

  const Environment& environment_;
  const AllowedModels models_;
  const Shape shape_;
  bool documents_ = false;
  bool raw_ = false;  // as Infinity has it: logits instead of scores
};

}  // namespace

HttpAnswer CohereFailure(const Ending& ending, std::string_view inputs) {
  const FieldName names[] = {{"inputs", inputs},
                             {"top", "top_n"},
                             {"dimensions", "output_dimension"},
                             {"truncation_direction", "truncate"}};
  const std::string message = MessageOf(ending, names);
  return {.status = HttpStatusOf(ending.status.code()),
          .body = ToJsonText(
              ordered_json{{"message", message}, {"detail", message}})};
}

std::unique_ptr<Codec> NewCohereRerankCodec(const Environment& environment,
                                            const RequestHead& head) {
  return std::make_unique<CohereRerankCodec>(environment, head,
                                             CohereRerankCodec::Shape::kFirst);
}
std::unique_ptr<Codec> NewCohereRerank2Codec(const Environment& environment,
                                             const RequestHead& head) {
  return std::make_unique<CohereRerankCodec>(environment, head,
                                             CohereRerankCodec::Shape::kSecond);
}
std::unique_ptr<Codec> NewInfinityRerankCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<CohereRerankCodec>(
      environment, head, CohereRerankCodec::Shape::kInfinity);
}

}  // namespace trivium
