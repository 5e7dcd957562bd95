#ifndef TRIVIUM_SERVER_ADAPTERS_TEI_CODEC_H_
#define TRIVIUM_SERVER_ADAPTERS_TEI_CODEC_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "nlohmann/json.hpp"
#include "server/adapters/codec.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// TEI's status for a call that ended with `code`, and its whole answer. `own`
// is a field that this path alone calls so.
int TeiStatus(absl::StatusCode code);
HttpAnswer TeiFailure(const Ending& ending, FieldName own = {});

// The frame of the codecs of TEI's paths: a JSON object in, JSON out. `model`
// may name one of several models; it is set in the request before ReadFields.
class TeiCodec : public Codec {
 public:
  absl::Status Read(std::string_view body,
                    google::protobuf::Message* request) final;
  int StatusOf(absl::StatusCode code) const final;
  HttpAnswer Finish(const Ending& ending,
                    const google::protobuf::Message* last) final;

 protected:
  virtual void ReadFields(JsonFields* fields,
                          google::protobuf::Message* request) = 0;
  virtual std::string AnswerOf(
      const google::protobuf::Message& response) const = 0;

  static constexpr char kNotHere[] = "is not supported here; leave it out";

  // Gives a field of the call the name that this path has for it.
  void Rename(FieldName name) { own_name_ = name; }

  // Refuses a request without any input, which TEI tells from other errors.
  void FailEmpty(JsonFields* fields, const std::string& name,
                 const std::string& why = "is empty; send at least one");

  // Reads `inputs`, a text or a list of texts. True if it is a list.
  template <typename Request>
  bool ReadTexts(JsonFields* fields, Request* request) {
    fields->Require("inputs");
    for (std::string& text : fields->Strings("inputs")) {
      request->add_inputs()->set_text(std::move(text));
    }
    if (request->inputs().empty()) FailEmpty(fields, "inputs");
    const nlohmann::json* const inputs = fields->Value("inputs");
    return inputs != nullptr && inputs->is_array();
  }

  // Reads `parameters`, whose members `read` takes from a JsonFields*.
  template <typename ReadMembers>
  static void ReadParameters(JsonFields* fields, const ReadMembers& read) {
    const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json* const value = fields->Value("parameters");
    JsonFields parameters(value != nullptr ? *value : none, "parameters.");
    read(&parameters);
    fields->Keep(parameters.Done());
  }

  // Texts that are too long are cut by default, as TEI does since 1.9, whatever
  // --truncate says.
  template <typename Request>
  static void ReadTruncation(JsonFields* fields, Request* request) {
    request->set_truncate(fields->Bool("truncate").value_or(true));
    const std::string end = absl::AsciiStrToLower(
        fields->String("truncation_direction").value_or("right"));
    if (end != "left" && end != "right") {
      fields->Fail("truncation_direction", "must be Right or Left");
    }
    // Without truncate, there is nothing to choose.
    if (end == "left" && request->truncate()) {
      request->set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
    }
  }

 private:
  bool empty_ = false;
  FieldName own_name_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TEI_CODEC_H_
