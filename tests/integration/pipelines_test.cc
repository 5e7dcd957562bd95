// The tasks of Hugging Face's inference API with a real server.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_http_test.h"
#include "tests/integration/good_calls.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class PipelinesTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() {
    Start("pipelines_test", [](const std::filesystem::path& folder) {
      return HeadModels(folder.string());
    });
  }

  static std::string RefusalOf(const std::string& task, const json& body) {
    return Refusal("/pipeline/" + task, body, 422)["error"];
  }
};

TEST_F(PipelinesTest, FindsSpansAndTokens) {
  const std::string text = "ab c.";
  const json parameters = {{"ignore_labels", {"none of them"}}};
  const json spans = Post("/pipeline/token-classification",
                          {{"inputs", text}, {"parameters", parameters}});
  ASSERT_FALSE(spans.empty());
  for (const json& span : spans) {
    EXPECT_TRUE(span.contains("entity_group")) << span;
    EXPECT_EQ(text.substr(span["start"],
                          span["end"].get<int>() - span["start"].get<int>()),
              span["word"]);
  }
  json none = parameters;
  none["aggregation_strategy"] = "none";
  const json tokens = Post("/pipeline/token-classification",
                           {{"inputs", {text, "c"}}, {"parameters", none}});
  ASSERT_EQ(tokens.size(), 2);
  EXPECT_EQ(tokens[0].size(), 4);
  EXPECT_TRUE(tokens[1][0].contains("entity"));
  EXPECT_THAT(RefusalOf("token-classification",
                        {{"inputs", "a"}, {"parameters", {{"stride", 1}}}}),
              ErrorAt("parameters.stride"));
  EXPECT_THAT(RefusalOf("token-classification",
                        {{"inputs", "a"},
                         {"parameters", {{"aggregation_strategy", "all"}}}}),
              ErrorAt("parameters.aggregation_strategy"));
  EXPECT_THAT(RefusalOf("token-classification",
                        {{"inputs", "a"},
                         {"parameters", {{"ignore_labels", json::array()}}}}),
              ErrorAt("parameters.ignore_labels"));
}

TEST_F(PipelinesTest, FillsMasksIntoTheText) {
  const json fits =
      Post("/pipeline/fill-mask",
           {{"inputs", "ab [MASK]."}, {"parameters", {{"top_k", 3}}}});
  ASSERT_EQ(fits.size(), 3);
  EXPECT_EQ(fits[0]["sequence"],
            "ab " + fits[0]["token_str"].get<std::string>() + ".");
  EXPECT_GE(fits[0]["score"], fits[1]["score"]);
  const json two = Post("/pipeline/fill-mask", {{"inputs", "[MASK] a [MASK]"}});
  ASSERT_EQ(two.size(), 2);
  EXPECT_EQ(two[1][0]["sequence"],
            "[MASK] a " + two[1][0]["token_str"].get<std::string>());
  EXPECT_THAT(RefusalOf("fill-mask", {{"inputs", "[MASK]"},
                                      {"parameters", {{"targets", {"a"}}}}}),
              ErrorAt("parameters.targets"));
}

