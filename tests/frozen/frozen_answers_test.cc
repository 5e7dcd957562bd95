// Answers of every kind of model, written down: any difference between two
// commits is a change of these files, which a reviewer sees.
//
// answers/NAME.txt has a line for each input of the model NAME: what was asked,
// the hash of the ids, the score, the text. Everything but numbers must be
// equal; numbers may differ by kTolerance, as C libraries differ.
//
// TRIVIUM_UPDATE_FROZEN=1 writes the files anew instead of comparing.
// TRIVIUM_FROZEN_BITS=FOLDER writes them there, with all bits of the numbers
// (same_bits_test.py). Models in four bits are asked only then: their answers
// are compared between instruction sets, not written down.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "library/engine.h"
#include "tests/frozen/random_gguf.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

constexpr char kAnswers[] = "tests/frozen/answers";
constexpr double kTolerance = 2e-4;

// --- What is compared.

const char* BitsFolder() { return std::getenv("TRIVIUM_FROZEN_BITS"); }

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), BitsFolder() ? "%a" : "%.4f", value);
  return text;
}

std::string Join(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty()) line += '\t';
    line += cell;
  }
  return line;
}

// FNV-1a, which every platform computes alike.
class Hash {
 public:
  void Add(uint32_t value) {
    for (int i = 0; i < 4; ++i) {
      hash_ = (hash_ ^ (value >> (8 * i) & 0xff)) * 16777619u;
    }
  }
  std::string text() const {
    char text[16];
    std::snprintf(text, sizeof(text), "#%08x", hash_);
    return text;
  }

 private:
  uint32_t hash_ = 2166136261u;
};

std::vector<std::string> Split(const std::string& line, char mark) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, mark);) cells.push_back(cell);
  return cells;
}

std::optional<double> AsNumber(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (cell.empty() || *end != '\0') return std::nullopt;
  return value;
}

bool SameLine(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto left = Split(a, '\t');
  const auto right = Split(b, '\t');
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i]) continue;
    const auto x = AsNumber(left[i]);
    const auto y = AsNumber(right[i]);
    if (!x || !y || std::abs(*x - *y) > kTolerance * (1 + std::abs(*x))) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.is_open()) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Line breaks would end a line of the file.
std::string OneLine(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    text.replace(at, 1, "\\n");
  }
  return text;
}

void ExpectFrozen(const std::string& name,
                  const std::vector<std::string>& lines) {
  const bool bits = BitsFolder() != nullptr;
  const std::string folder = bits ? BitsFolder() : kAnswers;
  const std::string path = folder + "/" + name + ".txt";
  if (bits || std::getenv("TRIVIUM_UPDATE_FROZEN") != nullptr) {
    std::filesystem::create_directories(folder);
    std::ofstream out(path);
    for (const std::string& line : lines) out << line << '\n';
    return;
  }
  const std::vector<std::string> frozen = ReadLines(path);
  EXPECT_EQ(frozen.size(), lines.size()) << path;
  int shown = 0;
  for (size_t i = 0; i < std::min(frozen.size(), lines.size()); ++i) {
    if (SameLine(frozen[i], lines[i])) continue;
    ADD_FAILURE() << path << ":" << i + 1 << "\n  frozen: " << frozen[i]
                  << "\n  now:    " << lines[i];
    if (++shown == 10) break;
  }
}

// --- What is asked.

