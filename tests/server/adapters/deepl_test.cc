#include "server/adapters/deepl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "nlohmann/json.hpp"
#include "server/calls/glossary_store.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using nlohmann::json;

class DeeplTest : public testing::Test {
 protected:
  DeeplTest() {
    environment_.glossaries = &glossaries_;
    head_.header = [this](const char* name) {
      return name == std::string("Content-Type") ? content_type_ : "";
    };
  }

  // The request that a body to /v2/translate becomes.
  absl::StatusOr<v1::TranslateRequest> Read(const std::string& body) {
    head_.method = "POST";
    head_.path = "/v2/translate";
    codec_ = NewDeeplTranslateCodec(environment_, head_);
    v1::TranslateRequest request;
    const absl::Status status = codec_->Read(body, &request);
    if (!status.ok()) return status;
    return request;
  }

  // The answer to a request about glossaries.
  HttpAnswer Glossaries(const std::string& method, const std::string& path,
                        const std::string& body = "") {
    head_.method = method;
    head_.path = path;
    const auto codec = path.starts_with(kDeeplMultilingual)
                           ? NewDeeplMultilingualCodec(environment_, head_)
                           : NewDeeplGlossariesCodec(environment_, head_);
    v1::ListModelsRequest request;
    const absl::Status status = codec->Read(body, &request);
    return codec->Finish({status, "id"}, nullptr);
  }

  // A form with a file and other fields.
  static std::string Form(const std::string& name, const std::string& file,
                          const std::string& fields) {
    return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" +
           name + "\"\r\n\r\n" + file + fields + "\r\n--x--\r\n";
  }
  static std::string Field(const std::string& name, const std::string& value) {
    return "\r\n--x\r\nContent-Disposition: form-data; name=\"" + name +
           "\"\r\n\r\n" + value;
  }
  // Reads a document's form.
  absl::Status ReadDocument(const std::string& body) {
    content_type_ = "multipart/form-data; boundary=x";
    codec_ = NewDeeplDocumentCodec(environment_, head_);
    const absl::Status status = codec_->Check(head_);
    v1::ListModelsRequest request;
    return status.ok() ? codec_->Read(body, &request) : status;
  }

  static v1::ListModelsResponse Models() {
    v1::ListModelsResponse response;
    v1::Model* const model = response.add_models();
    for (const char* const language : {"en", "de"}) {
      model->add_source_languages()->set_bcp47(language);
      model->add_target_languages()->set_bcp47(language);
    }
    return response;
  }

  std::string content_type_ = "application/json";
  Environment environment_;
  GlossaryStore glossaries_{{}, Clock::Real()};
  RequestHead head_;
  std::unique_ptr<Codec> codec_;
};

TEST_F(DeeplTest, TranslatesTextsInBothForms) {
  auto request = Read(
      R"({"text": ["One.", "Two."], "target_lang": "DE", "formality": "default",
          "model_type": "latency_optimized", "preserve_formatting": true})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->inputs_size(), 2);
  EXPECT_EQ(request->options().source_language(), "auto");
  EXPECT_EQ(request->options().target_language(), "de");

  v1::TranslateResponse response;
  response.add_results()->add_hypotheses()->set_text("Eins.");
  response.mutable_results(0)->add_detected_languages()->set_language("en");
  response.add_results()->add_hypotheses()->set_text("Zwei.");
  response.mutable_results(1)->add_route()->set_source_language("en-GB");
  EXPECT_EQ(
      json::parse(codec_->Finish({absl::OkStatus(), "id"}, &response).body),
      json::parse(R"({"translations": [
                {"detected_source_language": "EN", "text": "Eins."},
                {"detected_source_language": "EN", "text": "Zwei."}]})"));

  content_type_ = "application/x-www-form-urlencoded";
  request = Read(
      "text=Ein+H%C3%A4uschen.&text=Zwei&target_lang=EN-US&"
      "source_lang=DE&split_sentences=0&tag_handling=html&"
      "show_billed_characters=1");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->inputs(0).text(), "Ein Häuschen.");
  EXPECT_EQ(request->options().source_language(), "de");
  EXPECT_EQ(request->options().target_language(), "en-us");
  EXPECT_EQ(request->options().split(), v1::SPLIT_NONE);
  EXPECT_EQ(request->options().format(), v1::TEXT_FORMAT_HTML);
  response.mutable_results(0)->mutable_hypotheses(0)->set_text("A hut.");
  const json answer =
      json::parse(codec_->Finish({absl::OkStatus(), "id"}, &response).body);
  EXPECT_EQ(answer["translations"][0]["detected_source_language"], "DE");
  EXPECT_EQ(answer["translations"][0]["billed_characters"], 13);
}

