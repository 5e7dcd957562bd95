// Models that are mapped from packed weights give the bits of those that were
// packed from their own files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "model/model.h"
#include "model/weights/packed_file.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Kind = WeightsCacheUse::Kind;

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    paths.push_back(file.path());
  }
  return paths;
}

std::unique_ptr<Model> Load(const std::string& folder, Precision precision,
                            const std::string& cache) {
  auto model =
      Model::Load(folder, {.precision = precision, .weights_cache = cache});
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

// Returns logits or states of a model.
std::vector<float> AnswerOf(const Model& model) {
  const auto engine = model.NewEngine({.kv_cache_bytes = 4 << 20});
  EXPECT_TRUE(engine.ok()) << engine.status();
  EncoderInput source;
  if (model.info().design != Design::kDecoder) source.ids = {5, 9, 7, 11, 6};
  if (model.info().design == Design::kEncoder) {
    const auto encoded = EncodeAlone(engine->get(), source);
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return encoded->states;
  }
  const std::vector<int32_t> targets = {3, 8, 5, 12, 4};
  const auto forced = ForceTargets(engine->get(), source, targets, 2);
  EXPECT_TRUE(forced.ok()) << forced.status();
  return forced->logits;
}

class WeightsCacheTest : public testing::TestWithParam<const char*> {
 protected:
  const TemporaryFolder folder_;
  const std::string cache_ = folder_.path() + "/cache";
};

TEST_P(WeightsCacheTest, BitsAreThoseWithoutIt) {
  for (const Precision precision :
       {Precision::kF32, Precision::kInt8, Precision::kInt4}) {
    const auto plain = Load(GetParam(), precision, "");
    const auto first = Load(GetParam(), precision, cache_);
    const auto second = Load(GetParam(), precision, cache_);
    ASSERT_TRUE(plain && first && second);
    EXPECT_EQ(plain->info().weights_cache.kind, Kind::kOff);
    EXPECT_EQ(first->info().weights_cache.kind, Kind::kWritten);
    EXPECT_EQ(second->info().weights_cache.kind, Kind::kMapped);
    EXPECT_EQ(plain->info().weight_bytes, second->info().weight_bytes);
    EXPECT_EQ(plain->info().batch_invariant, second->info().batch_invariant);
    const std::vector<float> answer = AnswerOf(*plain);
    EXPECT_EQ(AnswerOf(*first), answer);
    EXPECT_EQ(AnswerOf(*second), answer) << PrecisionName(precision);
  }
  EXPECT_EQ(FilesOf(cache_).size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(
    Folders, WeightsCacheTest,
    testing::Values("tests/golden/bert.base", "tests/golden/bert.fill_mask",
                    "tests/golden/albert.base", "tests/golden/llama.lm",
                    "tests/golden/gemma4_text.lm",
                    "tests/golden/deepseek_v3.lm", "tests/golden/falcon_h1.lm",
                    "tests/golden/deberta-v2.base", "tests/golden/gpt2.lm",
                    "tests/golden/bart.generate", "model/embedded"));

constexpr char kCachedFolder[] = "tests/golden/llama.lm";

class WeightsCacheFileTest : public testing::Test {
 protected:
  // Writes the file, has `spoil` change it, and loads again. The answer must be
  // the same, and the file be made anew.
  template <typename Spoil>
  void ExpectMadeAnew(const Spoil& spoil) {
    const auto first = Load(kCachedFolder, Precision::kInt8, cache_);
    ASSERT_EQ(first->info().weights_cache.kind, Kind::kWritten);
    const std::string path = first->info().weights_cache.path;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    spoil(path);
    const auto second = Load(kCachedFolder, Precision::kInt8, cache_);
    EXPECT_EQ(second->info().weights_cache.kind, Kind::kWritten);
    EXPECT_THAT(second->info().weights_cache.broken, HasSubstr(path));
    EXPECT_EQ(AnswerOf(*second), AnswerOf(*first));
    const auto third = Load(kCachedFolder, Precision::kInt8, cache_);
    EXPECT_EQ(third->info().weights_cache.kind, Kind::kMapped);
    EXPECT_THAT(third->info().weights_cache.broken, IsEmpty());
    EXPECT_EQ(AnswerOf(*third), AnswerOf(*first));
  }

  const TemporaryFolder folder_;
  const std::string cache_ = folder_.path() + "/cache";
};

TEST_F(WeightsCacheFileTest, ATruncatedFileIsMadeAnew) {
  ExpectMadeAnew([](const std::string& path) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  });
}

TEST_F(WeightsCacheFileTest, AChangedByteIsNoticed) {
  ExpectMadeAnew([](const std::string& path) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto at =
        static_cast<std::streamoff>(std::filesystem::file_size(path) * 3 / 4);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(at);
    file.put(byte);
  });
}

// Only forgery, or an error of this program, makes such a file.
TEST_F(WeightsCacheFileTest, AWholeFileOfOtherPiecesIsMadeAnew) {
  ExpectMadeAnew([](const std::string& path) {
    const std::string hex = std::filesystem::path(path).stem();
    const PackedFile::Key key = {std::stoull(hex.substr(0, 16), nullptr, 16),
                                 std::stoull(hex.substr(16), nullptr, 16)};
    ASSERT_EQ(key.Hex(), hex);
    const std::byte piece = {};
    ASSERT_TRUE(
        PackedFile::Write(path, key, {{{0, std::span(&piece, 1)}}}).ok());
  });
}

// A step that read a file which was truncated meanwhile fails.
TEST_F(WeightsCacheFileTest, AFileTruncatedWhileItIsServedGivesNoAnswer) {
  Load(kCachedFolder, Precision::kInt8, cache_);
  const auto model = Load(kCachedFolder, Precision::kInt8, cache_);
  ASSERT_EQ(model->info().weights_cache.kind, Kind::kMapped);
  const std::string path = model->info().weights_cache.path;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(path, 4096);
  const auto engine = model->NewEngine({.kv_cache_bytes = 4 << 20});
  const auto forced =
      ForceTargets(engine->get(), EncoderInput(), std::vector{1, 2}, 1);
  EXPECT_TRUE(absl::IsInternal(forced.status())) << forced.status();
}

TEST_F(WeightsCacheFileTest, OtherFilesAreOtherWeights) {
  const TemporaryFolder copy;
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(std::string(kCachedFolder) + "/" + name,
                          copy.path() + "/" + name);
  }
  EXPECT_EQ(
      Load(copy.path(), Precision::kInt8, cache_)->info().weights_cache.kind,
      Kind::kWritten);
  EXPECT_EQ(
      Load(copy.path(), Precision::kInt8, cache_)->info().weights_cache.kind,
      Kind::kMapped);
  // The same size, the same first and last bytes, another time.
  const std::string path = copy.path() + "/model.safetensors";
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_EQ(
      Load(copy.path(), Precision::kInt8, cache_)->info().weights_cache.kind,
      Kind::kWritten);
}

