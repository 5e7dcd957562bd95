// KServe's calls over HTTP; a puppet answers for the models.
#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/server/transports/http/http_api_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kInfer[] = "/v2/models/translator/infer";

// The raw form of BYTES.
std::string RawTexts(const std::vector<std::string>& texts) {
  std::string raw;
  for (const std::string& text : texts) {
    const auto size = static_cast<uint32_t>(text.size());
    raw.append(reinterpret_cast<const char*>(&size), sizeof(size));
    raw += text;
  }
  return raw;
}

json Texts(const std::vector<std::string>& texts) {
  return {{"name", "text"},
          {"datatype", "BYTES"},
          {"shape", {texts.size()}},
          {"data", texts}};
}

class KserveRestTest : public HttpApiTest {
 protected:
  KserveRestTest() : KserveRestTest(nullptr) {}
  explicit KserveRestTest(IgnoredMembers* members) {
    environment_.ignored_members = members;
    environment_.models
        .Add(ServedPuppet("encoder",
                          std::make_unique<PuppetModel>(Design::kEncoder)))
        .IgnoreError();
    Start();
  }

  json Get(const std::string& path, int status = 200) {
    const HttpResult answer = HttpGet(api_->port(), path);
    EXPECT_EQ(answer.status, status) << path << answer.body;
    return json::parse(answer.body);
  }
  // Posts JSON and, behind it, bytes.
  HttpResult PostBytes(const json& request, const std::string& bytes) {
    const std::string text = request.dump();
    return Post(kInfer, text + bytes,
                "Content-Type: application/octet-stream\r\n"
                "Inference-Header-Content-Length: " +
                    std::to_string(text.size()) + "\r\n");
  }
  std::string ErrorOf(const json& request, const std::string& path = kInfer,
                      int status = 400) {
    const HttpResult answer = Post(path, request.dump());
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body).at("error");
  }
};

class StrictKserveRestTest : public KserveRestTest {
 protected:
  StrictKserveRestTest() : KserveRestTest(&strict_) {}
  ~StrictKserveRestTest() override { Stop(); }

  IgnoredMembers strict_{/*strict=*/true};
};

json WithTritonsParameters() {
  return {{"inputs", {Texts({"abc"})}},
          {"parameters",
           {{"priority", 1}, {"timeout", 1000}, {"sequence_id", "a"}}}};
}

TEST_F(KserveRestTest, TritonsParametersChangeNothing) {
  EXPECT_EQ(Post(kInfer, WithTritonsParameters().dump()).status, 200);
}

TEST_F(StrictKserveRestTest, TritonsParametersAreRefused) {
  EXPECT_THAT(ErrorOf(WithTritonsParameters()),
              HasSubstr("parameters.priority"));
}

TEST_F(KserveRestTest, TranslatesTextsInJson) {
  const json request = {{"id", "seven"},
                        {"inputs", {Texts({"abc", "de"})}},
                        {"parameters", {{"target_language", "de"}}}};
  for (const char* path : {kInfer, "/v2/models/translator/versions/1/infer"}) {
    const HttpResult answer = Post(path, request.dump());
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(json::parse(answer.body),
              json({{"model_name", "translator"},
                    {"model_version", "1"},
                    {"id", "seven"},
                    {"outputs", {Texts({"abc", "de"})}}}));
  }
}

// For the address sanitizer: the network's thread lets go of an answered call
// at any time.
TEST_F(KserveRestTest, ACallThatEndsAtOnceLivesUntilItsHandlerReturns) {
  for (int i = 0; i < 300; ++i) ErrorOf({{"inputs", 1}});
}

TEST_F(KserveRestTest, ReadsNestedLists) {
  json input = Texts({"abc", "de"});
  input["shape"] = {2, 1};
  input["data"] = {{"abc"}, {"de"}};
  const HttpResult answer = Post(kInfer, json({{"inputs", {input}}}).dump());
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["outputs"][0]["data"],
            json({"abc", "de"}));
}

TEST_F(KserveRestTest, TensorsMayBeBytes) {
  const std::string raw = RawTexts({"abc", "d\"e"});
  json input = Texts({"abc", "d\"e"});
  input.erase("data");
  input["parameters"] = {{"binary_data_size", raw.size()}};
  const json in_bytes = {{"inputs", {input}}};
  const json data = {"abc", "d\"e"};

  HttpResult answer = PostBytes(in_bytes, raw);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["outputs"][0]["data"], data);

  // Both ways of asking for bytes, of texts that came as bytes and as JSON.
  json all = in_bytes;
  all["parameters"] = {{"binary_data_output", true}};
  json one = {{"inputs", {Texts({"abc", "d\"e"})}}};
  one["outputs"] = {
      {{"name", "text"}, {"parameters", {{"binary_data", true}}}}};
  for (const auto& [request, bytes] :
       {std::pair(all, raw), std::pair(one, std::string())}) {
    answer = PostBytes(request, bytes);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.headers, HasSubstr("application/octet-stream"));
    const std::string name = "Inference-Header-Content-Length: ";
    const size_t at = answer.headers.find(name);
    ASSERT_NE(at, std::string::npos) << answer.headers;
    const size_t size = std::stoul(answer.headers.substr(at + name.size()));
    const json head = json::parse(answer.body.substr(0, size));
    EXPECT_EQ(head["outputs"][0]["parameters"]["binary_data_size"], raw.size());
    EXPECT_FALSE(head["outputs"][0].contains("data"));
    EXPECT_EQ(answer.body.substr(size), raw);
  }
}

