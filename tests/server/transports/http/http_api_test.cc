// The HTTP transport with clients of every kind. A puppet answers in place of
// the models.
#include "server/transports/http/http_api.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/server/transports/http/http_api_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kStream[] = "Content-Type: application/connect+json\r\n";

std::string Enveloped(const std::string& message) {
  return std::string("\0\0\0\0", 4) + static_cast<char>(message.size()) +
         message;
}

TEST_F(HttpApiTest, AnswersACallOfConnect) {
  Start();
  const HttpResult answer =
      Post(kTranslate, kAbc,
           "Content-Type: application/json\r\nX-Request-Id: mine\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.headers, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(answer.headers, HasSubstr("x-request-id: mine"));
  EXPECT_EQ(json::parse(answer.body)["results"][0]["hypotheses"][0]["text"],
            "abc");
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("trivium_requests_total{code=\"OK\",model="
                        "\"translator\",rpc=\"Translate\"} 1"));
}

// Models from English to German, French to English and German to French.
class LanguagesTest : public HttpApiTest {
 protected:
  using Targets = std::map<std::string, std::vector<std::string>>;

  LanguagesTest() {
    Add("fr-en", "fr", "en");
    Add("de-fr", "de", "fr");
  }
  void Add(const std::string& name, const std::string& source,
           const std::string& target) {
    auto model = std::make_unique<PuppetModel>();
    model->set_languages({source}, {target});
    environment_.models.Add(ServedPuppet(name, std::move(model))).IgnoreError();
  }
  Targets Get() {
    Start();
    const HttpResult answer = HttpGet(api_->port(), "/languages");
    EXPECT_EQ(answer.status, 200) << answer.body;
    Targets targets;
    for (const json& language : json::parse(answer.body)) {
      targets[language["code"]] = language["targets"];
    }
    return targets;
  }
  const Targets pairs_ = {{"de", {"fr"}}, {"en", {"de"}}, {"fr", {"en"}}};
};

TEST_F(LanguagesTest, ListsTheModelsLanguages) { EXPECT_EQ(Get(), pairs_); }

TEST_F(LanguagesTest, ListsLanguagesReachedThroughThePivot) {
  environment_.pivot_language = "en";
  Targets targets = pairs_;
  targets["fr"] = {"de", "en"};
  // No path leads from German to English.
  EXPECT_EQ(Get(), targets);
}

TEST_F(LanguagesTest, ListsNoMoreIfNoModelKnowsThePivot) {
  environment_.pivot_language = "ru";
  EXPECT_EQ(Get(), pairs_);
}

