#include "server/translation/pipeline/option_rules.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

const OptionPaths kPaths = {"options", "inputs[1]"};

auto IsRefusedAt(const char* place) {
  return IsError(absl::StatusCode::kInvalidArgument, place);
}

TEST(OptionRulesTest, OptionsThatGoTogetherPass) {
  EXPECT_TRUE(CheckExclusions({}, kPaths).ok());
  EXPECT_TRUE(CheckExclusions({CallOption::kFormat, CallOption::kProtect,
                               CallOption::kChecks, CallOption::kGlossary},
                              kPaths)
                  .ok());
}

TEST(OptionRulesTest, TheRefusedOptionIsNamed) {
  EXPECT_THAT(
      CheckExclusions({CallOption::kProtect, CallOption::kTrace}, kPaths),
      IsRefusedAt("options.decoding.trace"));
}

TEST(OptionRulesTest, AnInputsOptionIsNamedByItsInput) {
  const absl::Status status =
      CheckExclusions({CallOption::kChecks, CallOption::kTargetPrefix}, kPaths);
  EXPECT_THAT(status, IsRefusedAt("inputs[1].target_prefix"));
  EXPECT_THAT(status, IsRefusedAt("options.checks"));
}

TEST(OptionRulesTest, OptionsAboutTextsRefuseIds) {
  const absl::Status status =
      CheckNotAboutTexts({CallOption::kGlossary}, kPaths);
  EXPECT_THAT(status, IsRefusedAt("options.glossary"));
  EXPECT_THAT(status, IsRefusedAt("inputs[1]"));
  EXPECT_TRUE(CheckNotAboutTexts({CallOption::kTrace}, kPaths).ok());
}

TEST(OptionRulesTest, OptionsAboutOneSentenceRefuseSeveral) {
  EXPECT_FALSE(
      CheckNotAboutOneSentence({CallOption::kCrossAttention}, kPaths).ok());
  EXPECT_TRUE(CheckNotAboutOneSentence({CallOption::kChecks}, kPaths).ok());
}

}  // namespace
}  // namespace trivium
