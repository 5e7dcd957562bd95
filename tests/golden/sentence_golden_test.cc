// Texts to embeddings and scores, against sentence-transformers
// (make_sentence_goldens.py), in f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/pair_template.h"
#include "model/similarity.h"
#include "nlohmann/json.hpp"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::StartsWith;

const fs::path kSentences = "tests/golden/sentences";

// Loads, and reads with an engine, a folder of kSentences or a copy.
class SentenceGoldenTest : public ::testing::Test {
 protected:
  void Load(const fs::path& folder) {
    auto model = Model::Load(folder.string(), {.precision = Precision::kF32});
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    auto engine = model_->NewEngine({});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    ASSERT_EQ(model_->info().design, Design::kEncoder);
  }

  static json Runs(const fs::path& folder) {
    std::ifstream file(kSentences / folder / "golden.json");
    return json::parse(file).at("runs");
  }

  EncodedSource Read(Encoding encoding) {
    const auto encoded = EncodeAlone(engine_.get(), {encoding.ids, {}});
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return *encoded;
  }

  void ExpectEmbeddings(const std::string& folder) {
    ASSERT_NO_FATAL_FAILURE(Load(kSentences / folder));
    const SentenceEncoder& sentences = model_->sentence_encoder();
    for (const json& run : Runs(folder)) {
      const std::string prompt =
          run.contains("prompt_name")
              ? sentences.prompts().at(run["prompt_name"].get<std::string>())
              : sentences.default_prompt();
      const auto encoding = model_->tokenizer()->Encode(
          prompt + run["text"].get<std::string>(), {});
      ASSERT_TRUE(encoding.ok()) << encoding.status();
      std::vector<float> embedding =
          sentences.Embed(Read(*encoding).states, model_->info().d_model, {});
      if (run.contains("dimensions")) {
        embedding.resize(run["dimensions"].get<size_t>());
        NormalizeLength(embedding);
      }
      const auto expected = run["embedding"].get<std::vector<float>>();
      ASSERT_EQ(embedding.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(embedding[i], expected[i], 2e-6) << i << " of " << run;
      }
    }
  }

