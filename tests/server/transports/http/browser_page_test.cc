#include "server/transports/http/browser_page.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/escaping.h"
#include "server/limits/crypto.h"
#include "tests/server/transports/http/http_api_fixture.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kBrowser[] = "Accept: text/html,application/xhtml+xml\r\n";
constexpr size_t kMostPageBytes = 300'000;

class BrowserPageTest : public HttpApiTest {
 protected:
  BrowserPageTest() { calls_.SetReady(true); }

  HttpResult Get(const std::string& path, const std::string& headers = kBrowser,
                 const std::string& method = "GET") {
    return Send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                headers + "Connection: close\r\n\r\n");
  }
};

// The value of a header; empty if it is not there once.
std::string HeaderOf(const HttpResult& answer, const std::string& name) {
  const std::string begin = "\r\n" + name + ": ";
  const size_t at = answer.headers.find(begin);
  if (at == std::string::npos ||
      answer.headers.find(begin, at + 1) != std::string::npos) {
    return "";
  }
  const size_t from = at + begin.size();
  return answer.headers.substr(from, answer.headers.find("\r\n", from) - from);
}

std::string HashSourceOf(const std::string& text) {
  const Sha256 hash = Sha256Of(text);
  std::string code;
  absl::Base64Escape(std::string(hash.begin(), hash.end()), &code);
  return "'sha256-" + code + "'";
}

// What is between two marks; `mark` may stand in `text` once.
std::string Between(const std::string& text, const std::string& begin,
                    const std::string& end) {
  const size_t from = text.find(begin);
  EXPECT_NE(from, std::string::npos) << begin;
  const size_t to = text.find(end, from);
  EXPECT_NE(to, std::string::npos) << end;
  return text.substr(from + begin.size(), to - from - begin.size());
}

