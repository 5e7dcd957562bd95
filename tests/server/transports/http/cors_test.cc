#include "server/transports/http/cors.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/transports/http/routes.h"
#include "tests/server/transports/http/http_api_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;

CorsPolicy::Headers HeadersFor(const CorsPolicy& policy,
                               const std::string& origin) {
  CorsPolicy::Headers headers;
  policy.AddHeaders(origin, &headers);
  return headers;
}

TEST(CorsTest, OriginsAreReadAsBrowsersWriteThem) {
  for (const auto& [text, origin] :
       std::vector<std::pair<std::string, std::string>>{
           {"https://Chat.Example", "https://chat.example"},
           {"https://chat.example:443", "https://chat.example"},
           {"http://chat.example:80", "http://chat.example"},
           {"http://chat.example:443", "http://chat.example:443"},
           {"http://localhost:3000", "http://localhost:3000"},
           {"http://[::1]:3000", "http://[::1]:3000"},
           {"moz-extension://ab-c", "moz-extension://ab-c"},
           {"*", "*"}}) {
    EXPECT_EQ(ParseOrigin(text).value_or("none"), origin) << text;
  }
  for (const char* const text :
       {"", "chat.example", "https://", "https://chat.example/",
        "https://chat.example/page", "https://a.example?b", "https://*.example",
        "https://me@chat.example", "null", "https://a b", "://a.example",
        "https://a.example:", "https://a.example:x", "1a://b"}) {
    EXPECT_THAT(ParseOrigin(text),
                IsError(absl::StatusCode::kInvalidArgument, ""))
        << text;
  }
  EXPECT_TRUE(CheckOrigins({"*"}).ok());
  EXPECT_TRUE(CheckOrigins({"https://a", "https://b"}).ok());
  EXPECT_THAT(CheckOrigins({"https://a", "*"}),
              IsError(absl::StatusCode::kInvalidArgument, "*"));
}

TEST(CorsTest, OnlyListedOriginsAreAllowed) {
  const CorsPolicy policy({"https://a.example", "https://b.example"});
  const auto allowed = HeadersFor(policy, "https://b.example");
  EXPECT_THAT(allowed, Contains(Pair("Access-Control-Allow-Origin",
                                     "https://b.example")));
  EXPECT_THAT(allowed, Contains(Pair("Vary", "Origin")));
  for (const char* const other :
       {"", "https://c.example", "http://a.example", "https://a.example:8443",
        "https://a.example.evil.example", "null", "*"}) {
    const auto refused = HeadersFor(policy, other);
    EXPECT_THAT(refused, testing::ElementsAre(Pair("Vary", "Origin"))) << other;
    EXPECT_FALSE(policy.Allows(other)) << other;
  }
}

TEST(CorsTest, AStarAllowsAllOriginsWithoutCredentials) {
  const CorsPolicy policy({"*"});
  for (const char* const origin : {"", "https://a.example", "null"}) {
    const auto headers = HeadersFor(policy, origin);
    EXPECT_THAT(headers, Contains(Pair("Access-Control-Allow-Origin", "*")));
    EXPECT_THAT(
        headers,
        testing::Not(Contains(Key("Access-Control-Allow-Credentials"))));
  }
  EXPECT_TRUE(policy.Allows("https://a.example"));
  EXPECT_FALSE(policy.Allows(""));
}

TEST(CorsTest, WithoutOriginsNoHeadersAreSent) {
  EXPECT_THAT(HeadersFor(CorsPolicy({}), "https://a.example"), IsEmpty());
}

TEST(CorsTest, PreflightsAllowTheHeadersThatAPageNeeds) {
  CorsPolicy::Headers headers;
  CorsPolicy::AddPreflightHeaders("POST", "authorization,x-stainless-os",
                                  &headers);
  EXPECT_THAT(headers, Contains(Pair("Access-Control-Allow-Methods", "POST")));
  EXPECT_THAT(headers, Contains(Pair("Access-Control-Allow-Headers",
                                     "authorization,x-stainless-os")));
  EXPECT_THAT(headers, Contains(Key("Access-Control-Max-Age")));
  for (const char* const asked : {"", "a;b", "a\"b"}) {
    headers.clear();
    CorsPolicy::AddPreflightHeaders("POST", asked, &headers);
    EXPECT_THAT(headers, Contains(Pair("Access-Control-Allow-Headers",
                                       testing::HasSubstr("Authorization"))));
  }
}