TEST_F(DeeplTest, ContentsOfIgnoredTagsAreNotTranslated) {
  const std::string own = "<x  translate=\\\"no\\\">u</x>";
  const auto request =
      Read(R"({"text": ["<x id=\"7\">Save</x><x/><xy>z</xy><x></x>", ")" + own +
           R"("], "target_lang": "DE", "tag_handling": "xml",)"
           R"("ignore_tags": "y, x"})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->inputs(0).text(),
            "<x   translate=\"no\" id=\"7\">Save</x><x/><xy>z</xy><x></x>");
  // The answer has the tags as they came.
  v1::TranslateResponse response;
  for (const v1::Input& input : request->inputs()) {
    response.add_results()->add_hypotheses()->set_text(input.text());
  }
  const json answer =
      json::parse(codec_->Finish({absl::OkStatus(), "id"}, &response).body);
  EXPECT_EQ(answer["translations"][0]["text"],
            "<x id=\"7\">Save</x><x/><xy>z</xy><x></x>");
  EXPECT_EQ(answer["translations"][1]["text"], "<x  translate=\"no\">u</x>");
}

TEST_F(DeeplTest, IgnoredTagsAreThoseOfTheMarkup) {
  const auto read = [this](const std::string& text, const char* format) {
    const auto request =
        Read(R"({"text": ")" + text + R"(", "target_lang": "DE", )" +
             R"("ignore_tags": "x", "tag_handling": ")" + format + R"("})");
    return request.ok() ? request->inputs(0).text() : "";
  };
  EXPECT_EQ(read("<!-- <x>a</x> --><X>b</X>", "html"),
            "<!-- <x>a</x> --><X  translate=\"no\">b</X>");
  EXPECT_EQ(read("<d><![CDATA[<x>a</x>]]><x y='>'>b</x></d>", "xml"),
            "<d><![CDATA[<x>a</x>]]><x  translate=\"no\" y='>'>b</x></d>");
  EXPECT_EQ(read("<x>a</y>", "xml"), "<x>a</y>");
}

TEST_F(DeeplTest, ListsOfTagsMustFitTheTexts) {
  // "par" ends sentences here, and "b" stands within one. "doc" parts no words.
  const auto read = [this](const std::string& lists) {
    return Read(R"({"text": "<doc><par>A <b>c</b>.</par> <par>d</par></doc>",)"
                R"("target_lang": "DE", "tag_handling": "xml", )" +
                lists + "}")
        .status();
  };
  for (const char* const lists :
       {R"("splitting_tags": ["par", "y"], "non_splitting_tags": "b")",
        R"("outline_detection": false, "splitting_tags": "par")",
        R"("splitting_tags": [], "non_splitting_tags": "",)"
        R"("outline_detection": "1")"}) {
    EXPECT_TRUE(read(lists).ok()) << read(lists);
  }
  for (const auto& [lists, name] :
       {std::pair(R"("splitting_tags": "b")", "splitting_tags"),
        std::pair(R"("non_splitting_tags": "par")", "non_splitting_tags"),
        std::pair(R"("outline_detection": "0")", "outline_detection")}) {
    EXPECT_THAT(read(lists), IsError(absl::StatusCode::kInvalidArgument, name));
  }
  // Without tag handling they say nothing.
  EXPECT_TRUE(Read(R"({"text": "<b>x</b>", "target_lang": "DE",)"
                   R"("splitting_tags": ["b"]})")
                  .ok());
  std::string many;
  for (int i = 0; i < 101; ++i) many += "x" + std::to_string(i) + ",";
  EXPECT_THAT(Read(R"({"text": "y", "target_lang": "DE", "ignore_tags": ")" +
                   many + "\"}")
                  .status(),
              IsError(absl::StatusCode::kInvalidArgument, "ignore_tags"));
}

