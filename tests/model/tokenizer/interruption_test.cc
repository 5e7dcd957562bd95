// A call that is no longer wanted stops, however long its text is.
#include "model/tokenizer/interruption.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/cpu_time.h"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

// With a text of 256 KiB, the time between two calls of `wanted` is a few
// milliseconds where words become pieces, and some tens where a step handles
// the whole text. A busy machine needs several times that, and sanitizers are
// slower still.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr absl::Duration kMostTime = absl::Seconds(5);
#else
constexpr absl::Duration kMostTime = absl::Milliseconds(200);
#endif

TEST(InterruptionTest, AsksEveryFewKib) {
  EXPECT_FALSE(Interrupted(1 << 20));
  int asked = 0;
  const InterruptionScope scope([&asked] { return ++asked < 3; });
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(Interrupted(1024));
  EXPECT_EQ(asked, 2);
  {
    const InterruptionScope inner(nullptr);
    EXPECT_FALSE(Interrupted(1 << 20));
  }
  EXPECT_TRUE(Interrupted(1 << 20));
  EXPECT_TRUE(Interrupted(1));
  EXPECT_EQ(asked, 3);
}

// A pool runs short work while long work asks.
TEST(InterruptionTest, DoesNotInterruptWorkDoneWhileAsking) {
  bool other_goes_on = false;
  const InterruptionScope scope([&] {
    other_goes_on = !Interrupted(1 << 20) && !Interrupted(1 << 20);
    return false;
  });
  EXPECT_TRUE(Interrupted(1 << 20));
  EXPECT_TRUE(other_goes_on);
  EXPECT_TRUE(Interrupted(1));
}

class InterruptibleTest : public testing::Test {
 protected:
  static std::string Times(int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  }

  // Each is slow for some tokenizer.
  static std::vector<std::string> Texts() {
    return {Times(1 << 15, "a b c d "),
            std::string(1 << 18, 'a'),
            Times(8'000, "Every child, 12 years old, went. "),
            Times(80'000, "\xE4\xB8\xAD"),
            Times(100'000, "\xCC\x81"),
            Times(5'000, "\xEF\xB7\xBA")};
  }

  // Checks the longest time between two calls of `wanted`, for a text that is
  // finished and for one that is given up in the middle.
  static void ExpectInterruptible(const Tokenizer& tokenizer) {
    for (const std::string& text : Texts()) {
      absl::Duration longest;
      absl::Duration last = ThreadCpuTime();
      int questions = 0;
      int most = -1;  // number of the call that says no
      EncodeOptions options;
      options.wanted = [&] {
        const absl::Duration now = ThreadCpuTime();
        longest = std::max(longest, now - last);
        last = now;
        return ++questions == most ? absl::CancelledError("gone")
                                   : absl::OkStatus();
      };
      const absl::Status done = tokenizer.Encode(text, options).status();
      options.wanted().IgnoreError();  // the time after the last call
      EXPECT_LT(longest, kMostTime) << text.substr(0, 8) << ", " << done;
      most = questions / 2;
      questions = 0;
      EXPECT_TRUE(absl::IsCancelled(tokenizer.Encode(text, options).status()))
          << text.substr(0, 8);
      EXPECT_EQ(questions, most);
      options.wanted().IgnoreError();
      EXPECT_LT(longest, kMostTime) << text.substr(0, 8) << ", given up";
    }
  }

  static void ExpectInterruptible(const std::string& json) {
    const ScratchFolder folder;
    folder.Write("tokenizer.json", json);
    ExpectInterruptible(*LoadOrDie(folder.path()));
  }
};

TEST_F(InterruptibleTest, SentencePieceAsksInTime) {
  ExpectInterruptible(*LoadOrDie(kEmbedded));
}

TEST_F(InterruptibleTest, WordPieceAsksInTime) {
  const ScratchFolder folder;
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n,\n";
  for (char c = 'a'; c <= 'z'; ++c) {
    vocabulary += std::string(1, c) + "\n##" + c + "\n";
  }
  folder.Write("vocab.txt", vocabulary);
  ExpectInterruptible(*LoadOrDie(folder.path()));
}

// Models that get the whole text as one word.
TEST_F(InterruptibleTest, UnigramAsksInTime) {
  ExpectInterruptible(
      R"({"normalizer": {"type": "NFKC"}, "model": {"type": "Unigram",
          "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["aaaa", -2.0],
          [" ", -1.0], ["a b", -1.0]]}})");
}

TEST_F(InterruptibleTest, BpeAsksInTime) {
  ExpectInterruptible(
      R"({"model": {"type": "BPE", "unk_token": "u", "vocab": {"u": 0, "a": 1,
          "b": 2, " ": 3, "aa": 4, "aaaa": 5, "a ": 6}, "merges": [["a", "a"],
          ["aa", "aa"], ["a", " "]]}})");
}

TEST_F(InterruptibleTest, ExpressionsAskInTime) {
  ExpectInterruptible(
      R"({"normalizer": {"type": "Replace", "pattern": {"Regex": "a +b"},
          "content": "ab"}, "pre_tokenizer": {"type": "Split", "pattern":
          {"Regex": "\\s+(?!\\S)|\\p{L}+"}, "behavior": "Isolated"},
          "model": {"type": "BPE", "unk_token": "u", "vocab": {"u": 0, "a": 1},
          "merges": []}})");
}

}  // namespace
}  // namespace trivium
