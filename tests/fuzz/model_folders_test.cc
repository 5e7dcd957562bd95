// Folders that were spoiled at random must be refused or served, and never end,
// hang or fill the process: Model::Check of any folder ends within 10 seconds
// of a core's time and 256 MiB beside twice the folder's files. Each folder is
// read in a process of its own, which the system ends beyond that.
//
// A long run, with other folders:
//   TRIVIUM_FUZZ_ROUNDS=100000 TRIVIUM_FUZZ_SEED=7 build/dev/bin/fuzz_test
// A failure names its round; TRIVIUM_FUZZ_FIRST=ROUND TRIVIUM_FUZZ_ROUNDS=1
// with the same seed does it again, and TRIVIUM_FUZZ_KEEP=1 leaves its folder.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/bounded_process.h"
#include "tests/fuzz/folder_mutations.h"
#include "tests/fuzz/settings.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

// Small tokenizer files, one set a folder.
using Files = std::vector<std::pair<std::string, std::string>>;
std::vector<Files> Tokenizers() {
  const std::string words = R"({"added_tokens": [
      {"id": 5, "content": "<mask>", "special": true, "normalized": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "Replace",
       "pattern": {"Regex": " {2,}"}, "content": " "}]},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\s+|\\w+"},
      "behavior": "Isolated", "invert": false},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[A]", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"[A]": {"id": "[A]", "ids": [1], "tokens": ["[A]"]}}},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "_"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": )";
  const std::string wordpiece =
      R"({"type": "WordPiece", "unk_token": "[UNK]",
          "vocab": {"[UNK]": 0, "[A]": 1, "a": 2, "##b": 3, "hi": 4}}})";
  const std::string bpe =
      R"({"type": "BPE", "vocab": {"a": 0, "[A]": 1, "b": 2, "ab": 3},
          "merges": ["a b"], "byte_fallback": true}})";
  const std::string unigram =
      R"({"type": "Unigram", "unk_id": 0,
          "vocab": [["<unk>", 0.0], ["[A]", -1.5], ["ab", -2.0]]}})";
  const std::string metaspace = R"({"decoder": {"type": "Metaspace",
      "replacement": "_"}, "pre_tokenizer": {"type": "Metaspace",
      "replacement": "_", "prepend_scheme": "first"}, "model": )";
  const std::string config =
      R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true,
          "mask_token": {"content": "[M]", "lstrip": true},
          "added_tokens_decoder": {"4": {"content": "[M]"}}})";
  const std::string spm = ReadWholeFile("model/embedded/source.spm");
  return {
      {},
      {{"tokenizer.json", words + wordpiece},
       {"tokenizer_config.json", config}},
      {{"tokenizer.json", words + bpe}},
      {{"tokenizer.json", words + unigram}},
      {{"tokenizer.json", metaspace + unigram}},
      {{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n"},
       {"tokenizer_config.json", config},
       {"added_tokens.json", R"({"[X]": 9})"},
       {"special_tokens_map.json", R"({"mask_token": "[M]"})"}},
      {{"vocab.json", R"({"<s>": 0, "</s>": 1, "h": 2, "i": 3, "hi": 4})"},
       {"merges.txt", "#version: 0.2\nh i\n"}},
      {{"spiece.model", spm},
       {"tokenizer_config.json",
        R"({"tokenizer_class": "AlbertTokenizer", "cls_token": "</s>",
            "sep_token": "</s>", "unk_token": "<unk>"})"}},
      {{"modules.json",
        R"([{"type": "a.Transformer", "path": ""},
            {"type": "b.Pooling", "path": "1_Pooling"},
            {"type": "c.Normalize", "path": "2_Normalize"}])"},
       {"sentence_bert_config.json", R"({"max_seq_length": 8})"}},
  };
}

std::vector<std::string> Goldens() {
  std::set<std::string> folders;
  for (const char* parent : {"tests/golden", "tests/golden/quantized"}) {
    for (const auto& entry : fs::directory_iterator(parent)) {
      if (fs::exists(entry.path() / "config.json")) {
        folders.insert(entry.path().string());
      }
    }
  }
  return {folders.begin(), folders.end()};
}

// A golden's model, linked, with one of the tokenizers.
void MakeFolder(const std::string& golden, const Files& tokenizer,
                const std::string& folder) {
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(golden)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("golden.") || name.starts_with("dequantized.")) {
      continue;
    }
    fs::create_symlink(fs::absolute(entry.path()), folder + "/" + name);
  }
  for (const auto& [name, contents] : tokenizer) {
    std::ofstream(folder + "/" + name, std::ios::binary) << contents;
  }
}

TEST(ModelFoldersTest, SpoiledFoldersAreRefusedInBoundedTimeAndMemory) {
  if (!kBoundsMemory) {
    std::printf("skipped: the bound of memory, under a sanitizer\n");
  }
  const long rounds = FuzzSetting("TRIVIUM_FUZZ_ROUNDS", 250);
  const long first = FuzzSetting("TRIVIUM_FUZZ_FIRST", 0);
  const long seed = FuzzSetting("TRIVIUM_FUZZ_SEED", 1);
  const std::vector<std::string> goldens = Goldens();
  const std::vector<Files> tokenizers = Tokenizers();
  ASSERT_FALSE(goldens.empty());
  for (long round = first; round < first + rounds; ++round) {
    std::seed_seq seeds = {seed, round};
    Random random(seeds);
    const TemporaryFolder scratch;
    const std::string folder = scratch.path() + "/model";
    const std::string& golden = goldens[random() % goldens.size()];
    MakeFolder(golden, tokenizers[random() % tokenizers.size()], folder);
    std::string what = fmt::format("round {}: {}", round, golden);
    for (size_t changes = 1 + random() % 2; changes > 0; --changes) {
      std::vector<std::string> names;
      for (const auto& entry : fs::directory_iterator(folder)) {
        std::error_code error;  // of links to themselves
        if (entry.is_regular_file(error)) {
          names.push_back(entry.path().filename());
        }
      }
      std::sort(names.begin(), names.end());
      const std::string& name = names[random() % names.size()];
      what += fmt::format("; {}: {}", name,
                          SpoilFile(folder + "/" + name, &random));
    }
    const std::string end = ReadFolderInBounds(folder);
    EXPECT_EQ(end, "") << what;
    if (!end.empty() && FuzzSetting("TRIVIUM_FUZZ_KEEP", 0) != 0) {
      fs::copy(folder, fmt::format("fuzz.{}.{}", seed, round),
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
  }
}

}  // namespace
}  // namespace trivium
