// Tests a decoder-only model with a real server: a tiny GPT-2 that reads bytes.
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/folder_server.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;

constexpr char kGolden[] = "tests/golden/gpt2.lm";

// Returns the characters by which GPT-2 writes the 256 bytes, in their order.
std::vector<std::string> ByteAlphabet() {
  const auto utf8 = [](int c) {
    if (c < 0x80) return std::string(1, static_cast<char>(c));
    return std::string{static_cast<char>(0xC0 | (c >> 6)),
                       static_cast<char>(0x80 | (c & 0x3F))};
  };
  std::vector<std::string> alphabet;
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool shown = (byte >= '!' && byte <= '~') ||
                       (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    alphabet.push_back(utf8(shown ? byte : 256 + others++));
  }
  return alphabet;
}

// Makes a folder of the golden's model in which the first 256 tokens are the
// bytes.
void MakeFolder(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* file :
       {"config.json", "generation_config.json", "model.safetensors"}) {
    fs::copy_file(fs::path(kGolden) / file, folder / file);
  }
  json vocabulary = json::object();
  for (const std::string& piece : ByteAlphabet()) {
    vocabulary[piece] = vocabulary.size();
  }
  const json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"trim_offsets", true},
        {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
  std::ofstream(folder / "tokenizer.json") << tokenizer;
}

class PromptsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer("prompts_test", [](const fs::path& folder) {
      MakeFolder(folder);
      return std::vector<std::string>{
          "--precision", "f32",
          "--model",     "gpt2=" + folder.string(),
          "--model",     std::string("ids=") + kGolden};
    });
  }
  static void TearDownTestSuite() { delete server_; }

  WholeAnswer Generate(const v1::GenerateRequest& request) {
    WholeAnswer answer = GenerateWhole(*client_, request);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    return answer;
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* PromptsTest::server_ = nullptr;

TEST_F(PromptsTest, ContinuesIdsLikeTransformers) {
  std::ifstream file(std::string(kGolden) + "/golden.json");
  const json golden = json::parse(file);
  for (const json& run : golden.at("runs")) {
    v1::GenerateRequest request;
    request.set_model("ids");
    for (const uint32_t id : run.at("input_ids")) {
      request.mutable_input()->mutable_ids()->add_ids(id);
    }
    request.mutable_decoding()->set_max_new_tokens(12);
    request.mutable_decoding()->set_min_new_tokens(12);  // no end token
    request.mutable_decoding()->set_beam_size(4);
    const WholeAnswer beams = Generate(request);
    EXPECT_EQ(json(beams.ids), run.at("beam4_12"));
    EXPECT_EQ(beams.done.finish_reason(), v1::FINISH_REASON_LENGTH);
    EXPECT_EQ(beams.done.source_token_count(), run.at("input_ids").size());
  }
}

TEST_F(PromptsTest, ContinuesTextsLikeTransformers) {
  v1::GenerateRequest request;
  request.set_model("gpt2");
  request.set_tokens(true);
  request.mutable_input()->set_text("Hello, wör");
  request.mutable_decoding()->set_max_new_tokens(20);
  const WholeAnswer text = Generate(request);
  v1::GenerateRequest ids = request;
  for (const unsigned char byte : std::string("Hello, wör")) {
    ids.mutable_input()->mutable_ids()->add_ids(byte);
  }
  EXPECT_EQ(Generate(ids).ids, text.ids);
  EXPECT_EQ(text.done.source_token_count(), 11u);
  std::string bytes;
  for (const uint32_t id : text.ids) bytes += static_cast<char>(id);
  // Pieces contain whole characters.
  for (size_t i = 0; i < bytes.size() && bytes[i] > 0; ++i) {
    EXPECT_EQ(text.text.substr(i, 1), bytes.substr(i, 1));
  }
  // By default the text may fill what the prompt leaves of the model's 64
  // positions.
  request.mutable_decoding()->clear_max_new_tokens();
  request.mutable_decoding()->set_min_new_tokens(53);
  EXPECT_EQ(Generate(request).done.token_count(), 53u);
}

TEST_F(PromptsTest, PrintsTheServersAnswerInTheProgram) {
  const auto run = [](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {
        TRIVIUM_PROGRAM, "generate", "--address", (*server_)->address(),
        "--model",       "gpt2",     "Say ab"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunProgram(arguments);
  };
  const ProcessResult plain = run({"--max-new-tokens", "9"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  std::istringstream lines(run({"--max-new-tokens", "9", "--json"}).out);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const json message = json::parse(line);
    if (message.contains("piece")) {
      text += message["piece"].value("text", "");
    }
  }
  EXPECT_EQ(plain.out, text + "\n");
  const ProcessResult wrong = run({"--target-prefix", "x"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(wrong.err, ErrorAt("--target-prefix"));
}

TEST_F(PromptsTest, ScoresATextAsItsBytes) {
  v1::ScoreRequest texts;
  texts.set_model("gpt2");
  texts.set_top_logprobs(2);
  v1::ScoreInput* input = texts.add_inputs();
  input->set_text("Hello, w");
  input->set_target("\xC3\xB6r!");
  texts.add_inputs()->set_target("Hello");
  texts.add_inputs()->set_target("H");
  const auto scored = client_->Score(texts);
  ASSERT_TRUE(scored.ok()) << scored.status();
  ASSERT_EQ(scored->results_size(), 3);
  v1::ScoreRequest ids;
  ids.set_model("ids");
  for (const unsigned char byte : std::string("Hello, w")) {
    if (ids.inputs().empty()) ids.add_inputs();
    ids.mutable_inputs(0)->mutable_ids()->add_ids(byte);
  }
  for (const unsigned char byte : std::string("\xC3\xB6r!")) {
    ids.mutable_inputs(0)->mutable_target_ids()->add_ids(byte);
  }
  const auto same = client_->Score(ids);
  ASSERT_TRUE(same.ok()) << same.status();

  const v1::ScoreResult& first = scored->results(0);
  EXPECT_EQ(first.context_token_count(), 8u);
  EXPECT_EQ(first.token_count(), 4u);
  ASSERT_EQ(first.tokens_size(), 4);
  EXPECT_EQ(first.total_logprob(), same->results(0).total_logprob());
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    const v1::ScoredToken& token = first.tokens(i);
    EXPECT_EQ(token.logprob(), same->results(0).tokens(i).logprob());
    EXPECT_LT(token.logprob(), 0);
    sum += token.logprob();
    ASSERT_EQ(token.alternatives_size(), 2);
    EXPECT_GE(token.alternatives(0).logprob(), token.logprob());
  }
  EXPECT_NEAR(first.total_logprob(), sum, 1e-4);
  EXPECT_EQ(first.tokens(2).byte_begin(), 2u);
  EXPECT_EQ(first.tokens(2).byte_end(), 3u);
  EXPECT_EQ(first.tokens(2).char_begin(), 1u);

  // GPT-2 adds no begin token, so nothing is before the first token.
  const v1::ScoreResult& alone = scored->results(1);
  EXPECT_EQ(alone.context_token_count(), 0u);
  EXPECT_EQ(alone.token_count(), 4u);
  ASSERT_EQ(alone.tokens_size(), 5);
  EXPECT_FALSE(alone.tokens(0).has_logprob());
  EXPECT_TRUE(alone.tokens(1).has_logprob());
  EXPECT_EQ(scored->results(2).token_count(), 0u);
  EXPECT_EQ(scored->results(2).total_logprob(), 0);
}

TEST_F(PromptsTest, NamesInputsThatCannotBeScored) {
  const auto refused = [&](const std::function<void(v1::ScoreRequest*)>& change,
                           const std::string& field) {
    v1::ScoreRequest request;
    request.set_model("gpt2");
    request.add_inputs()->set_text("a");
    request.mutable_inputs(0)->set_target("b");
    change(&request);
    EXPECT_THAT(client_->Score(request),
                IsError(absl::StatusCode::kInvalidArgument, field));
  };
  using R = v1::ScoreRequest;
  refused([](R* r) { r->clear_inputs(); }, "inputs");
  refused([](R* r) { r->mutable_inputs(0)->clear_target(); }, "inputs[0]");
  refused([](R* r) { r->mutable_inputs(0)->set_target(""); }, "inputs[0]");
  refused([](R* r) { r->mutable_inputs(0)->mutable_ids()->add_ids(1); },
          "inputs[0].target");
  refused([](R* r) { r->mutable_inputs(0)->mutable_target_ids()->add_ids(1); },
          "inputs[0].target_ids");
  refused(
      [](R* r) {
        r->mutable_inputs(0)->clear_context();
        r->mutable_inputs(0)->mutable_target_ids()->add_ids(307);
      },
      "inputs[0].target_ids.ids[0]");
  refused([](R* r) { r->mutable_inputs(0)->set_target(std::string(99, 'x')); },
          "inputs[0]");
  refused([](R* r) { r->set_top_logprobs(21); }, "top_logprobs");
  refused(
      [](R* r) {
        r->set_top_logprobs(1);
        r->set_tokens(false);
      },
      "top_logprobs");
  refused([](R* r) { r->set_target_language("de"); }, "target_language");
}

TEST_F(PromptsTest, RefusesOtherCalls) {
  v1::TranslateRequest translate;
  translate.set_model("gpt2");
  translate.add_inputs()->set_text("a");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(client_->Translate(translate).status()));
  const auto model = client_->GetModel("gpt2");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->design(), v1::DESIGN_DECODER);
  EXPECT_THAT(model->calls(),
              ElementsAre("Generate", "Score", "Tokenize", "Detokenize"));
}

}  // namespace
}  // namespace trivium
