// Shortlists as files, and folders with one, loaded through Model.
#include "model/shortlist_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "model/model.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
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

// Returns the file with `part` of the header replaced by `by`.
std::string FileOf(const ShortlistFile& file, const std::string& part = "",
                   const std::string& by = "") {
  std::string header, bytes;
  const auto add = [&](const char* name, const char* dtype, size_t count,
                       const std::string& data) {
    header += fmt::format(
        R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
        header.empty() ? "{" : ",", name, dtype, count, bytes.size(),
        bytes.size() + data.size());
    bytes += data;
  };
  const Shortlist::Table& table = file.table;
  add("offsets", "I32", table.offsets.size(), Ints(table.offsets));
  add("targets", "I32", table.targets.size(), Ints(table.targets));
  add("always", "I32", table.always.size(), Ints(table.always));
  add("pieces", "U8", file.pieces.size(), file.pieces);
  header += "}";
  if (!part.empty()) header.replace(header.find(part), part.size(), by);
  return Safetensors(header, bytes);
}

// Returns a list that allows `always`, for a vocabulary of `size` pieces.
std::string File(int size, const std::vector<int32_t>& always,
                 const std::string& pieces) {
  return FileOf({.table = {.offsets = std::vector<int32_t>(size + 1, 0),
                           .targets = {},
                           .always = always},
                 .pieces = pieces});
}

// A list for three source tokens and ten target tokens.
ShortlistFile Small() {
  return {.table = {.offsets = {0, 2, 2, 5},
                    .targets = {3, 9, 0, 3, 5},
                    .always = {1, 4}},
          .pieces = "0123456789abcdef"};
}

TEST(ShortlistFileTest, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  folder.Write("list", FileOf(Small()));
  const auto file = ReadShortlistFile(folder.path() + "/list");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->table.offsets, Small().table.offsets);
  EXPECT_EQ(file->table.targets, Small().table.targets);
  EXPECT_EQ(file->table.always, Small().table.always);
  EXPECT_EQ(file->pieces, Small().pieces);
}

