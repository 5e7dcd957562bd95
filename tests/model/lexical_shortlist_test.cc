// Marian's own lexical shortlists, and models that have one.
#include "model/lexical_shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <vector>

#include "model/folder_report.h"
#include "model/model.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFirefox[] = "tests/golden/marian_bin/firefox";
constexpr char kName[] = "lex.50.50.ende.s2t.bin";
constexpr uint64_t kMagic = 0xF11A48D5013417F5;

// Values in the header that differ from the truth.
struct Lies {
  uint64_t offsets = 0, targets = 0;
};
std::string File(uint64_t always, const std::vector<uint64_t>& offsets,
                 const std::vector<uint32_t>& targets, Lies lies = {}) {
  std::string file;
  for (const uint64_t number :
       {kMagic, uint64_t{7}, always, uint64_t{50},
        offsets.size() + lies.offsets, targets.size() + lies.targets}) {
    file += LittleEndian(number, 8);
  }
  for (const uint64_t offset : offsets) file += LittleEndian(offset, 8);
  for (const uint32_t target : targets) file += LittleEndian(target, 4);
  return file;
}

// Reads a shortlist for three source and ten target tokens.
absl::StatusOr<Shortlist::Table> ReadLexical(const std::string& file,
                                             bool shared = false) {
  const TemporaryFolder folder;
  folder.Write("lex.bin", file);
  return ReadLexicalShortlist(folder.path() + "/lex.bin", {3, 10, shared});
}
// The error always names the file.
absl::Status Error(const std::string& file) {
  const absl::Status status = ReadLexical(file).status();
  EXPECT_THAT(status, IsError(StatusCode::kInvalidArgument, "/lex.bin"));
  return status;
}

TEST(LexicalShortlistTest, ReadsTheTable) {
  const std::string file = File(2, {0, 2, 2, 5}, {9, 3, 0, 5, 3});
  auto table = ReadLexical(file);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->always, ElementsAre(0, 1));
  EXPECT_EQ(table->fill_from, 2);
  EXPECT_THAT(table->offsets, ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(table->targets, ElementsAre(3, 9, 0, 3, 5));
  // With a shared vocabulary, the source's own tokens are allowed, too.
  table = ReadLexical(file, /*shared=*/true);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->offsets, ElementsAre(0, 3, 4, 8));
  EXPECT_THAT(table->targets, ElementsAre(0, 3, 9, 1, 0, 2, 3, 5));
  table = ReadLexical(File(1000, {0, 0, 0, 0}, {}));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->always.size(), 10);
}

TEST(LexicalShortlistTest, RefusesAFileThatContradictsItself) {
  const std::string file = File(2, {0, 2, 2, 5}, {9, 3, 0, 5, 3});
  for (size_t size = 1; size < file.size(); ++size) {
    EXPECT_FALSE(Error(file.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(Error(file + "1234"),
              IsError(StatusCode::kInvalidArgument, "56"));
  EXPECT_THAT(Error(std::string(60, 'x')),
              IsError(StatusCode::kInvalidArgument, "--shortlist"));
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  for (const uint64_t lie : {uint64_t{1}, most / 8, most / 4, most}) {
    EXPECT_THAT(Error(File(2, {0, 2, 2, 5}, {9, 3, 0, 5, 3}, {lie, 0})),
                IsError(StatusCode::kInvalidArgument, "header"));
    EXPECT_THAT(Error(File(2, {0, 2, 2, 5}, {9, 3, 0, 5, 3}, {0, lie})),
                IsError(StatusCode::kInvalidArgument, "header"));
  }
  EXPECT_THAT(Error(File(2, {0, 2, 5}, {9, 3, 0, 5, 3})),
              IsError(StatusCode::kInvalidArgument, "vocabulary"));
  for (const auto& offsets : std::vector<std::vector<uint64_t>>{
           {1, 2, 2, 5}, {0, 3, 2, 5}, {0, 2, 2, 4}, {0, 2, most, 5}}) {
    EXPECT_THAT(Error(File(2, offsets, {9, 3, 0, 5, 3})),
                IsError(StatusCode::kInvalidArgument, "ascend"));
  }
}

class LexicalFolderTest : public testing::Test {
 protected:
  LexicalFolderTest() { std::filesystem::copy(kFirefox, folder_.path()); }
  FolderReport Report(bool shortlist) const {
    return ReportFolder(folder_.path(), {.precision = Precision::kF32,
                                         .vocabulary_shortlist = shortlist});
  }

  const TemporaryFolder folder_;
};

TEST_F(LexicalFolderTest, IsUsedIfRequested) {
  EXPECT_THAT(Report(false).problems, IsEmpty());
  EXPECT_THAT(Report(false).warnings,
              ElementsAre(HasSubstr("lex.50.50.ende.s2t.bin")));
  EXPECT_THAT(Report(true).problems, IsEmpty());
  EXPECT_THAT(Report(true).warnings, IsEmpty());
  const auto off = Model::Load(folder_.path(), {.precision = Precision::kF32});
  const auto on = Model::Load(folder_.path(), {.precision = Precision::kF32,
                                               .vocabulary_shortlist = true});
  ASSERT_TRUE(off.ok() && on.ok()) << on.status();
  EXPECT_FALSE((*off)->info().vocabulary_shortlist);
  EXPECT_TRUE((*on)->info().vocabulary_shortlist);
  EXPECT_NE((*on)->info().revision, (*off)->info().revision);
}

TEST_F(LexicalFolderTest, ErrorsNameTheFile) {
  std::string file = ReadWholeFile(folder_.path() + "/" + kName);
  file.back() = '\x7f';
  folder_.Write(kName, file);
  EXPECT_THAT(Report(true).problems, ElementsAre(ErrorAt("401")));
  EXPECT_THAT(Report(false).problems, IsEmpty());
  folder_.Remove(kName);
  EXPECT_THAT(Report(false).warnings, IsEmpty());
  EXPECT_THAT(Report(true).problems,
              ElementsAre(ErrorAt("shortlist.safetensors")));
}

}  // namespace
}  // namespace trivium