TEST_F(PipelinesTest, TextsWithManyMasksAreCutOrRefused) {
  // Cut from the left, only the last mask is there.
  std::string text = "[MASK]";
  for (int i = 0; i < 100; ++i) text += " a";
  const json cut =
      Post("/pipeline/fill-mask",
           {{"inputs", text + " [MASK]"}, {"truncation_direction", "left"}});
  EXPECT_EQ(cut[0]["sequence"],
            text + " " + cut[0]["token_str"].get<std::string>());
  text = "";
  for (int i = 0; i < 20'000; ++i) text += "[MASK] ";
  EXPECT_THAT(RefusalOf("fill-mask", {{"inputs", text}}), ErrorAt("inputs"));
}

TEST_F(PipelinesTest, AnswersQuestions) {
  const std::string context = "a b c d e.";
  const json inputs = {{"question", "b?"}, {"context", context}};
  const json answer =
      Post("/pipeline/question-answering", {{"inputs", inputs}});
  EXPECT_EQ(context.substr(answer["start"], answer["end"].get<int>() -
                                                answer["start"].get<int>()),
            answer["answer"]);
  const json best = Post("/", {{"inputs", inputs},
                               {"parameters",
                                {{"top_k", 2},
                                 {"max_answer_len", 2},
                                 {"doc_stride", 4},
                                 {"handle_impossible_answer", false}}}});
  EXPECT_EQ(best.size(), 2);
  EXPECT_THAT(RefusalOf("question-answering",
                        {{"inputs", inputs},
                         {"parameters", {{"max_answer_len", 10000}}}}),
              ErrorAt("parameters.max_answer_len"));
  EXPECT_THAT(
      RefusalOf("question-answering", {{"inputs", {{"question", "a"}}}}),
      ErrorAt("inputs.context"));
}

TEST_F(PipelinesTest, TranslatesWithOptionsOfItsOwn) {
  const json body = {{"inputs", "The house is big."},
                     {"parameters",
                      {{"src_lang", "en"},
                       {"tgt_lang", "de"},
                       {"truncation", "only_first"},
                       {"generate_parameters", {{"num_beams", 2}}}}}};
  for (const char* path : {"/", "/pipeline/translation"}) {
    EXPECT_THAT(Post(path, body)[0]["translation_text"].get<std::string>(),
                HasSubstr("Haus"))
        << path;
  }
  json other = body;
  other["parameters"]["tgt_lang"] = "zz";
  EXPECT_THAT(RefusalOf("translation", other), ErrorAt("parameters.tgt_lang"));
  other["parameters"]["tgt_lang"] = "de";
  // It could change the answer.
  other["parameters"]["clean_up_tokenization_spaces"] = true;
  EXPECT_THAT(RefusalOf("translation", other),
              ErrorAt("parameters.clean_up_tokenization_spaces"));
  other["parameters"].erase("clean_up_tokenization_spaces");
  other["parameters"]["truncation"] = "some";
  EXPECT_THAT(RefusalOf("translation", other),
              ErrorAt("parameters.truncation"));
  other["parameters"].erase("truncation");
  other["parameters"]["generate_parameters"] = {{"num_beams", 1000}};
  EXPECT_THAT(RefusalOf("translation", other),
              ErrorAt("parameters.generate_parameters.num_beams"));
}

TEST_F(PipelinesTest, LabelsHaveParameters) {
  const std::string path = "/pipeline/text-classification";
  const json all =
      Post(path, {{"inputs", "ab"}, {"parameters", json::object()}});
  const json best =
      Post(path, {{"inputs", "ab"}, {"parameters", {{"top_k", 1}}}});
  EXPECT_EQ(best, json({{all[0][0]}}));
  EXPECT_NE(Post(path, {{"inputs", "ab"},
                        {"parameters", {{"function_to_apply", "none"}}}}),
            all);
  EXPECT_EQ(Post(path, {{"inputs", "ab"},
                        {"parameters", {{"function_to_apply", "softmax"}}}}),
            all);
  EXPECT_THAT(RefusalOf("text-classification",
                        {{"inputs", "ab"},
                         {"parameters", {{"function_to_apply", "sigmoid"}}}}),
              ErrorAt("parameters.function_to_apply"));
  // A text would be one label, or several with commas between them.
  EXPECT_THAT(RefusalOf("zero-shot-classification",
                        {{"inputs", "ab"},
                         {"parameters", {{"candidate_labels", "a, b"}}}}),
              ErrorAt("parameters.candidate_labels"));
}

// The first model is a translator. Bodies without parameters are TEI's.
TEST_F(PipelinesTest, RootChoosesByTheBodyAndTheModels) {
  EXPECT_TRUE(Post("/", {{"inputs", "Hi."}})[0].is_array());
  EXPECT_TRUE(
      Post("/", {{"inputs", "Hi."},
                 {"parameters", {{"src_lang", "en"}, {"tgt_lang", "de"}}}})[0]
          .contains("translation_text"));
}

}  // namespace
}  // namespace trivium
