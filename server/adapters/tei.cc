#include "server/adapters/tei.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/adapters/json_body.h"
#include "server/adapters/tei_codec.h"
#include "server/calls/allowed_models.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

class TeiEmbedCodec : public TeiCodec {
 protected:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    ReadInputs(fields, request);
    fields->Only("parameters", {json::object()}, kNotHere);
    request->add_outputs(v1::ENCODE_OUTPUT_DENSE);
    // Normalizes by default like TEI, whatever the folder says.
    request->set_normalize(fields->Bool("normalize").value_or(true));
    if (const auto size = fields->Integer("dimensions", 1, INT32_MAX)) {
      request->set_dimensions(static_cast<uint32_t>(*size));
    }
    ReadRest(fields, request);
  }

  static void ReadRest(JsonFields* fields, v1::EncodeRequest* request) {
    if (const auto name = fields->String("prompt_name")) {
      request->set_prompt_name(*name);
    }
    ReadTruncation(fields, request);
  }

  // Reads a text, a list of ids, or a list of texts and lists of ids.
  void ReadInputs(JsonFields* fields, v1::EncodeRequest* request) {
    const json* const inputs = fields->Value("inputs");
    if (inputs == nullptr) return fields->Require("inputs");
    if (inputs->is_string())
      return ReadText(fields, "inputs", *inputs, request);
    if (IsIds(*inputs)) {
      Rename({"inputs[0].ids.ids", "inputs"});
      return AddIds(*inputs,
                    request->add_inputs()->mutable_ids()->mutable_ids());
    }
    if (!inputs->is_array()) {
      return fields->Fail("inputs",
                          "must be a text, a list of ids, or a list "
                          "of texts and lists of ids");
    }
    if (inputs->empty()) return FailEmpty(fields, "inputs");
    const bool numbers =
        std::all_of(inputs->begin(), inputs->end(),
                    [](const json& input) { return input.is_number(); });
    if (numbers) {
      return fields->Fail("inputs", "has a number that is no id");
    }
    for (size_t i = 0; i < inputs->size(); ++i) {
      const json& input = (*inputs)[i];
      if (input.is_string()) {
        ReadText(fields, fmt::format("inputs[{}]", i), input, request);
      } else if (IsIds(input)) {
        AddIds(input, request->add_inputs()->mutable_ids()->mutable_ids());
      } else {
        return fields->Fail(fmt::format("inputs[{}]", i),
                            "must be a text or a list of ids");
      }
    }
  }

  // TEI refuses a text without characters.
  void ReadText(JsonFields* fields, const std::string& name, const json& text,
                v1::EncodeRequest* request) {
    if (text == "") return FailEmpty(fields, name, "is empty; send a text");
    request->add_inputs()->set_text(text.get<std::string>());
  }

  std::string AnswerOf(const Message& message) const override {
    std::string text = "[";
    for (const v1::EncodeResult& result :
         static_cast<const v1::EncodeResponse&>(message).results()) {
      if (text.size() > 1) text += ',';
      AddJsonList(result.embedding(), &text);
    }
    return text + "]";
  }
};

class TeiEmbedAllCodec : public TeiEmbedCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    ReadInputs(fields, request);
    request->set_pooling(v1::POOLING_NONE);
    request->set_token_vectors(true);
    ReadRest(fields, request);
  }

  std::string AnswerOf(const Message& message) const override {
    std::string text = "[";
    for (const v1::EncodeResult& result :
         static_cast<const v1::EncodeResponse&>(message).results()) {
      const auto& values = result.token_vectors();
      const int tokens = static_cast<int>(result.token_count());
      const int size = tokens > 0 ? values.size() / tokens : 0;
      text += text.size() > 1 ? ",[" : "[";
      for (int i = 0; i < tokens; ++i) {
        if (i > 0) text += ',';
        AddJsonList(std::span(values.data() + i * size, size), &text);
      }
      text += ']';
    }
    return text + "]";
  }
};

