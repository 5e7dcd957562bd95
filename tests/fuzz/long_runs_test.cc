// Texts of one character, or of a few, hundreds of thousands of times: each
// tokenizer reads them whole, in a time that grows as they do, and gives the
// same text back.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_time.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "tests/fuzz/bounded_process.h"

namespace trivium {
namespace {

constexpr int kTimes = kBoundsMemory ? 400'000 : 40'000;
// A core's time for one text, far more than any takes; what is quadratic takes
// minutes.
constexpr absl::Duration kMostTime =
    kBoundsMemory ? absl::Seconds(10) : absl::Seconds(100);

class LongRunsTest : public testing::TestWithParam<const char*> {};

TEST_P(LongRunsTest, AreReadWholeAndInTime) {
  const auto tokenizer = LoadTokenizer(GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  ASSERT_NE(*tokenizer, nullptr);
  for (const char* const part : {" ", "\n", " \n", "\t ", "a", "7", "'s", "a ",
                                 "\xC3\xA9", "\xE4\xBA\xAC"}) {
    std::string text;
    while (text.size() < kTimes) text += part;
    // A word before a run and one behind it.
    text = "yes" + text + "no";
    const absl::Duration before = ThreadCpuTime();
    const auto encoding = (*tokenizer)->Encode(text, {});
    const absl::Duration time = ThreadCpuTime() - before;
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    EXPECT_LT(time, kMostTime) << "of '" << part << "'";
    EXPECT_FALSE(encoding->partial);
    EXPECT_TRUE((*tokenizer)->Decode(encoding->ids) == text)
        << "of '" << part << "', " << encoding->ids.size() << " tokens";

    // No more of it than is used: its first tokens are the whole text's.
    EncodeOptions options;
    options.most_tokens = 100;
    options.add_special_tokens = false;
    const auto beginning = (*tokenizer)->Encode(text, options);
    const auto whole =
        (*tokenizer)->Encode(text, {.add_special_tokens = false});
    ASSERT_TRUE(beginning.ok() && whole.ok());
    ASSERT_GE(beginning->ids.size(), std::min<size_t>(100, whole->ids.size()));
    EXPECT_TRUE(std::equal(
        beginning->ids.begin(),
        beginning->ids.begin() + std::min<size_t>(100, beginning->ids.size()),
        whole->ids.begin()))
        << "of '" << part << "'";
  }
}

// Byte-level BPE with Qwen's words and with GPT-2's, and SentencePiece's BPE,
// to which the whole text is one word.
INSTANTIATE_TEST_SUITE_P(
    Tokenizers, LongRunsTest,
    testing::Values("tests/golden/sentences/qwen3.embedding",
                    "tests/integration/chats",
                    "tests/golden/sentences/gemma3.embedding"),
    [](const auto& info) { return fmt::format("number{}", info.index); });

}  // namespace
}  // namespace trivium
