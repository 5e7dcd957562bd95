// Tests rows of tokens, their products and their pooling; folders with such
// models are in tests/golden/multi_vector_golden_test.cc.
#include "model/multi_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/sentence_encoder.h"
#include "model/similarity.h"
#include "model/token_pooling.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::IsEmpty;

VectorRows RandomRows(int rows, int size, std::mt19937* random) {
  std::normal_distribution<float> normal;
  VectorRows made;
  made.size = size;
  for (int i = 0; i < rows; ++i) {
    std::vector<float> row(size);
    for (float& value : row) value = normal(*random);
    NormalizeLength(row);
    made.values.insert(made.values.end(), row.begin(), row.end());
    made.positions.push_back(i);
  }
  return made;
}

TEST(MultiVectorsTest, RowsAreOfTheTokensThatCount) {
  MultiVectors multi(2, {.skips_in_documents = false, .first = 1});
  multi.AddNormalization();
  const std::vector<float> states = {1, 1, 3, 4, 0, 0, 0, -2};
  const std::vector<int32_t> ids = {7, 8, 9, 8};
  auto rows = multi.Rows(states, ids, TextKind::kDocument, 0);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->rows(), 3);
  EXPECT_THAT(rows->positions, ElementsAre(1, 2, 3));
  EXPECT_THAT(rows->values, ElementsAre(0.6f, 0.8f, 0, 0, 0, -1));
  // Added tokens count only with a mask.
  rows = multi.Rows(states, ids, TextKind::kQuery, 2);
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(rows->positions, ElementsAre(1));
  // Only some ids count, and in documents only.
  MultiVectors kept(2, {.kept_ids = {9}});
  rows = kept.Rows(states, ids, std::nullopt, 0);
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(rows->positions, ElementsAre(2));
  rows = kept.Rows(states, ids, TextKind::kQuery, 0);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->rows(), 4);
}

TEST(MultiVectorsTest, ATextMayHaveNoRows) {
  MultiVectors multi(2, {.kept_ids = {5}});
  multi.AddNormalization();
  const auto rows = multi.Rows(std::vector<float>{1, 2},
                               std::vector<int32_t>{3}, std::nullopt, 0);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->rows(), 0);
  EXPECT_EQ(rows->size, 2);
  EXPECT_EQ(MaxSim(MaxSimQueryOf(*rows), *rows), 0);
}

TEST(MultiVectorsTest, MaxSimIsTheSumOfTheLargestProducts) {
  std::mt19937 random(1);
  for (const int size : {1, 7, 8, 9, 128}) {
    const VectorRows query = RandomRows(5, size, &random);
    const VectorRows document = RandomRows(11, size, &random);
    double sum = 0;
    for (int i = 0; i < query.rows(); ++i) {
      double best = -2;
      for (int j = 0; j < document.rows(); ++j) {
        double product = 0;
        for (int k = 0; k < size; ++k) {
          product += double{query.row(i)[k]} * document.row(j)[k];
        }
        best = std::max(best, product);
      }
      sum += best;
    }
    EXPECT_NEAR(MaxSim(MaxSimQueryOf(query), document), sum, 1e-5) << size;
  }
}

TEST(MultiVectorsTest, SparseProductsAreOfCommonIds) {
  const std::vector<SparseWeight> a = {{1, 2}, {3, 4}, {9, 1}};
  const std::vector<SparseWeight> b = {{0, 5}, {3, 0.5f}, {9, 3}, {10, 1}};
  EXPECT_EQ(SparseProduct(a, b), 5);
  EXPECT_EQ(SparseProduct(b, a), 5);
  EXPECT_EQ(SparseProduct(a, {}), 0);
}

TEST(MultiVectorsTest, TheLargestWeightOfATokenCounts) {
  const TokenWeights weights = {
      .weight = {1, -1}, .bias = 0.5f, .left_out = {0}};
  const std::vector<float> states = {9, 0, 1, 0, 3, 1, 0, 5};
  const std::vector<int32_t> ids = {0, 4, 4, 2};
  EXPECT_THAT(weights.Of(states, ids), ElementsAre(SparseWeight{4, 2.5f}));
  EXPECT_THAT(weights.Of({}, {}), IsEmpty());
}