std::unique_ptr<LocalEngine> Load(const std::string& folder,
                                  const std::string& precision) {
  auto engine = LocalEngine::Create(
      {.models = {{.folder = folder, .name = "m", .precision = precision}},
       .workers = 1,
       .worker_threads = 1});
  EXPECT_TRUE(engine.ok()) << folder << ": " << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

// A way to decode, by the name that it has in the files.
struct Way {
  std::string name;
  v1::DecodingOptions options;
};

std::vector<Way> Ways(uint32_t max_new_tokens) {
  std::vector<Way> ways(3);
  ways[0].name = "greedy";
  ways[0].options.set_beam_size(1);
  ways[1].name = "beam4";
  ways[1].options.set_beam_size(4);
  ways[2].name = "draw";
  ways[2].options.set_sample(true);
  ways[2].options.set_seed(7);
  for (Way& way : ways) {
    if (max_new_tokens > 0) way.options.set_max_new_tokens(max_new_tokens);
  }
  return ways;
}

// The vector's products with fixed vectors of +1 and -1, and its length: a few
// numbers in which each of its elements has a part.
std::vector<std::string> Projections(
    const google::protobuf::RepeatedField<float>& vector) {
  std::vector<std::string> cells;
  std::mt19937 signs(1);
  double squares = 0;
  for (const float x : vector) squares += double{x} * x;
  cells.push_back(Number(std::sqrt(squares)));
  for (int i = 0; i < 6; ++i) {
    double sum = 0;
    for (const float x : vector) sum += signs() % 2 == 0 ? x : -x;
    cells.push_back(Number(sum / std::sqrt(squares)));
  }
  return cells;
}

void AddTranslations(LocalEngine* engine, const std::string& label,
                     v1::TranslateRequest request,
                     std::vector<std::string>* lines) {
  request.mutable_options()->set_tokens(true);
  const auto response = engine->Translate(request);
  ASSERT_TRUE(response.ok()) << label << ": " << response.status();
  for (const v1::TranslateResult& result : response->results()) {
    const v1::Hypothesis& best = result.hypotheses(0);
    Hash hash;
    for (const uint32_t id : best.ids()) hash.Add(id);
    lines->push_back(
        Join({label, hash.text(), Number(best.score()), OneLine(best.text())}));
  }
}

void AddVectors(LocalEngine* engine, const std::string& label,
                const v1::EncodeRequest& request,
                std::vector<std::string>* lines) {
  const auto response = engine->Encode(request);
  ASSERT_TRUE(response.ok()) << label << ": " << response.status();
  for (const v1::EncodeResult& result : response->results()) {
    std::vector<std::string> cells = Projections(result.embedding());
    cells.insert(cells.begin(), label);
    lines->push_back(Join(cells));
  }
}

void AddAnswer(LocalEngine* engine, const std::string& label,
               v1::GenerateRequest request, std::vector<std::string>* lines) {
  request.set_tokens(true);
  Hash hash;
  std::string text;
  float score = 0;
  const absl::Status status =
      engine->Generate(request, [&](const v1::GenerateResponse& response) {
        for (const uint32_t id : response.piece().ids()) hash.Add(id);
        text += response.piece().text();
        if (response.has_done()) score = response.done().total_logprob();
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << label << ": " << status;
  lines->push_back(Join({label, hash.text(), Number(score), OneLine(text)}));
}

// --- The embedded model: 500 sentences.

class EmbeddedTest : public testing::TestWithParam<std::string> {};

TEST_P(EmbeddedTest, TranslatesAndEncodesAsBefore) {
  const auto engine = Load("model/embedded", GetParam());
  ASSERT_NE(engine, nullptr);
  std::map<std::string, std::vector<std::string>> texts;
  for (const std::string& line : ReadLines("tests/frozen/sentences.txt")) {
    const auto cells = Split(line, '\t');
    texts[cells.at(0)].push_back(cells.at(1));
  }
  std::vector<std::string> lines;
  for (const auto& [language, sentences] : texts) {
    for (const Way& way : Ways(0)) {
      v1::TranslateRequest request;
      for (const std::string& text : sentences) {
        request.add_inputs()->set_text(text);
      }
      request.mutable_options()->set_target_language(language == "en" ? "de"
                                                                      : "en");
      *request.mutable_options()->mutable_decoding() = way.options;
      AddTranslations(engine.get(), language + " " + way.name, request, &lines);
    }
    v1::EncodeRequest request;
    for (const std::string& text : sentences) {
      request.add_inputs()->set_text(text);
    }
    AddVectors(engine.get(), language + " vector", request, &lines);
  }
  ExpectFrozen("embedded." + GetParam(), lines);
}

INSTANTIATE_TEST_SUITE_P(Precisions, EmbeddedTest,
                         testing::Values("f32", "int8"),
                         [](const auto& info) { return info.param; });

// --- The golden models: random ids, as they have no vocabulary.

std::vector<std::string> GoldenFolders(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (std::filesystem::exists(entry.path() / "config.json") &&
        name != "en-de.embedded") {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class GoldenIds {
 public:
  explicit GoldenIds(const v1::Model& model)
      : ids_(3, static_cast<int>(model.vocabulary_size()) - 1),
        most_(std::max<int>(model.limits().max_source_tokens(),
                            model.limits().max_target_tokens())) {}

  template <typename Ids>
  void Fill(Ids* ids) {
    const int count = std::min(2 + static_cast<int>(random_() % 11), most_ / 2);
    for (int i = 0; i < count; ++i) {
      ids->add_ids(static_cast<uint32_t>(ids_.Next(random_)));
    }
  }

 private:
  // Not the library's distribution, which platforms implement each in their
  // way.
  struct Range {
    Range(int from, int to) : first(from), last(to) {}
    int Next(std::mt19937& random) const {
      return first + static_cast<int>(random() % (last - first + 1));
    }
    int first;
    int last;
  };

  std::mt19937 random_{3};
  Range ids_;
  int most_;
};

bool Has(const v1::Model& model, const std::string& call) {
  for (const std::string& one : model.calls()) {
    if (one == call) return true;
  }
  return false;
}

void AddGolden(LocalEngine* engine, const std::string& label,
               std::vector<std::string>* lines) {
  constexpr int kInputs = 4;
  constexpr int kNewTokens = 8;
  const auto model = engine->GetModel("");
  ASSERT_TRUE(model.ok()) << model.status();
  GoldenIds ids(*model);
  if (Has(*model, "Encode")) {
    v1::EncodeRequest request;
    for (int i = 0; i < kInputs; ++i)
      ids.Fill(request.add_inputs()->mutable_ids());
    if (model->embedding_size() > 0) {
      AddVectors(engine, label + " vector", request, lines);
    }
  }
  if (Has(*model, "Classify")) {
    v1::ClassifyRequest request;
    for (int i = 0; i < kInputs; ++i)
      ids.Fill(request.add_inputs()->mutable_ids());
    const auto response = engine->Classify(request);
    ASSERT_TRUE(response.ok()) << label << ": " << response.status();
    for (const v1::Classification& result : response->results()) {
      const v1::Label& best = result.labels(0);
      lines->push_back(
          Join({label + " class", best.label(), Number(best.logit())}));
    }
  }
  for (const Way& way : Ways(kNewTokens)) {
    const std::string asked = label + " " + way.name;
    if (model->design() == v1::DESIGN_ENCODER_DECODER) {
      v1::TranslateRequest request;
      for (int i = 0; i < kInputs; ++i)
        ids.Fill(request.add_inputs()->mutable_ids());
      *request.mutable_options()->mutable_decoding() = way.options;
      if (model->target_languages_size() > 0) {
        request.mutable_options()->set_target_language(
            model->target_languages(0).bcp47());
      }
      AddTranslations(engine, asked, request, lines);
    } else if (Has(*model, "Generate")) {
      for (int i = 0; i < kInputs; ++i) {
        v1::GenerateRequest request;
        ids.Fill(request.mutable_input()->mutable_ids());
        *request.mutable_decoding() = way.options;
        AddAnswer(engine, asked, request, lines);
      }
    }
  }
  if (model->design() == v1::DESIGN_DECODER && Has(*model, "Score")) {
    v1::ScoreRequest request;
    for (int i = 0; i < kInputs; ++i) {
      v1::ScoreInput* const pair = request.add_inputs();
      ids.Fill(pair->mutable_ids());
      ids.Fill(pair->mutable_target_ids());
    }
    const auto response = engine->Score(request);
    ASSERT_TRUE(response.ok()) << label << ": " << response.status();
    for (const v1::ScoreResult& result : response->results()) {
      lines->push_back(Join({label + " pair", Number(result.total_logprob())}));
    }
  }
}

class GoldenModelsTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenModelsTest, AnswerAsBefore) {
  std::vector<std::string> lines;
  for (const std::string& name : GoldenFolders("tests/golden")) {
    const auto engine = Load("tests/golden/" + name, GetParam());
    ASSERT_NE(engine, nullptr);
    AddGolden(engine.get(), name, &lines);
  }
  ExpectFrozen("goldens." + GetParam(), lines);
}

INSTANTIATE_TEST_SUITE_P(Precisions, GoldenModelsTest,
                         testing::Values("f32", "int8"),
                         [](const auto& info) { return info.param; });

// --- Models in four bits.

class FourBitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (BitsFolder() == nullptr) GTEST_SKIP() << "skipped: asked for bits only";
  }
};

// Layers of every type are multiplied as the file has them.
TEST_F(FourBitsTest, GgufFiles) {
  std::vector<std::string> lines;
  for (const GgufBlock& block : FourBitBlocks()) {
    const TemporaryFolder folder;
    folder.Write("model.gguf", RandomGguf(block));
    const auto engine = Load(folder.path() + "/model.gguf", "auto");
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->GetModel("")->precision(), v1::PRECISION_INT4)
        << block.name;
    AddGolden(engine.get(), std::string(block.name), &lines);
  }
  ExpectFrozen("four_bits.gguf", lines);
}

// Folders of AWQ, GPTQ and so on; those that keep another precision, too.
TEST_F(FourBitsTest, QuantizedFolders) {
  std::vector<std::string> lines;
  for (const std::string& name : GoldenFolders("tests/golden/quantized")) {
    const auto engine = Load("tests/golden/quantized/" + name, "auto");
    ASSERT_NE(engine, nullptr);
    AddGolden(engine.get(), name, &lines);
  }
  ExpectFrozen("four_bits.folders", lines);
}

// Every family's decoders, rounded to four bits here.
TEST_F(FourBitsTest, RoundedModels) {
  std::vector<std::string> lines;
  for (const std::string& name : GoldenFolders("tests/golden")) {
    if (!name.ends_with(".lm")) continue;
    const auto engine = Load("tests/golden/" + name, "int4");
    ASSERT_NE(engine, nullptr);
    AddGolden(engine.get(), name, &lines);
  }
  ExpectFrozen("four_bits.rounded", lines);
}

// --- Real models, where they could be fetched.

std::string RealModel(const char* variable) {
  const char* const path = std::getenv(variable);
  if (path == nullptr || !std::filesystem::exists(path)) return "";
  return path;
}

class SmolLm2Test : public testing::TestWithParam<std::string> {};

TEST_P(SmolLm2Test, AnswersPromptsAsBefore) {
  const std::string path = RealModel("TRIVIUM_SMOLLM2");
  if (path.empty()) GTEST_SKIP() << "skipped: SmolLM2 is not there";
  const auto engine = Load(path, GetParam());
  ASSERT_NE(engine, nullptr);
  std::vector<std::string> lines;
  for (const std::string& prompt : ReadLines("tests/frozen/prompts.txt")) {
    for (const Way& way : Ways(16)) {
      v1::GenerateRequest request;
      v1::Chat::Message* const message = request.mutable_chat()->add_messages();
      message->set_role("user");
      message->set_content(prompt);
      *request.mutable_decoding() = way.options;
      AddAnswer(engine.get(), way.name, request, &lines);
    }
  }
  ExpectFrozen("smollm2." + GetParam(), lines);
}

INSTANTIATE_TEST_SUITE_P(Precisions, SmolLm2Test,
                         testing::Values("f32", "int8"),
                         [](const auto& info) { return info.param; });

class MiniLmTest : public testing::TestWithParam<std::string> {};

TEST_P(MiniLmTest, EncodesAsBefore) {
  const std::string path = RealModel("TRIVIUM_REAL_MODEL");
  if (path.empty()) GTEST_SKIP() << "skipped: MiniLM is not there";
  const auto engine = Load(path, GetParam());
  ASSERT_NE(engine, nullptr);
  v1::EncodeRequest request;
  for (const std::string& line : ReadLines("tests/frozen/sentences.txt")) {
    request.add_inputs()->set_text(Split(line, '\t').at(1));
  }
  std::vector<std::string> lines;
  AddVectors(engine.get(), "vector", request, &lines);
  ExpectFrozen("minilm." + GetParam(), lines);
}

INSTANTIATE_TEST_SUITE_P(Precisions, MiniLmTest, testing::Values("f32", "int8"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace trivium
