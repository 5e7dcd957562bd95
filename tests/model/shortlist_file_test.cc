// Folders with a shortlist.safetensors, through the one door.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"
#include "model/transformer/shortlist.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr LoadOptions kOn{.precision = Precision::kF32,
                          .vocabulary_shortlist = true};

void Copy(const std::string& from, const TemporaryFolder& to,
          const std::string& name) {
  to.Write(name, ReadWholeFile(from + "/" + name));
}

std::string Ints(const std::vector<int32_t>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(int32_t));
}

// A list of `always` for a vocabulary of `size` pieces.
std::string File(int size, const std::vector<int32_t>& always,
                 const std::string& pieces) {
  const size_t offsets = (size + 1) * sizeof(int32_t);
  const size_t end = offsets + always.size() * sizeof(int32_t);
  const std::string header =
      R"({"offsets":{"dtype":"I32","shape":[)" + std::to_string(size + 1) +
      R"(],"data_offsets":[0,)" + std::to_string(offsets) +
      R"(]},"targets":{"dtype":"I32","shape":[0],"data_offsets":[)" +
      std::to_string(offsets) + "," + std::to_string(offsets) +
      R"(]},"always":{"dtype":"I32","shape":[)" +
      std::to_string(always.size()) + R"(],"data_offsets":[)" +
      std::to_string(offsets) + "," + std::to_string(end) +
      R"(]},"pieces":{"dtype":"U8","shape":[16],"data_offsets":[)" +
      std::to_string(end) + "," + std::to_string(end + 16) + "]}}";
  return Safetensors(
      header, Ints(std::vector<int32_t>(size + 1, 0)) + Ints(always) + pieces);
}

// 307 pieces, no tokenizer.
class ShortlistFolderTest : public testing::Test {
 protected:
  ShortlistFolderTest() {
    for (const char* name :
         {"config.json", "generation_config.json", "model.safetensors"}) {
      Copy("tests/golden/marian.translate", folder_, name);
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(ShortlistFolderTest, IsUsedWhereAskedFor) {
  folder_.Write("shortlist.safetensors",
                File(307, {5, 6}, std::string(16, '0')));
  const auto off = Model::Load(folder_.path(), {.precision = Precision::kF32});
  const auto on = Model::Load(folder_.path(), kOn);
  ASSERT_TRUE(off.ok()) << off.status();
  ASSERT_TRUE(on.ok()) << on.status();
  EXPECT_FALSE((*off)->info().vocabulary_shortlist);
  EXPECT_TRUE((*on)->info().vocabulary_shortlist);
  EXPECT_GT((*on)->info().weight_bytes, (*off)->info().weight_bytes);
  // Other answers, another revision; so for another list.
  EXPECT_NE((*on)->info().revision, (*off)->info().revision);
  folder_.Write("shortlist.safetensors",
                File(307, {5, 7}, std::string(16, '0')));
  const auto other = Model::Load(folder_.path(), kOn);
  ASSERT_TRUE(other.ok());
  EXPECT_NE((*on)->info().revision, (*other)->info().revision);
}

TEST_F(ShortlistFolderTest, TheEndIsAlwaysAllowed) {
  folder_.Write("shortlist.safetensors",
                File(307, {5, 6}, std::string(16, '0')));
  const auto model = Model::Load(folder_.path(), kOn);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_THAT((*model)->decoding_defaults().end_ids, ElementsAre(0));
  const auto engine = (*model)->NewEngine(16 << 20);
  ASSERT_TRUE(engine.ok());
  const SourceId source = (*engine)->AddSource({{3, 0}, {}}, {}).value();
  StepPlan plan;
  plan.encode.push_back({source, (*engine)->limits().encoder_layers});
  plan.decode.push_back({.hypothesis = (*engine)->AddHypothesis(source),
                         .tokens = (*model)->decoder_prefix(),
                         .query = {.top_k = 10}});
  StepResult result;
  ASSERT_TRUE((*engine)->Step(plan, &result).ok());
  std::vector<int32_t> tokens;
  for (const Candidate& candidate : result.rows[0].logits.best) {
    tokens.push_back(candidate.token);
  }
  EXPECT_THAT(tokens, testing::UnorderedElementsAre(0, 5, 6));
}

TEST_F(ShortlistFolderTest, ErrorsSayWhatToDo) {
  const auto problems = [&] { return Model::Check(folder_.path(), kOn); };
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("shortlist.safetensors: no such file; make "
                                    "one with model/embedded/training/")));
  folder_.Write("shortlist.safetensors",
                File(300, {5, 6}, std::string(16, '0')));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("offsets has 301 values")));
  folder_.Write("shortlist.safetensors",
                File(307, {5, 307}, std::string(16, '0')));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("token id 307 of always")));
  folder_.Write("shortlist.safetensors",
                File(307, {6, 5}, std::string(16, '0')));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("ids must ascend")));
  const std::string file = File(307, {5, 6}, std::string(16, '0'));
  folder_.Write("shortlist.safetensors", file.substr(0, file.size() - 1));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("shortlist.safetensors: ")));
  EXPECT_THAT(Model::Check(folder_.path(), {.precision = Precision::kF32}),
              IsEmpty());
}

TEST(ShortlistFileTest, OfAnotherVocabularyIsRefused) {
  const TemporaryFolder folder;
  for (const char* name :
       {"config.json", "generation_config.json", "model.safetensors",
        "source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}) {
    Copy("model/embedded", folder, name);
  }
  folder.Write("shortlist.safetensors",
               File(8003, {5, 6}, std::string(16, '0')));
  EXPECT_THAT(Model::Check(folder.path(), kOn),
              ElementsAre(HasSubstr("was made for other vocabularies")));
}

TEST(ShortlistFileTest, EncodersHaveNone) {
  EXPECT_THAT(Model::Check("tests/golden/bert.base", kOn),
              ElementsAre(HasSubstr("for models with encoder and decoder")));
}

TEST(ShortlistFileTest, TheEmbeddedOneFits) {
  EXPECT_THAT(Model::Check("model/embedded", kOn), IsEmpty());
}

}  // namespace
}  // namespace trivium
