// The same as model_folders_test.cc of .gguf files, which are spoiled byte by
// byte: they have lengths, counts and offsets wherever one looks.

#include "tests/model/weights/gguf_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/bounded_process.h"
#include "tests/fuzz/folder_mutations.h"
#include "tests/fuzz/settings.h"

namespace trivium {
namespace {

// A whole LLaMA of one layer with a tokenizer of either kind.
std::string Whole(bool byte_level) {
  constexpr uint64_t kWidth = 4;
  GgufWriter writer;
  writer.Value("general.architecture", "llama")
      .Value("general.alignment", 32)
      .Value("llama.context_length", 16)
      .Value("llama.block_count", 1)
      .Value("llama.embedding_length", kWidth)
      .Value("llama.feed_forward_length", kWidth)
      .Value("llama.attention.head_count", 2)
      .Value("llama.attention.head_count_kv", 1)
      .Real("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Real("llama.rope.freq_base", 10000)
      .Value("tokenizer.ggml.model", byte_level ? "gpt2" : "llama")
      .Value("tokenizer.ggml.pre", byte_level ? "smollm" : "default")
      .Texts("tokenizer.ggml.tokens",
             {"<unk>", "<s>", "a", "b", "ab", "<0x0A>"})
      .Numbers("tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 6})
      .Value("tokenizer.ggml.bos_token_id", 1);
  if (byte_level) {
    writer.Texts("tokenizer.ggml.merges", {"a b"});
  } else {
    writer.Numbers("tokenizer.ggml.scores", {0, 0, 1, 2, 3, 4});
  }
  const auto tensor = [&writer](const std::string& name,
                                const std::vector<uint64_t>& shape) {
    size_t size = 1;
    for (const uint64_t length : shape) size *= length;
    writer.Tensor(name + ".weight", shape, std::vector<float>(size, 0.5f));
  };
  tensor("token_embd", {6, kWidth});
  tensor("output_norm", {kWidth});
  for (const char* name : {"attn_norm", "ffn_norm"}) {
    tensor(std::string("blk.0.") + name, {kWidth});
  }
  for (const char* name :
       {"attn_q", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    tensor(std::string("blk.0.") + name, {kWidth, kWidth});
  }
  for (const char* name : {"attn_k", "attn_v"}) {
    tensor(std::string("blk.0.") + name, {kWidth / 2, kWidth});
  }
  return writer.Bytes();
}

// Goldens whose tensors are joined, put in order or unpacked in other ways.
std::vector<std::string> WholeFiles() {
  std::vector<std::string> files = {Whole(false), Whole(true)};
  for (const char* folder :
       {"deepseek_v3.lm", "granite_hybrid.experts", "qwen3_5_text.lm",
        "gpt_neox.lm", "roberta.classify", "phi3.lm", "falcon.groups",
        "falcon_h1.scaled", "gemma4_text.moe", "jina_bert.code",
        "nemotron_h.experts", "nomic_bert.no_bias", "t5.encoder"}) {
    std::ifstream file(fmt::format("tests/golden/{}/model.gguf", folder),
                       std::ios::binary);
    EXPECT_TRUE(file) << folder;
    files.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  }
  return files;
}

TEST(GgufFilesTest, SpoiledFilesAreRefusedInBoundedTimeAndMemory) {
  const long rounds = FuzzSetting("TRIVIUM_FUZZ_ROUNDS", 225);
  const long seed = FuzzSetting("TRIVIUM_FUZZ_SEED", 1);
  const std::vector<std::string> files = WholeFiles();
  const long count = static_cast<long>(files.size());
  // Metadata and the list of tensors come first.
  constexpr size_t kHead = 6000;
  for (long round = 0; round < rounds; ++round) {
    std::seed_seq seeds = {seed, long{18}, round};
    Random random(seeds);
    std::string file = files[round % count];
    std::string what = fmt::format("round {}", round);
    // The first rounds are the files as they are.
    for (int changes = round < count ? 0 : 1 + static_cast<int>(random() % 3);
         changes > 0; --changes) {
      const size_t at = random() % std::min(file.size(), kHead);
      switch (random() % 4) {
        case 0:  // a byte of a length, a type, a text
          file[at] = static_cast<char>(random());
          break;
        case 1:  // a large number
          std::fill_n(file.begin() + static_cast<ptrdiff_t>(at),
                      std::min<size_t>(1 + random() % 8, file.size() - at),
                      static_cast<char>(random() % 2 == 0 ? 0xff : 0x7f));
          break;
        case 2:
          file.resize(at + 1);
          break;
        case 3:
          file.insert(at, std::string(1 + random() % 64, '\0'));
          break;
      }
      what += fmt::format(", at {}", at);
    }
    const TemporaryFolder folder;
    folder.Write("model.gguf", file);
    EXPECT_EQ(ReadFolderInBounds(folder.path() + "/model.gguf"), "") << what;
  }
}

}  // namespace
}  // namespace trivium