// Ward's method without a shortcut: merges the nearest two clusters again and
// again.
std::vector<std::vector<int>> NaiveClusters(const VectorRows& rows, int count) {
  std::vector<std::vector<int>> clusters;
  std::map<std::pair<int, int>, double> distance;  // squared; by first row
  for (int i = 0; i < rows.rows(); ++i) {
    clusters.push_back({i});
    for (int j = 0; j < i; ++j) {
      const double d = 1 - DenseProduct(rows.row(i), rows.row(j));
      distance[{j, i}] = d * d;
    }
  }
  const auto at = [&](int a, int b) -> double& {
    return distance[{std::min(a, b), std::max(a, b)}];
  };
  while (static_cast<int>(clusters.size()) > count) {
    size_t u = 0, v = 1;
    for (size_t a = 0; a < clusters.size(); ++a) {
      for (size_t b = a + 1; b < clusters.size(); ++b) {
        if (at(clusters[a][0], clusters[b][0]) <
            at(clusters[u][0], clusters[v][0])) {
          u = a;
          v = b;
        }
      }
    }
    const double nu = clusters[u].size(), nv = clusters[v].size();
    const double uv = at(clusters[u][0], clusters[v][0]);
    for (size_t w = 0; w < clusters.size(); ++w) {
      if (w == u || w == v) continue;
      const double nw = clusters[w].size();
      double& d = at(clusters[u][0], clusters[w][0]);
      d = ((nu + nw) * d + (nv + nw) * at(clusters[v][0], clusters[w][0]) -
           nw * uv) /
          (nu + nv + nw);
    }
    clusters[u].insert(clusters[u].end(), clusters[v].begin(),
                       clusters[v].end());
    clusters.erase(clusters.begin() + v);
  }
  return clusters;
}

TEST(TokenPoolingTest, MergesAsWardsMethodDoes) {
  std::mt19937 random(2);
  for (const int all : {2, 3, 10, 40}) {
    const VectorRows rows = RandomRows(all, 6, &random);
    for (const int count : {1, 2, all / 2, all - 1, all, all + 5}) {
      if (count < 1) continue;
      SCOPED_TRACE(testing::Message() << all << " to " << count);
      VectorRows pooled = rows;
      PoolRows(count, &pooled);
      ASSERT_EQ(pooled.rows(), std::min(count, all));
      if (count >= all) {
        EXPECT_EQ(pooled.values, rows.values);
        EXPECT_EQ(pooled.positions, rows.positions);
        continue;
      }
      EXPECT_THAT(pooled.positions, IsEmpty());
      const int kept = count > 1 ? 1 : 0;
      VectorRows others = rows;
      others.values.erase(others.values.begin(),
                          others.values.begin() + kept * rows.size);
      std::vector<std::vector<float>> expected;
      if (kept == 1) {
        expected.emplace_back(rows.row(0).begin(), rows.row(0).end());
      }
      auto clusters = NaiveClusters(others, count - kept);
      for (std::vector<int>& cluster : clusters) {
        std::sort(cluster.begin(), cluster.end());
      }
      std::sort(clusters.begin(), clusters.end());
      for (const std::vector<int>& cluster : clusters) {
        std::vector<float>& mean = expected.emplace_back(rows.size);
        for (const int row : cluster) {
          for (int k = 0; k < rows.size; ++k) {
            mean[k] += others.row(row)[k] / static_cast<float>(cluster.size());
          }
        }
        NormalizeLength(mean);
      }
      for (int row = 0; row < pooled.rows(); ++row) {
        for (int k = 0; k < rows.size; ++k) {
          EXPECT_NEAR(pooled.row(row)[k], expected[row][k], 1e-5);
        }
      }
    }
  }
}

