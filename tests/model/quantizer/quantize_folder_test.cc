// A model that was written in four bits has the numbers that the rounding
// gives, is read by a server as it is, and appears whole or not at all.
#include "model/quantizer/quantize_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/socket.h"
#include "model/folder.h"
#include "model/model.h"
#include "model/quantizer/matrix_choice.h"
#include "model/quantizer/new_folder.h"
#include "model/weights/four_bit_rounding.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

std::string Golden(const std::string& name) {
  return std::string("tests/golden/") + name;
}

absl::StatusOr<QuantizeReport> Quantize(const std::string& from,
                                        const std::string& to,
                                        int group_size = 32) {
  return QuantizeFolder(from, to, {.group_size = group_size},
                        [](double) { return true; });
}

ModelFolder ReadF32(const std::string& path) {
  Problems problems;
  ModelFolder folder =
      ReadModelFolder(path, {.precision = Precision::kF32}, &problems);
  EXPECT_THAT(problems, IsEmpty());
  return folder;
}

std::vector<float> ValuesOf(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  CopyToF32(tensor, 0, values);
  return values;
}

// Returns the greatest of the logits' or states' errors, in their greatest
// sizes.
double ErrorOf(const std::string& exact, const std::string& rounded) {
  std::vector<std::vector<float>> answers;
  for (const std::string& path : {exact, rounded}) {
    const auto model = Model::Load(
        path,
        {.precision = path == exact ? Precision::kF32 : Precision::kAuto});
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return 1e9;
    if (path == rounded) {
      EXPECT_EQ((*model)->info().precision, Precision::kInt4);
    }
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 4 << 20});
    EncoderInput source;
    const Design design = (*model)->info().design;
    if (design != Design::kDecoder) source.ids = {5, 9, 7, 11, 6};
    if (design == Design::kEncoder) {
      answers.push_back(EncodeAlone(engine->get(), source)->states);
      continue;
    }
    const std::vector<int32_t> targets = {3, 8, 5, 12, 4};
    answers.push_back(ForceTargets(engine->get(), source, targets, 2)->logits);
  }
  double most = 0, off = 0;
  EXPECT_EQ(answers[0].size(), answers[1].size());
  for (size_t i = 0; i < answers[0].size(); ++i) {
    most = std::max(most, std::fabs(double{answers[0][i]}));
    off = std::max(off, std::fabs(double{answers[0][i]} - answers[1][i]));
  }
  return off / most;
}

// Expects the numbers of each matrix to be those of RoundTo4Bits on the model's
// own rows, and all other tensors to have their own bytes. Returns the names of
// the matrices.
std::set<std::string> ExpectRounded(const std::string& from,
                                    const std::string& out, int group_size) {
  const ModelFolder before = ReadF32(from), after = ReadF32(out);
  const std::set<std::string> chosen =
      ChooseMatrices(*before.weights, before.description, group_size);
  const nlohmann::json& config = after.config;
  const bool bf16 = config.value("dtype", config.value("torch_dtype", "")) ==
                    std::string("bfloat16");
  const ScaleType type = bf16 ? ScaleType::kBf16 : ScaleType::kF16;
  EXPECT_EQ(after.weights->Names(), before.weights->Names());
  for (const std::string_view name : before.weights->Names()) {
    SCOPED_TRACE(name);
    const TensorView& own = *before.weights->Find(name);
    const TensorView& made = *after.weights->Find(name);
    EXPECT_EQ(made.shape, own.shape);
    if (!chosen.contains(std::string(name))) {
      EXPECT_EQ(made.dtype, own.dtype);
      EXPECT_TRUE(std::ranges::equal(made.data, own.data));
      continue;
    }
    if (made.packed == nullptr) {
      ADD_FAILURE() << "is not packed";
      continue;
    }
    EXPECT_EQ(made.packed->form(), GroupForm::kZero4);
    const std::vector<float> values = ValuesOf(own), read = ValuesOf(made);
    for (size_t i = 0; i < values.size(); i += group_size) {
      uint8_t q[kMostNumbers];
      const float scale =
          RoundTo4Bits(std::span(values).subspan(i, group_size), type, q);
      for (int j = 0; j < group_size; ++j) {
        // The format's library rounds to the type of the scales.
        const float exact = scale * static_cast<float>(q[j] - 8);
        EXPECT_NEAR(read[i + j], exact,
                    std::fabs(exact) * (bf16 ? 0x1p-8 : 0x1p-11));
      }
    }
  }
  return chosen;
}

