#include "model/folder_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr LoadOptions kInF32 = {.precision = Precision::kF32};

TEST(FolderReportTest, ReportsAWholeFolder) {
  for (const char* golden :
       {"gpt2.lm", "openai-gpt.lm", "opt.lm", "gpt_neo.lm", "bert.fill_mask",
        "deberta.base", "marian.translate"}) {
    SCOPED_TRACE(golden);
    const std::string path = std::string("tests/golden/") + golden;
    const FolderReport report = ReportFolder(path, kInF32);
    ASSERT_THAT(report.problems, IsEmpty());
    EXPECT_TRUE(report.has_weights);
    const auto model = Model::Load(path, kInF32);
    ASSERT_TRUE(model.ok()) << model.status();
    const ModelInfo& info = (*model)->info();
    EXPECT_EQ(report.parameters, info.parameters);
    EXPECT_EQ(report.family, info.family);
    EXPECT_EQ(report.max_target_tokens, info.max_target_tokens);
    EXPECT_LE(report.weight_bytes, info.weight_bytes);
    if (info.design == Design::kEncoder) continue;
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 1 << 20});
    const EngineLimits& limits = (*engine)->limits();
    EXPECT_EQ((1 << 20) / limits.block_bytes, limits.total_blocks);
    EXPECT_EQ(report.kv_bytes_per_token * limits.block_tokens,
              limits.SourceBlocks(limits.block_tokens) * limits.block_bytes);
    EXPECT_EQ(report.longest_kv_bytes, info.longest_kv_bytes);
    EXPECT_EQ(report.longest_kv_bytes,
              (limits.SourceBlocks(limits.max_source_tokens) +
               limits.HypothesisBlocks(limits.max_target_tokens)) *
                  limits.block_bytes);
  }
}

// What is not a model's folder is told what it is, or what to give instead.
TEST(FolderReportTest, NamesWhatAFolderIsInstead) {
  namespace fs = std::filesystem;
  const std::string root = testing::TempDir() + "/folder_report_test";
  fs::remove_all(root);
  const auto report = [&](const std::string& name,
                          const std::vector<std::string>& files) {
    const fs::path folder = fs::path(root) / name;
    fs::create_directories(folder);
    for (const std::string& file : files) {
      fs::create_directories((folder / file).parent_path());
      std::ofstream(folder / file) << "{}";
    }
    return ReportFolder(folder.string(), kInF32).problems;
  };
  EXPECT_THAT(report("pictures", {"model_index.json", "unet/config.json"}),
              ElementsAre(ErrorAt("diffusers")));
  EXPECT_THAT(report("makers", {"params.json", "consolidated.00.pth"}),
              ElementsAre(ErrorAt("Transformers")));
  EXPECT_THAT(report("models--a--b-c", {"snapshots/0123/config.json"}),
              ElementsAre(ErrorAt("hf:a/b-c")));
  EXPECT_THAT(report("outer", {"1_Pooling/config.json", "b/config.json",
                               "a/config.json"}),
              ElementsAre(ErrorAt("outer/a")));
  EXPECT_THAT(report("modules", {"1_Pooling/config.json"}),
              ElementsAre(ErrorAt("config.json")));
  EXPECT_THAT(report("onnx", {"model.onnx"}),
              ElementsAre(ErrorAt("model.onnx")));
  EXPECT_THAT(report("gguf", {"b.gguf", "a.gguf", "c.onnx"}),
              ElementsAre(ErrorAt("a.gguf")));
  fs::remove_all(root);
}

// The sizes that follow from the configuration are those of the weights. (For
// an encoder, a pooler is assumed.)
TEST(FolderReportTest, ReportsAFolderWithoutWeights) {
  for (const char* golden : {"gpt2.lm", "openai-gpt.lm", "opt.lm", "opt.wide",
                             "gpt_neo.lm", "bert.base"}) {
    SCOPED_TRACE(golden);
    const std::string path = std::string("tests/golden/") + golden;
    const TemporaryFolder folder;
    folder.Write("config.json", ReadWholeFile(path + "/config.json"));
    const FolderReport report = ReportFolder(folder.path(), kInF32);
    ASSERT_THAT(report.problems, IsEmpty());
    EXPECT_FALSE(report.has_weights);
    const FolderReport whole = ReportFolder(path, kInF32);
    EXPECT_EQ(report.parameters, whole.parameters);
    EXPECT_EQ(report.weight_bytes, whole.weight_bytes);
    EXPECT_EQ(report.kv_bytes_per_token, whole.kv_bytes_per_token);
    // A folder without weights cannot be served.
    EXPECT_THAT(Model::Check(folder.path(), kInF32),
                Contains(ErrorAt("model.safetensors")));
    EXPECT_FALSE(Model::Load(folder.path(), kInF32).ok());
  }
}

