#include "server/transports/http/request_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::Optional;

TEST(CheckFramingTest, AcceptsWhatHasOneEnd) {
  EXPECT_TRUE(CheckFraming("HTTP/1.0", {}).ok());
  const std::vector<HttpHeader> right[] = {
      {{"Host", "x"}, {"content-length", "0"}},
      {{"CONTENT-LENGTH", "999999999999999999"}, {"HOST", "x"}},
      {{"host", "x"}, {"transfer-encoding", "Chunked"}},
      {{"Host", "x"}, {"X-A", "1"}, {"X-A", "2"}}};
  for (const auto& fields : right) {
    EXPECT_TRUE(CheckFraming("HTTP/1.1", fields).ok()) << fields[0].name;
  }
}

TEST(CheckFramingTest, RefusesWhatTwoReadersMayCutDifferently) {
  const std::vector<HttpHeader> wrong[] = {
      {{"Content-Length", "3"}, {"content-length", "3"}},
      {{"Content-Length", "3"}, {"Transfer-Encoding", "chunked"}},
      {{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}},
      {{"Transfer-Encoding", "gzip, chunked"}},
      {{"Transfer-Encoding", "identity"}},
      {{"Transfer-Encoding", "xchunked"}},
      {{"Content-Length", ""}},
      {{"Content-Length", "+3"}},
      {{"Content-Length", "-1"}},
      {{"Content-Length", "3, 3"}},
      {{"Content-Length", "0x3"}},
      {{"Content-Length", "9223372036854775808"}},
      {{"Content-Length ", "3"}},
      {{"X\tY", "3"}},
      {{"", "3"}},
      {{"Host", "a"}, {"host", "b"}}};
  for (auto fields : wrong) {
    EXPECT_EQ(CheckFraming("HTTP/1.0", fields).code(),
              StatusCode::kInvalidArgument)
        << fields[0].name << ": " << fields[0].value;
    fields.push_back({"Host", "a"});
    EXPECT_EQ(CheckFraming("HTTP/1.1", fields).code(),
              StatusCode::kInvalidArgument)
        << fields[0].name << ": " << fields[0].value;
  }
  EXPECT_EQ(CheckFraming("HTTP/1.1", {{"X-A", "1"}}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckFraming("HTTP/1.0", {{"Transfer-Encoding", "chunked"}}).code(),
            StatusCode::kInvalidArgument);
}

TEST(ParseRequestLineTest, HasThreePartsAndAKnownVersion) {
  const auto line = ParseRequestLine("GET /a/b?c=d?e HTTP/1.1");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->method, "GET");
  EXPECT_EQ(line->path, "/a/b");
  EXPECT_EQ(line->version, "HTTP/1.1");
  EXPECT_EQ(ParseRequestLine("PRI * HTTP/2.0").status().code(),
            StatusCode::kUnimplemented);
  for (const char* const wrong :
       {"", "GET", "GET /", "GET  HTTP/1.1", "GET /a b HTTP/1.1",
        " /a HTTP/1.1", "G\"T /a HTTP/1.1", "GET /\xC3\xA4 HTTP/1.1",
        "GET /a\tHTTP/1.1", "GET /a http/1.1", "GET /a HTTP/1.1 "}) {
    EXPECT_EQ(ParseRequestLine(wrong).status().code(),
              StatusCode::kInvalidArgument)
        << wrong;
  }
}

TEST(HostNameTest, IsWithoutPort) {
  const std::pair<const char*, const char*> names[] = {
      {"Example.COM", "example.com"},
      {"example.com:8080", "example.com"},
      {"127.0.0.1:80", "127.0.0.1"},
      {"[::1]:80", "::1"},
      {"[fe80::1]", "fe80::1"},
      {"localhost:", "localhost"},
      {"a_b-c", "a_b-c"}};
  for (const auto& [host, name] : names) {
    EXPECT_EQ(HostName(host).value_or("wrong"), name) << host;
  }
  for (const char* const wrong :
       {"", ":80", "a b", "a/b", "[::1", "[x]", "a:b", "a:123456", "a@b",
        "[::1]80", "1:2:3", "\xC3\xA4.com"}) {
    EXPECT_FALSE(HostName(wrong).ok()) << wrong;
  }
}

TEST(IsAllowedHostTest, NamesWithDotsMustBeListed) {
  for (const char* const name : {"127.0.0.1", "10.1.2.3", "::1", "localhost",
                                 "localhost.", "trivium", "a.localhost"}) {
    EXPECT_TRUE(IsAllowedHost(name, {})) << name;
  }
  for (const char* const name :
       {"evil.example", "127.0.0.1.evil.example", "127.1", "localhost.evil.com",
        "evil.example."}) {
    EXPECT_FALSE(IsAllowedHost(name, {"good.example"})) << name;
    EXPECT_TRUE(IsAllowedHost(name, {"*"})) << name;
  }
  EXPECT_TRUE(IsAllowedHost("good.example", {"good.example"}));
  EXPECT_TRUE(IsAllowedHost("good.example.", {"a.b", "good.example"}));
}

TEST(CheckCharsetTest, OnlyUtf8IsRead) {
  for (const char* const type :
       {"", "application/json", "application/json; charset=utf-8",
        "text/plain;charset=\"UTF-8\"", "a/b; x=y; Charset = us-ascii"}) {
    EXPECT_TRUE(CheckCharset(type).ok()) << type;
  }
  EXPECT_THAT(CheckCharset("application/json; charset=latin1"),
              IsError(StatusCode::kUnimplemented, "latin1"));
  EXPECT_FALSE(CheckCharset("a/b; x=y; charset=").ok());
}

TEST(DecodePathPartTest, RefusesControls) {
  EXPECT_THAT(DecodePathPart("a%2Fb%20c%C3%a4"),
              Optional<std::string>("a/b c\xC3\xA4"));
  for (const char* const wrong : {"%00", "a%0ab", "%7F", "%", "%4", "%4g"}) {
    EXPECT_EQ(DecodePathPart(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace trivium