class QuantizeFolderTest : public testing::Test {
 protected:
  // Nothing but what was there may be left after an error.
  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      names.push_back(file.path().filename());
    }
    return names;
  }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.path() + "/out";
};

TEST_F(QuantizeFolderTest, NumbersAreThoseOfTheRounding) {
  for (const int group_size : {32, 64, 128}) {
    SCOPED_TRACE(group_size);
    const std::string out = out_ + std::to_string(group_size);
    const auto report = Quantize(Golden("llama.lm"), out, group_size);
    ASSERT_TRUE(report.ok()) << report.status();
    const std::set<std::string> chosen =
        ExpectRounded(Golden("llama.lm"), out, group_size);
    EXPECT_EQ(report->matrices, static_cast<int>(chosen.size()));
    // 128 columns has only what projects the feed-forward down.
    EXPECT_EQ(chosen.contains("model.layers.0.self_attn.q_proj.weight"),
              group_size == 32);
    EXPECT_TRUE(chosen.contains("model.layers.0.mlp.down_proj.weight"));
  }
}

TEST_F(QuantizeFolderTest, ConfigurationIsThatOfOtherProgramsToo) {
  ASSERT_TRUE(Quantize(Golden("llama.lm"), out_).ok());
  const auto config = ReadJsonFile(out_ + "/config.json");
  ASSERT_TRUE(config.ok());
  const nlohmann::json& quantization = (*config)["quantization_config"];
  EXPECT_EQ(quantization["quant_method"], "compressed-tensors");
  EXPECT_EQ(quantization["format"], "pack-quantized");
  const nlohmann::json& group = quantization["config_groups"]["group_0"];
  EXPECT_THAT(group["targets"], ElementsAre("Linear"));
  EXPECT_EQ(group["weights"]["group_size"], 32);
  EXPECT_EQ(group["weights"]["symmetric"], true);
  EXPECT_THAT(quantization["ignore"], testing::Contains("lm_head"));
  const auto own = ReadJsonFile(Golden("llama.lm/config.json"));
  for (const auto& [key, value] : own->items()) {
    EXPECT_EQ((*config)[key], value) << key;
  }
  // Other files are there, too.
  EXPECT_TRUE(fs::exists(out_ + "/generation_config.json"));
  EXPECT_TRUE(fs::exists(out_ + "/golden.json"));
}

// Encoders, decoders and both; families whose layers are joined in the file, or
// have experts, states or other towers.
TEST_F(QuantizeFolderTest, WhateverIsServedIsQuantized) {
  for (const char* name :
       {"bert.base", "deberta-v2.base", "modernbert.base", "t5.generate",
        "marian.translate", "llama.lm", "phi3.lm", "falcon.lm", "gpt_neox.lm",
        "qwen3_moe.lm", "qwen3_next.lm", "deepseek_v3.lm", "lfm2.lm",
        "gemma3.wrapped", "qwen3_vl.wrapped", "quantized/fp8.block",
        "quantized/ct.w8", "quantized/gptq.b8"}) {
    SCOPED_TRACE(name);
    const std::string out = out_ + fs::path(name).filename().string();
    const auto report = Quantize(Golden(name), out);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(ExpectRounded(Golden(name), out, 32).empty());
    const auto model = Model::Load(out, {});
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model)->info().precision, Precision::kInt4);
  }
}

