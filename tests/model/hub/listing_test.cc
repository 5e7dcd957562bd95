#include "model/hub/listing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "model/hub/file_hash.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

const std::string kCommit(40, 'a');
const std::string kSha1(40, 'b');
const std::string kSha256(64, 'c');

std::string Listing(const std::string& files) {
  return fmt::format(R"({{"sha": "{}", "siblings": [{}]}})", kCommit, files);
}

std::string File(const std::string& path) {
  return fmt::format(R"({{"rfilename": "{}", "size": 5, "blobId": "{}"}})",
                     path, kSha1);
}

TEST(ListingTest, ReadsFilesAndHashes) {
  const auto listing = ParseListing(fmt::format(
      R"({{"sha": "{0}", "gguf": {{"architecture": "llama"}}, "siblings": [
        {{"rfilename": "config.json", "size": 5, "blobId": "{1}"}},
        {{"rfilename": "a/model.safetensors", "size": 134, "blobId": "{1}",
          "lfs": {{"sha256": "{2}", "size": 7000000000}}}}]}})",
      kCommit, kSha1, kSha256));
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_EQ(listing->commit, kCommit);
  EXPECT_EQ(listing->gguf_architecture, "llama");
  const HubFile* const config = FindFile(listing->files, "config.json");
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(config->size, 5);
  EXPECT_EQ(config->blob, kSha1);
  EXPECT_FALSE(config->lfs);
  const HubFile* const weights =
      FindFile(listing->files, "a/model.safetensors");
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->size, 7000000000);
  EXPECT_EQ(weights->blob, kSha256);
  EXPECT_TRUE(weights->lfs);
  EXPECT_EQ(FindFile(listing->files, "model.safetensors"), nullptr);
}

TEST(ListingTest, PathsStayInTheirFolder) {
  for (const char* path : {"a", "a/b", ".gitattributes", "..a/b..", "a b",
                           "\xC3\xA4.json", "1_Pooling/config.json"}) {
    EXPECT_TRUE(IsSafePath(path)) << path;
    EXPECT_TRUE(ParseListing(Listing(File(path))).ok()) << path;
  }
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string(".."),
        std::string("../a"), std::string("a/../../b"), std::string("a/.."),
        std::string("a//b"), std::string("a/"), std::string("./a"),
        std::string("a\\b"), std::string("a\nb"), std::string("a\x1b[1m"),
        std::string("a\0b", 3), std::string("a\x7f"), std::string("\xC2\x85"),
        std::string("\xFF"), std::string(300, 'a'),
        std::string("a/") + std::string(241, 'b')}) {
    EXPECT_FALSE(IsSafePath(path)) << path;
  }
  EXPECT_THAT(ParseListing(Listing(File("../../bin/sh"))),
              IsError(absl::StatusCode::kInvalidArgument, "../../bin/sh"));
}

TEST(ListingTest, BelievesNoSizeOrHash) {
  for (const std::string& entry :
       {std::string("5"), std::string(R"({"rfilename": 5})"),
        std::string(R"({"rfilename": "a", "size": 5})"),
        fmt::format(R"({{"rfilename": "a", "size": -1, "blobId": "{}"}})",
                    kSha1),
        fmt::format(R"({{"rfilename": "a", "size": 1e5, "blobId": "{}"}})",
                    kSha1),
        fmt::format(
            R"({{"rfilename": "a", "size": 18446744073709551615,
                 "blobId": "{}"}})",
            kSha1),
        // Three of these have no sum.
        fmt::format(
            R"({{"rfilename": "a", "size": 4611686018427387903,
                 "blobId": "{}"}})",
            kSha1),
        std::string(R"({"rfilename": "a", "size": 5, "blobId": "../../x"})"),
        fmt::format(R"({{"rfilename": "a", "lfs": {{"sha256": "{}",
                         "size": 5}}}})",
                    kSha1)}) {
    EXPECT_EQ(ParseListing(Listing(entry)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << entry;
  }
  for (const char* text : {"", "[]", "{}", R"({"sha": "main"})",
                           R"({"sha": "../x", "siblings": []})"}) {
    EXPECT_FALSE(ParseListing(text).ok()) << text;
  }
}

TEST(FileHashTest, IsThatOfTheHub) {
  FileHash sha256(FileHash::kSha256, 3);
  sha256.Add("a");
  sha256.Add("bc");
  EXPECT_EQ(sha256.Hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // printf 'what is up, doc?' | git hash-object --stdin
  FileHash blob(FileHash::kGitBlob, 16);
  blob.Add("wrong");
  blob.Restart();
  blob.Add("what is up, doc?");
  EXPECT_EQ(blob.Hex(), "bd9dbf5aae1a3862dd1526723246b20206e5fc37");
}

}  // namespace
}  // namespace trivium
