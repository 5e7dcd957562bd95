#include "server/adapters/tei_codec.h"

#include <iterator>
#include <vector>

#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"

namespace trivium {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

HttpAnswer Failure(const Ending& ending, int status, const char* type,
                   FieldName own = {}) {
  std::vector<FieldName> names;
  if (!own.field.empty()) names.push_back(own);
  constexpr FieldName kNames[] = {
      {"documents", "texts"},
      {"first.inputs[0].text", "inputs.source_sentence"},
      {"first.inputs", "inputs.source_sentence"},
      {"second.inputs", "inputs.sentences"},
      {"first.prompt_name", "parameters.prompt_name"},
      {"second.prompt_name", "parameters.prompt_name"},
      {"labels", "parameters.candidate_labels"},
      {"hypothesis_template", "parameters.hypothesis_template"},
      {"multi_label", "parameters.multi_label"},
      // The embedding that a path gives.
      {"outputs[0]", "this path's embedding"},
      {"inputs[0].question", "inputs.question"},
      {"inputs[0].context", "inputs.context"},
      {"top", "parameters.top_k"},
      {"max_answer_tokens", "parameters.max_answer_len"},
      {"overlap", "parameters.doc_stride"},
      {"ignore", "parameters.ignore_labels"},
      {"options.source_language", "parameters.src_lang"},
      {"options.target_language", "parameters.tgt_lang"},
      {"options.truncate", "parameters.truncation"},
      {"options.decoding.beam_size",
       "parameters.generate_parameters.num_beams"},
      {"options.decoding.", "parameters.generate_parameters."}};
  names.insert(names.end(), std::begin(kNames), std::end(kNames));
  return {.status = status,
          .body = ToJsonText(ordered_json{{"error", MessageOf(ending, names)},
                                          {"error_type", type}})};
}

}  // namespace

int TeiStatus(absl::StatusCode code) {
  const int status = HttpStatusOf(code);
  return status == 400 ? 422 : status;
}

HttpAnswer TeiFailure(const Ending& ending, FieldName own) {
  const int status = TeiStatus(ending.status.code());
  return Failure(ending, status,
                 status == 429 || status == 503 ? "Overloaded"
                 : status >= 500                ? "Backend"
                                                : "Validation",
                 own);
}

absl::Status TeiCodec::Read(std::string_view body, Message* request) {
  TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
  JsonFields fields(value, "");
  // TEI serves one model and has no such member.
  if (const auto name = fields.String("model")) {
    request->GetReflection()->SetString(
        request, request->GetDescriptor()->FindFieldByName("model"), *name);
  }
  ReadFields(&fields, request);
  return fields.Done();
}

int TeiCodec::StatusOf(absl::StatusCode code) const {
  return empty_ ? 400 : TeiStatus(code);
}

HttpAnswer TeiCodec::Finish(const Ending& ending, const Message* last) {
  if (empty_) return Failure(ending, 400, "Empty");
  if (!ending.status.ok()) return TeiFailure(ending, own_name_);
  return {.body = AnswerOf(*last)};
}

void TeiCodec::FailEmpty(JsonFields* fields, const std::string& name,
                         const std::string& why) {
  if (!fields->ok()) return;
  fields->Fail(name, why);
  empty_ = true;
}

}  // namespace trivium