// Layers that see 8 tokens back hold no more tokens than steps read.
TEST(FolderReportTest, WindowsNeedLessMemoryForALongSequence) {
  const TemporaryFolder folder;
  folder.Write("config.json", R"({
    "model_type": "gpt_neo", "architectures": ["GPTNeoForCausalLM"],
    "num_layers": 4, "hidden_size": 64, "num_heads": 4,
    "attention_types": [[["global", "local"], 2]], "window_size": 9,
    "vocab_size": 100, "max_position_embeddings": 16384})");
  const FolderReport report = ReportFolder(folder.path(), kInF32);
  ASSERT_THAT(report.problems, IsEmpty());
  const int64_t token = 4 * 2 * 4 * 64;
  EXPECT_EQ(report.kv_bytes_per_token, token);
  const int64_t window = (8 + 2 * 256 - 2) / 16 + 2;
  EXPECT_EQ(report.longest_kv_bytes, token / 2 * (16384 + 16 * window));
  EXPECT_THAT(DescribeMemory(report),
              HasSubstr("less where a layer's window has passed them: "));
}

// The largest model of Brown et al. 2020, table 2.1.
TEST(FolderReportTest, ReportsGpt3) {
  const TemporaryFolder folder;
  folder.Write("config.json", R"({
    "model_type": "gpt_neo", "architectures": ["GPTNeoForCausalLM"],
    "num_layers": 96, "hidden_size": 12288, "num_heads": 96,
    "attention_types": [[["global", "local"], 48]], "window_size": 256,
    "vocab_size": 50257, "max_position_embeddings": 2048})");
  FolderReport report = ReportFolder(folder.path(), kInF32);
  ASSERT_THAT(report.problems, IsEmpty());
  const int64_t d = 12288;
  EXPECT_EQ(report.parameters,
            96 * (12 * d * d + 10 * d) + (50257 + 2048 + 2) * d);
  EXPECT_EQ(report.kv_bytes_per_token, 96 * 2 * 4 * d);
  report = ReportFolder(folder.path(), {.precision = Precision::kInt8});
  EXPECT_THAT(
      DescribeMemory(report),
      testing::MatchesRegex("gpt_neo, 175 billion parameters; as int8 about "
                            "176 GB of weights, and .* of keys and values for "
                            "each token under way.*: .* GB for the longest "
                            "sequence, of 2048 tokens"));
}

TEST(FolderReportTest, WarnsOfRotaryPositionsThatDifferFromTransformers) {
  const TemporaryFolder folder;
  nlohmann::json config =
      nlohmann::json::parse(ReadWholeFile("tests/golden/llama.lm/config.json"));
  config["rope_parameters"] = {
      {"rope_type", "dynamic"}, {"rope_theta", 1e4}, {"factor", 2}};
  folder.Write("config.json", config.dump());
  const FolderReport report = ReportFolder(folder.path(), kInF32);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.warnings, Contains(HasSubstr("config.json: rotary")));
}

TEST(FolderReportTest, TellsWhatAPathThatIsNoFolderMayMean) {
  const auto problem = [](const std::string& path) {
    const FolderReport report = ReportFolder(path, kInF32);
    EXPECT_EQ(report.problems.size(), 1u) << path;
    return report.problems.empty() ? "" : report.problems[0];
  };
  for (const char* hub : {"gpt2", "no-such/model", "no-such/model/",
                          "https://huggingface.co/no-such/model"}) {
    EXPECT_THAT(problem(hub), HasSubstr("Hugging Face Hub")) << hub;
  }
  EXPECT_THAT(problem("no-such/model/"), HasSubstr("hf:no-such/model for"));
  for (const char* none :
       {"/no-such/model", "./no-such", "no/such/model", "no such", ""}) {
    EXPECT_THAT(problem(none), Not(HasSubstr("Hugging Face Hub"))) << none;
  }
  EXPECT_THAT(problem("tests/golden/bert.base/model.safetensors"),
              HasSubstr("give its folder, tests/golden/bert.base"));
}

TEST(FolderReportTest, ReportsProblemsOfAFolderWithoutWeights) {
  const TemporaryFolder folder;
  folder.Write("config.json",
               R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 30,
                   "n_head": 4, "vocab_size": 100, "n_positions": 64})");
  EXPECT_THAT(ReportFolder(folder.path(), kInF32).problems,
              ElementsAre(ErrorAt("n_head")));
  folder.Remove("config.json");
  EXPECT_THAT(ReportFolder(folder.path(), kInF32).problems,
              ElementsAre(ErrorAt("config.json")));
}

}  // namespace
}  // namespace trivium
