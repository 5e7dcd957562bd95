// OpenAI's errors and lists of models.
#include "server/adapters/openai.h"

#include <string>

#include "server/adapters/json_body.h"
#include "server/errors/status.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

const char* TypeOfError(absl::StatusCode code) {
  const int status = HttpStatusOf(code);
  if (status == 429) return "rate_limit_error";
  // A body that has another type or is compressed is the client's fault.
  return status < 500 || code == absl::StatusCode::kUnimplemented
             ? "invalid_request_error"
             : "server_error";
}

ordered_json OpenAiModelOf(const v1::Model& model) {
  // The time at which a folder was made is not known.
  return {{"id", model.name()},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "trivium"}};
}

class OpenAiModelsCodec : public Codec {
 public:
  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OpenAiFailure(ending);
    ordered_json models = ordered_json::array();
    for (const v1::Model& model :
         static_cast<const v1::ListModelsResponse*>(last)->models()) {
      models.push_back(OpenAiModelOf(model));
    }
    return {.body =
                ToJsonText(ordered_json{{"object", "list"}, {"data", models}})};
  }
};

class OpenAiModelCodec : public Codec {
 public:
  explicit OpenAiModelCodec(std::string name) : name_(std::move(name)) {}

  absl::Status Read(std::string_view, Message* request) override {
    static_cast<v1::GetModelRequest*>(request)->set_name(name_);
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return OpenAiFailure(ending);
    return {.body = ToJsonText(
                OpenAiModelOf(*static_cast<const v1::Model*>(last)))};
  }

 private:
  const std::string name_;
};

}  // namespace

ordered_json OpenAiError(const Ending& ending,
                         std::span<const FieldName> names) {
  const std::string field = FieldOf(ending.status, names);
  ordered_json error = {{"message", MessageOf(ending, names)},
                        {"type", TypeOfError(ending.status.code())},
                        {"param", nullptr},
                        {"code", nullptr}};
  if (!field.empty()) error["param"] = field;
  if (absl::IsNotFound(ending.status)) error["code"] = "model_not_found";
  if (absl::IsUnauthenticated(ending.status)) error["code"] = "invalid_api_key";
  if (IsTooManyTokens(ending.status)) {
    error["code"] = "context_length_exceeded";
  }
  return {{"error", error}};
}

HttpAnswer OpenAiFailure(const Ending& ending,
                         std::span<const FieldName> names) {
  return {.status = HttpStatusOf(ending.status.code()),
          .body = ToJsonText(OpenAiError(ending, names))};
}

std::unique_ptr<Codec> NewOpenAiModelsCodec(const Environment&,
                                            const RequestHead&) {
  return std::make_unique<OpenAiModelsCodec>();
}

std::unique_ptr<Codec> NewOpenAiModelCodec(const Environment&,
                                           const RequestHead& head) {
  // "/v1/models/NAME"; NAME itself may have slashes.
  constexpr std::string_view kPath = "/v1/models/";
  return std::make_unique<OpenAiModelCodec>(head.path.substr(kPath.size()));
}

}  // namespace trivium
