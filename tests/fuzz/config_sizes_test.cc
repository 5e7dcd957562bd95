// Folders that have only config.json, whose numbers no tensor confirms:
// ReportFolder must refuse them or give sizes that are not negative, in bounded
// time and memory. Every value of each family's config.json is replaced by each
// of `Values`, alone; then several are replaced at random.
//
// TRIVIUM_FUZZ_ROUNDS and TRIVIUM_FUZZ_SEED change the number of random rounds
// and what they replace.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/fuzz/bounded_process.h"
#include "tests/fuzz/settings.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using Json = nlohmann::json;

std::vector<Json> Values() {
  return {"text",
          -1,
          0,
          1 << 18,  // the largest of many sizes
          std::numeric_limits<int32_t>::max(),
          int64_t{1} << 40};
}

// Every value of a config.json but lists' after their second.
std::vector<Json::json_pointer> Pointers(const Json& config) {
  std::vector<Json::json_pointer> pointers;
  const auto visit = [&](const Json& json, const Json::json_pointer& at,
                         const auto& self) -> void {
    if (!at.empty()) pointers.push_back(at);
    if (json.is_object()) {
      for (const auto& [key, value] : json.items()) {
        self(value, at / key, self);
      }
    }
    for (size_t i = 0; json.is_array() && i < std::min<size_t>(2, json.size());
         ++i) {
      self(json[i], at / i, self);
    }
  };
  visit(config, Json::json_pointer(), visit);
  return pointers;
}

// Returns as many of the goldens' configurations as have all keys that there
// are of each model_type. Several families may have the same one.
std::vector<Json> Configs() {
  std::set<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/golden")) {
    const std::string path = entry.path().string() + "/config.json";
    if (std::filesystem::exists(path)) paths.insert(path);
  }
  std::map<std::string, std::set<std::string>> seen;  // keys of model types
  std::vector<Json> configs;
  for (const std::string& path : paths) {
    Json config = Json::parse(ReadWholeFile(path));
    std::set<std::string>& keys = seen[config.value("model_type", path)];
    const size_t before = keys.size();
    for (const auto& [key, value] : config.items()) keys.insert(key);
    if (keys.size() > before) configs.push_back(std::move(config));
  }
  return configs;
}

// A new file each time: ext4 flushes one that is truncated and written again.
void WriteConfig(const Json& config, const TemporaryFolder& folder) {
  std::filesystem::remove(folder.path() + "/config.json");
  folder.Write("config.json", config.dump());
}

TEST(ConfigSizesTest, EachSpoiledValueIsReportedInBounds) {
  const std::vector<Json> values = Values();
  const TemporaryFolder folder;
  for (const Json& config : Configs()) {
    const std::vector<Json::json_pointer> pointers = Pointers(config);
    const std::string end = ReportInBounds(
        folder.path(), pointers.size() * values.size(), [&](size_t i) {
          Json spoiled = config;
          spoiled[pointers[i / values.size()]] = values[i % values.size()];
          WriteConfig(spoiled, folder);
        });
    EXPECT_EQ(end, "") << ReadWholeFile(folder.path() + "/config.json");
  }
}

TEST(ConfigSizesTest, SeveralSpoiledValuesAreReportedInBounds) {
  const long rounds = FuzzSetting("TRIVIUM_FUZZ_ROUNDS", 250);
  const long seed = FuzzSetting("TRIVIUM_FUZZ_SEED", 1);
  std::vector<Json> values = Values();
  for (const int size : {1, 2, 3, 8, 64, 1000, 1024, 4096, 1 << 24}) {
    values.push_back(size);
  }
  const std::vector<Json> configs = Configs();
  const TemporaryFolder folder;
  for (long round = 0; round < rounds; ++round) {
    std::seed_seq seeds = {seed, round};
    std::mt19937 random(seeds);
    const Json& config = configs[random() % configs.size()];
    std::vector<Json::json_pointer> numbers = Pointers(config);
    std::erase_if(numbers, [&](const Json::json_pointer& at) {
      return !config[at].is_number();
    });
    const std::string end = ReportInBounds(folder.path(), 1, [&](size_t) {
      Json spoiled = config;
      for (size_t changes = 2 + random() % 5; changes > 0; --changes) {
        spoiled[numbers[random() % numbers.size()]] =
            values[random() % values.size()];
      }
      WriteConfig(spoiled, folder);
    });
    EXPECT_EQ(end, "") << "round " << round << ": "
                       << ReadWholeFile(folder.path() + "/config.json");
  }
}

}  // namespace
}  // namespace trivium
