#include "server/adapters/kserve/rest.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "kserve/open_inference.pb.h"
#include "server/adapters/form_body.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/kserve/kserve.h"
#include "server/adapters/kserve/parameters.h"
#include "server/adapters/kserve/tensors.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kJsonSize[] = "Inference-Header-Content-Length";
constexpr char kBinarySize[] = "binary_data_size";
constexpr char kBinaryOutput[] = "binary_data_output";

HttpAnswer Failure(const Ending& ending) {
  constexpr FieldName kNames[] = {
      {"inputs[0].contents.bytes_contents", "inputs[0].data"},
      {"raw_input_contents[0]", "inputs[0]"},
      {"inputs[0].contents", "inputs[0].data"},
  };
  return {
      .status = HttpStatusOf(ending.status.code()),
      .body = ToJsonText(ordered_json{{"error", MessageOf(ending, kNames)}})};
}

// A model as a path names it.
struct ModelPath {
  std::string name, version;
};

// Reads "/v2/models/NAME", perhaps followed by "/versions/V" and the `ending`
// of the route.
ModelPath ReadModelPath(std::string_view path) {
  path.remove_prefix(kKserveModels.size());
  for (const std::string_view ending : kKserveEndings) {
    if (path.ends_with(ending)) {
      path.remove_suffix(ending.size());
      break;
    }
  }
  constexpr std::string_view kVersions = "/versions/";
  const size_t at = path.rfind(kVersions);
  if (at == path.npos) return {std::string(path), ""};
  return {std::string(path.substr(0, at)),
          std::string(path.substr(at + kVersions.size()))};
}

ordered_json ToJson(const Message& message);

// Returns one value of a field; `index` is -1 unless the field is repeated.
ordered_json ValueOf(const Message& message, const FieldDescriptor* field,
                     int index) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  const auto get = [&](auto one, auto repeated) {
    return index < 0 ? (fields.*one)(message, field)
                     : (fields.*repeated)(message, field, index);
  };
  using Reflection = google::protobuf::Reflection;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case FieldDescriptor::CPPTYPE_INT64:
      return get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_STRING:
      return get(&Reflection::GetString, &Reflection::GetRepeatedString);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(index < 0
                        ? fields.GetMessage(message, field)
                        : fields.GetRepeatedMessage(message, field, index));
    default:
      return nullptr;  // no response has others
  }
}

// Returns all fields by their names. Numbers are JSON's, as Triton's clients
// expect; protobuf's own JSON has 64 bits as text.
ordered_json ToJson(const Message& message) {
  ordered_json object = ordered_json::object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    ordered_json& value = object[field->name()];
    if (!field->is_repeated()) {
      value = ValueOf(message, field, -1);
      continue;
    }
    value = ordered_json::array();
    const int size = message.GetReflection()->FieldSize(message, field);
    for (int k = 0; k < size; ++k) value.push_back(ValueOf(message, field, k));
  }
  return object;
}

class KserveCodec : public Codec {
 public:
  explicit KserveCodec(std::string path) : path_(std::move(path)) {}

  // tritonclient asks for the index with an empty body of no type. Whatever the
  // body is, it changes nothing.
  absl::Status Check(const RequestHead&) override { return absl::OkStatus(); }

  absl::Status Read(std::string_view, Message* request) override {
    const auto* const name = request->GetDescriptor()->FindFieldByName("name");
    if (name == nullptr || path_ == kKserveAllStatistics) {
      return absl::OkStatus();
    }
    const ModelPath model = ReadModelPath(path_);
    const auto* const version =
        request->GetDescriptor()->FindFieldByName("version");
    const google::protobuf::Reflection& fields = *request->GetReflection();
    fields.SetString(request, name, model.name);
    if (version != nullptr) fields.SetString(request, version, model.version);
    return absl::OkStatus();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return Failure(ending);
    HttpAnswer answer;
    // The list of a repository has no object around it.
    if (const auto* index =
            dynamic_cast<const inference::RepositoryIndexResponse*>(last)) {
      answer.body = ToJsonText(ToJson(*index)["models"]);
      return answer;
    }
    const ordered_json told = ToJson(*last);
    for (const char* const state : {"ready", "live"}) {
      if (told.contains(state) && told[state] == false) answer.status = 503;
    }
    answer.body = ToJsonText(told);
    return answer;
  }

 private:
  const std::string path_;
};

// Appends the strings of a list of strings, or of lists of them.
absl::Status AddTexts(const json& data, const std::string& path,
                      google::protobuf::RepeatedPtrField<std::string>* texts) {
  if (data.is_string()) {
    *texts->Add() = data.get<std::string>();
    return absl::OkStatus();
  }
  if (!data.is_array()) {
    return InvalidField(path, "must be a list of texts");
  }
  for (size_t i = 0; i < data.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(
        AddTexts(data[i], fmt::format("{}[{}]", path, i), texts));
  }
  return absl::OkStatus();
}

