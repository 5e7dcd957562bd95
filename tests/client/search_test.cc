#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "client/commands/search_index.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/client/run_command.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

class SearchTest : public testing::Test {
 protected:
  CommandRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, {"--address", server_.address()});
    return RunWithFiles(
        [&](const Io& io) { return RunTrivium(arguments, io); });
  }

  FakeServer server_;
};

// The fake's vectors are (bytes, 0.1).
TEST_F(SearchTest, EncodesTheLinesOfAFileOnce) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/notes.txt";
  const auto write = [&](const std::string& text) {
    ASSERT_EQ(WriteFile(file, text), absl::OkStatus());
  };
  write("a very long line indeed\n\n  a\nabcd\r\n");
  CommandRun run = Run({"search", file, "b"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(run.out,
            "1.0000\t3\ta\n0.9972\t4\tabcd\n"
            "0.9955\t1\ta very long line indeed\n");
  EXPECT_EQ(server_.last_encode.inputs_size(), 3);
  EXPECT_EQ(server_.last_encode.kind(), v1::TEXT_KIND_DOCUMENT);
  // The second call sends the query alone.
  const CommandRun again = Run({"search", "--top", "2", file, "b"});
  EXPECT_EQ(again.out, "1.0000\t3\ta\n0.9972\t4\tabcd\n");
  EXPECT_EQ(server_.last_encode.kind(), v1::TEXT_KIND_QUERY);
  // Only a line that is new is encoded.
  write("a\nnew\n");
  run = Run({"search", file, "b"});
  EXPECT_EQ(run.out, "1.0000\t1\ta\n0.9978\t2\tnew\n");
  EXPECT_EQ(server_.last_encode.inputs_size(), 1);
  // A line that is refused costs only its own call; what is encoded is kept.
  std::string many;
  for (int i = 0; i < 40; ++i) many += std::to_string(i) + "\n";
  write(many + "bad\n");
  const CommandRun refused = Run({"search", file, "b"});
  EXPECT_EQ(refused.code, kExitFailed);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("lines 33 to 41"));
  write(many);
  EXPECT_EQ(Run({"search", "--top", "1", file, "b"}).code, kExitOk);
  EXPECT_EQ(server_.last_encode.inputs_size(), 8);
  write("a\nnew\na\n");
  EXPECT_EQ(Run({"search", "--top", "2", file, "b"}).out,
            "1.0000\t1\ta\n1.0000\t3\ta\n");
  EXPECT_EQ(server_.last_encode.inputs_size(), 2);  // no line twice
  write("a\nnew\n");
  // An index that is damaged is made again.
  ASSERT_EQ(WriteFile(file + ".trivium-index", "x"), absl::OkStatus());
  EXPECT_EQ(Run({"search", file, "b"}).out, run.out);
  EXPECT_EQ(server_.last_encode.inputs_size(), 2);
  // The fake's reranker prefers what stands last.
  EXPECT_EQ(Run({"search", "--rerank", "r", "--top", "1", file, "b"}).out,
            "1.0000\t2\tnew\n");
  // Without a folder that can be written to, the search answers.
  EXPECT_EQ(Run({"search", "--no-index", file, "b"}).code, kExitOk);
  EXPECT_EQ(Run({"search", file}).code, kExitFailed);
  EXPECT_EQ(Run({"search", folder.path() + "/none", "b"}).code, kExitIo);
}

v1::EncodeResult Dense(std::vector<float> values) {
  v1::EncodeResult result;
  result.mutable_embedding()->Add(values.begin(), values.end());
  return result;
}

v1::EncodeResult Sparse(std::map<uint32_t, float> weights) {
  v1::EncodeResult result;
  result.mutable_sparse();
  for (const auto& [id, weight] : weights) {
    result.mutable_sparse()->add_ids(id);
    result.mutable_sparse()->add_weights(weight);
  }
  return result;
}

