// Hidden states of every layer of each family of encoders, as Transformers
// gives them (make_hidden_goldens.py), in f32.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "model/model.h"
#include "model/weights/mapped_file.h"
#include "model/weights/safetensors.h"
#include "tests/support/generate.h"
#include "tests/support/golden.h"

namespace trivium {
namespace {

constexpr int kRun = 3;  // of the golden's

TEST(HiddenStatesGoldenTest, EqualTransformers) {
  std::set<std::string> families;
  for (const std::string& folder : GoldenFolders()) {
    const std::string path = folder + "/hidden.safetensors";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(folder);
    const auto golden = GoldenCase::Open(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    const auto file = MappedFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto tensors = ReadSafetensors((*file)->bytes());
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    LoadOptions options;
    options.precision = Precision::kF32;
    const auto model = Model::Load((*golden)->model_folder(), options);
    ASSERT_TRUE(model.ok()) << model.status();
    families.insert((*model)->info().family);
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 1 << 24});
    ASSERT_TRUE(engine.ok()) << engine.status();
    const GoldenRun& run = (*golden)->runs()[kRun];
    const auto encoded =
        EncodeAlone(engine->get(), {run.input_ids, run.type_ids});
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const int layers = (*engine)->limits().encoder_layers;
    ASSERT_EQ(static_cast<int>(tensors->tensors.size()), layers + 1);
    const auto size = static_cast<int64_t>(encoded->states.size());
    for (int layer = 0; layer <= layers; ++layer) {
      const auto expected =
          tensors->tensors.find(fmt::format("hidden_states.{}", layer));
      ASSERT_NE(expected, tensors->tensors.end());
      const auto first = encoded->hidden.begin() + layer * size;
      EXPECT_EQ(CompareTensor(expected->second, {first, first + size}),
                absl::OkStatus())
          << "layer " << layer;
    }
  }
  EXPECT_GE(families.size(), 10u);
}

}  // namespace
}  // namespace trivium
