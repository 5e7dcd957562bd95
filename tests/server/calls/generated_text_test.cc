#include "server/calls/convert/generated_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

// The decoder holds back what is no whole character, and the filter what may
// begin a stop string: the first goes through the second before it ends.
TEST(GeneratedTextTest, AnEndWithinACharacterIsLookedAtForStops) {
  const PuppetTokenizer tokenizer;
  const auto rest_of = [&](const std::string& stop, bool keep) {
    GeneratedText text(&tokenizer, {}, /*joining=*/false, {stop}, keep, {});
    const std::vector<int32_t> ids = {PuppetTokenizer::kFirst + 'x',
                                      PuppetTokenizer::kFirst + 0xE2};
    EXPECT_EQ(text.Push(ids), "");
    const std::string rest = text.Finish();
    return std::pair(rest, text.stopped_by() != nullptr);
  };
  EXPECT_EQ(rest_of("x\xE2", false), std::pair(std::string(), true));
  EXPECT_EQ(rest_of("x\xE2", true), std::pair(std::string("x\xE2"), true));
  EXPECT_EQ(rest_of("x\xE2\x82", false),
            std::pair(std::string("x\xE2"), false));
}

}  // namespace
}  // namespace trivium
