#include "model/hub/hub_settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using Variables = std::map<std::string, std::string>;

absl::StatusOr<HubSettings> ReadSettings(const Variables& variables) {
  return HubSettings::FromEnvironment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string CacheOf(const Variables& variables) {
  const auto settings = ReadSettings(variables);
  return settings.ok() ? settings->cache : settings.status().ToString();
}

TEST(HubSettingsTest, TheCacheIsHuggingfaceHubs) {
  EXPECT_EQ(CacheOf({{"HOME", "/h"}}), "/h/.cache/huggingface/hub");
  EXPECT_EQ(CacheOf({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}),
            "/x/huggingface/hub");
  EXPECT_EQ(CacheOf({{"HOME", "/h"}, {"HF_HOME", "~/hf"}}), "/h/hf/hub");
  EXPECT_EQ(CacheOf({{"HF_HOME", "/hf"}, {"HF_HUB_CACHE", "/c"}}), "/c");
  EXPECT_EQ(CacheOf({{"HF_HUB_CACHE", ""}, {"HOME", "/h"}}),
            "/h/.cache/huggingface/hub");
  EXPECT_THAT(ReadSettings({}),
              IsError(absl::StatusCode::kInvalidArgument, "HF_HOME"));
}

TEST(HubSettingsTest, TheTokenIsInTheEnvironmentOrInAFile) {
  const std::string folder = testing::TempDir() + "/hub_token";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/token") << "hf_file\n";
  EXPECT_EQ(ReadSettings({{"HF_HOME", folder}})->token, "hf_file");
  EXPECT_EQ(
      ReadSettings({{"HF_HOME", folder}, {"HF_TOKEN", "hf_given "}})->token,
      "hf_given");
  EXPECT_EQ(
      ReadSettings({{"HF_HOME", "/none"}, {"HF_TOKEN_PATH", folder + "/token"}})
          ->token,
      "hf_file");
  EXPECT_EQ(ReadSettings({{"HF_HOME", "/none"}})->token, "");
  EXPECT_FALSE(
      ReadSettings({{"HF_HOME", "/none"}, {"HF_TOKEN_PATH", folder + "/none"}})
          .ok());
  // It would add a header.
  EXPECT_THAT(ReadSettings({{"HOME", "/h"}, {"HF_TOKEN", "a\r\nX: b"}}),
              IsError(absl::StatusCode::kInvalidArgument, "HF_TOKEN"));
}

TEST(HubSettingsTest, ReadsTheOthers) {
  const auto settings =
      ReadSettings({{"HOME", "/h"},
                    {"HF_ENDPOINT", "https://mirror.test/hf/"},
                    {"HF_HUB_OFFLINE", "yes"},
                    {"https_proxy", "http://proxy:3128"},
                    {"NO_PROXY", "localhost"}});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->endpoint, "https://mirror.test/hf");
  EXPECT_TRUE(settings->offline);
  EXPECT_EQ(settings->https_proxy, "http://proxy:3128");
  EXPECT_EQ(settings->no_proxy, "localhost");
  EXPECT_FALSE(
      ReadSettings({{"HOME", "/h"}, {"HF_HUB_OFFLINE", "0"}})->offline);
  EXPECT_EQ(ReadSettings({{"HOME", "/h"}})->endpoint, "https://huggingface.co");
  EXPECT_THAT(ReadSettings({{"HOME", "/h"}, {"HF_ENDPOINT", "mirror.test"}}),
              IsError(absl::StatusCode::kInvalidArgument, "HF_ENDPOINT"));
}

}  // namespace
}  // namespace trivium