// Vectors of two values.
v1::EncodeResult MultiVector(std::vector<float> values) {
  v1::EncodeResult result;
  result.mutable_multi_vector()->set_size(2);
  result.mutable_multi_vector()->set_row_count(values.size() / 2);
  result.mutable_multi_vector()->mutable_values()->Add(values.begin(),
                                                       values.end());
  return result;
}

TEST(RelevanceTest, ComparesEmbeddingsOfTheQuerysKind) {
  EXPECT_DOUBLE_EQ(Relevance(Dense({3, 4}), Dense({0, 2})), 0.8);
  EXPECT_DOUBLE_EQ(Relevance(Sparse({{1, 2}, {5, 3}, {9, 1}}),
                             Sparse({{0, 7}, {5, 0.5}, {9, 4}})),
                   1.5 + 4);
  EXPECT_EQ(Relevance(Sparse({{1, 2}}), Sparse({})), 0);
  // (1, 0) finds (0.5, 1), (0, -1) finds (0, 0).
  EXPECT_DOUBLE_EQ(
      Relevance(MultiVector({1, 0, 0, -1}), MultiVector({0.5, 1, 0, 0, -3, 2})),
      0.5 + 0);
  EXPECT_EQ(Relevance(MultiVector({1, 0}), MultiVector({})), 0);
}

TEST(RelevanceTest, ASpoiledIndexEndsNothing) {
  v1::EncodeResult cut = Sparse({{1, 2}, {5, 3}});
  cut.mutable_sparse()->mutable_ids()->RemoveLast();
  EXPECT_DOUBLE_EQ(Relevance(Sparse({{1, 2}, {5, 3}}), cut), 4);
  v1::EncodeResult flat = MultiVector({1, 0});
  flat.mutable_multi_vector()->set_size(0);
  EXPECT_EQ(Relevance(flat, flat), 0);
  v1::EncodeResult large = MultiVector({1, 0});
  large.mutable_multi_vector()->set_size(1u << 31);
  EXPECT_EQ(Relevance(large, large), 0);
}

TEST(SearchIndexTest, KeepsEmbeddingsOfOneKind) {
  v1::EncodeResult both = Sparse({{3, 0.25}});
  both.add_embedding(1);
  both.set_token_count(9);
  SearchIndex index({"m", "r", EmbeddingKind::kSparse});
  index.Add("text", both);
  const auto read = SearchIndex::Parse(index.ToBytes(), index.header());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->Find("text")->SerializeAsString(),
            Sparse({{3, 0.25}}).SerializeAsString());
}

TEST(SearchIndexTest, OnlyAWholeIndexOfTheSameModelIsRead) {
  const SearchIndex::Header header = {"m", "r1", EmbeddingKind::kDense};
  SearchIndex index(header);
  index.Add("one\ntwo", Dense({1, 2}));
  index.Add("", Dense({3, 4}));
  const std::string bytes = index.ToBytes();
  const auto read = SearchIndex::Parse(bytes, header);
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(read->Find("one\ntwo")->embedding(),
              ::testing::ElementsAre(1, 2));
  EXPECT_THAT(read->Find("")->embedding(), ::testing::ElementsAre(3, 4));
  EXPECT_EQ(read->Find("x"), nullptr);
  EXPECT_EQ(read->ToBytes(), bytes);
  for (const SearchIndex::Header& other :
       {SearchIndex::Header{"n", "r1", EmbeddingKind::kDense},
        {"m", "r2", EmbeddingKind::kDense},
        {"m", "r1", EmbeddingKind::kSparse}}) {
    EXPECT_FALSE(SearchIndex::Parse(bytes, other).has_value());
  }
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    const auto part = SearchIndex::Parse(bytes.substr(0, cut), header);
    if (part) {
      EXPECT_EQ(part->Find("one\ntwo"), nullptr) << cut;
    }
  }
}

}  // namespace
}  // namespace trivium