absl::Status SetParameter(const json& value, const std::string& path,
                          inference::InferParameter* parameter) {
  if (value.is_boolean()) {
    parameter->set_bool_param(value);
  } else if (value.is_number_unsigned()) {
    parameter->set_uint64_param(value);
  } else if (value.is_number_integer()) {
    parameter->set_int64_param(value);
  } else if (value.is_number()) {
    parameter->set_double_param(value);
  } else if (value.is_string()) {
    parameter->set_string_param(value.get<std::string>());
  } else {
    return InvalidField(path, "must be a number, a boolean or a text");
  }
  return absl::OkStatus();
}

// One request of ModelInfer. Tensors that came as bytes go on as the raw ones
// of the message; the answer then has raw ones, too, whatever form the client
// wants of each.
class InferCodec : public Codec {
 public:
  InferCodec(std::string path, IgnoredMembers* ignored)
      : path_(std::move(path)), ignored_(ignored) {}

  absl::Status Check(const RequestHead& head) override {
    const std::string size = head.header(kJsonSize);
    if (size.empty()) {
      // tritonclient's JSON has no type. A page's may have none either.
      return TypeOf(head).empty() ? CheckFormIsNoPages(head)
                                  : Codec::Check(head);
    }
    uint64_t bytes = 0;
    if (!absl::SimpleAtoi(size, &bytes)) {
      return absl::InvalidArgumentError(fmt::format(
          "{} is '{}'; it is the number of the body's bytes that are JSON",
          kJsonSize, Shorten(size)));
    }
    json_bytes_ = bytes;
    return absl::OkStatus();
  }

