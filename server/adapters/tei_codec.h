#ifndef TRIVIUM_SERVER_ADAPTERS_TEI_CODEC_H_
#define TRIVIUM_SERVER_ADAPTERS_TEI_CODEC_H_

#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "server/adapters/codec.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// TEI's status for a call that ended with `code`, and its whole answer.
int TeiStatus(absl::StatusCode code);
HttpAnswer TeiFailure(const Ending& ending);

// The frame of the codecs of TEI's paths: a JSON object in, JSON out.
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

  // Refuses a request without any input, which TEI tells from other errors.
  void FailEmpty(JsonFields* fields, const char* name);

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
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TEI_CODEC_H_
