// A model of llama2.c (convert_stories.py) tells what llama2.c tells of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "model/model.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

TEST(StoriesTest, TellsTheSameStory) {
  const char* folder = std::getenv("TRIVIUM_STORIES");
  if (folder == nullptr) {
    GTEST_SKIP() << "skipped: no TRIVIUM_STORIES; "
                    "tests/real_model/convert_stories.py says what it is";
  }
  const std::string path = folder;
  std::ifstream file(path + "/expected_greedy.txt");
  std::stringstream expected;
  expected << file.rdbuf();
  std::string text = expected.str();
  ASSERT_FALSE(text.empty()) << path;
  while (text.ends_with('\n')) text.pop_back();

  const auto model =
      Model::Load(path + "/model.gguf", {.precision = Precision::kF32});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto engine = (*model)->NewEngine({.kv_cache_bytes = 8 << 20});
  ASSERT_TRUE(engine.ok()) << engine.status();
  DecodingOptions options = (*model)->decoding_defaults();
  options.max_new_tokens = 256;  // llama2.c's steps
  const auto told = GenerateAlone(engine->get(), {}, {1}, options);
  ASSERT_TRUE(told.ok()) << told.status();
  const std::string story = (*model)->tokenizer()->Decode(told->front().ids);
  EXPECT_EQ(story.substr(0, text.size()), text);
}

}  // namespace
}  // namespace trivium
