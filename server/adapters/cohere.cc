#include "server/adapters/cohere.h"

#include <fmt/format.h>

#include <climits>
#include <string>

#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

class CohereRerankCodec : public Codec {
 public:
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
    if (const auto truncate = fields.Bool("truncation")) {
      request->set_truncate(*truncate);
    }
    fields.Only("max_chunks_per_doc", {1},
                "is not supported: a document is read once");
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) {
      const std::string message = MessageOf(ending);
      return {.status = HttpStatusOf(ending.status.code()),
              .body = ToJsonText(
                  ordered_json{{"message", message}, {"detail", message}})};
    }
    const auto& response = *static_cast<const v1::RerankResponse*>(last);
    ordered_json results = ordered_json::array();
    uint64_t tokens = 0;
    for (const auto& document : response.documents()) {
      tokens += document.token_count();
      ordered_json result = {{"index", document.index()},
                             {"relevance_score", document.score()}};
      if (documents_) result["document"] = {{"text", document.text()}};
      results.push_back(result);
    }
    return {.body = ToJsonText(
                ordered_json{{"id", ending.request_id},
                             {"model", response.model().name()},
                             {"results", results},
                             {"usage", {{"total_tokens", tokens}}}})};
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
      JsonFields object(document, fmt::format("documents[{}].", i));
      object.Require("text");
      request->add_documents(object.String("text").value_or(""));
      fields->Keep(object.Done());
    }
  }

  bool documents_ = false;
};

}  // namespace

std::unique_ptr<Codec> NewCohereRerankCodec(const Environment&,
                                            const RequestHead&) {
  return std::make_unique<CohereRerankCodec>();
}

}  // namespace trivium
