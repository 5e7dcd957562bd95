// Late chunking with a real server: a chunk's embedding is that of its tokens'
// vectors, pooled by hand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

constexpr char kMeanModel[] = "mean";     // bert, mean and length 1
constexpr char kWeighted[] = "weighted";  // bert, later tokens weigh more
constexpr char kFirstToken[] = "first";   // modernbert, the first token
constexpr char kNote[] =
    "Cats sleep on sofas, on mats and in boxes; naïve café — cats sleep.";

// A text and its parts, [begin, end), in characters.
using Spans = std::vector<std::pair<uint32_t, uint32_t>>;

class ChunksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string golden = "tests/golden/retrieval/";
    process_ = new ServerProcess(
        {"--precision", "f32", "--model",
         kMeanModel + ("=" + golden + "dense.prompt_excluded"), "--model",
         kWeighted + ("=" + golden + "dense.weighted_mean"), "--model",
         kFirstToken + ("=" + golden + "dense.modernbert"), "--model",
         "static=" + golden + "static.mean"});
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(process_->running()) << "the server died";
    delete process_;
  }

  static v1::EncodeRequest Request(const std::string& model,
                                   const std::string& text,
                                   const Spans& spans) {
    v1::EncodeRequest request;
    request.set_model(model);
    request.add_inputs()->set_text(text);
    v1::Chunks* const chunks = request.add_chunks();
    chunks->set_unit(v1::TEXT_UNIT_CHARACTER);
    for (const auto& [begin, end] : spans) {
      v1::Chunks::Span* const span = chunks->add_spans();
      span->set_begin(begin);
      span->set_end(end);
    }
    return request;
  }
  v1::EncodeResult Encode(const v1::EncodeRequest& request) {
    const auto response = client_->Encode(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() && response->results_size() > 0 ? response->results(0)
                                                         : v1::EncodeResult();
  }

  static ServerProcess* process_;
  const std::unique_ptr<Client> client_ = process_->NewClient();
};

ServerProcess* ChunksTest::process_ = nullptr;

// The mean of token vectors [begin, end), of length 1.
std::vector<float> PoolByHand(const v1::EncodeResult& result, uint32_t begin,
                              uint32_t end, bool weighted) {
  const auto width =
      static_cast<size_t>(result.token_vectors_size()) / result.token_count();
  std::vector<double> sum(width);
  double weights = 0, squares = 0;
  for (uint32_t token = begin; token < end; ++token) {
    const double weight = weighted ? token - begin + 1 : 1;
    weights += weight;
    for (size_t i = 0; i < width; ++i) {
      sum[i] +=
          weight * result.token_vectors(static_cast<int>(token * width + i));
    }
  }
  for (double& value : sum) {
    value /= weights;
    squares += value * value;
  }
  // The golden with weights does not scale to length 1.
  const double length = weighted ? 1 : std::sqrt(squares);
  std::vector<float> pooled;
  for (const double value : sum) {
    pooled.push_back(static_cast<float>(value / length));
  }
  return pooled;
}

TEST_F(ChunksTest, AChunkIsThePooledVectorsOfItsTokens) {
  // Sentences, overlapping windows, the whole text, a single word, and parts
  // whose borders are in words.
  const Spans spans = {{0, 20}, {20, 43}, {43, 67}, {10, 50},
                       {0, 67}, {5, 10},  {7, 12},  {4, 11}};
  for (const char* const model : {kMeanModel, kWeighted, "static"}) {
    SCOPED_TRACE(model);
    v1::EncodeRequest request = Request(model, kNote, spans);
    request.set_token_vectors(true);
    const v1::EncodeResult result = Encode(request);
    v1::TokenizeRequest tokenize;
    tokenize.set_model(model);
    tokenize.add_texts(kNote);
    const auto tokens = client_->Tokenize(tokenize);
    ASSERT_TRUE(tokens.ok()) << tokens.status();
    ASSERT_EQ(result.chunks_size(), static_cast<int>(spans.size()));
    for (int i = 0; i < result.chunks_size(); ++i) {
      SCOPED_TRACE(i);
      const v1::Chunk& chunk = result.chunks(i);
      EXPECT_FALSE(chunk.truncated());
      ASSERT_LT(chunk.token_begin(), chunk.token_end());
      // Exactly the tokens that have a character of the span, of which none in
      // this vocabulary is white space.
      const auto& all = tokens->results(0).tokens();
      for (int token = 0; token < all.size(); ++token) {
        const bool shares = all[token].char_begin() < spans[i].second &&
                            all[token].char_end() > spans[i].first &&
                            all[token].char_begin() < all[token].char_end();
        EXPECT_EQ(shares, static_cast<uint32_t>(token) >= chunk.token_begin() &&
                              static_cast<uint32_t>(token) < chunk.token_end())
            << token;
      }
      const std::vector<float> expected =
          PoolByHand(result, chunk.token_begin(), chunk.token_end(),
                     model == std::string(kWeighted));
      ASSERT_EQ(chunk.embedding_size(), static_cast<int>(expected.size()));
      for (size_t k = 0; k < expected.size(); ++k) {
        EXPECT_NEAR(chunk.embedding(static_cast<int>(k)), expected[k], 1e-5);
      }
    }
    // A window's vectors have seen the whole text, which tells them from those
    // of the part alone; a static model's have not.
    v1::EncodeRequest part =
        Request(model, std::string(kNote).substr(0, 20), {});
    part.clear_chunks();
    const v1::EncodeResult alone = Encode(part);
    EXPECT_EQ(alone.chunks_size(), 0);
    if (model != std::string("static")) {
      EXPECT_NE(alone.embedding(0), result.chunks(0).embedding(0));
    }
  }
}