// A GGUF file becomes a folder with the same tokens.
TEST_F(QuantizeFolderTest, GgufFilesBecomeFolders) {
  for (const char* name : {"llama.lm", "bert.base", "qwen3_moe.lm"}) {
    SCOPED_TRACE(name);
    const std::string file = Golden(name) + "/model.gguf";
    const std::string out = out_ + name;
    const auto report = Quantize(file, out);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_LT(ErrorOf(file, out), 0.5);
    const ModelFolder before = ReadF32(file), after = ReadF32(out);
    ASSERT_EQ(before.tokenizer == nullptr, after.tokenizer == nullptr);
    if (before.tokenizer == nullptr) continue;
    for (const char* text :
         {"The cat sat.", " two  spaces", "na\u00efve 123"}) {
      EXPECT_EQ(before.tokenizer->Encode(text, {})->ids,
                after.tokenizer->Encode(text, {})->ids);
    }
  }
}

TEST_F(QuantizeFolderTest, OutThatCannotBeIsAnError) {
  const std::string from = Golden("llama.lm");
  EXPECT_THAT(Quantize(from, folder_.path()),
              IsError(absl::StatusCode::kAlreadyExists, folder_.path()));
  std::ofstream(out_) << "a file";
  EXPECT_THAT(Quantize(from, out_),
              IsError(absl::StatusCode::kAlreadyExists, out_));
  EXPECT_THAT(Quantize(from, folder_.path() + "/none/out"),
              IsError(absl::StatusCode::kNotFound, "/none"));
  EXPECT_THAT(Quantize(from, out_ + "/out"),
              IsError(absl::StatusCode::kNotFound, out_));
  EXPECT_EQ(Quantize(from, "/proc/out").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(Quantize(from, ".."),
              IsError(absl::StatusCode::kInvalidArgument, ".."));
  EXPECT_THAT(Quantize(from, from + "/out"),
              IsError(absl::StatusCode::kInvalidArgument, "llama.lm/out"));
  EXPECT_FALSE(fs::exists(from + "/out"));
  EXPECT_THAT(Left(), ElementsAre("out"));
}

TEST_F(QuantizeFolderTest, ModelsThatCannotBeAreRefused) {
  constexpr auto kCode = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Quantize(Golden("none"), out_), IsError(kCode, "golden/none"));
  EXPECT_THAT(Quantize("hf:owner/name", out_), IsError(kCode, "pull"));
  EXPECT_THAT(Quantize(Golden("marian_npz/ssru"), out_),
              IsError(kCode, "marian_npz"));
  EXPECT_THAT(Quantize(Golden("llama.lm"), out_, 16), IsError(kCode, "groups"));
  // The family transposes all its matrices.
  EXPECT_THAT(Quantize(Golden("gpt2.lm"), out_), IsError(kCode, "gpt2"));
  for (const char* name : {"awq.llama", "gptq.b4", "gptq.b2", "ct.w4",
                           "ct.mxfp4", "bnb.nf4", "hqq.b2"}) {
    EXPECT_THAT(Quantize(Golden("quantized/") + name, out_),
                IsError(kCode, name));
  }
  EXPECT_THAT(Left(), IsEmpty());
}

// What was written is not quantized a second time.
TEST_F(QuantizeFolderTest, OutIsInFourBitsAlready) {
  ASSERT_TRUE(Quantize(Golden("llama.lm"), out_).ok());
  EXPECT_THAT(Quantize(out_, out_ + "2"),
              IsError(absl::StatusCode::kInvalidArgument, out_));
  EXPECT_THAT(Left(), ElementsAre("out"));
}