TEST_F(HttpApiTest, LibreTranslatesRoutesAcceptForms) {
  Start();
  const std::string type = "Content-Type: application/x-www-form-urlencoded";
  const std::string form = "q=a+b%20c&source=en&target=de&alternatives=0";
  const HttpResult answer = Post("/translate", form, type + "\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["translatedText"], "a b c");
  EXPECT_EQ(Post("/detect", "q=The+house+is+big.", type + "\r\n").status, 200);
  // Other kinds of clients send JSON.
  EXPECT_EQ(Post("/embed", "inputs=a", type + "\r\n").status, 415);
  EXPECT_EQ(Post("/translate", form + "&q=again", type + "\r\n").status, 400);
  EXPECT_EQ(Post("/translate", form + "&more=1", type + "\r\n").status, 400);
}

TEST_F(HttpApiTest, RefusesFormsOfWebPages) {
  Start();
  const std::string form = "q=abc&source=en&target=de";
  for (const char* browsers :
       {"Origin: https://example.org\r\n", "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n"}) {
    for (const char* type : {"application/x-www-form-urlencoded",
                             "multipart/form-data; boundary=b"}) {
      for (const char* path : {"/translate", "/detect", "/translate_file"}) {
        const HttpResult refused =
            Post(path, form,
                 std::string("Content-Type: ") + type + "\r\n" + browsers);
        EXPECT_THAT(refused.status, testing::AnyOf(403, 415))
            << path << type << browsers;
        EXPECT_TRUE(json::parse(refused.body).contains("error"));
      }
    }
  }
  EXPECT_TRUE(batcher_.submitted().empty());
}

TEST_F(HttpApiTest, TranslatesFilesAndServesTheResults) {
  Start();
  const auto post = [this](const std::string& name, const std::string& text,
                           const std::string& more = "",
                           const std::string& headers = "") {
    const auto field = [](const std::string& head, const std::string& value) {
      return "--b\r\nContent-Disposition: form-data; name=" + head +
             "\r\n\r\n" + value + "\r\n";
    };
    return Post("/translate_file",
                field("source", "en") + field("target", "de") +
                    field("\"file\"; filename=\"" + name + "\"", text) + more +
                    "--b--\r\n",
                "Content-Type: multipart/form-data; boundary=b\r\n" + headers);
  };
  const auto address = [&post](const std::string& headers) {
    return json::parse(post("a.txt", "abc", "", headers).body)
        .at("translatedFileUrl")
        .get<std::string>();
  };
  const HttpResult answer = post("my \xc3\xa4 page.html", "<p>abc</p>\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto url =
      json::parse(answer.body)["translatedFileUrl"].get<std::string>();
  EXPECT_THAT(url,
              testing::MatchesRegex(
                  "http://localhost/download_file/[0-9a-f]+.my____page.html"));
  const std::string path = url.substr(url.find("/download_file"));
  const HttpResult file = HttpGet(api_->port(), path);
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "<p>abc</p>\r\n");
  EXPECT_THAT(file.headers, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(file.headers,
              HasSubstr("attachment; filename=\"my____page.html"));
  EXPECT_THAT(file.headers, HasSubstr("nosniff"));
  EXPECT_EQ(HttpGet(api_->port(), "/download_file/0.a.txt").status, 404);

  // A proxy says by which address the client came.
  EXPECT_THAT(address("X-Forwarded-Proto: https\r\n"
                      "X-Forwarded-Prefix: /libre/\r\n"),
              testing::StartsWith("https://localhost/libre/download_file/"));
  for (const char* bad : {"//evil.example", "libre", "/a\"b", "/"}) {
    EXPECT_THAT(address(std::string("X-Forwarded-Prefix: ") + bad + "\r\n"),
                testing::StartsWith("http://localhost/download_file/"))
        << bad;
  }

  // Documents in several texts.
  const std::string cue = "1\r\n00:00:01,000 --> 00:00:02,000\r\n";
  const HttpResult subtitles = post("a.srt", cue + "abc & <i>d</i>\r\n");
  ASSERT_EQ(subtitles.status, 200) << subtitles.body;
  const auto srt =
      json::parse(subtitles.body)["translatedFileUrl"].get<std::string>();
  const HttpResult made =
      HttpGet(api_->port(), srt.substr(srt.find("/download_file")));
  EXPECT_EQ(made.body, cue + "abc & <i>d</i>\r\n");
  EXPECT_THAT(made.headers, HasSubstr("application/x-subrip"));
  EXPECT_EQ(post("a.srt", "\r\n").status, 200);
  EXPECT_EQ(post("a.srt", "abc").status, 400);
  EXPECT_EQ(post("a.docx", "abc").status, 400);
  EXPECT_EQ(post("a.txt", "\xff").status, 400);
  const HttpResult longer =
      post("a.txt", "\n" + std::string((1 << 20) + 1, 'a'));
  EXPECT_EQ(longer.status, 400);
  EXPECT_THAT(json::parse(longer.body).at("error").get<std::string>(),
              testing::StartsWith("file: line 2: has 1048577 bytes"));
  EXPECT_EQ(post("a.txt", "abc", "--b\r\nnothing\r\n\r\n\r\n").status, 400);
  EXPECT_EQ(Post("/translate_file", "{}").status, 415);
}

TEST_F(HttpApiTest, ADocumentOfDeepLsShapeIsFetchedOnceItIsDone) {
  Start();
  const std::string form =
      "--b\r\nContent-Disposition: form-data; name=\"target_lang\"\r\n\r\nDE"
      "\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; "
      "filename=\"a \xc3\xa4.html\"\r\n\r\n<p>abc</p>\r\n--b--\r\n";
  const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
  EXPECT_EQ(Post("/v2/document", form, type + "Origin: null\r\n").status, 403);
  EXPECT_EQ(Post("/v2/document", "{}").status, 415);
  batcher_.Hold();
  const HttpResult sent = Post("/v2/document", form, type);
  ASSERT_EQ(sent.status, 200) << sent.body;
  const json ticket = json::parse(sent.body);
  const std::string path =
      "/v2/document/" + ticket["document_id"].get<std::string>();
  const std::string key = json{{"document_key", ticket["document_key"]}}.dump();
  EXPECT_EQ(Post(path + "/result", key).status, 503);
  EXPECT_NE(json::parse(Post(path, key).body)["status"], "done");
  EXPECT_EQ(Post(path, R"({"document_key": "0"})").status, 404);
  batcher_.Release();
  std::string status;
  while (status != "done" && status != "error") {
    status = json::parse(Post(path, key).body)["status"];
  }
  EXPECT_EQ(status, "done");
  const HttpResult made = Post(path + "/result", key);
  EXPECT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.body, "<p>abc</p>");
  EXPECT_THAT(made.headers, HasSubstr("filename=\"a___.html\""));
  EXPECT_THAT(made.headers, HasSubstr("nosniff"));
  EXPECT_EQ(Post(path + "/result", key).status, 404);
  EXPECT_EQ(Post(path, key).status, 404);
}

TEST_F(HttpApiTest, AHeaderSetsThePriority) {
  Start();
  const std::string json_type = "Content-Type: application/json\r\n";
  EXPECT_EQ(
      Post(kTranslate, kAbc, json_type + "Trivium-Priority: batch\r\n").status,
      200);
  const HttpResult refused =
      Post(kTranslate, kAbc, json_type + "Trivium-Priority: first\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(MessageOf(refused), ErrorAt("'first'"));
}

TEST_F(HttpApiTest, AConnectionServesSeveralRequests) {
  Start();
  HttpSocket socket(api_->port());
  std::string request = PostText(kTranslate, kAbc);
  request.erase(request.find("Connection: close\r\n"), 19);
  socket.Send(request + request);
  socket.Send(PostText(kTranslate, kAbc));
  const std::string all = socket.Receive();
  int answers = 0;
  for (size_t at = 0; (at = all.find("HTTP/1.1 200", at)) != all.npos; ++at) {
    ++answers;
  }
  EXPECT_EQ(answers, 3);
}

TEST_F(HttpApiTest, RefusesInvalidRequests) {
  Start();
  EXPECT_EQ(
      Send("GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
          .status,
      404);
  const HttpResult get =
      Send("GET /embed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(get.status, 405);
  EXPECT_THAT(get.headers, HasSubstr("Allow: POST"));
  EXPECT_EQ(Send("POST /embed HTTP/1.1\r\n\r\n").status, 400);  // no Host
  // The version of HTTP to answer in is not known.
  EXPECT_NE(Send("nonsense\r\n\r\n").status, 200);
  EXPECT_NE(Send("\x16\x03\x01\r\n\r\n").status, 200);
  EXPECT_EQ(Post(kTranslate, kAbc, "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(Post("/embed", kAbc, "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(Post(kTranslate, kAbc,
                 "Content-Type: application/json\r\nContent-Encoding: br\r\n")
                .status,
            415);
  EXPECT_EQ(Post(kTranslate, kAbc,
                 "Content-Type: application/json; charset=latin1\r\n")
                .status,
            415);
  EXPECT_EQ(Post(kTranslate, kAbc,
                 "Content-Type: application/json; charset=UTF-8\r\n")
                .status,
            200);
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
}

// Otherwise what follows could be a request that a proxy in front has not seen.
TEST_F(HttpApiTest, ClosesConnectionsWhoseRequestsHaveTwoEnds) {
  Start();
  const std::string hidden =
      "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (const std::string& headers :
       {std::string("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        "Content-Length: 5\r\nContent-Length: " +
            std::to_string(5 + hidden.size()) + "\r\n",
        std::string("Content-Length : 5\r\n"),
        std::string("Transfer-Encoding: x, chunked\r\n"),
        std::string("Content-Length: 9223372036854775809\r\n"),
        std::string("Content-Length: 99999999999999999999999\r\n"),
        std::string("Content-Length:\r\n 5\r\n"),
        std::string("X-A: b\r\n\tContent-Length: 5\r\n"),
        std::string("X-A: b\nContent-Length: 5\r\n"),
        std::string("X-A: b\rContent-Length: 5\r\n"),
        std::string("X-A: \0\r\nContent-Length: 5\r\n", 27),
        std::string("Content-Length\r\n"),
        std::string("X-Trivium-Refused: 200 no\r\nContent-Length: 5\r\n"),
        std::string("Transfer-Encoding: chunked\r\n\n")}) {
    HttpSocket socket(api_->port());
    socket.Send("POST /embed HTTP/1.1\r\nHost: x\r\n" + headers +
                "Content-Type: application/json\r\n\r\n0\r\n\r\n" + hidden);
    const std::string answers = socket.Receive();
    EXPECT_THAT(answers, StartsWith("HTTP/1.1 400")) << headers;
    EXPECT_EQ(answers.find("HTTP/1.1 200"), answers.npos) << answers;
  }
}

// A reader that is content with LF ends such bodies elsewhere.
TEST_F(HttpApiTest, ClosesConnectionsWhoseChunksHaveTwoEnds) {
  Start();
  const std::string hidden =
      "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (const char* const chunks :
       {"2\n{}\r\n0\r\n\r\n", "2\r\n{}\n0\r\n\r\n", "2\r\n{}\r\n0\n\r\n",
        "2\r\n{}\r\n0\r\n\n", "2\r\n{}\r\n0\r\nA: b\n\r\n",
        "2;a=\nb\r\n{}\r\n0\r\n\r\n", "2\r\n{}}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n", " 2\r\n{}\r\n0\r\n\r\n",
        "2 \r\n{}\r\n0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n",
        "8000000000000002\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\n B: c\r\n\r\n"}) {
    HttpSocket socket(api_->port());
    socket.Send(
        "POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
        "chunked\r\nContent-Type: application/json\r\n\r\n" +
        std::string(chunks) + hidden);
    const std::string answers = socket.Receive();
    EXPECT_THAT(answers, StartsWith("HTTP/1.1 400")) << chunks;
    EXPECT_THAT(answers, HasSubstr("invalid_argument")) << chunks;
    EXPECT_EQ(answers.find("HTTP/1.1 200"), answers.npos) << answers;
  }
  Stop();
  EXPECT_EQ(overload_.account()->total(), 0);
}

// The refusal waits for its turn behind the call before it.
TEST_F(HttpApiTest, ARefusedRequestFollowsTheAnswerBeforeIt) {
  Start();
  HttpSocket socket(api_->port());
  std::string first = PostText(kTranslate, kAbc);
  first.erase(first.find("Connection: close\r\n"), 19);
  socket.Send(first + "GET / HTTP/1.1\nHost: x\r\n\r\n");
  const std::string answers = socket.Receive();
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 400"));
}

TEST_F(HttpApiTest, AnswersAThousandQueryArguments) {
  Start();
  std::string query = "?";
  for (int i = 0; i < 1000; ++i) query += "a" + std::to_string(i) + "=%20&";
  EXPECT_EQ(HttpGet(api_->port(), "/v1/models" + query).status, 200);
}

// Up to the limit the library has memory for a head.
TEST_F(HttpApiTest, LongHeadsAreReadOrRefused) {
  Start();
  const auto status = [&](size_t size, size_t each) {
    std::string head =
        "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: "
        "close\r\n";
    while (head.size() + each < size) {
      head += "X-A: " + std::string(each - 7, 'a') + "\r\n";
    }
    return Send(head + "\r\n").status;
  };
  for (size_t size = 1000; size <= 16000; size += 1000) {
    EXPECT_EQ(status(size, 500), 200) << size;
  }
  EXPECT_EQ(status(20000, 500), 431);
  EXPECT_EQ(status(16000, 8), 431);  // 2,000 headers
}

// A proxy's rules for the beginning of a path hold here, too.
TEST_F(HttpApiTest, PathsAreComparedAsTheyAreWritten) {
  Start();
  const auto status = [&](const std::string& path) {
    return Send("GET " + path +
                " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .status;
  };
  EXPECT_EQ(status("/v1/models"), 200);
  EXPECT_EQ(status("/v1/models/translator"), 200);
  EXPECT_EQ(status("/v1/models/%74ranslator"), 200);
  EXPECT_EQ(status("/v1/models?a=%20"), 200);
  for (const char* const path :
       {"/%76%31/models", "/v1%2Fmodels", "/v1/models%2Ftranslator",
        "/v1/%6Dodels/translator", "/v1/models/translator%00",
        "/v1/models/translator%0a", "/v1/models/%zz", "/%68ealth"}) {
    EXPECT_EQ(status(path), 404) << path;
  }
}

TEST_F(HttpApiTest, RefusesNamesThatAWebPageMayHaveGivenTheServer) {
  HttpApi::Options options;
  options.allowed_hosts = {"good.example"};
  Start(options);
  const auto status = [&](const std::string& host) {
    return Send("GET /v1/models HTTP/1.1\r\nHost: " + host +
                "\r\nConnection: close\r\n\r\n")
        .status;
  };
  for (const char* const host : {"127.0.0.1:80", "[::1]", "localhost:8080",
                                 "trivium", "Good.Example:1"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  EXPECT_EQ(status("evil.example"), 403);
  EXPECT_EQ(status("127.0.0.1.evil.example"), 403);
  EXPECT_EQ(status("a b"), 403);
}

TEST_F(HttpApiTest, AnswersHeadLikeGet) {
  Start();
  const HttpResult head =
      Send("HEAD /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_THAT(head.headers, HasSubstr("Content-Length: "));
  EXPECT_EQ(Send("HEAD /embed HTTP/1.1\r\nHost: x\r\nConnection: "
                 "close\r\n\r\n")
                .status,
            405);
}

TEST_F(HttpApiTest, HealthTellsWhetherTheServerIsReady) {
  const std::string get =
      "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  Start();
  calls_.SetReady(false);
  EXPECT_EQ(Send(get + "\r\n").status, 503);
  calls_.SetReady(true);
  const HttpResult ready = Send(get + "\r\n");
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body, R"({"status":"ok"})");
  EXPECT_EQ(Post("/health", kAbc).status, 405);
  EXPECT_THAT(metrics_.Text(), testing::Not(HasSubstr("/health")));
}

TEST_F(HttpApiTest, ErrorsNameFieldsAsTheirClientsDo) {
  Start();
  const HttpResult none = Post("/v1/embeddings", R"({"input":[]})");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(json::parse(none.body)["error"]["param"], "input");
  const HttpResult language =
      Post("/translate", R"({"q":"a","source":"en","target":"xx"})");
  EXPECT_EQ(language.status, 400);
  EXPECT_THAT(json::parse(language.body)["error"].get<std::string>(),
              ErrorAt("target: "));
  const json type = json::parse(
      Post("/v1/embeddings", "a", "Content-Type: text/plain\r\n").body);
  EXPECT_EQ(type["error"]["type"], "invalid_request_error");
}

TEST_F(HttpApiTest, HeadersWithoutEndAreCutOff) {
  Start();
  HttpSocket socket(api_->port());
  socket.Send("POST /embed HTTP/1.1\r\nHost: x\r\n");
  size_t sent = 0;
  while (sent < 64 << 20 &&
         socket.Send("X-A: " + std::string(1000, 'a') + "\r\n")) {
    sent += 1000;
  }
  EXPECT_LT(sent, 64 << 20);
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
}

TEST_F(HttpApiTest, LargeBodiesAreRefusedByTheirLength) {
  environment_.limits.max_request_bytes = 1000;
  Start();
  const HttpResult large = Post(kTranslate, std::string(2000, ' '));
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(MessageOf(large), ErrorAt("1000"));
  // The server does not wait for bytes that are not sent.
  const char* const head =
      "POST /embed HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(Send(std::string(head) +
                 "Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n")
                .status,
            413);
  EXPECT_EQ(
      Send(std::string(head) + "Content-Length: 999999999999\r\n\r\n").status,
      413);
  // The head of this request does not tell the length of the body.
  std::string chunks =
      std::string(head) +
      "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    chunks += "200\r\n" + std::string(0x200, ' ') + "\r\n";
  }
  EXPECT_EQ(Send(chunks + "0\r\n\r\n").status, 413);
  Stop();
  EXPECT_EQ(overload_.account()->total(), 0);
}

TEST_F(HttpApiTest, EndsRequestsThatAreSentTooSlowly) {
  HttpApi::Options options;
  options.request_timeout = absl::Milliseconds(100);
  options.idle_timeout = absl::Milliseconds(100);
  Start(options);
  // Each connection is closed, although the client would send on.
  EXPECT_EQ(HttpSocket(api_->port()).Receive(), "");
  HttpSocket head(api_->port());
  head.Send("POST /embed HTTP/1.1\r\nHost:");
  while (head.Send("x")) {
  }
  HttpSocket body(api_->port());
  body.Send(
      "POST /embed HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 4000000\r\n\r\n");
  while (body.Send(" ")) {
  }
}

TEST_F(HttpApiTest, CallsMayTakeLongerThanRequests) {
  HttpApi::Options options;
  options.request_timeout = options.idle_timeout = absl::Milliseconds(300);
  Start(options);
  batcher_.Hold();
  HttpSocket working(api_->port());
  working.Send(PostText(kTranslate, kAbc));
  batcher_.WaitForSubmitted(1);
  // An idle connection ends meanwhile.
  EXPECT_EQ(HttpSocket(api_->port()).Receive(), "");
  batcher_.Release();
  EXPECT_EQ(ParseHttpResult(working.Receive()).status, 200);
}

TEST_F(HttpApiTest, EvictsTheConnectionIdleTheLongest) {
  HttpApi::Options options;
  options.max_connections = 4;  // two of a client
  Start(options);
  std::string request = PostText(kTranslate, kAbc);
  request.erase(request.find("Connection: close\r\n"), 19);
  const auto use = [&request](HttpSocket* socket) {
    socket->Send(request);
    return socket->ReceiveSome();
  };
  HttpSocket first(api_->port());
  EXPECT_THAT(use(&first), StartsWith("HTTP/1.1 200"));
  HttpSocket second(api_->port());
  EXPECT_THAT(use(&second), StartsWith("HTTP/1.1 200"));
  HttpSocket third(api_->port());
  EXPECT_THAT(use(&third), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(first.Receive(), "");
  // Connections in use stay.
  batcher_.Hold();
  second.Send(PostText(kTranslate, kAbc));
  third.Send(PostText(kTranslate, kAbc));
  batcher_.WaitForSubmitted(5);
  EXPECT_EQ(HttpSocket(api_->port()).Receive(), "");
  batcher_.Release();
  EXPECT_EQ(ParseHttpResult(second.Receive()).status, 200);
  EXPECT_EQ(ParseHttpResult(third.Receive()).status, 200);
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_connections_ended_total{reason=\"evicted\"} 1"));
}

TEST_F(HttpApiTest, SlowRequestsOfOneClientMakeRoomForAnother) {
  constexpr int kSlow = 20;
  HttpApi::Options options;
  options.max_connections = 2 * kSlow;  // all of this address
  environment_.limits.client_key_header = "x-client";
  Start(options);
  std::vector<HttpSocket> slow;
  for (int i = 0; i < kSlow; ++i) {
    slow.emplace_back(api_->port())
        .Send(
            "POST /embed HTTP/1.1\r\nHost: x\r\nx-client: slow\r\n"
            "Content-Type: application/json\r\nExpect: 100-continue\r\n"
            "Content-Length: 100\r\n\r\n");
    ASSERT_THAT(slow.back().ReceiveSome(), StartsWith("HTTP/1.1 100"));
  }
  // It counts as slow after a second.
  while (Post(kTranslate, kAbc).status != 200) {
  }
  EXPECT_EQ(slow[0].Receive(), "");
  EXPECT_TRUE(slow[1].Send(" "));
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_connections_ended_total{reason=\"evicted\"} 1"));
}

TEST_F(HttpApiTest, DisconnectingCancelsTheCall) {
  Start();
  batcher_.Hold();
  {
    HttpSocket unary(api_->port());
    unary.Send(PostText(kTranslate, kAbc));
    batcher_.WaitForSubmitted(1);
  }
  batcher_.WaitForDropped(1);
  {
    HttpSocket stream(api_->port());
    stream.Send(
        PostText(kGenerate, Enveloped(R"({"input":{"text":"a"}})"), kStream));
    batcher_.WaitForSubmitted(2);
  }
  batcher_.WaitForDropped(2);
  batcher_.Release();
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
}

TEST_F(HttpApiTest, EndsAConnectionThatDoesNotReadItsAnswer) {
  HttpApi::Options options;
  options.stall_timeout = absl::Milliseconds(100);
  environment_.limits.max_response_bytes = 64 << 20;
  Start(options);
  HttpSocket unread(api_->port());
  // Answers are far larger than sockets hold: a hundred times their requests.
  const std::string text(40'000, 'a');
  std::string request = PostText("/tokenize", R"({"inputs":")" + text + "\"}");
  request.erase(request.find("Connection: close\r\n"), 19);
  int sent = 0;
  while (sent < 1000 && unread.Send(request)) ++sent;
  EXPECT_LT(sent, 1000);
  Stop();
  EXPECT_EQ(overload_.account()->total(), 0);
}

TEST_F(HttpApiTest, RefusalsTellWhenToRetry) {
  Start();
  batcher_.RefuseBeforehand({absl::ResourceExhaustedError("too much to do")});
  for (const char* path : {kTranslate, "/translate"}) {
    const HttpResult answer =
        Post(path, R"({"q":"a","source":"en","target":"de"})");
    EXPECT_EQ(answer.status, 429);
    EXPECT_THAT(answer.headers, HasSubstr("Retry-After: 1"));
    EXPECT_THAT(answer.body, HasSubstr("too much to do"));
  }
  EXPECT_THAT(Post(kTranslate, kAbc).body, HasSubstr("google.rpc.RetryInfo"));
}

TEST_F(HttpApiTest, RefusesRequestsWithoutMemory) {
  Start();
  memory_ = int64_t{1} << 30;
  overload_.Look();
  const HttpResult answer = Post(kTranslate, kAbc);
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(MessageOf(answer), ErrorAt("memory"));
  memory_ = 0;
  overload_.Look();
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
}

TEST_F(HttpApiTest, ReservesTheMemoryThatParsingJsonMayNeed) {
  Start();
  const std::string body = R"({"inputs":[{"text":")" +
                           std::string(10'000, 'a') +
                           R"("}],"options":{"truncate":true}})";
  // There is room for the request, but not for its JSON values.
  memory_ = static_cast<int64_t>(OverloadManager::kRefuseAllAt * (1 << 30)) -
            6 * static_cast<int64_t>(body.size());
  overload_.Look();
  EXPECT_EQ(Post(kTranslate, body).status, 429);
  memory_ -= 12 * static_cast<int64_t>(body.size());
  overload_.Look();
  EXPECT_EQ(Post(kTranslate, body).status, 200);
}