class TeiEmbedSparseCodec : public TeiEmbedCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::EncodeRequest*>(message);
    ReadInputs(fields, request);
    request->add_outputs(v1::ENCODE_OUTPUT_SPARSE);
    ReadRest(fields, request);
  }

  std::string AnswerOf(const Message& message) const override {
    ordered_json all = ordered_json::array();
    for (const v1::EncodeResult& result :
         static_cast<const v1::EncodeResponse&>(message).results()) {
      ordered_json weights = ordered_json::array();
      for (int i = 0; i < result.sparse().ids_size(); ++i) {
        weights.push_back({{"index", result.sparse().ids(i)},
                           {"value", result.sparse().weights(i)}});
      }
      all.push_back(std::move(weights));
    }
    return ToJsonText(all);
  }
};

class TeiSimilarityCodec : public TeiCodec {
 public:
  TeiSimilarityCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant) {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::SimilarityRequest*>(message);
    // TEI compares dense embeddings by their cosine, whatever the folder says.
    const auto model = models_.FindFor(Rpc::kSimilarity, request->model());
    if (model.ok() && (*model)->model->sentence_encoder().has_dense()) {
      request->mutable_weights()->set_dense(1);
      request->set_function(v1::SIMILARITY_FUNCTION_COSINE);
    }
    fields->Require("inputs");
    if (const json* const value = fields->Value("inputs")) {
      JsonFields inputs(*value, "inputs.");
      inputs.Require("source_sentence");
      inputs.Require("sentences");
      request->mutable_first()->add_inputs()->set_text(
          inputs.String("source_sentence").value_or(""));
      for (std::string& text : inputs.Strings("sentences")) {
        request->mutable_second()->add_inputs()->set_text(std::move(text));
      }
      fields->Keep(inputs.Done());
      if (!request->has_second()) FailEmpty(fields, "inputs.sentences");
    }
    ReadParameters(fields, [request](JsonFields* parameters) {
      if (const auto name = parameters->String("prompt_name")) {
        request->mutable_first()->set_prompt_name(*name);
        request->mutable_second()->set_prompt_name(*name);
      }
      ReadTruncation(parameters, request);
    });
  }

  std::string AnswerOf(const Message& message) const override {
    std::string text;
    AddJsonList(static_cast<const v1::SimilarityResponse&>(message).scores(),
                &text);
    return text;
  }

  const AllowedModels models_;
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
    if (request->documents().empty()) FailEmpty(fields, "texts");
    raw_ = fields->Bool("raw_scores").value_or(false);
    text_ = fields->Bool("return_text").value_or(false);
    request->set_return_text(text_);
    // LiteLLM sends it; TEI itself answers all.
    if (const auto top = fields->Integer("top_n", 1, INT32_MAX)) {
      request->set_top(static_cast<uint32_t>(*top));
    }
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
 public:
  TeiPredictCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant) {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::ClassifyRequest*>(message);
    raw_ = fields->Bool("raw_scores").value_or(false);
    ReadTruncation(fields, request);
    // Hugging Face's InferenceClient sends parameters, and expects a list for
    // each text, also for a single one.
    const json* const parameters = fields->Value("parameters");
    if (parameters != nullptr && parameters->is_object() &&
        parameters->contains("candidate_labels")) {
      return ReadZeroShot(fields, request);
    }
    ReadOptions(fields, request);
    const bool lists = parameters != nullptr;
    many_ = lists;
    const json* const inputs = fields->Value("inputs");
    if (inputs == nullptr) return fields->Require("inputs");
    if (!inputs->is_array()) {
      return AddInput(json::array({*inputs}), "inputs", fields, request);
    }
    if (inputs->empty()) return FailEmpty(fields, "inputs");
    // A list of texts is one text or one pair, as in TEI.
    const bool single = inputs->front().is_string();
    many_ = lists || !single;
    if (single) return AddInput(*inputs, "inputs", fields, request);
    for (size_t i = 0; i < inputs->size(); ++i) {
      AddInput((*inputs)[i], fmt::format("inputs[{}]", i), fields, request);
    }
  }

  // Reads the parameters of InferenceClient's text classification.
  void ReadOptions(JsonFields* fields, v1::ClassifyRequest* request) {
    ReadParameters(fields, [&](JsonFields* parameters) {
      if (const auto top = parameters->Integer("top_k", 1, INT32_MAX)) {
        request->set_top(static_cast<uint32_t>(*top));
      }
      const auto function = parameters->String("function_to_apply");
      if (!function) return;
      const auto model = models_.FindFor(Rpc::kClassify, request->model());
      if (*function == "none") {
        raw_ = true;
      } else if (model.ok() && (*model)->model->info().head &&
                 *function != FunctionOf(*(*model)->model)) {
        parameters->Fail("function_to_apply",
                         fmt::format("must be none or, for this model, {}",
                                     FunctionOf(*(*model)->model)));
      }
    });
  }

  // The function that makes a model's scores of its logits.
  static std::string_view FunctionOf(const Model& model) {
    switch (model.info().head->scores) {
      case HeadInfo::Scores::kSoftmax:
        return "softmax";
      case HeadInfo::Scores::kSigmoid:
        return "sigmoid";
      case HeadInfo::Scores::kNone:
        break;
    }
    return "none";
  }

  // Reads InferenceClient's zero-shot classification: labels of the request for
  // a text, or for each of a list.
  void ReadZeroShot(JsonFields* fields, v1::ClassifyRequest* request) {
    ReadParameters(fields, [request](JsonFields* parameters) {
      const json* const labels = parameters->Value("candidate_labels");
      // A text would be one label, or several with commas between them.
      if (labels != nullptr && labels->is_string()) {
        parameters->Fail("candidate_labels", "must be a list of strings");
      }
      for (std::string& label : parameters->Strings("candidate_labels")) {
        request->add_labels(std::move(label));
      }
      if (request->labels().empty()) {
        parameters->Fail("candidate_labels", "is empty; send at least one");
      }
      if (const auto text = parameters->String("hypothesis_template")) {
        request->set_hypothesis_template(*text);
      }
      if (const auto many = parameters->Bool("multi_label")) {
        request->set_multi_label(*many);
      }
    });
    many_ = ReadTexts(fields, request);
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

  const AllowedModels models_;
  bool raw_ = false;
  bool many_ = false;
};

}  // namespace

