#ifndef TRIVIUM_TESTS_GOLDEN_DESCRIBED_GOLDEN_H_
#define TRIVIUM_TESTS_GOLDEN_DESCRIBED_GOLDEN_H_

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "model/families/registry.h"
#include "model/text_tower.h"
#include "tests/support/golden.h"

namespace trivium {

// A golden case and the description of its model, for ReferenceTransformer.
struct DescribedGolden {
  std::unique_ptr<GoldenCase> golden;
  std::unique_ptr<Weights> weights;
  FamilyModel family;
  int32_t start = 0;  // what a decoder reads first

  static absl::StatusOr<DescribedGolden> Open(const std::string& folder) {
    DescribedGolden described;
    TRIVIUM_ASSIGN_OR_RETURN(described.golden, GoldenCase::Open(folder));
    const std::string& model = described.golden->model_folder();
    TRIVIUM_ASSIGN_OR_RETURN(auto config, ReadJsonFile(model + "/config.json"));
    TRIVIUM_ASSIGN_OR_RETURN(described.weights, Weights::Open(model));
    Problems problems;
    UseTextTower(&config, &described.weights, &problems);
    const std::string type = config.at("model_type").get<std::string>();
    const FamilyLoader load = FindFamily(type);
    if (load == nullptr) return absl::NotFoundError("unknown family " + type);
    described.family = load(config, described.weights.get(), &problems);
    EXPECT_EQ(problems, Problems());
    // A decoder with a head is used as an encoder (model/state_use.h).
    TransformerDescription& description = described.family.description;
    if (description.head && description.decoder) {
      description.encoder = std::move(description.decoder);
      description.decoder.reset();
    }
    described.start = config.value("decoder_start_token_id", 0);
    return described;
  }

  // What the golden logits of a run were forced with: given, or the greedy
  // result.
  std::vector<int32_t> Targets(const GoldenRun& run) const {
    if (!run.decoder_input_ids.empty()) return run.decoder_input_ids;
    std::vector<int32_t> targets = {start};
    for (const GoldenSearch& search : run.searches) {
      if (search.options.beam_size > 1) continue;
      const std::vector<int32_t>& ids = search.expected[0].ids;
      targets.insert(targets.end(), ids.begin(), ids.end() - 1);
      break;
    }
    return targets;
  }
};

// "marian.translate" -> "marian_translate", "gpt2.lm/model.gguf" ->
// "gpt2_lm_gguf"
inline std::string GoldenName(
    const ::testing::TestParamInfo<std::string>& info) {
  const std::filesystem::path path(info.param);
  std::string name = path.extension() == ".gguf"
                         ? path.parent_path().filename().string() + ".gguf"
                         : path.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); },
      '_');
  return name;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_GOLDEN_DESCRIBED_GOLDEN_H_