// A limit of files stands for a full disk.
TEST_F(QuantizeFolderTest, FullDiskLeavesNothing) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 20 << 10;  // config.json is smaller, the weights are not
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto report = Quantize(Golden("llama.lm"), out_);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(report,
              IsError(absl::StatusCode::kUnavailable, "model.safetensors"));
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(QuantizeFolderTest, InterruptedLeavesNothing) {
  std::vector<double> shown;
  const auto report =
      QuantizeFolder(Golden("llama.lm"), out_, {}, [&](double fraction) {
        shown.push_back(fraction);
        return fraction < 0.5;
      });
  EXPECT_EQ(report.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(shown, SizeIs(testing::Gt(2)));
  EXPECT_THAT(shown, Each(AllOf(Ge(0), Le(1))));
  EXPECT_THAT(Left(), IsEmpty());
}

// A folder without a lock is what a killed process left, whatever its PID.
TEST_F(QuantizeFolderTest, LeftoversAreRemovedUnlessSomeoneWritesThem) {
  const std::string mine = ".out.partial-" + std::to_string(getpid());
  for (const std::string& name : std::vector<std::string>{
           mine, ".out.partial-1", ".out.partial-2", ".out.partial-",
           ".out.partial-2b", ".other.partial-1"}) {
    fs::create_directory(folder_.path() + "/" + name);
    std::ofstream(folder_.path() + "/" + name + "/model.safetensors") << "x";
  }
  fs::create_symlink(".other.partial-1", folder_.path() + "/.out.partial-3");
  const UniqueFd writer(open((folder_.path() + "/.out.partial-2").c_str(),
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(writer.get(), LOCK_EX | LOCK_NB), 0);
  const auto report = Quantize(Golden("llama.lm"), out_);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Left(),
              UnorderedElementsAre("out", ".out.partial-2", ".out.partial-",
                                   ".out.partial-2b", ".other.partial-1",
                                   ".out.partial-3"));
  EXPECT_TRUE(
      fs::exists(folder_.path() + "/.other.partial-1/model.safetensors"));
}

// Two of one name in one process: the second one waits for nothing.
TEST_F(QuantizeFolderTest, FolderThatIsBeingWrittenIsAnError) {
  const auto first = NewFolder::Create(out_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(NewFolder::Create(out_).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_TRUE((*first)->WriteFile("config.json", "{}").ok());
  EXPECT_TRUE((*first)->Publish().ok());
  EXPECT_THAT(Left(), ElementsAre("out"));
}

// Files that a model's folder has beside its weights, in folders, too.
TEST_F(QuantizeFolderTest, OtherFilesAreCopied) {
  const std::string from = folder_.path() + "/in";
  fs::copy(Golden("llama.lm"), from);
  fs::create_directories(from + "/1_Dense");
  fs::create_directories(from + "/onnx");
  fs::create_directories(from + "/.cache");
  for (const char* name :
       {"notes.txt", "1_Dense/model.safetensors", "onnx/model.onnx", ".cache/x",
        ".hidden", "pytorch_model.bin", "model-2.safetensors"}) {
    std::ofstream(from + "/" + name) << name;
  }
  fs::create_symlink("notes.txt", from + "/link");
  const auto report = Quantize(from, out_ + "/");  // a slash means nothing
  ASSERT_TRUE(report.ok()) << report.status();
  for (const char* name : {"notes.txt", "1_Dense/model.safetensors", "link"}) {
    EXPECT_TRUE(fs::is_regular_file(out_ + "/" + name)) << name;
  }
  EXPECT_FALSE(fs::is_symlink(out_ + "/link"));
  for (const char* name : {"onnx", ".cache", ".hidden", "pytorch_model.bin",
                           "model-2.safetensors", "model.gguf"}) {
    EXPECT_FALSE(fs::exists(out_ + "/" + name)) << name;
  }
}

TEST(RoundTo4BitsTest, ScalesFitTheirType) {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[i] = 0.01f * std::sin(1.3f * i) * (i + 1);
  for (const float size : {1e-6f, 1e-3f, 1.f, 1e4f, 1e6f}) {
    std::vector<float> y = x;
    for (float& value : y) value *= size;
    uint8_t q[kMostNumbers];
    for (const ScaleType type : {ScaleType::kF16, ScaleType::kBf16}) {
      const float scale = RoundTo4Bits(y, type, q);
      EXPECT_EQ(F16ToF32(F32ToF16(scale)), scale);
      if (type == ScaleType::kBf16) {
        EXPECT_EQ(Bf16ToF32(F32ToBf16(scale)), scale);
      }
      if (size < 1e-4f || size > 1e5f) continue;
      for (int i = 0; i < 32; ++i) {
        EXPECT_NEAR(scale * (q[i] - 8), y[i], std::fabs(scale) * 1.01f);
      }
    }
  }
  uint8_t q[kMostNumbers];
  EXPECT_EQ(RoundTo4Bits(std::vector<float>(32), ScaleType::kF16, q), 0);
  EXPECT_THAT(std::vector<int>(q, q + 32), Each(8));
}

}  // namespace
}  // namespace trivium
