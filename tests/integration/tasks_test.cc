// Tests the tasks of T5 and BART folders with a real server. The models are
// tiny ones of goldens, with a tokenizer and config.json's
// task_specific_params.
#include <filesystem>
#include <fstream>
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

constexpr char kT5Prefix[] = "summarize: ";
// A text of two sentences. A task reads it as a whole.
constexpr char kText[] = "The cat sat on the mat. It has seen the dog, too.";

json ReadJson(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

// Makes the folder of a golden's model with a task for summaries.
void MakeFolder(const fs::path& golden, const json& task,
                const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* file : {"generation_config.json", "model.safetensors"}) {
    fs::copy_file(golden / file, folder / file);
  }
  json config = ReadJson(golden / "config.json");
  config["task_specific_params"] = {{"summarization", task}};
  std::ofstream(folder / "config.json") << config;
}

json T5Task() {
  return {{"prefix", kT5Prefix},       {"num_beams", 4},
          {"min_length", 10},          {"max_length", 16},
          {"no_repeat_ngram_size", 3}, {"early_stopping", true},
          {"length_penalty", 2.0}};
}

// BART reads texts as they are.
json BartTask() {
  return {{"num_beams", 2},
          {"min_length", 6},
          {"max_length", 12},
          {"no_repeat_ngram_size", 2}};
}

void MakeT5(const fs::path& folder) {
  MakeFolder("tests/golden/t5.generate", T5Task(), folder);
  fs::copy_file("tests/model/testdata/languages/pegasus/spiece.model",
                folder / "spiece.model");
}

// The vocabulary has the bytes, a few merges and BART's special tokens.
void MakeBart(const fs::path& folder) {
  MakeFolder("tests/golden/bart.generate", BartTask(), folder);
  const json bytes =
      ReadJson("tests/integration/chats/tokenizer.json").at("model");
  json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  const int specials = static_cast<int>(vocabulary.size());
  for (const auto& [piece, id] : bytes.at("vocab").items()) {
    vocabulary[piece] = id.get<int>() + specials;
  }
  vocabulary["<mask>"] = vocabulary.size();
  std::ofstream(folder / "vocab.json") << vocabulary;
  std::ofstream merges(folder / "merges.txt");
  merges << "#version: 0.2\n";
  for (const json& merge : bytes.at("merges")) {
    merges << merge[0].get<std::string>() << ' ' << merge[1].get<std::string>()
           << '\n';
  }
}

// The decoding options of the task, as a request's own options.
v1::DecodingOptions OptionsOf(const json& task) {
  v1::DecodingOptions options;
  options.set_beam_size(task.at("num_beams"));
  // Transformers' lengths count the decoder's start token.
  options.set_min_new_tokens(task.at("min_length").get<int>() - 1);
  options.set_max_new_tokens(task.at("max_length").get<int>() - 1);
  options.set_no_repeat_ngram_size(task.at("no_repeat_ngram_size"));
  if (task.contains("early_stopping")) {
    options.set_early_stopping(v1::EARLY_STOPPING_AT_ONCE);
  }
  if (task.contains("length_penalty")) {
    options.set_length_penalty(task.at("length_penalty"));
  }
  return options;
}

class TasksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer("tasks_test", [](const fs::path& folder) {
      MakeT5(folder / "t5");
      MakeBart(folder / "bart");
      return std::vector<std::string>{
          "--precision", "f32",
          "--model",     (folder / "t5").string(),
          "--model",     (folder / "bart").string()};
    });
  }
  static void TearDownTestSuite() { delete server_; }

  static v1::GenerateRequest Request(const std::string& model,
                                     const std::string& text) {
    v1::GenerateRequest request;
    request.set_model(model);
    request.set_tokens(true);
    request.mutable_input()->set_text(text);
    return request;
  }

  v1::TranslateResult Translate(const std::string& model,
                                const v1::DecodingOptions& decoding) {
    v1::TranslateRequest request;
    request.set_model(model);
    request.add_inputs()->set_text(kText);
    request.mutable_options()->set_task("summarization");
    request.mutable_options()->set_tokens(true);
    request.mutable_options()->set_split(v1::SPLIT_NONE);
    *request.mutable_options()->mutable_decoding() = decoding;
    const auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->results(0) : v1::TranslateResult();
  }

  // Requests by the task's name, and by its prefix and options.
  void ExpectTheTask(const std::string& model, const std::string& prefix,
                     const json& task) {
    v1::GenerateRequest named = Request(model, kText);
    named.set_task("summarization");
    const WholeAnswer answer = GenerateWhole(*client_, named);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    EXPECT_FALSE(answer.text.empty());
    EXPECT_GE(answer.done.token_count(), task.at("min_length").get<int>() - 1);
    EXPECT_LE(answer.done.token_count(), task.at("max_length").get<int>() - 1);

    v1::GenerateRequest spelt = Request(model, prefix + kText);
    *spelt.mutable_decoding() = OptionsOf(task);
    const WholeAnswer same = GenerateWhole(*client_, spelt);
    ASSERT_TRUE(same.status.ok()) << same.status;
    EXPECT_EQ(answer.ids, same.ids);
    EXPECT_EQ(answer.text, same.text);
    EXPECT_EQ(answer.done.score(), same.done.score());
    EXPECT_EQ(answer.done.source_token_count(), same.done.source_token_count());

    const v1::TranslateResult result = Translate(model, {});
    ASSERT_EQ(result.hypotheses_size(), 1);
    const v1::Hypothesis& hypothesis = result.hypotheses(0);
    EXPECT_EQ(answer.text, hypothesis.text());
    EXPECT_EQ(answer.ids, std::vector<uint32_t>(hypothesis.ids().begin(),
                                                hypothesis.ids().end()));
    EXPECT_EQ(answer.done.score(), hypothesis.score());
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* TasksTest::server_ = nullptr;

TEST_F(TasksTest, SummarizesWithT5ByItsPrefixAndOptions) {
  ExpectTheTask("t5", kT5Prefix, T5Task());
}

TEST_F(TasksTest, SummarizesWithBartByItsOptions) {
  ExpectTheTask("bart", "", BartTask());
}

TEST_F(TasksTest, StreamsGreedyAnswersEqualToTranslations) {
  for (const char* model : {"t5", "bart"}) {
    SCOPED_TRACE(model);
    v1::GenerateRequest request = Request(model, kText);
    request.set_task("summarization");
    request.mutable_decoding()->set_beam_size(1);
    int messages = 0;
    std::string text;
    const absl::Status status =
        client_->Generate(request, [&](const v1::GenerateResponse& response) {
          messages += response.has_piece();
          text += response.piece().text();
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_GE(messages, 1);
    EXPECT_EQ(text, Translate(model, request.decoding()).hypotheses(0).text());
  }
}

TEST_F(TasksTest, LetsTheRequestsOptionsOverrideTheTasks) {
  v1::GenerateRequest request = Request("t5", kText);
  request.set_task("summarization");
  request.mutable_decoding()->set_min_new_tokens(3);
  request.mutable_decoding()->set_max_new_tokens(3);
  const WholeAnswer answer = GenerateWhole(*client_, request);
  ASSERT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_EQ(answer.done.token_count(), 3u);
}

TEST_F(TasksTest, ListsTheModelsTasksForAnUnknownOne) {
  v1::GenerateRequest request = Request("bart", kText);
  request.set_task("summary");
  const absl::Status status = GenerateWhole(*client_, request).status;
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "task"));
  EXPECT_THAT(status,
              IsError(absl::StatusCode::kInvalidArgument, "summarization"));
}

}  // namespace
}  // namespace trivium
