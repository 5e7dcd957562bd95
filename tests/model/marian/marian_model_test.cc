#include "model/marian/marian_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "model/model.h"
#include "model/weights/npz_file.h"
#include "tests/model/weights/marian_bins.h"
#include "tests/model/weights/zip_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDecoder[] =
    "models: [model.npz]\nvocabs: [vocab.spm, vocab.spm]\n";

// A folder with the golden Transformer's weights and vocabulary.
class MarianModelTest : public ::testing::Test {
 protected:
  MarianModelTest() {
    Take("model.npz", "model.npz");
    Take("vocab.spm", "vocab.spm");
  }

  static std::string Golden(const std::string& name) {
    const char* variable = std::getenv("TRIVIUM_GOLDENS");
    return std::string(variable ? variable : "tests/golden") +
           "/marian_npz/transformer/" + name;
  }
  void Take(const std::string& name, const std::string& as) const {
    fs::copy_file(Golden(name), folder_.path() + "/" + as);
  }
  Problems Check(const std::string& name = "") const {
    return Model::Check(folder_.path() + name, {});
  }
  MarianModel Read(const std::string& name = "") const {
    Problems problems;
    MarianModel model = ReadMarianModel(folder_.path() + name, &problems);
    EXPECT_THAT(problems, IsEmpty());
    return model;
  }
  // Returns the golden's arrays in the format of marian-conv --gemm-type
  // float32.
  static std::string Bin() {
    const std::string bytes = ReadWholeFile(Golden("model.npz"));
    const auto file = ReadNpz(Bytes(bytes));
    std::vector<BinItem> items;
    for (const auto& [name, tensor] : file->tensors) {
      items.push_back({name,
                       tensor.dtype == DType::kF32 ? kBinFloat32 : kBinInt8,
                       {tensor.shape.begin(), tensor.shape.end()},
                       {reinterpret_cast<const char*>(tensor.data.data()),
                        tensor.data.size()}});
    }
    return MarianBin(items);
  }
  // Rewrites model.npz with an array replaced or, if `array` is empty, removed.
  void Replace(const std::string& name, const std::string& array) const {
    const std::string bytes = ReadWholeFile(Golden("model.npz"));
    const auto file = ReadNpz(Bytes(bytes));
    std::vector<ZipEntry> entries;
    for (const auto& [key, tensor] : file->tensors) {
      if (key == name) continue;
      const std::string type = tensor.dtype == DType::kF32 ? "<f4" : "|i1";
      entries.push_back(
          {key + ".npy", Npy(type, tensor.shape,
                             {reinterpret_cast<const char*>(tensor.data.data()),
                              tensor.data.size()})});
    }
    if (!array.empty()) entries.push_back({name + ".npy", array});
    folder_.Write("model.npz", Zip(entries));
  }

  TemporaryFolder folder_;
};

TEST_F(MarianModelTest, AFolderAWeightsFileOrAConfigurationNamesAModel) {
  EXPECT_THAT(Check(), IsEmpty());
  EXPECT_THAT(Check("/model.npz"), IsEmpty());
  folder_.Write("model.npz.decoder.yml", kDecoder);
  for (const char* name : {"", "/model.npz", "/model.npz.decoder.yml"}) {
    EXPECT_TRUE(IsMarianModel(folder_.path() + name));
    EXPECT_THAT(Check(name), IsEmpty()) << name;
  }
  // Training's other files are not models.
  Take("model.npz", "model.npz.optimizer.npz");
  folder_.Remove("model.npz.decoder.yml");
  EXPECT_THAT(Check(), IsEmpty());
  // A folder's name may look like a file's.
  for (const char* name : {"/ende.bin", "/ende.npz", "/ende.yml"}) {
    const std::string inner = folder_.path() + name;
    fs::create_directory(inner);
    fs::copy_file(Golden("model.npz"), inner + "/model.npz");
    fs::copy_file(Golden("vocab.spm"), inner + "/vocab.spm");
    EXPECT_THAT(Check(name), IsEmpty()) << name;
    fs::remove_all(inner);
  }
  // A Hugging Face folder.
  folder_.Write("config.json", "{}");
  EXPECT_FALSE(IsMarianModel(folder_.path()));
}