  absl::Status Read(std::string_view body, Message* message) override {
    std::string_view tensors;
    if (json_bytes_) {
      if (*json_bytes_ > body.size()) {
        return absl::InvalidArgumentError(
            fmt::format("{} is {}; the body has {} bytes", kJsonSize,
                        *json_bytes_, body.size()));
      }
      tensors = body.substr(*json_bytes_);
      body = body.substr(0, *json_bytes_);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
    auto* const request = static_cast<inference::ModelInferRequest*>(message);
    ModelPath model = ReadModelPath(path_);
    request->set_model_name(std::move(model.name));
    request->set_model_version(std::move(model.version));
    JsonFields fields(value, "");
    if (const auto id = fields.String("id")) request->set_id(*id);
    fields.Keep(ReadParameters(fields.Value("parameters"), request));
    fields.Require("inputs");
    fields.Keep(ReadInputs(fields.Value("inputs"), tensors, request));
    fields.Keep(ReadOutputs(fields.Value("outputs"), request));
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return Failure(ending);
    const auto& response =
        *static_cast<const inference::ModelInferResponse*>(last);
    ordered_json head = {{"model_name", response.model_name()},
                         {"model_version", response.model_version()}};
    if (!response.id().empty()) head["id"] = response.id();
    std::string text = ToJsonText(head);
    text.back() = ',';  // for the brace that closed it
    text += "\"outputs\":[";
    std::string bytes;
    for (int i = 0; i < response.outputs_size(); ++i) {
      if (i > 0) text += ',';
      AddOutput(response, i, &text, &bytes);
    }
    text += "]}";
    HttpAnswer answer;
    if (!bytes.empty()) {
      answer.type = "application/octet-stream";
      answer.headers.emplace_back(kJsonSize, std::to_string(text.size()));
    }
    answer.body = std::move(text) + bytes;
    return answer;
  }

 private:
  absl::Status ReadParameters(const json* parameters,
                              inference::ModelInferRequest* request) {
    if (parameters == nullptr) return absl::OkStatus();
    if (!parameters->is_object()) {
      return InvalidField("parameters", "must be an object");
    }
    JsonFields fields(*parameters, "parameters.");
    binary_ = fields.Bool(kBinaryOutput).value_or(false);
    // With --http-strict they are known to nobody, so Done() refuses them.
    fields.Ignore("KServe", ignored_, kTritonParameters);
    for (const auto& [name, value] : parameters->items()) {
      if (name == kBinaryOutput || IsTritonParameter(name) ||
          fields.Value(name.c_str()) == nullptr) {
        continue;
      }
      fields.Keep(SetParameter(value, "parameters." + Shorten(name),
                               &(*request->mutable_parameters())[name]));
    }
    return fields.Done();
  }

  static absl::Status ReadInputs(const json* inputs, std::string_view tensors,
                                 inference::ModelInferRequest* request) {
    if (inputs == nullptr) return absl::OkStatus();
    if (!inputs->is_array()) return InvalidField("inputs", "must be a list");
    for (size_t i = 0; i < inputs->size(); ++i) {
      TRIVIUM_RETURN_IF_ERROR(ReadInput(
          (*inputs)[i], fmt::format("inputs[{}]", i), &tensors, request));
    }
    if (tensors.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format(
        "{} bytes after the JSON belong to no tensor; say its size in the "
        "parameter {}",
        tensors.size(), kBinarySize));
  }

  // Takes the tensor's bytes off `tensors` if it has no data in JSON.
  static absl::Status ReadInput(const json& value, const std::string& path,
                                std::string_view* tensors,
                                inference::ModelInferRequest* request) {
    if (!value.is_object()) return InvalidField(path, "must be an object");
    auto* const input = request->add_inputs();
    JsonFields fields(value, path + ".");
    fields.Require("name");
    fields.Require("datatype");
    fields.Require("shape");
    input->set_name(fields.String("name").value_or(""));
    input->set_datatype(fields.String("datatype").value_or(""));
    if (const json* const shape = fields.Value("shape")) {
      if (!shape->is_array()) fields.Fail("shape", "must be a list");
      for (const json& size : *shape) {
        if (!size.is_number_integer()) {
          fields.Fail("shape", "must be a list of integers");
          break;
        }
        input->add_shape(size);
      }
    }
    std::optional<int64_t> bytes;
    if (const json* const given = fields.Value("parameters")) {
      if (!given->is_object())
        return InvalidField(path + ".parameters", "must be an object");
      JsonFields parameters(*given, path + ".parameters.");
      bytes = parameters.Integer(kBinarySize, 0,
                                 static_cast<int64_t>(tensors->size()));
      fields.Keep(parameters.Done());
    }
    const json* const data = fields.Value("data");
    if (bytes) {
      if (data != nullptr) {
        fields.Fail("data", "is there beside bytes; send one of them");
      } else {
        request->add_raw_input_contents(
            std::string(tensors->substr(0, *bytes)));
        tensors->remove_prefix(*bytes);
      }
    } else if (data == nullptr) {
      fields.Fail("data", "is missing");
    } else {
      fields.Keep(
          AddTexts(*data, path + ".data",
                   input->mutable_contents()->mutable_bytes_contents()));
    }
    return fields.Done();
  }

  absl::Status ReadOutputs(const json* outputs,
                           inference::ModelInferRequest* request) {
    if (outputs == nullptr) return absl::OkStatus();
    if (!outputs->is_array()) return InvalidField("outputs", "must be a list");
    for (size_t i = 0; i < outputs->size(); ++i) {
      const std::string path = fmt::format("outputs[{}]", i);
      const json& value = (*outputs)[i];
      if (!value.is_object()) return InvalidField(path, "must be an object");
      JsonFields fields(value, path + ".");
      fields.Require("name");
      const std::string name = fields.String("name").value_or("");
      request->add_outputs()->set_name(name);
      if (const json* const given = fields.Value("parameters")) {
        if (!given->is_object())
          return InvalidField(path + ".parameters", "must be an object");
        JsonFields parameters(*given, path + ".parameters.");
        if (const auto binary = parameters.Bool("binary_data")) {
          binary_outputs_[name] = *binary;
        }
        fields.Keep(parameters.Done());
      }
      TRIVIUM_RETURN_IF_ERROR(fields.Done());
    }
    return absl::OkStatus();
  }

  // Appends an output to the JSON, and its data there or to `bytes`.
  void AddOutput(const inference::ModelInferResponse& response, int index,
                 std::string* text, std::string* bytes) const {
    const auto& output = response.outputs(index);
    const auto wanted = binary_outputs_.find(output.name());
    const bool binary =
        wanted == binary_outputs_.end() ? binary_ : wanted->second;
    ordered_json head = {{"name", output.name()},
                         {"datatype", output.datatype()},
                         {"shape", output.shape()}};
    const bool raw = index < response.raw_output_contents_size();
    if (binary) {
      const std::string data =
          raw ? response.raw_output_contents(index) : RawOf(output);
      head["parameters"] = {{kBinarySize, data.size()}};
      *text += ToJsonText(head);
      *bytes += data;
      return;
    }
    *text += ToJsonText(head);
    text->back() = ',';
    *text += "\"data\":";
    if (output.datatype() == "BYTES") {
      json texts = json::array();
      if (raw) {
        for (const std::string& one :
             SplitElements(response.raw_output_contents(index))) {
          texts.push_back(one);
        }
      } else {
        for (const std::string& one : output.contents().bytes_contents()) {
          texts.push_back(one);
        }
      }
      *text += ToJsonText(texts);
    } else if (raw) {
      const std::string& data = response.raw_output_contents(index);
      std::vector<float> values(data.size() / sizeof(float));
      std::memcpy(values.data(), data.data(), values.size() * sizeof(float));
      AddJsonList(values, text);
    } else {
      AddJsonList(output.contents().fp32_contents(), text);
    }
    *text += '}';
  }

  const std::string path_;
  IgnoredMembers* const ignored_;       // null: they are not logged
  std::optional<uint64_t> json_bytes_;  // none: the whole body is JSON
  bool binary_ = false;  // outputs that the request does not name
  std::map<std::string, bool> binary_outputs_;
};

}  // namespace

std::unique_ptr<Codec> NewKserveInferCodec(const Environment& environment,
                                           const RequestHead& head) {
  return std::make_unique<InferCodec>(head.path, environment.ignored_members);
}

std::unique_ptr<Codec> NewKserveCodec(const Environment&,
                                      const RequestHead& head) {
  return std::make_unique<KserveCodec>(head.path);
}

}  // namespace trivium