TEST_F(DeeplTest, WhatWouldChangeTheAnswerIsRefusedByName) {
  for (const char* const member :
       {R"("formality": "more")", R"("context": "a menu")",
        R"("split_sentences": "words")", R"("tag_handling": "rtf")",
        R"("glossary_id": "1")", R"("unheard_of": 1)"}) {
    const json named = json::parse("{" + std::string(member) + "}");
    std::string name = named.begin().key();
    if (name == "glossary_id") name = "source_lang";  // which it needs
    EXPECT_THAT(Read(R"({"text": "<x>y</x>", "target_lang": "DE", )" +
                     std::string(member) + "}")
                    .status(),
                IsError(absl::StatusCode::kInvalidArgument, name))
        << member;
  }
  EXPECT_THAT(Read(R"({"text": "x"})").status(),
              IsError(absl::StatusCode::kInvalidArgument, "target_lang"));
  const Ending ending = {
      Read(R"({"text": "x", "target_lang": "DE", "formality": "less"})")
          .status(),
      "id"};
  const HttpAnswer failure = codec_->Finish(ending, nullptr);
  EXPECT_EQ(failure.status, 400);
  EXPECT_TRUE(json::parse(failure.body)["message"].is_string());
}

TEST_F(DeeplTest, LinesMayBeNoBorders) {
  const auto read = [&](const std::string& text,
                        const json& more = json::object()) {
    json body = {{"text", text},
                 {"target_lang", "DE"},
                 {"split_sentences", "nonewlines"}};
    body.update(more);
    const auto request = Read(body.dump());
    EXPECT_TRUE(request.ok()) << request.status();
    return request.ok() ? request->inputs(0).text() : "";
  };
  EXPECT_EQ(read("The house\nis  big.\r\nIt is\rold.\n"),
            "The house is  big. It is old.\n");
  EXPECT_EQ(read("\nOne\n \ntwo\n\n"), "\nOne\n \ntwo\n\n");
  EXPECT_EQ(read(""), "");
  // Lines of HTML are white space anyway, but for those of <pre>.
  EXPECT_EQ(read("a\nb", {{"tag_handling", "html"}}), "a\nb");
}

TEST_F(DeeplTest, AGlossaryIsKeptNamedAndDeleted) {
  HttpAnswer answer =
      Glossaries("POST", "/v2/glossaries",
                 R"({"name": "G", "source_lang": "EN", "target_lang": "de",
          "entries": "house\tBude\nIT\tEDV\n", "entries_format": "tsv"})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  const json made = json::parse(answer.body);
  EXPECT_EQ(made["entry_count"], 2);
  EXPECT_EQ(made["ready"], true);
  const std::string id = made["glossary_id"];
  EXPECT_EQ(json::parse(Glossaries("GET", "/v2/glossaries").body)["glossaries"],
            json::array({made}));
  EXPECT_EQ(json::parse(Glossaries("GET", "/v2/glossaries/" + id).body), made);
  answer = Glossaries("GET", "/v2/glossaries/" + id + "/entries");
  EXPECT_EQ(answer.body, "house\tBude\nIT\tEDV\n");
  EXPECT_THAT(answer.type, testing::StartsWith("text/tab-separated-values"));

  const auto with = [&](const char* from, const char* to) {
    return Read(json{
        {"text", "x"},
        {"source_lang", from},
        {"target_lang", to},
        {"glossary_id",
         id}}.dump());
  };
  const auto request = with("EN-GB", "DE");
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->options().glossary().terms_size(), 2);
  EXPECT_EQ(request->options().glossary().terms(0).target(), "Bude");
  EXPECT_THAT(with("DE", "EN").status(),
              IsError(absl::StatusCode::kInvalidArgument, "glossary_id"));

  EXPECT_EQ(Glossaries("DELETE", "/v2/glossaries/" + id).status, 204);
  EXPECT_EQ(Glossaries("GET", "/v2/glossaries/" + id).status, 404);
  EXPECT_TRUE(absl::IsNotFound(with("EN", "DE").status()));
}

