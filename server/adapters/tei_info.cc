// TEI's page about the model, and TGI's of a server whose models only generate.
#include <string>
#include <utility>

#include "server/adapters/json_body.h"
#include "server/adapters/tei.h"
#include "server/adapters/tei_codec.h"
#include "server/calls/allowed_models.h"
#include "server/observability/version.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

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
      return absl::OkStatus();
    }
    const ModelHandle model = models_.FirstFor(Rpc::kGenerate);
    generates_ = model != nullptr;
    if (generates_) {
      static_cast<v1::GetModelRequest*>(message)->set_name(model->name);
    }
    return absl::OkStatus();
  }

  int StatusOf(absl::StatusCode code) const override { return TeiStatus(code); }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return TeiFailure(ending);
    const auto& model = *static_cast<const v1::Model*>(last);
    ordered_json info = {
        {"model_id", model.name()},
        {"model_sha", model.revision()},
        {"model_dtype", DtypeOf(model.precision())},
        {"max_concurrent_requests", environment_.max_connections}};
    info.update(generates_ ? GeneratorOf(model) : EncoderOf(model));
    info.update(
        {{"version", kVersion}, {"sha", nullptr}, {"docker_label", nullptr}});
    return {.body = ToJsonText(info)};
  }

 private:
  // A model as TEI's /info tells of it, and below as TGI's.
  ordered_json EncoderOf(const v1::Model& model) const {
    return {{"served_model_name", model.name()},
            {"model_type", TypeOf(model)},
            {"max_input_length", model.limits().max_source_tokens()},
            {"max_batch_tokens", environment_.max_waiting_tokens},
            {"max_batch_requests", nullptr},
            {"max_client_batch_size", model.limits().max_inputs()},
            {"auto_truncate", true},
            {"tokenization_workers", environment_.tokenizing->threads()}};
  }
  ordered_json GeneratorOf(const v1::Model& model) const {
    const v1::Limits& limits = model.limits();
    // A decoder's new tokens need a place behind the prompt.
    const bool decoder = model.design() == v1::DESIGN_DECODER;
    return {{"model_device_type", "cpu"},
            {"model_pipeline_tag",
             decoder ? "text-generation" : "text2text-generation"},
            {"max_best_of", 1},
            {"max_stop_sequences", limits.max_stop_strings()},
            {"max_input_tokens", decoder ? limits.max_target_tokens() - 1
                                         : limits.max_source_tokens()},
            {"max_total_tokens", limits.max_target_tokens()},
            {"validation_workers", environment_.tokenizing->threads()},
            {"max_client_batch_size", 1},
            {"router", "trivium"}};
  }

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
  ordered_json TypeOf(const v1::Model& model) const {
    if (model.labels().empty()) {
      return {{"embedding",
               {{"pooling", PoolingOf(model.name())},
                {"dimensions", model.embedding_size()}}}};
    }
    ordered_json id2label = ordered_json::object();
    ordered_json label2id = ordered_json::object();
    for (int i = 0; i < model.labels_size(); ++i) {
      id2label[std::to_string(i)] = model.labels(i);
      label2id[model.labels(i)] = i;
    }
    return {{model.labels_size() == 1 ? "reranker" : "classifier",
             {{"id2label", id2label}, {"label2id", label2id}}}};
  }

  // In TEI's words, of which it has none for several poolings at once.
  std::string PoolingOf(const std::string& name) const {
    const absl::StatusOr<ModelHandle> found = models_.Find(name);
    std::string text;
    if (!found.ok()) return text;  // it was unloaded just now
    const SentenceEncoder& sentences = (*found)->model->sentence_encoder();
    if (!sentences.has_dense() && sentences.has_sparse()) return "splade";
    for (const TokenPooling pooling : sentences.poolings()) {
      text += (text.empty() ? "" : "+") + std::string(NameOf(pooling));
    }
    return text;
  }
  static const char* NameOf(TokenPooling pooling) {
    switch (pooling) {
      case TokenPooling::kFirst:
        return "cls";
      case TokenPooling::kLast:
        return "last_token";
      case TokenPooling::kMax:
        return "max";
      default:
        return "mean";
    }
  }

  const Environment& environment_;
  const AllowedModels models_;
  bool generates_ = false;  // and does nothing else; after Read
};

}  // namespace

std::unique_ptr<Codec> NewTeiInfoCodec(const Environment& environment,
                                       const RequestHead& head) {
  return std::make_unique<TeiInfoCodec>(environment, head.grant);
}

}  // namespace trivium