// modules.json makes an encoder of a decoder, with other parts.
TEST_F(WeightsCacheFileTest, AnotherUseIsOtherWeights) {
  const TemporaryFolder copy;
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(std::string(kCachedFolder) + "/" + name,
                          copy.path() + "/" + name);
  }
  const auto load = [&](const std::string& cache) {
    return Load(copy.path(), Precision::kF32, cache);
  };
  EXPECT_EQ(load(cache_)->info().weights_cache.kind, Kind::kWritten);
  copy.Write("modules.json", R"([
      {"type": "sentence_transformers.models.Transformer", "path": ""},
      {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])");
  std::filesystem::create_directory(copy.path() + "/1_Pooling");
  copy.Write("1_Pooling/config.json", R"({"pooling_mode": "lasttoken"})");
  const auto encoder = load(cache_);
  EXPECT_EQ(encoder->info().design, Design::kEncoder);
  EXPECT_EQ(encoder->info().weights_cache.kind, Kind::kWritten);
  EXPECT_EQ(load(cache_)->info().weights_cache.kind, Kind::kMapped);
  EXPECT_EQ(AnswerOf(*load(cache_)), AnswerOf(*load("")));
  copy.Remove("modules.json");
  EXPECT_EQ(load(cache_)->info().weights_cache.kind, Kind::kMapped);
}

TEST_F(WeightsCacheFileTest, AFolderThatCannotBeWrittenIsAWarning) {
  folder_.Write("file", "");
  const auto model =
      Load(kCachedFolder, Precision::kInt8, folder_.path() + "/file");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->info().weights_cache.kind, Kind::kNotWritten);
  EXPECT_THAT(model->info().weights_cache.not_written, HasSubstr("/file/"));
  EXPECT_EQ(AnswerOf(*model),
            AnswerOf(*Load(kCachedFolder, Precision::kInt8, "")));
}

// Each has a lock of its own, as processes have.
TEST_F(WeightsCacheFileTest, LoadsAtOnceDoNotDisturbEachOther) {
  constexpr int kLoads = 3;
  std::vector<std::unique_ptr<Model>> models(kLoads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kLoads; ++i) {
    threads.emplace_back(
        [&, i] { models[i] = Load(kCachedFolder, Precision::kInt8, cache_); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<float> answer =
      AnswerOf(*Load(kCachedFolder, Precision::kInt8, ""));
  for (const auto& model : models) {
    ASSERT_NE(model, nullptr);
    EXPECT_NE(model->info().weights_cache.kind, Kind::kNotWritten);
    EXPECT_EQ(AnswerOf(*model), answer);
  }
  EXPECT_EQ(FilesOf(cache_).size(), 1u);
  EXPECT_EQ(
      Load(kCachedFolder, Precision::kInt8, cache_)->info().weights_cache.kind,
      Kind::kMapped);
}

// Its files cannot be written, but read.
TEST_F(WeightsCacheFileTest, AReadOnlyFileIsMapped) {
  Load(kCachedFolder, Precision::kInt8, cache_);
  std::filesystem::permissions(cache_, std::filesystem::perms::owner_read |
                                           std::filesystem::perms::owner_exec);
  EXPECT_EQ(
      Load(kCachedFolder, Precision::kInt8, cache_)->info().weights_cache.kind,
      Kind::kMapped);
  std::filesystem::permissions(cache_, std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace trivium