TEST_F(DeeplTest, AGlossaryMayHaveSeveralPairsOfLanguages) {
  const std::string all = "/v3/glossaries";
  const auto dictionary = [](const char* from, const char* to,
                             const char* entries) {
    return json{
        {"source_lang", from}, {"target_lang", to}, {"entries", entries}};
  };
  const json body = {{"name", "G"},
                     {"dictionaries",
                      {dictionary("EN", "DE", "house\tBude\nIT\tEDV"),
                       dictionary("DE", "EN-US", "Bude\tshack")}}};
  HttpAnswer answer = Glossaries("POST", all, body.dump());
  ASSERT_EQ(answer.status, 201) << answer.body;
  const json made = json::parse(answer.body);
  const std::string one = all + "/" + made["glossary_id"].get<std::string>();
  EXPECT_EQ(
      made["dictionaries"],
      json::parse(
          R"([{"source_lang": "de", "target_lang": "en", "entry_count": 1},
              {"source_lang": "en", "target_lang": "de", "entry_count": 2}])"));
  EXPECT_EQ(json::parse(Glossaries("GET", all).body)["glossaries"],
            json::array({made}));
  EXPECT_EQ(json::parse(Glossaries("GET", one).body), made);

  // The other form has one pair, so it shows none of these.
  EXPECT_EQ(json::parse(Glossaries("GET", "/v2/glossaries").body)["glossaries"],
            json::array());
  const std::string old =
      "/v2/glossaries/" + made["glossary_id"].get<std::string>();
  EXPECT_EQ(Glossaries("GET", old).status, 400);

  // A translation takes the dictionary of its languages.
  const auto terms = [&](const char* from, const char* to) {
    return Read(json{{"text", "x"},
                     {"source_lang", from},
                     {"target_lang", to},
                     {"glossary_id", made["glossary_id"]}}
                    .dump());
  };
  EXPECT_EQ(terms("DE", "EN-GB")->options().glossary().terms(0).target(),
            "shack");
  EXPECT_EQ(terms("EN", "DE")->options().glossary().terms_size(), 2);
  EXPECT_THAT(terms("EN", "FR").status(),
              IsError(absl::StatusCode::kInvalidArgument, "glossary_id"));

  const auto entries = [&](const char* from, const char* to) {
    head_.query = [=]() -> std::vector<std::pair<std::string, std::string>> {
      return {{"source_lang", from}, {"target_lang", to}};
    };
    const HttpAnswer got = Glossaries("GET", one + "/entries");
    return got.status == 200
               ? json::parse(got.body)["dictionaries"][0]["entries"]
               : json(got.status);
  };
  EXPECT_EQ(entries("EN-GB", "DE"), "house\tBude\nIT\tEDV\n");
  EXPECT_EQ(entries("EN", "FR"), 404);

  // More rows, and another name.
  answer = Glossaries(
      "PATCH", one,
      json{
          {"name", "H"},
          {"dictionaries", {dictionary("EN", "DE", "IT\tEDV-Abteilung\na\tb")}}}
          .dump());
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["name"], "H");
  EXPECT_EQ(entries("EN", "DE"), "house\tBude\nIT\tEDV-Abteilung\na\tb\n");
  EXPECT_EQ(Glossaries("PATCH", one, R"({"name": "I"})").status, 200);
  EXPECT_EQ(entries("EN", "DE"), "house\tBude\nIT\tEDV-Abteilung\na\tb\n");

  // Other rows instead of the old ones, and rows for another pair.
  answer = Glossaries("PUT", one + "/dictionaries",
                      dictionary("EN", "DE", "c\td").dump());
  EXPECT_EQ(
      json::parse(answer.body),
      json::parse(
          R"({"source_lang": "en", "target_lang": "de", "entry_count": 1})"));
  EXPECT_EQ(entries("EN", "DE"), "c\td\n");
  EXPECT_EQ(Glossaries("PUT", one + "/dictionaries",
                       dictionary("EN", "FR", "c\te").dump())
                .status,
            200);
  EXPECT_EQ(entries("EN", "FR"), "c\te\n");
  EXPECT_EQ(Glossaries("DELETE", one + "/dictionaries").status, 204);
  EXPECT_EQ(Glossaries("DELETE", one + "/dictionaries").status, 404);
  EXPECT_EQ(entries("EN", "FR"), 404);

  // Paths that only look like parts of it do nothing.
  EXPECT_EQ(Glossaries("DELETE", one + "/entries").status, 404);
  EXPECT_EQ(Glossaries("PATCH", one + "/entries", "{}").status, 404);
  EXPECT_EQ(Glossaries("GET", one).status, 200);
  EXPECT_EQ(Glossaries("DELETE", one).status, 204);
  EXPECT_EQ(Glossaries("GET", one).status, 404);
  EXPECT_EQ(Glossaries("PATCH", one, R"({"name": "I"})").status, 404);
}

