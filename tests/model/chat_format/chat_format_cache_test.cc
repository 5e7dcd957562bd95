#include "model/chat_format/chat_format_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/model/chat_format/templates.h"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

class ChatFormatCacheTest : public testing::Test {
 protected:
  static ChatTemplate Parsed(const std::string& source) {
    auto parsed = ChatTemplate::Parse(source);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return *std::move(parsed);
  }
  absl::StatusOr<std::shared_ptr<const KnownChatFormat>> Get(
      const ChatTemplate& chat_template, const std::string& variables = "{}",
      const AliveCheck& check_alive = {}) {
    return cache_.Get(chat_template, variables, *tokenizer_, check_alive);
  }

  const std::unique_ptr<Tokenizer> tokenizer_ =
      LoadOrDie("tests/integration/chats");
  ChatFormatCache cache_;
};

TEST_F(ChatFormatCacheTest, RequestsShareTheFormatOfATemplate) {
  const ChatTemplate tagged = Parsed(kTagged), named = Parsed(kNamed);
  const auto first = Get(tagged);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->format.CallMark(), "<tool_call>");
  EXPECT_EQ(*Get(tagged), *first);
  EXPECT_EQ(*Get(tagged, R"({"enable_thinking": false})"), *first);
  EXPECT_NE((*Get(named))->id, (*first)->id);
}

TEST_F(ChatFormatCacheTest, VariablesThatATemplateNeedsArePartOfIt) {
  const ChatTemplate needs =
      Parsed(std::string("{%- if not mode %}{{ raise_exception('no mode') }}"
                         "{%- endif %}") +
             kTagged);
  EXPECT_FALSE((*Get(needs))->format.writes_calls());
  const auto with = Get(needs, R"({"mode": 1})");
  EXPECT_TRUE((*with)->format.writes_calls());
  EXPECT_EQ(*Get(needs, R"({"mode": 1})"), *with);
  EXPECT_NE(*Get(needs, R"({"mode": 2})"), *with);
}

// What a call that has gone left half done is no format.
TEST_F(ChatFormatCacheTest, ACallThatHasGoneLeavesNothing) {
  const ChatTemplate tagged = Parsed(kTagged);
  const auto gone = Get(tagged, "{}", [] { return absl::CancelledError(); });
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE((*Get(tagged))->format.writes_calls());
}

}  // namespace
}  // namespace trivium
