// Ollama's errors, names and lists of models.
#include "server/adapters/ollama.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/status.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/form_body.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/calls/convert/model_calls.h"
#include "server/observability/version.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

// The time at which models are unloaded by themselves, for clients that want
// one. Ollama, too, writes "never" as a time in some centuries.
constexpr char kNever[] = "2300-01-01T00:00:00Z";

// Paths that change the models of a server.
constexpr std::array<std::string_view, 6> kModelPaths = {
    "/api/pull", "/api/push",   "/api/create",
    "/api/copy", "/api/delete", "/api/blobs"};

// A count of parameters as Ollama writes it: "134.52M", "8.0B".
std::string ParameterText(uint64_t count) {
  const auto number = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.1f}B", number / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f}M", number / 1e6);
  if (count >= 1'000) return fmt::format("{:.0f}K", number / 1e3);
  return std::to_string(count);
}

const char* OllamaQuantization(v1::Precision precision) {
  switch (precision) {
    case v1::PRECISION_BF16:
      return "BF16";
    case v1::PRECISION_INT8:
      return "INT8";
    default:
      return "F32";
  }
}

// Without `format`: the kind of the model's file is not known.
ordered_json OllamaDetails(const v1::Model& model) {
  return {{"parent_model", ""},
          {"family", model.family()},
          {"families", {model.family()}},
          {"parameter_size", ParameterText(model.parameter_count())},
          {"quantization_level", OllamaQuantization(model.precision())}};
}

// The tokens that a model reads, and what it writes after them.
uint32_t OllamaContext(const v1::Model& model) {
  return model.design() == v1::DESIGN_DECODER
             ? model.limits().max_target_tokens()
             : model.limits().max_source_tokens();
}

// A model in a list; the time at which a folder was made is not known.
ordered_json OllamaEntry(const v1::Model& model, uint64_t bytes) {
  return {{"name", model.name()},
          {"model", model.name()},
          {"size", bytes},
          {"digest", model.revision()},
          {"details", OllamaDetails(model)}};
}

class OllamaTagsCodec final : public Codec {
 public:
  // `loaded`: shaped as Ollama's list of the models in memory.
  explicit OllamaTagsCodec(bool loaded) : loaded_(loaded) {}

  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OllamaFailure(ending);
    ordered_json models = ordered_json::array();
    for (const v1::Model& model :
         static_cast<const v1::ListModelsResponse*>(last)->models()) {
      models.push_back(loaded_ ? LoadedOf(model)
                               : OllamaEntry(model, model.weight_bytes()));
    }
    return {.body = ToJsonText(ordered_json{{"models", models}})};
  }

 private:
  static ordered_json LoadedOf(const v1::Model& model) {
    ordered_json entry =
        OllamaEntry(model, model.weight_bytes() + model.kv_cache_bytes());
    entry["expires_at"] = kNever;
    entry["size_vram"] = 0;  // all of it is in the processor's memory
    entry["context_length"] = OllamaContext(model);
    return entry;
  }

  const bool loaded_;
};

class OllamaVersionCodec final : public Codec {
 public:
  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return OllamaFailure(ending);
    return {.body = ToJsonText(ordered_json{{"version", kVersion}})};
  }
};

class OllamaShowCodec final : public OllamaCodec {
 public:
  OllamaShowCodec(const Environment& environment,
                  std::shared_ptr<const Grant> grant)
      : models_(environment.models, std::move(grant)),
        ignored_(environment.ignored_members) {}