nlohmann::json DataOf(const std::string& page) {
  return nlohmann::json::parse(Between(
      page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

TEST_F(BrowserPageTest, BrowsersGetThePageAndOthersTheHealth) {
  Start();
  for (const char* path : {"/", "/index.html"}) {
    const HttpResult page = Get(path);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_EQ(HeaderOf(page, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_THAT(page.body, HasSubstr("<title>Trivium</title>"));
    EXPECT_LT(page.body.size(), kMostPageBytes);
  }
  for (const char* accept :
       {"", "Accept: */*\r\n", "Accept: application/json\r\n"}) {
    const HttpResult health = Get("/", accept);
    EXPECT_EQ(health.status, 200) << accept;
    EXPECT_EQ(HeaderOf(health, "Content-Type"), "application/json");
    EXPECT_EQ(health.body, R"({"status":"ok"})");
  }
}

// The files of server/page are in the page, byte for byte.
TEST_F(BrowserPageTest, HasTheFilesOfItsFolder) {
  Start();
  const std::string page = Get("/").body;
  for (const char* name :
       {"server/page/style.css", "server/page/api.js", "server/page/main.js",
        "client/pages/page.js", "client/pages/page.css"}) {
    std::ifstream file(name);
    std::stringstream text;
    text << file.rdbuf();
    ASSERT_FALSE(text.str().empty()) << name;
    EXPECT_NE(page.find(text.str()), std::string::npos) << name;
  }
}

TEST_F(BrowserPageTest, RunsItsOwnScriptsOnly) {
  Start();
  const HttpResult answer = Get("/");
  const std::string policy = HeaderOf(answer, "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; "));
  EXPECT_THAT(policy, HasSubstr("; connect-src 'self'; "));
  EXPECT_THAT(policy, HasSubstr("; frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  const std::string scripts = Between(policy, "script-src ", ";");
  const std::string styles = Between(policy, "style-src ", ";");
  EXPECT_THAT(
      scripts,
      HasSubstr(HashSourceOf(Between(answer.body, "<script>", "</script>"))));
  EXPECT_THAT(
      styles,
      HasSubstr(HashSourceOf(Between(answer.body, "<style>", "</style>"))));
  // The frames of its pictures inherit the policy.
  const nlohmann::json pages = DataOf(answer.body).at("pages");
  for (const auto& [name, picture] : pages.items()) {
    EXPECT_THAT(scripts, HasSubstr(HashSourceOf(picture.at("script")))) << name;
    EXPECT_THAT(styles, HasSubstr(HashSourceOf(picture.at("style")))) << name;
    EXPECT_THAT(picture.at("html").get<std::string>(), HasSubstr("{{data}}"));
  }
  EXPECT_EQ(HeaderOf(answer, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(HeaderOf(answer, "Referrer-Policy"), "no-referrer");
}

// What a policy would refuse, or what would need a network.
TEST_F(BrowserPageTest, NeedsNothingElse) {
  Start();
  const std::string page = Get("/").body;
  const std::string html =
      page.substr(0, page.find("<style>")) +
      Between(page, "</style>", "<script type=\"application/json\"");
  EXPECT_THAT(html, Not(testing::ContainsRegex("[ <]style=")));
  EXPECT_THAT(html, Not(testing::ContainsRegex(" on[a-z]+=")));
  EXPECT_THAT(html, Not(testing::ContainsRegex("(src|href)=\"[a-z]*:?/")));
  const std::string script = Between(page, "<script>", "</script>");
  for (const char* sink : {"innerHTML", "outerHTML", "insertAdjacentHTML",
                           "document.write", "eval(", "new Function"}) {
    EXPECT_THAT(script, Not(HasSubstr(sink)));
  }
}

TEST_F(BrowserPageTest, IsSentAgainOnlyIfItChanged) {
  Start();
  const HttpResult first = Get("/");
  const std::string tag = HeaderOf(first, "ETag");
  EXPECT_EQ(HeaderOf(first, "Cache-Control"), "no-cache");
  EXPECT_EQ(HeaderOf(first, "Vary"), "Accept, Accept-Encoding");
  ASSERT_TRUE(tag.starts_with("W/\"")) << tag;
  for (const std::string& known :
       {tag, tag.substr(2), "\"other\", " + tag, std::string("*")}) {
    const HttpResult again =
        Get("/", kBrowser + ("If-None-Match: " + known + "\r\n"));
    EXPECT_EQ(again.status, 304) << known;
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(HeaderOf(again, "ETag"), tag);
  }
  for (const std::string& other :
       {std::string("\"other\""), tag.substr(0, tag.size() - 2) + "\""}) {
    EXPECT_EQ(Get("/", kBrowser + ("If-None-Match: " + other + "\r\n")).status,
              200)
        << other;
  }
  EXPECT_NE(HeaderOf(Get("/openapi.json"), "ETag"), tag);
}

TEST_F(BrowserPageTest, HeadTellsTheSameWithoutABody) {
  Start();
  const HttpResult whole = Get("/");
  const HttpResult head = Get("/", kBrowser, "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  for (const char* name :
       {"ETag", "Content-Type", "Content-Length", "Content-Security-Policy"}) {
    EXPECT_EQ(HeaderOf(head, name), HeaderOf(whole, name)) << name;
    EXPECT_NE(HeaderOf(head, name), "") << name;
  }
}

TEST_F(BrowserPageTest, IsPackedForThoseWhoTakeIt) {
  Start();
  const HttpResult packed =
      Get("/", std::string(kBrowser) + "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(HeaderOf(packed, "Content-Encoding"), "gzip");
  const HttpResult plain = Get("/");
  EXPECT_EQ(HeaderOf(plain, "Content-Encoding"), "");
  EXPECT_EQ(HeaderOf(packed, "ETag"), HeaderOf(plain, "ETag"));
  EXPECT_LT(packed.body.size(), plain.body.size() / 2);
}

TEST_F(BrowserPageTest, TheDescriptionIsThatOfTheDocumentation) {
  Start();
  const HttpResult answer = Get("/openapi.json", "");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(HeaderOf(answer, "Content-Type"), "application/json");
  std::ifstream file("docs/openapi.json");
  EXPECT_EQ(nlohmann::json::parse(answer.body), nlohmann::json::parse(file));
}

TEST_F(BrowserPageTest, OtherMethodsAreRefused) {
  Start();
  for (const char* path : {"/index.html", "/openapi.json"}) {
    const HttpResult answer = Post(path, "{}");
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_EQ(HeaderOf(answer, "Allow"), "GET, HEAD");
  }
  // POST / is TEI's, whoever asks.
  EXPECT_NE(Post("/", R"({"inputs":"a"})",
                 std::string(kBrowser) + "Content-Type: application/json\r\n")
                .status,
            405);
}

TEST_F(BrowserPageTest, CanBeTurnedOff) {
  HttpApi::Options options;
  options.page = false;
  Start(options);
  const HttpResult health = Get("/");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, R"({"status":"ok"})");
  for (const char* path : {"/index.html", "/openapi.json"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
    EXPECT_EQ(Post(path, "{}").status, 404) << path;
  }
}

// A page of another site cannot come here under a name of its own.
TEST_F(BrowserPageTest, IsNotShownUnderAStrangeName) {
  Start();
  HttpSocket socket(api_->port());
  socket.Send("GET / HTTP/1.1\r\nHost: evil.example\r\n" +
              std::string(kBrowser) + "Connection: close\r\n\r\n");
  EXPECT_EQ(ParseHttpResult(socket.Receive()).status, 403);
}

}  // namespace
}  // namespace trivium