TEST_F(MarianModelTest, RefusesAFolderWithSeveralModels) {
  Take("model.npz", "other.npz");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("model.npz, other.npz")));
  EXPECT_THAT(Check("/other.npz"), IsEmpty());
  folder_.Write("model.npz.decoder.yml", kDecoder);
  folder_.Write("other.npz.decoder.yml", kDecoder);
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("model.npz.decoder.yml")));
  folder_.Write("decoder.yml", kDecoder);
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(MarianModelTest, ReadsTheSearchOfTheDecodersConfiguration) {
  folder_.Write("decoder.yml", std::string(kDecoder) +
                                   "beam-size: 6\nnormalize: 0.6\n"
                                   "word-penalty: 0\nmini-batch: 8\n");
  MarianModel model = Read();
  EXPECT_EQ(model.generation_config["num_beams"], 6);
  EXPECT_EQ(model.generation_config["length_penalty"], 0.6);
  EXPECT_EQ(model.generation_config["eos_token_id"], 0);
  EXPECT_EQ(model.generation_config["decoder_start_token_id"],
            model.config["dim-vocabs"][1]);
  EXPECT_EQ(model.generation_config["suppress_tokens"], nlohmann::json{1});
  folder_.Write("decoder.yml",
                std::string(kDecoder) + "normalize: true\nallow-unk: true\n");
  model = Read();
  EXPECT_EQ(model.generation_config["length_penalty"], 1);
  EXPECT_THAT(model.generation_config["suppress_tokens"], IsEmpty());
  folder_.Write("decoder.yml",
                std::string(kDecoder) + "beam-size: 100\nword-penalty: 0.5\n");
  EXPECT_THAT(Check(),
              ElementsAre(ErrorAt("beam-size"), ErrorAt("word-penalty")));
}

// Paths at the place of training mean nothing here and lead nowhere.
TEST_F(MarianModelTest, IgnoresTheFoldersInPaths) {
  folder_.Write("decoder.yml",
                "models: [/home/x/model.npz]\n"
                "vocabs: [../../vocab.spm, /etc/vocab.spm]\n");
  EXPECT_THAT(Check(), IsEmpty());
  folder_.Write("decoder.yml", "models: [..]\nvocabs: [a, b]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("decoder.yml")));
}

TEST_F(MarianModelTest, NamesBrokenConfigurations) {
  folder_.Write("decoder.yml", "models: [a.npz, b.npz]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("models")));
  folder_.Write("decoder.yml", "models: [model.npz]\nvocabs: [vocab.spm]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("[\"vocab.spm\"]")));
  folder_.Write("decoder.yml", "models: [model.npz]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("vocabs")));
  folder_.Write("decoder.yml", "models: [model.npz");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("YAML")));
  folder_.Write("decoder.yml",
                "models: [model.intgemm8.bin]\nvocabs: [a.spm, a.spm]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("model.intgemm8.bin")));
  folder_.Write("decoder.yml", "models: [model.pt]\nvocabs: [a.spm, a.spm]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("model.pt")));
  folder_.Write("decoder.yml",
                "models: [gone.npz]\nvocabs: [vocab.spm, vocab.spm]\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("gone.npz")));
  folder_.Remove("decoder.yml");
  folder_.Remove("vocab.spm");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("vocab.spm")));
}

TEST_F(MarianModelTest, NamesBrokenWeights) {
  const std::string whole = ReadWholeFile(Golden("model.npz"));
  folder_.Write("model.npz", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("model.npz")));
  Replace("special:model.yml", "");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("special:model.yml")));
  Replace("special:model.yml", Npy("|i1", {4}, "a: ["));
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("YAML")));
  Replace("special:model.yml", Npy("|i1", {2}, "- "));
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("mapping")));
  Replace("decoder_l2_ffn_b1", "");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("decoder_l2_ffn_b1")));
  Replace("decoder_l2_ffn_b1", Npy("<f4", {1, 1}, Floats({1})));
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("[1, 1]")));
  Replace("decoder_l2_ffn_ffn_ln_bias",
          Npy("<f4", {1, 24}, Floats(std::vector<float>(24, NAN))));
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("decoder_l2_ffn_ffn_ln_bias")));
}

TEST_F(MarianModelTest, ABinaryModelIsTheSameModel) {
  const auto npz = Model::Load(folder_.path(), {.precision = Precision::kF32});
  folder_.Write("model.bin", Bin());
  // Beside a .npz it is used only if its path is given.
  EXPECT_THAT(Check(), IsEmpty());
  EXPECT_THAT(Check("/model.bin"), IsEmpty());
  folder_.Remove("model.npz");
  EXPECT_TRUE(IsMarianModel(folder_.path()));
  const auto bin = Model::Load(folder_.path(), {.precision = Precision::kF32});
  ASSERT_TRUE(npz.ok() && bin.ok()) << bin.status();
  EXPECT_EQ((*bin)->info().revision, (*npz)->info().revision);
  folder_.Write("decoder.yml",
                "models: [model.bin]\nvocabs: [vocab.spm, vocab.spm]\n");
  EXPECT_THAT(Check(), IsEmpty());
  folder_.Write("model.bin", Bin().substr(0, 10'000));
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("ends")));
  folder_.Write("model.bin", "PK");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("begin")));
}