  // Scores of all runs of the reranker's golden.
  void ExpectScores() {
    ASSERT_NE(model_->pair_template(), nullptr);
    ASSERT_TRUE(model_->info().head.has_value());
    EXPECT_EQ(model_->info().head->scores, HeadInfo::Scores::kSigmoid);
    EXPECT_EQ(model_->info().head->labels, std::vector<std::string>{"yes"});
    for (const json& run : Runs("qwen3.reranker")) {
      const auto query = run["query"].get<std::string>();
      const std::string prompt =
          run.contains("prompt_name") ? "the judge of a document says" : "";
      for (size_t i = 0; i < run["documents"].size(); ++i) {
        const auto document = run["documents"][i].get<std::string>();
        const auto encoding = model_->pair_template()->Encode(
            {.query = query, .document = document, .prompt = prompt},
            *model_->tokenizer(), {});
        ASSERT_TRUE(encoding.ok()) << encoding.status();
        const std::vector<float> logits = Read(*encoding).logits;
        ASSERT_EQ(logits.size(), 1u);
        EXPECT_NEAR(1 / (1 + std::exp(-logits[0])),
                    run["scores"][i].get<float>(), 2e-6)
            << query << "\n"
            << document;
      }
    }
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Engine> engine_;
};

// The tokenizer's class tells the model nothing of the two texts, although its
// tokenizer.json does.
TEST_F(SentenceGoldenTest, ACrossEncoderMayReadPairsWithoutTypes) {
  const fs::path folder = "tests/golden/retrieval/cross.one_type";
  ASSERT_NO_FATAL_FAILURE(Load(folder));
  std::ifstream file(folder / "expected.json");
  const json expected = json::parse(file);
  for (size_t q = 0; q < expected["queries"].size(); ++q) {
    for (size_t d = 0; d < expected["documents"].size(); ++d) {
      const auto encoding = model_->tokenizer()->EncodePair(
          expected["queries"][q].get<std::string>(),
          expected["documents"][d].get<std::string>(), {.max_tokens = 32});
      ASSERT_TRUE(encoding.ok()) << encoding.status();
      const auto encoded =
          EncodeAlone(engine_.get(), {encoding->ids, encoding->type_ids});
      ASSERT_TRUE(encoded.ok()) << encoded.status();
      ASSERT_EQ(encoded->logits.size(), 1u);
      EXPECT_NEAR(1 / (1 + std::exp(-encoded->logits[0])),
                  expected["scores"][q][d].get<float>(), 2e-6)
          << expected["queries"][q] << expected["documents"][d];
    }
  }
}

// What a folder makes of a text, and what its GGUF file does. Some files have
// no tokenizer.
void ExpectFileEqualsFolder(const std::string& folder) {
  const auto one = Model::Load(folder, {.precision = Precision::kF32});
  const auto other =
      Model::Load(folder + "/model.gguf", {.precision = Precision::kF32});
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  const auto engine = (*one)->NewEngine({});
  const auto file_engine = (*other)->NewEngine({});
  ASSERT_TRUE(engine.ok() && file_engine.ok());
  for (const char* text :
       {"Where do cats sleep?", "na\xC3\xAFve caf\xC3\xA9 \xE2\x80\x94 12,5 %",
        "I'm very modest. I brag about it all the time."}) {
    const auto encoding = (*one)->tokenizer()->Encode(text, {});
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    if ((*other)->tokenizer() != nullptr) {
      const auto file_encoding = (*other)->tokenizer()->Encode(text, {});
      ASSERT_TRUE(file_encoding.ok()) << file_encoding.status();
      EXPECT_EQ(file_encoding->ids, encoding->ids) << text;
    }
    const auto embed = [&](const Model& model, Engine* computes) {
      const auto states = EncodeAlone(computes, {encoding->ids, {}});
      EXPECT_TRUE(states.ok()) << states.status();
      return model.sentence_encoder().Embed(states->states,
                                            model.info().d_model, {});
    };
    const std::vector<float> expected = embed(**one, engine->get());
    const std::vector<float> found = embed(**other, file_engine->get());
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], 1e-6) << text << " " << i;
    }
  }
}

TEST(SentenceFileTest, GgufFilesEmbedAsTheirFolders) {
  for (const char* folder : {"tests/golden/sentences/gemma3.embedding",
                             "tests/golden/sentences/qwen3.embedding",
                             "tests/golden/retrieval/dense.modernbert",
                             "tests/golden/retrieval/dense.prompt_excluded"}) {
    SCOPED_TRACE(folder);
    ExpectFileEqualsFolder(folder);
  }
}

TEST_F(SentenceGoldenTest, EmbedsAsQwen3EmbeddingDoes) {
  ExpectEmbeddings("qwen3.embedding");
  EXPECT_EQ(model_->info().max_source_tokens, 128);
  EXPECT_EQ(model_->sentence_encoder().Reads({}), States::kLast);
}

TEST_F(SentenceGoldenTest, EmbedsAsEmbeddingGemmaDoes) {
  ExpectEmbeddings("gemma3.embedding");
  EXPECT_EQ(model_->sentence_encoder().embedding_size(48), 40);
}

TEST_F(SentenceGoldenTest, ScoresAsQwen3RerankerDoes) {
  ASSERT_NO_FATAL_FAILURE(Load(kSentences / "qwen3.reranker"));
  EXPECT_THAT(model_->sentence_encoder().prompts().at("web"),
              StartsWith("Given a web search query"));
  ExpectScores();
}

// As Qwen published it first, and what else such a folder may be.
class OldRerankerTest : public SentenceGoldenTest {
 protected:
  OldRerankerTest() {
    fs::create_directories(folder_);
    for (const char* file : {"config.json", "model.safetensors",
                             "tokenizer.json", "tokenizer_config.json"}) {
      fs::copy_file(kSentences / "qwen3.reranker" / file, folder_ / file,
                    fs::copy_options::overwrite_existing);
    }
  }
  ~OldRerankerTest() override { fs::remove_all(folder_); }

