// Classifiers of encoder-decoders, whose decoder reads each text once more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SecondReadingFamiliesTest, BartIsAnEncoderWithASecondReading) {
  Folder folder("bart.classify");
  ASSERT_THAT(folder.Load(), IsEmpty());
  const TransformerDescription& description = folder.description;
  EXPECT_TRUE(description.encoder.has_value());
  EXPECT_FALSE(description.decoder.has_value());
  EXPECT_EQ(description.output_projection.weight, nullptr);
  ASSERT_TRUE(description.second_reading.has_value());
  EXPECT_EQ(description.second_reading->start_id, 2);
  const StackDescription& second = description.second_reading->stack;
  ASSERT_EQ(second.layer.size(), 2u);
  EXPECT_TRUE(second.layer[1].cross_attention.has_value());
  EXPECT_EQ(second.layer[1].self_attention.geometry.look_ahead, 0);
  ASSERT_TRUE(description.head.has_value());
  EXPECT_EQ(description.head->input, HeadDescription::Input::kLastToken);
  EXPECT_EQ(description.head->end_id, 2);
  EXPECT_EQ(description.head->output.weight->shape[0], 3);
}

TEST(SecondReadingFamiliesTest, IdsAreThoseOfTheConfigElseTheFamilys) {
  Folder folder("bart.classify");
  folder.config["decoder_start_token_id"] = 5;
  folder.config["eos_token_id"] = 7;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.second_reading->start_id, 5);
  EXPECT_EQ(folder.description.head->end_id, 7);
  Folder t5("t5.classify");
  t5.config.erase("decoder_start_token_id");
  t5.config.erase("eos_token_id");
  ASSERT_THAT(t5.Load(), IsEmpty());
  EXPECT_EQ(t5.description.second_reading->start_id, 0);
  EXPECT_EQ(t5.description.head->end_id, 1);
  EXPECT_EQ(t5.description.second_reading->stack.layer.size(), 3u);
  folder.config["eos_token_id"] = 307;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("eos_token_id")));
}

TEST(SecondReadingFamiliesTest, ProblemsAreTold) {
  Folder folder("bart.classify");
  folder.weights.Remove("classification_head.out_proj.weight");
  EXPECT_THAT(folder.Load(),
              ElementsAre(HasSubstr("classification_head.out_proj.weight")));
  folder.config["architectures"] = {"BartForQuestionAnswering"};
  EXPECT_THAT(folder.Load(), Contains(ErrorAt("architectures")));
  // Its decoder reads the text in another order.
  Folder mbart("mbart.translate");
  mbart.config["architectures"] = {"MBartForSequenceClassification"};
  EXPECT_THAT(mbart.Load(), Contains(ErrorAt("architectures")));
}

TEST(DprTest, QuestionsAndPassagesAreEncoders) {
  for (const char* name : {"dpr.question", "dpr.context"}) {
    Folder folder(name);
    ASSERT_THAT(folder.Load(), IsEmpty()) << name;
    EXPECT_EQ(folder.description.encoder->layer.size(), 2u);
    EXPECT_FALSE(folder.description.pooler.has_value());
    folder.config["projection_dim"] = 128;
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("projection_dim")));
    folder.config["projection_dim"] = 0;
    folder.config["architectures"] = {"DPRReader"};
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("architectures")));
  }
}

}  // namespace
}  // namespace trivium