TEST_F(DeeplTest, AWrongDictionaryIsNamed) {
  const auto refused = [&](const char* body) {
    const HttpAnswer answer = Glossaries("POST", "/v3/glossaries", body);
    EXPECT_EQ(answer.status, 400) << body;
    return json::parse(answer.body)["message"].get<std::string>();
  };
  EXPECT_THAT(refused(R"({"name": "G"})"), testing::StartsWith("dictionaries"));
  EXPECT_THAT(refused(R"({"name": "G", "dictionaries": []})"),
              testing::StartsWith("dictionaries"));
  EXPECT_THAT(refused(R"({"name": "G", "dictionaries": {}})"),
              testing::StartsWith("dictionaries"));
  EXPECT_THAT(refused(R"({"dictionaries": []})"), testing::StartsWith("name"));
  const std::string two =
      R"({"source_lang": "en", "target_lang": "de", "entries": "a\tb"})";
  EXPECT_THAT(
      refused((R"({"name": "G", "dictionaries": [)" + two + "," + two + "]}")
                  .c_str()),
      testing::StartsWith("dictionaries[1]"));
  EXPECT_THAT(refused(R"({"name": "G", "dictionaries": [{"source_lang": "en",
                  "target_lang": "de", "entries": "a"}]})"),
              testing::StartsWith("dictionaries[0].entries"));
  EXPECT_THAT(refused(R"({"name": "G", "dictionaries": [{"target_lang": "de",
                  "entries": "a\tb"}]})"),
              testing::StartsWith("dictionaries[0].source_lang"));
  EXPECT_EQ(json::parse(Glossaries("GET", "/v3/glossaries").body)["glossaries"],
            json::array());
}

TEST_F(DeeplTest, TermsAreRowsOfTabsOrCommas) {
  const auto terms = [&](const std::string& entries, const char* format) {
    const HttpAnswer answer = Glossaries("POST", "/v2/glossaries",
                                         json{{"name", "G"},
                                              {"source_lang", "en"},
                                              {"target_lang", "de"},
                                              {"entries", entries},
                                              {"entries_format", format}}
                                             .dump());
    if (answer.status != 201) return std::to_string(answer.status);
    const std::string id = json::parse(answer.body)["glossary_id"];
    return Glossaries("GET", "/v2/glossaries/" + id + "/entries").body;
  };
  EXPECT_EQ(terms("a b\tc\r\n\nd\te", "tsv"), "a b\tc\nd\te\n");
  EXPECT_EQ(terms("\"a, \"\"b\"\"\",c,en,de\nd,e", "csv"),
            "a, \"b\"\tc\nd\te\n");
  for (const char* const wrong : {"", "a", "a\t", "\tb", "a\tb\tc"}) {
    EXPECT_EQ(terms(wrong, "tsv"), "400") << wrong;
  }
  for (const char* const wrong : {"a", "a,", ",b", "\"a", "\"a\""}) {
    EXPECT_EQ(terms(wrong, "csv"), "400") << wrong;
  }
  EXPECT_EQ(terms("a\tb", "xls"), "400");
  // No model could write these, so they are refused before they are kept.
  for (const std::string& wrong : {std::string(" a"), std::string(257, 'a')}) {
    EXPECT_EQ(terms(wrong + "\tb", "tsv"), "400") << wrong;
  }
}

