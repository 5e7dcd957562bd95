#include "model/head_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class HeadInfoTest : public testing::Test {
 protected:
  HeadInfo Read(HeadKind kind, int outputs, const char* text) {
    problems_.clear();
    const json config = json::parse(text);
    ConfigReader reader({{"config.json", &config}}, &problems_);
    return ReadHeadInfo(kind, outputs, &reader);
  }

  Problems problems_;
};

TEST_F(HeadInfoTest, ReadsLabelsAndScoresOfAClassifier) {
  HeadInfo info = Read(HeadKind::kClassify, 2, "{}");
  EXPECT_THAT(info.labels, ElementsAre("LABEL_0", "LABEL_1"));
  EXPECT_EQ(info.scores, HeadInfo::Scores::kSoftmax);
  info = Read(HeadKind::kClassify, 2, R"({"id2label": {"0": "a", "1": "b"},
      "problem_type": "multi_label_classification"})");
  EXPECT_THAT(info.labels, ElementsAre("a", "b"));
  EXPECT_EQ(info.scores, HeadInfo::Scores::kSigmoid);
  EXPECT_EQ(Read(HeadKind::kClassify, 1, "{}").scores,
            HeadInfo::Scores::kSigmoid);
  EXPECT_EQ(
      Read(HeadKind::kClassify, 1, R"({"problem_type": "regression"})").scores,
      HeadInfo::Scores::kNone);
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_THAT(Read(HeadKind::kDiscriminate, 1, "{}").labels,
              ElementsAre("original", "replaced"));
  EXPECT_THAT(Read(HeadKind::kFillMask, 300, "{}").labels, IsEmpty());
}

TEST_F(HeadInfoTest, NamesUnusableLabels) {
  for (const char* labels :
       {R"({"id2label": {"0": "a"}})", R"({"id2label": {"0": "a", "1": 7}})",
        R"({"id2label": ["a", "b"]})"}) {
    Read(HeadKind::kTag, 2, labels);
    EXPECT_THAT(problems_, ElementsAre(ErrorAt("id2label")));
  }
  Read(HeadKind::kClassify, 2, R"({"problem_type": "guessing"})");
  EXPECT_THAT(problems_, ElementsAre(ErrorAt("problem_type")));
}

// A tokenizer that knows two pieces.
class MaskTokenizer : public PuppetTokenizer {
 public:
  int32_t PieceToId(std::string_view piece, TextSide) const override {
    return piece == "<mask>" ? 4 : piece == "[M]" ? 9 : -1;
  }
};

TEST_F(HeadInfoTest, FindsTheMaskToken) {
  const MaskTokenizer tokenizer;
  EXPECT_EQ(FindMask(tokenizer, nullptr), 4);
  EXPECT_EQ(FindMask(tokenizer, json{{"mask_token", "[M]"}}), 9);
  EXPECT_EQ(
      FindMask(tokenizer, json::parse(R"({"mask_token": {"content": "[M]"}})")),
      9);
  EXPECT_EQ(FindMask(tokenizer, json{{"mask_token", "none"}}), std::nullopt);
  EXPECT_EQ(FindMask(PuppetTokenizer(), nullptr), std::nullopt);
}

}  // namespace
}  // namespace trivium
