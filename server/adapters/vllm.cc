#include "server/adapters/vllm.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/status.h"
#include "server/adapters/answers.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_kin.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

// The part of the two shapes that is the same: the members about the request as
// a whole, and the frame of the answer.
class VllmCodec : public Codec {
 public:
  explicit VllmCodec(const Environment& environment)
      : ignored_(environment.ignored_members),
        created_(absl::ToUnixSeconds(
            environment.clock->WallTime(environment.clock->Now()))) {}

  absl::Status Read(std::string_view body, Message* message) final {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    ReadFields(&fields, message);
    return fields.Done();
  }

 protected:
  // Reads the members of one shape.
  virtual void ReadFields(JsonFields* fields, Message* message) = 0;

  template <typename Request>
  void ReadShared(JsonFields* fields, Request* request) {
    request->set_model(fields->String("model").value_or(""));
    if (CutsPrompts(fields)) request->set_truncate(true);
    // Three names that it had in turn.
    activate_ = fields
                    ->Bool(fields->NameAmong(
                        {"softmax", "activation", "use_activation"}))
                    .value_or(true);
    fields->Only("encoding_format", {"float"}, kNotSupported);
    fields->Only("add_special_tokens", {true}, kNotSupported);
    fields->Ignore("vLLM", ignored_, {"user", "priority", "request_id"});
  }

  // True for scores, false for logits.
  bool activate() const { return activate_; }

  HttpAnswer Answer(const char* prefix, const std::string& model,
                    ordered_json data, uint64_t tokens) const {
    return {.body = ToJsonText(ordered_json{{"id", NewAnswerId(prefix)},
                                            {"object", "list"},
                                            {"created", created_},
                                            {"model", model},
                                            {"data", std::move(data)},
                                            {"usage",
                                             {{"prompt_tokens", tokens},
                                              {"total_tokens", tokens},
                                              {"completion_tokens", 0}}}})};
  }

 private:
  IgnoredMembers* const ignored_;
  const int64_t created_;  // seconds since 1970
  bool activate_ = true;
};

class VllmScoreCodec final : public VllmCodec {
 public:
  using VllmCodec::VllmCodec;

  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::RerankRequest*>(message);
    ReadShared(fields, request);
    // The later names of the same.
    query_name_ = fields->NameAmong({"text_1", "data_1", "queries"});
    documents_name_ =
        fields->NameAmong({"text_2", "data_2", "documents", "items"});
    fields->Require(query_name_);
    const std::vector<std::string> queries = fields->Strings(query_name_);
    if (fields->ok() && queries.size() != 1) {
      fields->Fail(query_name_,
                   fmt::format("has {} texts; send one in each request",
                               queries.size()));
    }
    if (queries.size() == 1) request->set_query(queries.front());
    fields->Require(documents_name_);
    for (std::string& text : fields->Strings(documents_name_)) {
      request->add_documents(std::move(text));
    }
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) {
      const FieldName names[] = {{"query", query_name_},
                                 {"documents", documents_name_}};
      return OpenAiFailure(ending, names);
    }
    const auto& response = *static_cast<const v1::RerankResponse*>(last);
    std::vector<float> scores(response.documents_size());
    uint64_t tokens = 0;
    for (const auto& document : response.documents()) {
      tokens += document.token_count();
      if (document.index() >= scores.size()) continue;
      scores[document.index()] =
          activate() ? document.score() : document.logit();
    }
    ordered_json data = ordered_json::array();
    for (size_t i = 0; i < scores.size(); ++i) {
      data.push_back({{"index", i}, {"object", "score"}, {"score", scores[i]}});
    }
    return Answer("score-", response.model().name(), std::move(data), tokens);
  }

 private:
  const char* query_name_ = "text_1";
  const char* documents_name_ = "text_2";
};

class VllmClassifyCodec final : public VllmCodec {
 public:
  using VllmCodec::VllmCodec;

  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::ClassifyRequest*>(message);
    ReadShared(fields, request);
    fields->Require("input");
    for (std::string& text : fields->Strings("input")) {
      request->add_inputs()->set_text(std::move(text));
    }
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    constexpr FieldName kNames[] = {{"inputs", "input"}};
    if (!ending.status.ok()) return OpenAiFailure(ending, kNames);
    const auto& response = *static_cast<const v1::ClassifyResponse*>(last);
    ordered_json data = ordered_json::array();
    uint64_t tokens = 0;
    for (const v1::Classification& result : response.results()) {
      tokens += result.token_count();
      std::vector<float> probabilities(result.labels_size());
      for (const v1::Label& label : result.labels()) {
        if (label.index() >= probabilities.size()) continue;
        probabilities[label.index()] =
            activate() ? label.score() : label.logit();
      }
      data.push_back(
          {{"index", data.size()},
           {"label", result.labels_size() > 0 ? result.labels(0).label() : ""},
           {"probs", probabilities},
           {"num_classes", result.labels_size()}});
    }
    return Answer("classify-", response.model().name(), std::move(data),
                  tokens);
  }
};

}  // namespace

std::unique_ptr<Codec> NewVllmScoreCodec(const Environment& environment,
                                         const RequestHead&) {
  return std::make_unique<VllmScoreCodec>(environment);
}
std::unique_ptr<Codec> NewVllmClassifyCodec(const Environment& environment,
                                            const RequestHead&) {
  return std::make_unique<VllmClassifyCodec>(environment);
}

}  // namespace trivium
