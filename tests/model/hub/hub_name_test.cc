#include "model/hub/hub_name.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

TEST(HubNameTest, ReadsItsParts) {
  const auto parse = [](const char* text) {
    return ParseHubName(text).value_or(HubName());
  };
  EXPECT_EQ(parse("hf:Qwen/Qwen3-0.6B"), (HubName{"Qwen/Qwen3-0.6B"}));
  EXPECT_EQ(parse("hf:gpt2"), (HubName{"gpt2"}));
  EXPECT_EQ(parse("hf:a/b@v1.0"), (HubName{"a/b", "v1.0"}));
  EXPECT_EQ(parse("hf:a/b@refs/pr/1"), (HubName{"a/b", "refs/pr/1"}));
  EXPECT_EQ(parse("hf:a/b:q4_k_m"), (HubName{"a/b", "main", "q4_k_m"}));
  EXPECT_EQ(parse("hf:a/b@dev:UD-Q8_0"), (HubName{"a/b", "dev", "UD-Q8_0"}));
  EXPECT_EQ(parse("hf:Qwen/Qwen3-0.6B").ShortName(), "Qwen3-0.6B");
  EXPECT_EQ(parse("hf:gpt2").ShortName(), "gpt2");
}

// A name becomes a part of paths and addresses.
TEST(HubNameTest, RefusesWhatIsNoName) {
  for (const std::string text :
       {"hf:",          "hf:/",          "hf:a/",     "hf:/b",
        "hf:a/b/c",     "hf:../b",       "hf:a/..",   "hf:a--b/c",
        "hf:a/b--c",    "hf:.a/b",       "hf:a/b.",   "hf:-a/b",
        "hf:a b/c",     "hf:a/b\n",      "hf:a%2f/b", "hf:a/b@",
        "hf:a/b@../x",  "hf:a/b@x/../y", "hf:a/b@/x", "hf:a/b@x//y",
        "hf:a/b@.x",    "hf:a/b@x y",    "hf:a/b:",   "hf:a/b:q/4",
        "hf:a/b:q4:q5", "a/b",           "HF:a/b"}) {
    EXPECT_EQ(ParseHubName(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_FALSE(ParseHubName("hf:" + std::string(97, 'a')).ok());
  // What was pasted is named as it is written here.
  for (const std::string text :
       {"a/b", "HF:a/b", "hf://a/b", "hf:a/b/", "hf.co/a/b",
        "https://huggingface.co/a/b", "https://huggingface.co/a/b/tree/main",
        "hf:https://huggingface.co/a/b/"}) {
    EXPECT_THAT(ParseHubName(text),
                IsError(absl::StatusCode::kInvalidArgument, "as hf:a/b"));
  }
  EXPECT_THAT(ParseHubName("hf:a/b@../x"),
              IsError(absl::StatusCode::kInvalidArgument, "../x"));
  EXPECT_THAT(ParseHubName("hf:a/b:q/4"),
              IsError(absl::StatusCode::kInvalidArgument, "q/4"));
  EXPECT_THAT(ParseHubName("hf:a/b/c"),
              IsError(absl::StatusCode::kInvalidArgument, "a/b/c"));
}

TEST(HubNameTest, AFolderMayBeginLikeAName) {
  EXPECT_TRUE(IsHubName("hf:a/b"));
  EXPECT_FALSE(IsHubName("./hf:a/b"));
}

}  // namespace
}  // namespace trivium
