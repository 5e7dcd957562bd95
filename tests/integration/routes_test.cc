// Tests translations that choose their models and use a pivot language. The
// models are copies of the embedded one with other languages: one claims to
// translate German to English only, the other claims that its German is French.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/integration/folder_server.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kFirst[] = "Das Haus ist sehr groß.";
constexpr char kSecond[] = "Der Hund schläft im Garten.";

// Copies the model with other names of its language tokens.
std::string Renamed(const fs::path& folder, const std::string& source,
                    const std::string& de, const std::string& en) {
  fs::copy(TRIVIUM_EMBEDDED, folder);
  std::ostringstream vocabulary;
  vocabulary << std::ifstream(folder / "vocab.json").rdbuf();
  std::ofstream(folder / "vocab.json") << absl::StrReplaceAll(
      vocabulary.str(), {{">>de<<", de}, {">>en<<", en}});
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"tokenizer_class": "MarianTokenizer", "source_lang": ")" << source
      << R"(", "model_max_length": 512, "eos_token": "</s>", )"
      << R"("unk_token": "<unk>", "pad_token": "<pad>"})";
  return folder.filename().string() + "=" + folder.string();
}

class RoutingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer("routing", [](const fs::path& folder) {
      return std::vector<std::string>{
          "--model",
          Renamed(folder / "de-en", "de", "no token", ">>en<<"),
          "--model",
          Renamed(folder / "en-fr", "en", ">>fr<<", "no token"),
          "--pivot-language",
          "en"};
    });
  }
  static void TearDownTestSuite() { delete server_; }

  v1::TranslateResult Translate(const std::string& text,
                                const std::string& source,
                                const std::string& target,
                                const std::string& model = "") {
    v1::TranslateRequest request;
    request.set_model(model);
    request.add_inputs()->set_text(text);
    request.mutable_options()->set_source_language(source);
    request.mutable_options()->set_target_language(target);
    const auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->results(0) : v1::TranslateResult();
  }
  std::string InTwoCalls(const std::string& sentence) {
    const std::string english =
        Translate(sentence, "de", "en", "de-en").hypotheses(0).text();
    return Translate(english, "en", "fr", "en-fr").hypotheses(0).text();
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* RoutingTest::server_ = nullptr;

TEST_F(RoutingTest, TranslatesByThePivotLikeTwoCalls) {
  const std::string text = std::string(kFirst) + "\n" + kSecond + " ";
  const v1::TranslateResult result = Translate(text, "auto", "fr");
  EXPECT_EQ(result.hypotheses(0).text(),
            InTwoCalls(kFirst) + "\n" + InTwoCalls(kSecond) + " ");
  EXPECT_EQ(result.detected_languages(0).language(), "de");
  ASSERT_EQ(result.route_size(), 2);
  // The server's first model has that pair, too.
  EXPECT_EQ(result.route(0).model().name(), "en-de");
  EXPECT_EQ(result.route(0).target_language(), "en");
  EXPECT_EQ(result.route(1).model().name(), "en-fr");
  EXPECT_EQ(result.route(1).target_language(), "fr");
}

TEST_F(RoutingTest, AppliesAGlossaryWithAPivot) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text(std::string(kFirst) + " " + kSecond);
  request.mutable_options()->set_source_language("de");
  request.mutable_options()->set_target_language("fr");
  v1::Glossary* const glossary = request.mutable_options()->mutable_glossary();
  glossary->set_inflections(true);
  v1::GlossaryTerm* const term = glossary->add_terms();
  term->set_source("Hunde");
  term->set_target("Dackel");
  const auto response = client_->Translate(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::TranslateResult& result = response->results(0);
  EXPECT_THAT(result.hypotheses(0).text(), HasSubstr("Dackel"));
  EXPECT_THAT(result.hypotheses(0).text(),
              testing::StartsWith(InTwoCalls(kFirst) + " "));
  ASSERT_EQ(result.glossary_uses_size(), 1);
  EXPECT_EQ(result.glossary_uses(0).missing_size(), 0);
}

TEST_F(RoutingTest, PrintsTheRouteInTheProgram) {
  const ProcessResult result =
      RunProgram({TRIVIUM_PROGRAM, "translate", "--address",
                  (*server_)->address(), "--source-language", "auto",
                  "--target-language", "fr", "--route", kFirst});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, InTwoCalls(kFirst) + "\n");
  EXPECT_THAT(result.err, HasSubstr("text 1: de "));
  EXPECT_THAT(result.err, HasSubstr("en-de (de to en), en-fr (en to fr)"));
}

}  // namespace
}  // namespace trivium