TEST(ShortlistFileTest, ErrorsNameTheFileAndTheTensor) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/list";
  EXPECT_THAT(ReadShortlistFile(path).status(),
              IsError(StatusCode::kNotFound, path));
  const auto error = [&](const std::string& bytes) {
    folder.Write("list", bytes);
    const absl::Status status = ReadShortlistFile(path).status();
    EXPECT_THAT(status, IsError(StatusCode::kInvalidArgument, path));
    return status;
  };
  const std::string file = FileOf(Small());
  for (size_t size = 1; size < file.size(); ++size) {
    EXPECT_FALSE(error(file.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(error(FileOf(Small(), "\"always\"", "\"sometimes\"")),
              IsError(StatusCode::kInvalidArgument, "always"));
  EXPECT_THAT(error(FileOf(Small(), "[4]", "[2,2]")),
              IsError(StatusCode::kInvalidArgument, "offsets"));
  EXPECT_THAT(
      error(FileOf(Small(), R"("I32","shape":[5])", R"("F32","shape":[5])")),
      IsError(StatusCode::kInvalidArgument, "targets"));
}

TEST(ShortlistFileTest, DigestTellsVocabulariesApart) {
  using Pieces = std::vector<std::string>;
  const std::string digest = PiecesDigest(Pieces{"a", "bc"}, Pieces{"d"});
  EXPECT_EQ(digest.size(), 16u);
  EXPECT_EQ(digest, PiecesDigest(Pieces{"a", "bc"}, Pieces{"d"}));
  EXPECT_NE(digest, PiecesDigest(Pieces{"ab", "c"}, Pieces{"d"}));
  EXPECT_NE(digest, PiecesDigest(Pieces{"a"}, Pieces{"bc", "d"}));
  EXPECT_NE(digest, PiecesDigest(Pieces{"bc", "a"}, Pieces{"d"}));
}

// A model with 307 pieces and no tokenizer.
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

TEST_F(ShortlistFolderTest, IsUsedIfRequested) {
  folder_.Write("shortlist.safetensors",
                File(307, {5, 6}, std::string(16, '0')));
  const auto off = Model::Load(folder_.path(), {.precision = Precision::kF32});
  const auto on = Model::Load(folder_.path(), kOn);
  ASSERT_TRUE(off.ok()) << off.status();
  ASSERT_TRUE(on.ok()) << on.status();
  EXPECT_FALSE((*off)->info().vocabulary_shortlist);
  EXPECT_TRUE((*on)->info().vocabulary_shortlist);
  EXPECT_GT((*on)->info().weight_bytes, (*off)->info().weight_bytes);
  // A shortlist changes answers and so the revision; another list changes it
  // again.
  EXPECT_NE((*on)->info().revision, (*off)->info().revision);
  folder_.Write("shortlist.safetensors",
                File(307, {5, 7}, std::string(16, '0')));
  const auto other = Model::Load(folder_.path(), kOn);
  ASSERT_TRUE(other.ok());
  EXPECT_NE((*on)->info().revision, (*other)->info().revision);
}

TEST_F(ShortlistFolderTest, TheEndTokenIsAlwaysAllowed) {
  folder_.Write("shortlist.safetensors",
                File(307, {5, 6}, std::string(16, '0')));
  const auto model = Model::Load(folder_.path(), kOn);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_THAT((*model)->decoding_defaults().end_ids, ElementsAre(0));
  const auto engine = (*model)->NewEngine({.kv_cache_bytes = 16 << 20});
  ASSERT_TRUE(engine.ok());
  const SourceId source = (*engine)->AddSource({{3, 0}, {}}, {}).value();
  StepPlan plan;
  plan.encode.push_back({source, (*engine)->limits().encoder_layers});
  const LogitsQuery query = {.top_k = 10};
  plan.decode.push_back({.hypothesis = (*engine)->AddHypothesis(source),
                         .tokens = (*model)->decoder_prefix(),
                         .queries = {&query, 1}});
  StepResult result;
  ASSERT_TRUE((*engine)->Step(plan, &result).ok());
  std::vector<int32_t> tokens;
  for (const Candidate& candidate : result.rows[0].logits[0].best) {
    tokens.push_back(candidate.token);
  }
  EXPECT_THAT(tokens, testing::UnorderedElementsAre(0, 5, 6));
}

TEST_F(ShortlistFolderTest, ErrorsSayWhatToDo) {
  const auto problems = [&] { return Model::Check(folder_.path(), kOn); };
  EXPECT_THAT(problems(), ElementsAre(ErrorAt("shortlist.safetensors")));
  folder_.Write("shortlist.safetensors",
                File(300, {5, 6}, std::string(16, '0')));
  EXPECT_THAT(problems(), ElementsAre(ErrorAt("offsets")));
  folder_.Write("shortlist.safetensors",
                File(307, {5, 307}, std::string(16, '0')));
  EXPECT_THAT(problems(), ElementsAre(ErrorAt("307")));
  folder_.Write("shortlist.safetensors",
                File(307, {6, 5}, std::string(16, '0')));
  EXPECT_THAT(problems(), ElementsAre(ErrorAt("ascend")));
  const std::string file = File(307, {5, 6}, std::string(16, '0'));
  folder_.Write("shortlist.safetensors", file.substr(0, file.size() - 1));
  EXPECT_THAT(problems(), ElementsAre(ErrorAt("shortlist.safetensors")));
  EXPECT_THAT(Model::Check(folder_.path(), {.precision = Precision::kF32}),
              IsEmpty());
}

TEST(ShortlistFileTest, RefusesAListForOtherVocabularies) {
  const TemporaryFolder folder;
  for (const char* name :
       {"config.json", "generation_config.json", "model.safetensors",
        "source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}) {
    Copy("model/embedded", folder, name);
  }
  folder.Write("shortlist.safetensors",
               File(8004, {5, 6}, std::string(16, '0')));
  EXPECT_THAT(Model::Check(folder.path(), kOn),
              ElementsAre(ErrorAt("shortlist.safetensors")));
}

TEST(ShortlistFileTest, RefusesAListForAnEncoder) {
  EXPECT_THAT(Model::Check("tests/golden/bert.base", kOn),
              ElementsAre(ErrorAt("--vocabulary-shortlist")));
}

TEST(ShortlistFileTest, TheEmbeddedListFitsItsModel) {
  EXPECT_THAT(Model::Check("model/embedded", kOn), IsEmpty());
}

}  // namespace
}  // namespace trivium