TEST_F(ChunksTest, BytesAndCharactersAreTheSamePlaces) {
  // "naïve café" is at characters [43, 53), bytes [43, 55).
  const v1::EncodeResult characters =
      Encode(Request(kMeanModel, kNote, {{43, 53}}));
  v1::EncodeRequest request = Request(kMeanModel, kNote, {{43, 55}});
  request.mutable_chunks(0)->set_unit(v1::TEXT_UNIT_BYTE);
  EXPECT_EQ(Encode(request).chunks(0).SerializeAsString(),
            characters.chunks(0).SerializeAsString());
  request.mutable_chunks(0)->clear_unit();
  EXPECT_EQ(Encode(request).chunks(0).SerializeAsString(),
            characters.chunks(0).SerializeAsString());
}

TEST_F(ChunksTest, HaveTheBitsThatTheyHaveAloneAlsoInStreams) {
  const Spans spans = {{0, 20}, {20, 43}};
  v1::EncodeRequest request = Request(kMeanModel, kNote, spans);
  const v1::EncodeResult alone = Encode(request);
  v1::EncodeRequest together = request;
  for (const char* text : {"cats", "The sun."}) {
    together.add_inputs()->set_text(text);
    together.add_chunks();  // none
  }
  const auto response = client_->Encode(together);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results(0).SerializeAsString(),
            alone.SerializeAsString());
  EXPECT_EQ(response->results(2).chunks_size(), 0);
  // The other options are the embedding's.
  request.set_embedding_format(v1::EMBEDDING_FORMAT_INT8);
  request.set_dimensions(8);
  const v1::EncodeResult bytes = Encode(request);
  ASSERT_EQ(bytes.chunks(1).embedding_bytes().size(), 8u);
  EXPECT_GT(bytes.chunks(1).embedding_scale(), 0);
}

TEST_F(ChunksTest, APromptIsNoPartOfTheText) {
  v1::EncodeRequest request = Request(kMeanModel, kNote, {{0, 4}, {43, 67}});
  request.set_prompt("Represent this: ");
  request.set_token_vectors(true);
  request.set_tokens(true);
  const v1::EncodeResult result = Encode(request);
  const v1::Chunk& first = result.chunks(0);
  std::string word;
  for (uint32_t i = first.token_begin(); i < first.token_end(); ++i) {
    const std::string& piece = result.pieces(static_cast<int>(i));
    word += piece.starts_with("##") ? piece.substr(2) : piece;
  }
  EXPECT_THAT(word, testing::AnyOf("cats", "Cats"));
  EXPECT_GT(first.token_begin(), 2u);
  EXPECT_EQ(result.chunks(1).token_end(), result.token_count() - 1);
}

