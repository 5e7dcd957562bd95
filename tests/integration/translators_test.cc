// Tests decoders that translate, with a real server. The models are tiny ones
// of goldens; translators/ has their templates, a tokenizer and what
// Transformers made of the same prompts.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "tests/integration/folder_server.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

constexpr char kTranslators[] = "tests/integration/translators";

json ReadGoldenJson(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

const json& Translators() {
  static const auto* const kGolden =
      new json(ReadGoldenJson(fs::path(kTranslators) / "translators.json"));
  return *kGolden;
}

// Makes the folder of a case: a golden's weights, with room for prompts.
void MakeTranslator(const json& one, const fs::path& folder) {
  const fs::path golden =
      fs::path("tests/golden") / one.at("golden").get<std::string>();
  fs::create_directories(folder);
  for (const char* file : {"generation_config.json", "model.safetensors"}) {
    fs::copy_file(golden / file, folder / file);
  }
  fs::copy_file(fs::path(kTranslators) / "tokenizer.json",
                folder / "tokenizer.json");
  fs::copy_file(fs::path(kTranslators) /
                    (one.at("template").get<std::string>() + ".jinja"),
                folder / "chat_template.jinja");
  json config = ReadGoldenJson(golden / "config.json");
  config["max_position_embeddings"] = 1024;
  std::ofstream(folder / "config.json") << config;
  std::ofstream(folder / "tokenizer_config.json") << json(
      {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"bos_token", "<bos>"}});
}

// Returns the pieces of a prompt's ids, each of which has its own.
std::vector<std::string> PiecesOf(const json& ids) {
  const json tokenizer =
      ReadGoldenJson(fs::path(kTranslators) / "tokenizer.json");
  std::map<int, std::string> pieces;
  for (const auto& [piece, id] : tokenizer.at("model").at("vocab").items()) {
    pieces[id] = piece;
  }
  for (const json& added : tokenizer.at("added_tokens")) {
    pieces[added.at("id")] = added.at("content");
  }
  std::vector<std::string> found;
  for (const json& id : ids) found.push_back(pieces[id]);
  return found;
}

// Returns those of the prompt that the model read.
std::vector<std::string> PiecesOf(const v1::TranslateResult& result) {
  return {result.prefix_pieces().begin(), result.prefix_pieces().end()};
}

class TranslatorsTest : public testing::Test {
 protected:
  // Serves each prompt under its name, "plain" of which no folder's name tells
  // anything, and two whose folders tell.
  static void SetUpTestSuite() {
    server_ = new FolderServer("translators_test", [](const fs::path& folder) {
      std::vector<std::string> flags = {"--precision", "f32", "--http-listen",
                                        "127.0.0.1:0"};
      std::set<std::string> seen;
      const json& cases = Translators().at("cases");
      for (const json& one : cases) {
        const std::string name = one.at("translate_with");
        if (!seen.insert(name).second) continue;
        MakeTranslator(one, folder / ("model_" + name));
        flags.insert(
            flags.end(),
            {"--model", name + "=" + (folder / ("model_" + name)).string() +
                            ",translate_with=" + name});
      }
      MakeTranslator(cases.back(), folder / "plain");
      MakeTranslator(cases.back(), folder / "TowerInstruct-7B-v0.2");
      MakeTranslator(cases.front(), folder / "fields");
      for (const char* name : {"plain", "TowerInstruct-7B-v0.2", "fields"}) {
        flags.insert(flags.end(), {"--model", (folder / name).string()});
      }
      return flags;
    });
  }
  static void TearDownTestSuite() { delete server_; }

  static v1::TranslateRequest Ask(const std::string& model,
                                  const std::string& source,
                                  const std::string& target,
                                  const std::string& text) {
    v1::TranslateRequest request;
    request.set_model(model);
    request.add_inputs()->set_text(text);
    if (!source.empty()) {
      request.mutable_options()->set_source_language(source);
    }
    request.mutable_options()->set_target_language(target);
    request.mutable_options()->mutable_decoding()->set_max_new_tokens(20);
    return request;
  }

  // The first hypothesis; the test fails if there is none.
  v1::TranslateResult Translate(const v1::TranslateRequest& request) {
    const auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->results(0) : v1::TranslateResult();
  }