TEST_F(DeeplTest, ADocumentIsAFormWithAFile) {
  const std::string target = Field("target_lang", "DE");
  EXPECT_TRUE(ReadDocument(Form("a.docx", "x", target)).ok());
  EXPECT_EQ(codec_->kept_bytes(), 1);
  EXPECT_TRUE(ReadDocument(Form("x", "x",
                                target + Field("filename", "b.html") +
                                    Field("output_format", "HTM") +
                                    Field("formality", "default")))
                  .ok());
  for (const auto& [fields, name] :
       {std::pair<std::string, std::string>{"", "target_lang"},
        {target + Field("formality", "more"), "formality"},
        {target + Field("output_format", "pdf"), "output_format"},
        {target + Field("filename", "a.exe"), "file"},
        {target + Field("glossary_id", "1"), "source_lang"},
        {target + Field("unheard_of", "1"), "unheard_of"}}) {
    EXPECT_THAT(ReadDocument(Form("a.docx", "x", fields)),
                IsError(absl::StatusCode::kInvalidArgument, name));
  }
  EXPECT_THAT(ReadDocument("--x" + target.substr(5) + "\r\n--x--\r\n"),
              IsError(absl::StatusCode::kInvalidArgument, "file"));
  content_type_ = "application/json";
  EXPECT_TRUE(absl::IsUnimplemented(
      NewDeeplDocumentCodec(environment_, head_)->Check(head_)));
}

TEST_F(DeeplTest, ADocumentIsFoundByItsKey) {
  head_.path = "/v2/document/ab/result";
  codec_ = NewDeeplDocumentResultCodec(environment_, head_);
  v1::ListModelsRequest request;
  EXPECT_TRUE(codec_->Read(R"({"document_key": "cd"})", &request).ok());
  EXPECT_THAT(codec_->Read("{}", &request),
              IsError(absl::StatusCode::kInvalidArgument, "document_key"));
}

TEST_F(DeeplTest, TellsLanguagesAndUsage) {
  const v1::ListModelsResponse models = Models();
  const auto languages = [&](const char* type) {
    head_.query = [type] {
      return std::vector<std::pair<std::string, std::string>>{{"type", type}};
    };
    const auto codec = NewDeeplLanguagesCodec(environment_, head_);
    v1::ListModelsRequest request;
    return codec->Finish({codec->Read("", &request), "id"}, &models);
  };
  EXPECT_EQ(json::parse(languages("source").body), json::parse(R"([
      {"language": "DE", "name": "German"},
      {"language": "EN", "name": "English"}])"));
  EXPECT_EQ(json::parse(languages("target").body)[0]["supports_formality"],
            false);
  EXPECT_EQ(languages("both").status, 400);

  const auto usage = NewDeeplUsageCodec(environment_, head_);
  EXPECT_GT(json::parse(usage->Finish({absl::OkStatus(), "id"}, nullptr)
                            .body)["character_limit"],
            0);
  const auto pairs = NewDeeplGlossaryPairsCodec(environment_, head_);
  EXPECT_EQ(json::parse(pairs->Finish({absl::OkStatus(), "id"}, &models)
                            .body)["supported_languages"]
                .size(),
            2u);
}

}  // namespace
}  // namespace trivium