std::unique_ptr<Codec> NewTeiEmbedCodec(const Environment&,
                                        const RequestHead&) {
  return std::make_unique<TeiEmbedCodec>();
}
std::unique_ptr<Codec> NewTeiRootEmbedCodec(const Environment& environment,
                                            const RequestHead& head) {
  const AllowedModels models(environment.models, head.grant);
  const ModelHandle model = models.FirstFor(Rpc::kEncode);
  if (model != nullptr) {
    const SentenceEncoder& sentences = model->model->sentence_encoder();
    if (!sentences.has_dense() && sentences.has_sparse()) {
      return std::make_unique<TeiEmbedSparseCodec>();
    }
  }
  return std::make_unique<TeiEmbedCodec>();
}
std::unique_ptr<Codec> NewTeiEmbedAllCodec(const Environment&,
                                           const RequestHead&) {
  return std::make_unique<TeiEmbedAllCodec>();
}
std::unique_ptr<Codec> NewTeiEmbedSparseCodec(const Environment&,
                                              const RequestHead&) {
  return std::make_unique<TeiEmbedSparseCodec>();
}
std::unique_ptr<Codec> NewTeiSimilarityCodec(const Environment& environment,
                                             const RequestHead& head) {
  return std::make_unique<TeiSimilarityCodec>(environment, head);
}
std::unique_ptr<Codec> NewTeiRerankCodec(const Environment&,
                                         const RequestHead&) {
  return std::make_unique<TeiRerankCodec>();
}
std::unique_ptr<Codec> NewTeiPredictCodec(const Environment& environment,
                                          const RequestHead& head) {
  return std::make_unique<TeiPredictCodec>(environment, head);
}

}  // namespace trivium