TEST_F(ChunksTest, WhiteSpaceIsNoPartOfAWord) {
  const std::string text = "cats" + std::string(100'000, ' ') + "sleep.";
  v1::EncodeRequest request =
      Request(kMeanModel, text, {{0, 50'000}, {2, 100'000}, {50'000, 100'006}});
  const v1::EncodeResult result = Encode(request);
  ASSERT_EQ(result.chunks_size(), 3);
  EXPECT_EQ(result.chunks(0).SerializeAsString(),
            result.chunks(1).SerializeAsString());
  EXPECT_EQ(result.chunks(0).token_end(), result.chunks(2).token_begin());
  v1::Chunks::Span* const span = request.mutable_chunks(0)->add_spans();
  span->set_begin(4);
  span->set_end(100'000);
  EXPECT_THAT(
      client_->Encode(request).status(),
      IsError(absl::StatusCode::kInvalidArgument, "chunks[0].spans[3]"));
}

TEST_F(ChunksTest, ThousandsOfSpansOfWhiteSpaceAreAnswered) {
  // The default deadline would end a call that reads all of each span.
  const std::string text = "cats" + std::string((1 << 20) - 10, ' ') + "sleep.";
  v1::EncodeRequest request =
      Request(kMeanModel, text, Spans(4096, {0, 1 << 20}));
  request.set_dimensions(1);
  for (int i = 0; i < 2; ++i) {
    *request.add_inputs() = request.inputs(0);
    *request.add_chunks() = request.chunks(0);
  }
  EXPECT_EQ(Encode(request).chunks_size(), 4096);
}

TEST_F(ChunksTest, TruncatedPartsAreTold) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "cats sleep. ";
  v1::EncodeRequest request =
      Request(kMeanModel, text, {{0, 30}, {20, 1199}, {1170, 1195}});
  EXPECT_FALSE(client_->Encode(request).ok());
  request.set_truncate(true);
  v1::EncodeResult result = Encode(request);
  ASSERT_EQ(result.chunks_size(), 3);
  EXPECT_FALSE(result.chunks(0).truncated());
  EXPECT_TRUE(result.chunks(1).truncated());
  EXPECT_GT(result.chunks(1).embedding_size(), 0);
  EXPECT_TRUE(result.chunks(2).truncated());
  EXPECT_EQ(result.chunks(2).embedding_size(), 0);
  EXPECT_EQ(result.chunks(2).token_begin(), result.chunks(2).token_end());
  // Cut at its beginning.
  request.set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
  result = Encode(request);
  EXPECT_TRUE(result.chunks(0).truncated());
  EXPECT_EQ(result.chunks(0).embedding_size(), 0);
  EXPECT_TRUE(result.chunks(1).truncated());
  EXPECT_FALSE(result.chunks(2).truncated());
  EXPECT_GT(result.chunks(2).embedding_size(), 0);
}

TEST_F(ChunksTest, TheCommandPrintsALineForEachChunk) {
  const ProcessResult result = RunProgram(
      {TRIVIUM_PROGRAM, "encode", "--address", process_->address(), "--model",
       kMeanModel, "--chunk", "0:4", "--chunk", "5:10", "Cats sleep."});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
}

TEST_F(ChunksTest, ErrorsNameTheField) {
  const auto code = absl::StatusCode::kInvalidArgument;
  const auto refuse = [&](const Spans& spans, auto change) {
    v1::EncodeRequest request = Request(kMeanModel, kNote, spans);
    change(&request);
    return client_->Encode(request).status();
  };
  using E = v1::EncodeRequest;
  const auto as_is = [](E*) {};
  EXPECT_THAT(refuse({{0, 5}, {7, 7}}, as_is),
              IsError(code, "chunks[0].spans[1]"));
  EXPECT_THAT(refuse({{9, 4}}, as_is), IsError(code, "chunks[0].spans[0]"));
  EXPECT_THAT(refuse({{60, 68}}, as_is), IsError(code, "chunks[0].spans[0]"));
  EXPECT_THAT(refuse({{0, UINT32_MAX}}, as_is),
              IsError(code, "chunks[0].spans[0]"));
  EXPECT_THAT(refuse({{4, 5}}, as_is), IsError(code, "chunks[0].spans[0]"));
  // Within the two bytes of "ï".
  EXPECT_THAT(
      refuse({{43, 46}},
             [](E* r) { r->mutable_chunks(0)->set_unit(v1::TEXT_UNIT_BYTE); }),
      IsError(code, "chunks[0].spans[0]"));
  EXPECT_THAT(
      refuse({{0, 4}},
             [](E* r) {
               r->mutable_chunks(0)->set_unit(static_cast<v1::TextUnit>(8));
             }),
      IsError(code, "chunks[0].unit"));
  EXPECT_THAT(refuse({{0, 4}}, [](E* r) { r->add_chunks(); }),
              IsError(code, "chunks"));
  EXPECT_THAT(refuse({{0, 4}}, [](E* r) { r->set_pooling(v1::POOLING_NONE); }),
              IsError(code, "chunks[0]"));
  EXPECT_THAT(refuse({{0, 4}}, [](E* r) { r->set_pooling(v1::POOLING_CLS); }),
              IsError(code, "chunks[0]"));
  EXPECT_THAT(
      refuse({{0, 4}},
             [](E* r) { r->mutable_inputs(0)->mutable_ids()->add_ids(5); }),
      IsError(code, "chunks[0]"));
  EXPECT_THAT(refuse(Spans(4097, {0, 4}), as_is),
              IsError(code, "chunks[0].spans"));
  // A model whose embedding is the first token's needs another pooling.
  EXPECT_THAT(refuse({{0, 4}}, [](E* r) { r->set_model(kFirstToken); }),
              IsError(code, "chunks[0]"));
  EXPECT_TRUE(refuse({{0, 4}}, [](E* r) {
                r->set_model(kFirstToken);
                r->set_pooling(v1::POOLING_MAX);
              }).ok());
}

}  // namespace
}  // namespace trivium
