#include "server/adapters/kserve/infer_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;

template <typename Request>
absl::StatusOr<InnerCall> Ask(NewHandler* handler, const std::string& model,
                              std::vector<std::string> texts,
                              Request request = {}) {
  request.set_model(model);
  for (std::string& text : texts) {
    request.add_inputs()->set_text(std::move(text));
  }
  return Unary(handler, std::move(request));
}

void TellClassify(const Message& message, OutputTensors* outputs) {
  const auto& response = static_cast<const v1::ClassifyResponse&>(message);
  std::vector<std::string> labels;
  std::vector<float> scores;
  for (const v1::Classification& result : response.results()) {
    for (const v1::Label& label : result.labels()) {
      labels.push_back(label.label());
      scores.push_back(label.score());
    }
  }
  const int64_t texts = response.results_size();
  const std::vector<int64_t> shape = {
      texts, static_cast<int64_t>(labels.size()) / std::max<int64_t>(1, texts)};
  outputs->Add("label", shape, labels);
  outputs->Add("score", shape, scores);
}

void TellTranslate(const Message& message, OutputTensors* outputs) {
  const auto& response = static_cast<const v1::TranslateResponse&>(message);
  std::vector<std::string> texts;
  for (const v1::TranslateResult& result : response.results()) {
    texts.push_back(result.hypotheses(0).text());
  }
  outputs->Add("text", {response.results_size()}, texts);
}

void TellEncode(const Message& message, OutputTensors* outputs) {
  const auto& response = static_cast<const v1::EncodeResponse&>(message);
  std::vector<float> values;
  for (const v1::EncodeResult& result : response.results()) {
    values.insert(values.end(), result.embedding().begin(),
                  result.embedding().end());
  }
  outputs->Add("embedding",
               {response.results_size(), response.results(0).embedding_size()},
               values);
}

absl::StatusOr<InnerCall> AskGenerate(const std::string& model,
                                      std::vector<std::string> texts) {
  if (texts.size() != 1) {
    return InvalidField("inputs[0].shape",
                        fmt::format("says {} texts; a model that generates "
                                    "takes one a call",
                                    texts.size()));
  }
  v1::GenerateRequest request;
  request.set_model(model);
  request.mutable_input()->set_text(std::move(texts[0]));
  return InnerCall{
      .stream = NewGenerate,
      .request = std::make_unique<v1::GenerateRequest>(std::move(request))};
}

// In the order of preference: a model's kind is the first call that it serves.
const std::vector<InferKind>& Kinds() {
  static const auto* const kinds = new std::vector<InferKind>{
      {"Classify",
       [](const std::string& model, std::vector<std::string> texts) {
         return Ask<v1::ClassifyRequest>(NewClassify, model, std::move(texts));
       },
       TellClassify,
       {{"label", "BYTES", {-1, -1}}, {"score", "FP32", {-1, -1}}}},
      {"Translate",
       [](const std::string& model, std::vector<std::string> texts) {
         return Ask<v1::TranslateRequest>(NewTranslate, model,
                                          std::move(texts));
       },
       TellTranslate,
       {{"text", "BYTES", {-1}}}},
      {"Generate", AskGenerate, nullptr, {{"text", "BYTES", {1}}}},
      {"Encode",
       [](const std::string& model, std::vector<std::string> texts) {
         v1::EncodeRequest request;
         request.add_outputs(v1::ENCODE_OUTPUT_DENSE);
         return Ask(NewEncode, model, std::move(texts), std::move(request));
       },
       TellEncode,
       {{"embedding", "FP32", {-1, -1}}}},
  };
  return *kinds;
}

}  // namespace

const InferKind& KindOf(const v1::Model& model) {
  for (const InferKind& kind : Kinds()) {
    const auto& calls = model.calls();
    if (std::find(calls.begin(), calls.end(), kind.call) != calls.end()) {
      return kind;
    }
  }
  return Kinds().back();  // its handler says that the model does not serve it
}

void GeneratedAnswer::Hear(const Message& message) {
  const auto& response = static_cast<const v1::GenerateResponse&>(message);
  const std::string& piece = response.piece().text();
  if (static_cast<int64_t>(text_.size() + piece.size()) > max_bytes_) {
    too_long_ = true;
  } else {
    text_ += piece;
  }
}

absl::Status GeneratedAnswer::Tell(OutputTensors* outputs) const {
  if (too_long_) {
    return InvalidField(
        "parameters[\"max_new_tokens\"]",
        fmt::format("let the answer have more than the {} bytes that the "
                    "server sends at once; ask for fewer",
                    max_bytes_));
  }
  outputs->Add("text", {1}, std::vector<std::string>{text_});
  return absl::OkStatus();
}

}  // namespace trivium