TEST_F(HttpApiTest, FieldsAreCountedBeforeTheyAreParsed) {
  Start();
  std::string body;
  for (int i = 0; i < 300'000; ++i) body += std::string("\x12\0", 2);
  const HttpResult answer =
      Post(kTranslate, body, "Content-Type: application/proto\r\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(MessageOf(answer), ErrorAt("fields"));
}

TEST_F(HttpApiTest, ErrorsNameLongKeysByTheirBeginning) {
  Start();
  const HttpResult answer =
      Post("/v1/completions", R"({"model":"translator","prompt":"a",)"
                              R"("logit_bias":{")" +
                                  std::string(100'000, 'k') + R"(":1}})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(json::parse(answer.body)["error"]["message"].get<std::string>(),
              ErrorAt("logit_bias[kkk"));
  EXPECT_LT(answer.body.size(), 1000);
}

TEST_F(HttpApiTest, SmallRequestsDoNotWaitForOthersLargeOnes) {
  Start();
  memory_ = int64_t{800} << 20;
  overload_.Look();
  // Other clients are sending these bytes.
  overload_.account()->Add(Held::kIncoming, 1 << 20);
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
  const std::string large(2 * OverloadManager::kSmallRequest, 'a');
  const HttpResult answer =
      Post(kTranslate, R"({"inputs":[{"text":")" + large + R"("}]})");
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(MessageOf(answer), ErrorAt("memory"));
  overload_.account()->Add(Held::kIncoming, -(1 << 20));
}

TEST_F(HttpApiTest, FollowsConnectsTimeout) {
  Start();
  const std::string type = "Content-Type: application/json\r\n";
  batcher_.Hold();
  const HttpResult late =
      Post(kTranslate, kAbc, type + "Connect-Timeout-Ms: 1\r\n");
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(json::parse(late.body)["code"], "deadline_exceeded");
  batcher_.Release();
  EXPECT_EQ(
      Post(kTranslate, kAbc, type + "Connect-Timeout-Ms: 60000\r\n").status,
      200);
  for (const char* bad : {"-1", "x", "1.5", "12345678901"}) {
    const HttpResult answer =
        Post(kTranslate, kAbc, type + "Connect-Timeout-Ms: " + bad + "\r\n");
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_THAT(MessageOf(answer), ErrorAt("Connect-Timeout-Ms"));
  }
}

// A prompt whose answer is a stream of events.
std::string StreamedPrompt() {
  return PostText("/v1/completions", R"({"prompt":"abc","stream":true})",
                  "Content-Type: application/json\r\n");
}

TEST_F(HttpApiTest, TheHeadOfAStreamFollowsAdmission) {
  Start();
  batcher_.Hold();
  HttpSocket socket(api_->port());
  socket.Send(StreamedPrompt());
  // The model has not begun.
  const std::string head = socket.ReceiveSome();
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  EXPECT_THAT(head, Not(HasSubstr("data:")));
  batcher_.Release();
  EXPECT_THAT(socket.Receive(), HasSubstr("data: [DONE]"));
}

TEST_F(HttpApiTest, AFailureAfterTheHeadIsAnEvent) {
  Start();
  batcher_.Hold();
  HttpSocket socket(api_->port());
  socket.Send(StreamedPrompt());
  EXPECT_THAT(socket.ReceiveSome(), StartsWith("HTTP/1.1 200 "));
  batcher_.Fail(absl::InternalError("the engine failed"));
  batcher_.Release();
  const std::string rest = socket.Receive();
  EXPECT_THAT(rest, HasSubstr("data: {\"error\""));
  EXPECT_THAT(rest, Not(HasSubstr("[DONE]")));
}

TEST_F(HttpApiTest, OllamasStreamsAreLines) {
  Start();
  const std::string prompt = PostText("/api/generate", R"({"prompt":"abc"})",
                                      "Content-Type: application/json\r\n");
  const HttpResult answer = Send(prompt);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, HasSubstr("Content-Type: application/x-ndjson"));
  std::string text;
  json line;
  std::istringstream lines(answer.body);
  for (std::string one; std::getline(lines, one);) {
    line = json::parse(one);
    text += line["response"];
  }
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(line["done"], true);
  EXPECT_THAT(answer.body, EndsWith("}\n"));
  batcher_.Hold();
  HttpSocket socket(api_->port());
  socket.Send(prompt);
  EXPECT_THAT(socket.ReceiveSome(), StartsWith("HTTP/1.1 200 "));
  batcher_.Fail(absl::InternalError("the engine failed"));
  batcher_.Release();
  const std::string rest = socket.Receive();
  EXPECT_THAT(rest, HasSubstr("{\"error\":\""));
  EXPECT_THAT(rest, Not(HasSubstr("done")));
}

TEST_F(HttpApiTest, PathsThatOllamaHasAndThisHasNotSaySo) {
  Start();
  for (const char* path : {"/api/pull", "/api/push", "/api/create", "/api/copy",
                           "/api/blobs/sha256:00"}) {
    const HttpResult answer = Post(path, R"({"model":"llama3.2"})");
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(json::parse(answer.body)["error"].get<std::string>(),
                HasSubstr("--model"))
        << path;
  }
  const HttpResult removal = Send(
      "DELETE /api/delete HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(removal.status, 404);
  EXPECT_THAT(removal.body, HasSubstr("--model"));
}

TEST_F(HttpApiTest, AStreamThatIsNotAdmittedHasAStatus) {
  Start();
  batcher_.Refuse({absl::ResourceExhaustedError("the queue is full")});
  const HttpResult refused = Send(StreamedPrompt());
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_TRUE(json::accept(refused.body)) << refused.body;
}

TEST_F(HttpApiTest, SilentStreamsAreKeptAliveByComments) {
  HttpApi::Options options;
  options.keep_alive = absl::Milliseconds(30);
  Start(options);
  batcher_.Hold();
  HttpSocket socket(api_->port());
  socket.Send(StreamedPrompt());
  std::string all;
  // Two comments, each a chunk of its own.
  while (all.find("\r\n:\n\n\r\n") == all.rfind("\r\n:\n\n\r\n")) {
    const std::string some = socket.ReceiveSome();
    ASSERT_FALSE(some.empty()) << all;
    all += some;
  }
  batcher_.Release();
  EXPECT_THAT(socket.Receive(), HasSubstr("data: [DONE]"));
}

TEST_F(HttpApiTest, RootAndPingTellHealth) {
  Start();
  calls_.SetReady(true);
  for (const char* path : {"/", "/ping", "/health"}) {
    const HttpResult answer = HttpGet(api_->port(), path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(json::parse(answer.body)["status"], "ok") << path;
  }
  calls_.SetReady(false);
  EXPECT_EQ(HttpGet(api_->port(), "/ping").status, 503);
}

TEST_F(HttpApiTest, LibreTranslatesValuesMayBeInTheQuery) {
  Start();
  const HttpResult none = Send(
      "POST /detect HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Length: 0\r\n\r\n");
  EXPECT_EQ(none.status, 400) << none.body;
  EXPECT_THAT(json::parse(none.body)["error"].get<std::string>(), ErrorAt("q"));
  const HttpResult detected = Send(
      "POST /detect?q=The+house+is%20old. HTTP/1.1\r\nHost: localhost\r\n"
      "Connection: close\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(detected.status, 200) << detected.body;
  EXPECT_EQ(json::parse(detected.body)[0]["language"], "en");
}

TEST_F(HttpApiTest, MembersThatChangeNothingAreIgnored) {
  Start();
  EXPECT_EQ(Post("/v1/completions", R"({"prompt":"abc","metadata":{}})").status,
            200);
}

TEST_F(HttpApiTest, StrictServersRefuseMembersThatChangeNothing) {
  IgnoredMembers strict(/*strict=*/true);
  environment_.ignored_members = &strict;
  Start();
  const HttpResult answer =
      Post("/v1/completions", R"({"prompt":"abc","metadata":{}})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(json::parse(answer.body)["error"]["message"].get<std::string>(),
              ErrorAt("metadata"));
  Stop();
}

TEST_F(HttpApiTest, ManyIdleStreamsNeedNoThreads) {
  constexpr int kStreams = 1000;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  HttpApi::Options options;
  options.max_connections = 3 * kStreams;
  Start(options);
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  batcher_.Hold();
  const std::string request =
      PostText(kGenerate, Enveloped(R"({"input":{"text":"abc"}})"), kStream);
  std::vector<HttpSocket> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.emplace_back(api_->port()).Send(request);
  }
  batcher_.WaitForSubmitted(kStreams);
  EXPECT_EQ(threads(), before);
  batcher_.Release();
  for (HttpSocket& stream : streams) {
    const HttpResult answer = ParseHttpResult(stream.Receive());
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr("FINISH_REASON_"));
    EXPECT_THAT(answer.body, HasSubstr("metadata"));
  }
}

TEST_F(HttpApiTest, StopsWhileCallsRun) {
  Start();
  batcher_.Hold();
  HttpSocket socket(api_->port());
  socket.Send(PostText(kTranslate, kAbc));
  batcher_.WaitForSubmitted(1);
  // A request that has not arrived completely.
  HttpSocket half(api_->port());
  half.Send(
      "POST /embed HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{");
  Stop();
  EXPECT_EQ(half.Receive(), "");
}

TEST_F(HttpApiTest, RandomBytesHarmNothing) {
  constexpr int kRounds = 40;
  constexpr size_t kSockets = 50;
  HttpApi::Options options;  // the bytes may begin a request without an end
  options.request_timeout = options.idle_timeout = absl::Milliseconds(50);
  Start(options);
  const std::vector<std::string> good = {
      PostText(kTranslate, kAbc),
      PostText(kGenerate, Enveloped(R"({"input":{"text":"a"}})"), kStream),
      PostText("/v1/completions", R"({"prompt":"a","stream":true,"n":1})"),
      PostText("/embed", R"({"inputs":["a",[1,2]],"truncate":true})"),
      "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: "
      "application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"};
  std::mt19937 random(1);
  const auto below = [&random](size_t end) { return random() % end; };
  const auto bytes = [&] {
    // A request that is cut, or with changed bytes, or no request at all.
    std::string text = good[below(good.size())];
    if (below(4) == 0) text.assign(below(300), '\0');
    if (below(4) == 0) text.resize(below(text.size() + 1));
    size_t changed = below(2) == 0 ? below(4) : below(text.size() + 1);
    if (text.empty()) changed = 0;
    for (size_t i = 0; i < changed; ++i) {
      text[below(text.size())] = static_cast<char>(random());
    }
    return text;
  };
  for (int round = 0; round < kRounds; ++round) {
    std::vector<HttpSocket> sockets;
    while (sockets.size() < kSockets) {
      HttpSocket& socket = sockets.emplace_back(api_->port());
      socket.Send(bytes());
      if (below(3) == 0) socket.Send(bytes());
    }
    // Half of the clients leave before they are answered.
    while (sockets.size() > kSockets / 2) sockets.pop_back();
    for (HttpSocket& socket : sockets) socket.Receive();
  }
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
  Stop();
  EXPECT_EQ(overload_.account()->total(), 0);
}

TEST_F(HttpApiTest, NamesAPortThatIsTaken) {
  Start();
  HttpApi::Options options;
  options.port = api_->port();
  EXPECT_THAT(HttpApi::Create(options, environment_, &overload_).status(),
              IsError(absl::StatusCode::kUnavailable, "--http-listen"));
}

}  // namespace
}  // namespace trivium
