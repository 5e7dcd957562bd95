#include "server/translation/pipeline/option_rules.h"

#include <gmock/gmock.h>

#include <string>

namespace trivium {
namespace {

constexpr char kOneSearch[] = "is of one search, and ";
const OptionPaths kPaths = {"options", "inputs[1]"};

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

TEST(OptionRulesTest, OptionsThatGoTogetherPass) {
  EXPECT_TRUE(CheckExclusions({}, kPaths).ok());
  EXPECT_TRUE(CheckExclusions({CallOption::kFormat, CallOption::kProtect,
                               CallOption::kChecks, CallOption::kGlossary},
                              kPaths)
                  .ok());
}

TEST(OptionRulesTest, TheRefusedOptionIsNamedAndWhy) {
  EXPECT_EQ(MessageOf(CheckExclusions(
                {CallOption::kProtect, CallOption::kTrace}, kPaths)),
            std::string("options.decoding.trace: ") + kOneSearch +
                "sentences with protected spans may take several; leave one of "
                "them out");
}

TEST(OptionRulesTest, AnInputsOptionIsNamedByItsInput) {
  EXPECT_EQ(MessageOf(CheckExclusions(
                {CallOption::kChecks, CallOption::kTargetPrefix}, kPaths)),
            "inputs[1].target_prefix: is a part of a translation, and "
            "options.checks is about whole ones; leave one of them out");
}

TEST(OptionRulesTest, OptionsAboutTextsRefuseIds) {
  EXPECT_EQ(MessageOf(CheckNotAboutTexts({CallOption::kGlossary}, kPaths)),
            "options.glossary: is about texts, and inputs[1] is none; leave it "
            "out");
  EXPECT_TRUE(CheckNotAboutTexts({CallOption::kTrace}, kPaths).ok());
}

TEST(OptionRulesTest, OptionsAboutOneSentenceRefuseSeveral) {
  EXPECT_FALSE(
      CheckNotAboutOneSentence({CallOption::kCrossAttention}, kPaths).ok());
  EXPECT_TRUE(CheckNotAboutOneSentence({CallOption::kChecks}, kPaths).ok());
}

}  // namespace
}  // namespace trivium
