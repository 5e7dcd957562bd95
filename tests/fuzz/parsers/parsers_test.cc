// Every fuzz target over its corpus, and over a few hundred mutations of it, so
// that both stay fit for long runs (tests/fuzz/README.md).
//   TRIVIUM_FUZZ_ROUNDS=100000 TRIVIUM_FUZZ_SEED=7 build/dev/bin/parsers_test
// makes as many mutations of each target as one likes, without libFuzzer.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/folder_mutations.h"
#include "tests/fuzz/parsers/targets.h"
#include "tests/fuzz/settings.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

std::vector<std::string> Corpus(const std::string& target) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(
           "tests/fuzz/parsers/corpus/" + target)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const std::string& path : paths) corpus.push_back(ReadWholeFile(path));
  return corpus;
}

void RunTargets(std::span<const FuzzTarget> targets) {
  const long rounds = FuzzSetting("TRIVIUM_FUZZ_ROUNDS", 300);
  const long seed = FuzzSetting("TRIVIUM_FUZZ_SEED", 1);
  for (const FuzzTarget& target : targets) {
    const std::vector<std::string> corpus = Corpus(target.name);
    ASSERT_FALSE(corpus.empty()) << target.name;
    for (const std::string& bytes : corpus) target.run(bytes);
    for (long round = 0; round < rounds; ++round) {
      std::seed_seq seeds = {seed, round};
      Random random(seeds);
      std::string bytes = corpus[random() % corpus.size()];
      for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
        SpoilBytes(&bytes, &random);
      }
      target.run(bytes);
    }
  }
}

TEST(ParsersTest, ModelParsersSurviveDamage) { RunTargets(ModelTargets()); }
TEST(ParsersTest, ServerParsersSurviveDamage) { RunTargets(ServerTargets()); }

}  // namespace
}  // namespace trivium