// Names that Bergamot and Firefox use.
TEST_F(MarianModelTest, FindsFilesByTheirBeginnings) {
  folder_.Remove("model.npz");
  folder_.Remove("vocab.spm");
  folder_.Write("model.deen.intgemm.alphas.bin.gz", "\x1f\x8b");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("alphas.bin.gz")));
  folder_.Write("model.deen.intgemm.alphas.bin", Bin());
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("vocab.spm")));
  Take("vocab.spm", "vocab.deen.spm");
  EXPECT_THAT(Check(), IsEmpty());
  EXPECT_EQ(Read().tokenizer_config, nullptr);
  EXPECT_TRUE(Read().shared_vocabulary);
  EXPECT_EQ(Read().shortlist, "");
  Take("vocab.spm", "vocab.ende.spm");
  EXPECT_THAT(
      Check(),
      ElementsAre(ErrorAt("model.deen.intgemm.alphas.bin.decoder.yml")));
  folder_.Remove("vocab.ende.spm");
  folder_.Remove("vocab.deen.spm");
  Take("vocab.spm", "srcvocab.deen.spm");
  Take("vocab.spm", "trgvocab.deen.spm");
  folder_.Write("lex.50.50.deen.s2t.bin", "");
  folder_.Write("metadata.json", R"({"sourceLanguage": "de",
                                     "targetLanguage": "en", "flores": {}})");
  MarianModel model = Read();
  EXPECT_FALSE(model.shared_vocabulary);
  EXPECT_THAT(model.shortlist, HasSubstr("/lex.50.50.deen.s2t.bin"));
  EXPECT_EQ(model.tokenizer_config["source_lang"], "de");
  EXPECT_EQ(model.tokenizer_config["target_lang"], "en");
  EXPECT_THAT(Check(), IsEmpty());
  folder_.Write("metadata.json", "{");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("metadata.json")));
  folder_.Remove("metadata.json");
  // There are several shortlists; the configuration names one.
  folder_.Write("lex.s2t.bin", "");
  EXPECT_EQ(Read().shortlist, "");
  folder_.Write("config.intgemm8bitalpha.yml",
                "models: [model.deen.intgemm.alphas.bin]\n"
                "vocabs: [srcvocab.deen.spm, trgvocab.deen.spm]\n"
                "shortlist: [lex.s2t.bin, false]\nbeam-size: 2\n");
  model = Read();
  EXPECT_THAT(model.shortlist, HasSubstr("/lex.s2t.bin"));
  EXPECT_EQ(model.generation_config["num_beams"], 2);
}

TEST_F(MarianModelTest, ChecksVocabularies) {
  folder_.Write("vocab.spm", "no SentencePiece model");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("vocab.spm")));
  folder_.Remove("vocab.spm");
  folder_.Write("vocab.yml", "</s>: 0\n<unk>: 1\n\"\xE2\x96\x81Tom\": 2\n");
  EXPECT_THAT(Check(), IsEmpty());
  // Pieces are the words between spaces.
  MarianModel model = Read();
  auto ids = model.tokenizer->Encode(" \xE2\x96\x81Tom  other", {});
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(ids->ids, ElementsAre(2, 1, 0));
  EXPECT_EQ(model.tokenizer->Decode(std::vector<int32_t>{2, 2, 0}),
            "\xE2\x96\x81Tom \xE2\x96\x81Tom");
  // Pieces of the SentencePiece models.
  Take("vocab.spm", "source.spm");
  Take("vocab.spm", "target.spm");
  EXPECT_THAT(Check(), IsEmpty());
  model = Read();
  ids = model.tokenizer->Encode("Tom", {});
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(ids->ids, ElementsAre(2, 0));
  folder_.Write("vocab.yml", "</s>: 0\n<unk>: 1\na: -2\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("\"a\"")));
  folder_.Write("vocab.yml", "</s>: 0\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("<unk>")));
  folder_.Write("vocab.yml", "</s>: 0\n<unk>: 1\na: 5000\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorAt("source"), ErrorAt("target")));
}

}  // namespace
}  // namespace trivium