  absl::Status Read(std::string_view body, Message* request) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    JsonFields fields(value, "");
    // `name` is the older name.
    by_name_ = fields.Value("name") != nullptr;
    const auto old_name = fields.String("name");
    const auto name = fields.String("model");
    if (!name && !old_name) fields.Require("model");
    // The answer has no long lists that it could leave out.
    fields.Ignore("Ollama", ignored_, {"verbose"});
    static_cast<v1::GetModelRequest*>(request)->set_name(
        OllamaModelName(models_, name ? *name : old_name.value_or("")));
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) {
      constexpr FieldName kNames[] = {{"name", "model"}};
      if (by_name_) return OllamaFailure(ending);
      return OllamaFailure(ending, kNames);
    }
    const auto& model = *static_cast<const v1::Model*>(last);
    return {.body = ToJsonText(
                ordered_json{{"details", OllamaDetails(model)},
                             {"model_info", InfoOf(model)},
                             {"capabilities", CapabilitiesOf(model.name())}})};
  }

 private:
  // The names are those of a GGUF file.
  static ordered_json InfoOf(const v1::Model& model) {
    const std::string& family = model.family();
    ordered_json info = {
        {"general.architecture", family},
        {"general.parameter_count", model.parameter_count()},
        {family + ".context_length", OllamaContext(model)},
        {family + ".embedding_length", model.d_model()},
        {family + ".block_count", model.decoder_layer_count() > 0
                                      ? model.decoder_layer_count()
                                      : model.encoder_layer_count()},
        {family + ".attention.head_count", model.head_count()},
        {family + ".vocab_size", model.vocabulary_size()}};
    if (model.kv_head_count() > 0) {
      info[family + ".attention.head_count_kv"] = model.kv_head_count();
    }
    return info;
  }

  ordered_json CapabilitiesOf(const std::string& name) const {
    ordered_json capabilities = ordered_json::array();
    const absl::StatusOr<ModelHandle> found = models_.Find(name);
    if (!found.ok()) return capabilities;  // it was unloaded just now
    const Model& model = *(*found)->model;
    if (ServesCall(model, Rpc::kGenerate)) {
      capabilities.push_back("completion");
    }
    if (ServesCall(model, Rpc::kEncode)) capabilities.push_back("embedding");
    const auto with = [&model](bool tools) {
      return model.chat_templates().Find(/*name=*/"", tools);
    };
    if (const auto chat = with(true); chat.ok() && (*chat)->MayRead("tools")) {
      capabilities.push_back("tools");
    }
    if (const auto chat = with(false); chat.ok() && TellsThinking(**chat)) {
      capabilities.push_back("thinking");
    }
    return capabilities;
  }

  const AllowedModels models_;
  IgnoredMembers* const ignored_;
  bool by_name_ = false;  // the request has the older name
};

}  // namespace

absl::Status OllamaCodec::Check(const RequestHead& head) {
  return TypeOf(head) == "application/json" ? absl::OkStatus()
                                            : CheckFormIsNoPages(head);
}

std::string OllamaNoPath(std::string_view path) {
  const char* advice = "";
  for (const std::string_view changes : kModelPaths) {
    if (!path.starts_with(changes)) continue;
    advice =
        "; models are those of the server's --model flags, and `trivium pull` "
        "fetches one";
  }
  return ToJsonText(
      ordered_json{{"error", fmt::format("there is no {}{}", path, advice)}});
}

std::string OllamaError(const Ending& ending,
                        std::span<const FieldName> names) {
  return ToJsonText(ordered_json{{"error", MessageOf(ending, names)}});
}

HttpAnswer OllamaFailure(const Ending& ending,
                         std::span<const FieldName> names) {
  return {.status = HttpStatusOf(ending.status.code()),
          .body = OllamaError(ending, names)};
}

std::string OllamaModelName(const AllowedModels& models, std::string name) {
  constexpr std::string_view kLatest = ":latest";
  if (!name.ends_with(kLatest) || models.Find(name).ok()) return name;
  std::string plain = name.substr(0, name.size() - kLatest.size());
  return models.Find(plain).ok() ? plain : name;
}

int64_t OllamaNanoseconds(const google::protobuf::Duration& duration) {
  return duration.seconds() * 1'000'000'000 + duration.nanos();
}

std::string OllamaTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

std::unique_ptr<Codec> NewOllamaTagsCodec(const Environment&,
                                          const RequestHead&) {
  return std::make_unique<OllamaTagsCodec>(/*loaded=*/false);
}

std::unique_ptr<Codec> NewOllamaPsCodec(const Environment&,
                                        const RequestHead&) {
  return std::make_unique<OllamaTagsCodec>(/*loaded=*/true);
}

std::unique_ptr<Codec> NewOllamaVersionCodec(const Environment&,
                                             const RequestHead&) {
  return std::make_unique<OllamaVersionCodec>();
}

std::unique_ptr<Codec> NewOllamaShowCodec(const Environment& environment,
                                          const RequestHead& head) {
  return std::make_unique<OllamaShowCodec>(environment, head.grant);
}

}  // namespace trivium