TEST_F(KserveRestTest, EmbeddingsAreNumbersOrTheirBytes) {
  json request = {{"inputs", {Texts({"abc"})}}};
  const std::string path = "/v2/models/encoder/infer";
  HttpResult answer = Post(path, request.dump());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json output = json::parse(answer.body)["outputs"][0];
  EXPECT_EQ(output["name"], "embedding");
  EXPECT_EQ(output["datatype"], "FP32");
  const auto values = output["data"].get<std::vector<float>>();
  ASSERT_EQ(output["shape"], json({1, values.size()}));

  request["parameters"] = {{"binary_data_output", true}};
  answer = Post(path, request.dump());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const size_t size = values.size() * sizeof(float);
  ASSERT_GT(answer.body.size(), size);
  EXPECT_EQ(std::memcmp(answer.body.data() + answer.body.size() - size,
                        values.data(), size),
            0);
}

TEST_F(KserveRestTest, TellsAboutServerAndModels) {
  EXPECT_EQ(Get("/v2")["name"], "trivium");
  EXPECT_EQ(Get("/v2/health/live"), json({{"live", true}}));
  EXPECT_EQ(Get("/v2/health/ready"), json({{"ready", true}}));
  EXPECT_EQ(Get("/v2/models/translator/ready"), json({{"ready", true}}));
  EXPECT_EQ(Get("/v2/models/nobody/ready", 503), json({{"ready", false}}));
  const json model = Get("/v2/models/encoder/versions/1");
  EXPECT_EQ(model["name"], "encoder");
  EXPECT_EQ(model["inputs"][0]["shape"], json({-1}));
  EXPECT_EQ(model["outputs"][0]["name"], "embedding");
  Get("/v2/models/encoder/versions/2", 404);
  Get("/v2/models/nobody", 404);

  ASSERT_EQ(Post(kInfer, json({{"inputs", {Texts({"abc"})}}}).dump()).status,
            200);
  const json one = Get("/v2/models/translator/stats")["model_stats"];
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["inference_stats"]["success"]["count"], 1);
  EXPECT_EQ(Get("/v2/models/stats")["model_stats"].size(), 2u);
  const HttpResult index = Post("/v2/repository/index", "", "");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(json::parse(index.body)[0]["state"], "READY");

  calls_.SetReady(false);
  EXPECT_EQ(Get("/v2/health/ready", 503), json({{"ready", false}}));
}

TEST_F(KserveRestTest, NamesTheWrongMember) {
  const json good = {{"inputs", {Texts({"abc"})}}};
  const auto with = [&good](const char* pointer, json value) {
    json request = good;
    request[json::json_pointer(pointer)] = std::move(value);
    return request;
  };
  EXPECT_THAT(ErrorOf(json::object()), ErrorAt("inputs"));
  EXPECT_THAT(ErrorOf({{"inputs", 3}}), ErrorAt("inputs"));
  EXPECT_THAT(ErrorOf({{"inputs", {3}}}), ErrorAt("inputs[0]"));
  EXPECT_THAT(ErrorOf(with("/what", 1)), ErrorAt("what"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/what", 1)), ErrorAt("inputs[0].what"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/name", "ids")), ErrorAt("inputs"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/datatype", "INT32")),
              ErrorAt("inputs[0].datatype"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/shape", 3)), ErrorAt("inputs[0].shape"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/shape", {"a"})),
              ErrorAt("inputs[0].shape"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/shape", {2})), ErrorAt("inputs[0].data"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/data", {1})),
              ErrorAt("inputs[0].data[0]"));
  EXPECT_THAT(ErrorOf(with("/inputs/0/parameters", {{"binary_data_size", 4}})),
              ErrorAt("inputs[0].parameters.binary_data_size"));
  EXPECT_THAT(ErrorOf(with("/parameters", {{"beam_size", {1}}})),
              ErrorAt("parameters.beam_size"));
  EXPECT_THAT(ErrorOf(with("/outputs", {{{"name", "other"}}})),
              ErrorAt("outputs[0].name"));
  EXPECT_THAT(ErrorOf(good, "/v2/models/nobody/infer", 404),
              HasSubstr("nobody"));

  // Sizes that lie.
  for (const char* size : {"1000000", "-1", "many", "99999999999999999999"}) {
    const HttpResult answer =
        Post(kInfer, good.dump(),
             std::string("Inference-Header-Content-Length: ") + size + "\r\n");
    EXPECT_EQ(answer.status, 400) << size;
  }
  EXPECT_EQ(PostBytes(good, "more").status, 400);
  // A page may send a text, or a body without a type, without asking first.
  EXPECT_EQ(Post(kInfer, good.dump(), "").status, 200);
  EXPECT_EQ(Post(kInfer, good.dump(), "Origin: https://example.org\r\n").status,
            403);
  EXPECT_EQ(Post(kInfer, good.dump(), "Content-Type: text/plain\r\n").status,
            415);
}

}  // namespace
}  // namespace trivium