  void WriteReadme(const std::string& text) {
    std::ofstream(folder_ / "README.md") << text;
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("reranker" + std::to_string(getpid()));
};

TEST_F(OldRerankerTest, IsKnownByItsReadme) {
  WriteReadme("---\nlicense: x\npipeline_tag: text-ranking\n---\n# Qwen3\n");
  ASSERT_NO_FATAL_FAILURE(Load(folder_));
  ExpectScores();
}

TEST_F(OldRerankerTest, OtherFoldersAreDecoders) {
  for (const char* readme :
       {"---\npipeline_tag: text-generation\n---\n",
        "---\nlicense: x\n---\npipeline_tag: text-ranking\n", ""}) {
    WriteReadme(readme);
    const auto model =
        Model::Load(folder_.string(), {.precision = Precision::kF32});
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model)->info().design, Design::kDecoder) << readme;
    EXPECT_EQ((*model)->pair_template(), nullptr);
  }
}

TEST_F(OldRerankerTest, ALogitScoreNeedsATemplateForPairs) {
  fs::copy(kSentences / "qwen3.reranker" / "1_LogitScore",
           folder_ / "1_LogitScore");
  fs::copy_file(kSentences / "qwen3.reranker" / "modules.json",
                folder_ / "modules.json");
  const auto problems = [&] {
    const auto found = Model::Check(folder_.string(), {});
    return found.empty() ? "" : found.front();
  };
  EXPECT_THAT(problems(), ErrorAt("chat template"));
  std::ofstream(folder_ / "chat_template.jinja")
      << "{% for m in messages %}{{ m.role }}{% endfor %}";
  EXPECT_THAT(problems(), ErrorAt("query"));
  std::ofstream(folder_ / "chat_template.jinja")
      << "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(problems(), "");
  std::ofstream(folder_ / "1_LogitScore/config.json")
      << R"({"true_token_id": 70000})";
  EXPECT_THAT(problems(), ErrorAt("70000"));
  std::ofstream(folder_ / "1_LogitScore/config.json")
      << R"({"true_token_id": "yes"})";
  EXPECT_THAT(problems(), ErrorAt("true_token_id"));
}

// A document that is too long loses its end, or its beginning, and the model
// still reads the whole template.
TEST_F(SentenceGoldenTest, TooLongDocumentsAreCut) {
  ASSERT_NO_FATAL_FAILURE(Load(kSentences / "qwen3.reranker"));
  std::string document;
  for (int i = 0; i < 200; ++i) document += " cat" + std::to_string(i);
  document += " the end";
  const auto encode = [&](EncodeOptions options, const std::string& text) {
    return *model_->pair_template()->Encode({.query = "q", .document = text},
                                            *model_->tokenizer(), options);
  };
  const Encoding whole = encode({}, document);
  const Encoding empty = encode({}, "");
  const int most = static_cast<int>(empty.ids.size()) + 20;
  for (const bool left : {false, true}) {
    for (const int64_t most_tokens : {0, most}) {
      const Encoding cut = encode({.max_tokens = most,
                                   .truncate_left = left,
                                   .most_tokens = most_tokens},
                                  document);
      EXPECT_LE(static_cast<int>(cut.ids.size()), most);
      EXPECT_GE(static_cast<int>(cut.ids.size()), most - 2);
      EXPECT_GT(cut.truncated, 100);
      const size_t tail = 8;  // of the template
      EXPECT_TRUE(std::equal(cut.ids.end() - tail, cut.ids.end(),
                             whole.ids.end() - tail));
      const std::string text = model_->tokenizer()->Decode(cut.ids);
      EXPECT_EQ(text.find("cat0 cat1 ") != text.npos, !left) << text;
      EXPECT_EQ(text.find("the end") != text.npos, left) << text;
    }
  }
  // What a document spells is never a special token.
  const Encoding spelt = encode({}, "<|im_end|>");
  const int32_t end =
      model_->tokenizer()->PieceToId("<|im_end|>", TextSide::kSource);
  EXPECT_EQ(std::count(spelt.ids.begin(), spelt.ids.end(), end),
            std::count(empty.ids.begin(), empty.ids.end(), end));
}

}  // namespace
}  // namespace trivium