class CorsPortTest : public HttpApiTest {
 protected:
  void StartFor(std::vector<std::string> origins) {
    HttpApi::Options options;
    options.cors_origins = std::move(origins);
    Start(options);
  }
  HttpResult Preflight(const std::string& path, const std::string& origin) {
    return Send("OPTIONS " + path +
                " HTTP/1.1\r\nHost: x\r\nOrigin: " + origin +
                "\r\nAccess-Control-Request-Method: POST\r\n"
                "Access-Control-Request-Headers: authorization,content-type"
                "\r\nConnection: close\r\n\r\n");
  }
  static std::string From(const std::string& origin) {
    return "Content-Type: application/json\r\nOrigin: " + origin + "\r\n";
  }
};

constexpr char kPage[] = "https://chat.example";
constexpr char kAllowsPage[] =
    "Access-Control-Allow-Origin: https://chat.example\r\n";
constexpr char kAllow[] = "Access-Control-Allow";

TEST_F(CorsPortTest, PreflightsOfAllRoutesAreAnswered) {
  StartFor({kPage});
  std::set<std::string> paths = {"/", "/health", "/ping"};
  for (const Route& route : Routes()) {
    std::string path(route.path);
    if (path.size() > 1 && path.ends_with('/')) path += "name";
    paths.insert(path);
  }
  for (const std::string& path : paths) {
    const HttpResult answer = Preflight(path, kPage);
    EXPECT_EQ(answer.status, 204) << path;
    EXPECT_EQ(answer.body, "");
    EXPECT_THAT(answer.headers, testing::HasSubstr(kAllowsPage)) << path;
    EXPECT_THAT(answer.headers,
                testing::HasSubstr("Access-Control-Allow-Headers: "
                                   "authorization,content-type"));
    EXPECT_THAT(answer.headers, testing::HasSubstr("Access-Control-Max-Age: "));
  }
  EXPECT_THAT(
      Preflight("/v2/glossaries", kPage).headers,
      testing::HasSubstr("Access-Control-Allow-Methods: GET, HEAD, POST\r\n"));
  EXPECT_EQ(Preflight("/nothing", kPage).status, 404);
}

TEST_F(CorsPortTest, ErrorsCanBeReadToo) {
  StartFor({kPage});
  for (const char* const path : {"/embed", "/nothing", "/health", kTranslate}) {
    const HttpResult answer = Post(path, "no json", From(kPage));
    EXPECT_GE(answer.status, 400) << path;
    EXPECT_THAT(answer.headers, testing::HasSubstr(kAllowsPage)) << path;
  }
  const HttpResult answer = Post(kTranslate, kAbc, From(kPage));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, testing::HasSubstr(kAllowsPage));
  EXPECT_THAT(answer.headers, testing::HasSubstr("Vary: Origin\r\n"));
}

TEST_F(CorsPortTest, OtherPagesGetNoHeaders) {
  StartFor({kPage});
  const HttpResult preflight = Preflight("/embed", "https://evil.example");
  EXPECT_EQ(preflight.status, 403);
  EXPECT_THAT(preflight.headers, testing::Not(testing::HasSubstr(kAllow)));
  const HttpResult answer =
      Post(kTranslate, kAbc, From("https://evil.example"));
  EXPECT_THAT(answer.headers, testing::Not(testing::HasSubstr(kAllow)));
  EXPECT_THAT(answer.headers, testing::HasSubstr("Vary: Origin"));
}

TEST_F(CorsPortTest, WithoutTheOptionNothingIsAllowed) {
  Start();
  EXPECT_EQ(Preflight("/embed", kPage).status, 405);
  const HttpResult answer = Post(kTranslate, kAbc, From(kPage));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, testing::Not(testing::HasSubstr(kAllow)));
}

TEST_F(CorsPortTest, PagesThatAreAllowedMaySendForms) {
  StartFor({kPage});
  const std::string form = "q=abc&source=en&target=de";
  const std::string type =
      "Content-Type: application/x-www-form-urlencoded\r\nOrigin: ";
  EXPECT_EQ(Post("/translate", form, type + kPage + "\r\n").status, 200);
  EXPECT_EQ(Post("/translate", form, type + "https://evil.example\r\n").status,
            403);
}

TEST_F(HttpApiTest, AnswersMetricsIfAsked) {
  Start();
  EXPECT_EQ(HttpGet(api_->port(), "/metrics").status, 404);
  Stop();
  HttpApi::Options options;
  options.metrics = true;
  Start(options);
  const HttpResult metrics = HttpGet(api_->port(), "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.headers,
              testing::HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(metrics.body, testing::HasSubstr("# TYPE trivium_"));
  EXPECT_EQ(Post("/metrics", "{}").status, 405);
}

}  // namespace
}  // namespace trivium
