#include "client/commands/message_json.h"

#include <limits>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using nlohmann::json;

TEST(MessageJsonTest, WritesZerosAndEmptyLists) {
  const json result = json::parse(MessageJson(v1::Hypothesis()));
  EXPECT_EQ(result.at("text"), "");
  EXPECT_EQ(result.at("score"), 0);
  EXPECT_EQ(result.at("token_count"), 0);
  EXPECT_EQ(result.at("finish_reason"), "unspecified");
  EXPECT_EQ(result.at("ids"), json::array());
  // The field has presence and is not set.
  EXPECT_FALSE(result.contains("cross_attention"));
  v1::TranslateResult seeded;
  EXPECT_FALSE(json::parse(MessageJson(seeded)).contains("seed"));
  seeded.set_seed(0);
  EXPECT_EQ(json::parse(MessageJson(seeded)).at("seed"), 0);
}

TEST(MessageJsonTest, WritesNumbersAsNumbersAndEnumsAsWords) {
  v1::TranslateResult result;
  result.set_seed(std::numeric_limits<uint64_t>::max());
  result.add_hypotheses()->set_finish_reason(v1::FINISH_REASON_LENGTH);
  result.mutable_hypotheses(0)->set_score(-0.1f);
  const std::string text = MessageJson(result);
  EXPECT_NE(text.find("\"seed\":18446744073709551615"), text.npos) << text;
  EXPECT_NE(text.find("\"finish_reason\":\"length\""), text.npos);
  EXPECT_NE(text.find("\"score\":-0.1,"), text.npos);
  v1::Model model;
  model.set_design(v1::DESIGN_ENCODER_DECODER);
  model.set_precision(v1::PRECISION_INT8);
  model.mutable_limits()->mutable_default_deadline()->set_seconds(60);
  const json parsed = json::parse(MessageJson(model));
  EXPECT_EQ(parsed["design"], "encoder_decoder");
  EXPECT_EQ(parsed["precision"], "int8");
  EXPECT_EQ(parsed["limits"]["default_deadline"], "60.000000000s");
  result.mutable_hypotheses(0)->set_score(
      std::numeric_limits<float>::infinity());
  EXPECT_TRUE(json::accept(MessageJson(result)));
}

TEST(MessageJsonTest, EscapesOnlyWhatJsonRequires) {
  v1::Hypothesis hypothesis;
  hypothesis.set_text("<b>\"\xC3\xBC\" & \\ \n\xE2\x96\x81</b>");
  const std::string text = MessageJson(hypothesis);
  EXPECT_NE(text.find("<b>\\\"\xC3\xBC\\\" & \\\\ \\n"
                      "\xE2\x96\x81</b>"),
            text.npos)
      << text;
  EXPECT_EQ(json::parse(text)["text"], hypothesis.text());
  v1::EncodeResult encoded;
  encoded.set_embedding_bytes(std::string("\0\xff\x10", 3));
  EXPECT_EQ(json::parse(MessageJson(encoded))["embedding_bytes"], "AP8Q");
}

TEST(MessageJsonTest, WritesDetailsOfAnErrorAsMessages) {
  v1::TranslateStreamResponse response;
  response.mutable_error()->set_code(3);
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("input.text");
  response.mutable_error()->add_details()->PackFrom(bad);
  response.mutable_error()->add_details()->set_type_url("x/unknown.Type");
  const json parsed = json::parse(MessageJson(response));
  const json& details = parsed["error"]["details"];
  EXPECT_EQ(details[0]["@type"], "type.googleapis.com/google.rpc.BadRequest");
  EXPECT_EQ(details[0]["field_violations"][0]["field"], "input.text");
  EXPECT_EQ(details[1]["type_url"], "x/unknown.Type");
}

}  // namespace
}  // namespace trivium