  std::string Refusal(const v1::TranslateRequest& request) {
    return std::string(client_->Translate(request).status().message());
  }

  json Post(const std::string& path, const json& body) {
    httplib::Client http("127.0.0.1", (*server_)->http_port());
    const auto answer = http.Post(path, body.dump(), "application/json");
    EXPECT_TRUE(answer && answer->status == 200)
        << (answer ? answer->body : "no answer");
    return answer ? json::parse(answer->body, nullptr, false) : json();
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* TranslatorsTest::server_ = nullptr;

TEST_F(TranslatorsTest, ReadsAndWritesTheIdsOfTransformers) {
  const std::string text = Translators().at("text");
  for (const json& one : Translators().at("cases")) {
    const std::string name = one.at("translate_with");
    SCOPED_TRACE(name + " " + one.at("source").get<std::string>() + "-" +
                 one.at("target").get<std::string>());
    v1::TranslateRequest request =
        Ask(name, one.at("source"), one.at("target"), text);
    v1::TranslateOptions& options = *request.mutable_options();
    options.set_tokens(true);
    options.set_split(v1::SPLIT_NONE);
    options.set_text_stages(v1::TEXT_STAGES_OFF);
    options.mutable_decoding()->set_ignore_eos(true);
    const v1::TranslateResult greedy = Translate(request);
    ASSERT_EQ(greedy.hypotheses_size(), 1);
    EXPECT_EQ(PiecesOf(greedy), PiecesOf(one.at("prompt")));
    const auto ids = [](const v1::TranslateResult& result) {
      return json(std::vector<uint32_t>(result.hypotheses(0).ids().begin(),
                                        result.hypotheses(0).ids().end()));
    };
    EXPECT_EQ(ids(greedy), one.at("greedy"));
    options.mutable_decoding()->set_beam_size(4);
    options.mutable_decoding()->set_max_new_tokens(12);
    const v1::TranslateResult beams = Translate(request);
    ASSERT_EQ(beams.hypotheses_size(), 1);
    EXPECT_EQ(ids(beams), one.at("beam4"));
  }
}

TEST_F(TranslatorsTest, TellsCallsAndLanguages) {
  const auto tower = client_->GetModel("tower");
  ASSERT_TRUE(tower.ok()) << tower.status();
  EXPECT_THAT(tower->calls(), Contains("Translate"));
  EXPECT_EQ(tower->source_languages_size(), 10);
  EXPECT_EQ(tower->target_languages_size(), 10);
  const auto plain = client_->GetModel("plain");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(plain->calls(), testing::Not(Contains("Translate")));
  EXPECT_EQ(plain->target_languages_size(), 0);
}

TEST_F(TranslatorsTest, KnowsFoldersByNameAndTemplate) {
  const std::string text = "It was late.";
  const auto prompt = [&](const std::string& model) {
    v1::TranslateRequest request = Ask(model, "en", "de", text);
    request.mutable_options()->set_tokens(true);
    return PiecesOf(Translate(request));
  };
  EXPECT_EQ(prompt("TowerInstruct-7B-v0.2"), prompt("tower"));
  EXPECT_EQ(prompt("fields"), prompt("translategemma"));
  EXPECT_NE(prompt("tower"), prompt("eurollm"));
}

TEST_F(TranslatorsTest, KeepsMarkupAndProtectedSpans) {
  v1::TranslateRequest request = Ask(
      "tower", "en", "de",
      "<p>The <b>red house</b> is at <a href=\"x\">the end</a>.</p><p>It was "
      "<i>old</i>.</p>");
  request.mutable_options()->set_format(v1::TEXT_FORMAT_HTML);
  const std::string html = Translate(request).hypotheses(0).text();
  for (const char* tag :
       {"<b>", "</b>", "<a href=\"x\">", "</a>", "<i>", "</i>", "</p><p>"}) {
    EXPECT_THAT(html, HasSubstr(tag));
  }

  request = Ask("hy-mt2", "en", "de", "Send %d files to {name} at once.");
  v1::Protection& protect = *request.mutable_options()->mutable_protect();
  protect.add_kinds(v1::PROTECTED_KIND_PRINTF);
  protect.add_kinds(v1::PROTECTED_KIND_ICU_MESSAGE);
  const v1::TranslateResult result = Translate(request);
  const std::string kept = result.hypotheses(0).text();
  for (const char* span : {"%d", "{name}"}) {
    const bool lost =
        std::any_of(result.unkept().begin(), result.unkept().end(),
                    [span](const auto& one) { return one.text() == span; });
    EXPECT_EQ(kept.find(span) == kept.npos, lost) << kept;
  }
}

TEST_F(TranslatorsTest, TranslatesWholeTextsWithAGlossaryAndChecks) {
  v1::TranslateRequest request =
      Ask("tower", "en", "de", "The cat sat. It was old. Good night!");
  v1::TranslateOptions& options = *request.mutable_options();
  options.set_sentences(true);
  options.mutable_checks();
  options.mutable_decoding()->set_beam_size(4);
  v1::GlossaryTerm& term = *options.mutable_glossary()->add_terms();
  term.set_source("cat");
  term.set_target("Kater");
  const v1::TranslateResult result = Translate(request);
  ASSERT_EQ(result.hypotheses_size(), 1);
  EXPECT_EQ(result.sentences_size(), 3);
  EXPECT_THAT(result.hypotheses(0).text(), HasSubstr("Kater"));
}

TEST_F(TranslatorsTest, AnswersLibreTranslateAndDeepL) {
  const std::string text = "The house is big. It was late.";
  v1::TranslateRequest request = Ask("", "en", "de", text);
  request.mutable_options()->clear_decoding();
  const std::string expected = Translate(request).hypotheses(0).text();
  EXPECT_EQ(
      Post("/translate", {{"q", text}, {"source", "en"}, {"target", "de"}})
          .at("translatedText"),
      expected);
  EXPECT_EQ(
      Post("/v2/translate",
           {{"text", {text}}, {"source_lang", "EN"}, {"target_lang", "DE"}})
          .at("translations")[0]
          .at("text"),
      expected);
}

TEST_F(TranslatorsTest, RefusesWhatAPromptCannotServe) {
  EXPECT_THAT(Refusal(Ask("plain", "en", "de", "Hi.")),
              ErrorAt("translate_with=tower"));
  EXPECT_THAT(Refusal(Ask("tower", "", "de", "Hi.")),
              ErrorAt("source_language"));
  EXPECT_THAT(Refusal(Ask("tower", "en", "cs", "Hi.")),
              ErrorAt("target_language"));
  v1::TranslateRequest request = Ask("tower", "en", "de", "Hi.");
  request.mutable_options()->mutable_cross_attention();
  EXPECT_THAT(Refusal(request), ErrorAt("decoder_attention"));
  request = Ask("tower", "en", "de", "Hi.");
  request.mutable_options()->set_words(true);
  EXPECT_THAT(Refusal(request), ErrorAt("options.words"));
  request = Ask("tower", "en", "de", "Hi.");
  request.mutable_options()->set_truncate(true);
  EXPECT_THAT(Refusal(request), ErrorAt("options.truncate"));

  v1::GenerateRequest generate;
  generate.set_model("tower");
  generate.mutable_input()->set_text("Hi.");
  generate.set_target_language("de");
  EXPECT_THAT(std::string(GenerateWhole(*client_, generate).status.message()),
              ErrorAt("target_language"));
  generate.clear_target_language();
  generate.mutable_decoding()->set_max_new_tokens(3);
  EXPECT_TRUE(GenerateWhole(*client_, generate).status.ok());
}

TEST_F(TranslatorsTest, RefusesAnotherTemplateAtTheStart) {
  const std::string folder = (server_->folder() / "plain").string();
  const auto err = [&](const std::string& name) {
    return RunProgram({TRIVIUM_SERVER_PROGRAM, "--listen", "127.0.0.1:0",
                       "--model", folder + ",translate_with=" + name})
        .err;
  };
  EXPECT_THAT(err("translategemma"), HasSubstr("source_lang_code"));
  EXPECT_THAT(err("none_such"), HasSubstr("is not one of translategemma"));
}

}  // namespace
}  // namespace trivium