TEST(TokenPoolingTest, EqualRowsAndZerosAreMergedToo) {
  VectorRows rows;
  rows.size = 2;
  rows.values = {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0};
  PoolRows(3, &rows);
  EXPECT_EQ(rows.rows(), 3);
  EXPECT_THAT(rows.values, ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(TokenPoolingTest, RowsThatAreNoNumbersEndIt) {
  VectorRows rows;
  rows.size = 1;
  rows.values = {1, NAN, 1, INFINITY, -INFINITY, NAN, 1};
  PoolRows(4, &rows);
  EXPECT_EQ(rows.rows(), 4);
}

// The golden folder with one file changed.
class MultiVectorFolderTest : public ::testing::Test {
 protected:
  MultiVectorFolderTest() { Copy("colbert.expansion"); }
  void Copy(const std::string& name) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy("tests/golden/retrieval/" + name, path_,
                          std::filesystem::copy_options::recursive);
  }
  void Write(const std::string& name, const std::string& text) {
    folder_.Write("model/" + name, text);
  }
  absl::Status Problem() { return Model::Load(path_, {}).status(); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/model";
};

TEST_F(MultiVectorFolderTest, ErrorsNameTheSetting) {
  const auto code = StatusCode::kInvalidArgument;
  for (const auto& [config, place] : std::map<std::string, std::string>{
           {R"({"query_length": 0})", "query_length"},
           {R"({"document_length": -3})", "document_length"},
           {R"({"document_length": 1e30})", "document_length"},
           {R"({"query_expansion": 3})", "strategy"},
           {R"({"query_expansion": {"strategy": "most"}})", "strategy"},
           {R"({"query_expansion": {"strategy": "min"}})", "length"},
           {R"({"query_expansion": {"strategy": "min", "length": 4,
                "token": "nobody"}})",
            "'nobody'"}}) {
    Write("sentence_bert_config.json", config);
    EXPECT_THAT(Problem(), IsError(code, place)) << config;
  }
  Copy("colbert.expansion");
  for (const auto& [config, place] : std::map<std::string, std::string>{
           {R"({"skiplist_words": 3})", "skiplist_words"},
           {R"({"skiplist_words": [3]})", "skiplist_words"},
           {R"({"skiplist_tasks": {"query": 1}})", "skiplist_tasks"},
           {R"({"keep_only_token_ids": ["a"]})", "keep_only_token_ids"}}) {
    Write("2_MultiVectorMask/config.json", config);
    EXPECT_THAT(Problem(), IsError(code, place)) << config;
  }
}

TEST_F(MultiVectorFolderTest, AddedTokensMustSeeAQuerysOwn) {
  Copy("colbert.modernbert");  // whose windows reach 4 tokens back
  const std::string expansion =
      R"({"query_expansion": {"strategy": "fixed", "length": )";
  Write("sentence_bert_config.json", expansion + "6}}");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "query_expansion"));
  Write("sentence_bert_config.json", expansion + R"(6, "attend": true}})");
  EXPECT_TRUE(Problem().ok()) << Problem();
  Write("sentence_bert_config.json", expansion + "5}}");
  const auto model = Model::Load(path_, {});
  ASSERT_TRUE(model.ok()) << model.status();
  // An engine refuses it, too.
  const auto engine = (*model)->NewEngine({});
  ASSERT_TRUE(engine.ok()) << engine.status();
  EncoderInput input;
  input.ids = {2, 5, 6, 7, 8, 9, 3};
  for (const auto& [unattended, code] :
       {std::pair(-1, StatusCode::kInvalidArgument),
        std::pair(7, StatusCode::kInvalidArgument),
        std::pair(6, StatusCode::kFailedPrecondition),
        std::pair(3, StatusCode::kOk)}) {
    input.unattended = unattended;
    EXPECT_EQ((*engine)->AddSource(input, {}).status().code(), code)
        << unattended;
  }
}

TEST_F(MultiVectorFolderTest, BrokenFilesOfOutputsAreErrors) {
  Copy("bge_m3.three_outputs");
  for (const char* name : {"colbert_linear.pt", "sparse_linear.pt"}) {
    Copy("bge_m3.three_outputs");
    Write(name, "no torch");
    EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, name));
    std::filesystem::copy_file(
        std::string("tests/golden/retrieval/bge_m3.three_outputs/") +
            (name[0] == 'c' ? "sparse" : "colbert") + "_linear.pt",
        path_ + "/" + name, std::filesystem::copy_options::overwrite_existing);
    // A layer of another size is one for colbert, which may have any.
    EXPECT_EQ(Problem().ok(), name[0] == 'c') << Problem();
  }
}

TEST_F(MultiVectorFolderTest, StanfordsFolderNeedsItsLayer) {
  Copy("colbert.stanford");
  ASSERT_TRUE(Problem().ok()) << Problem();
  Write("artifact.metadata", R"({"query_maxlen": "x"})");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "artifact.metadata"));
  std::filesystem::remove(path_ + "/artifact.metadata");
  EXPECT_TRUE(Problem().ok()) << Problem();
}

}  // namespace
}  // namespace trivium
