#include "model/hub/url.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

TEST(UrlTest, ReadsItsParts) {
  const auto url = ParseUrl("https://Cdn.Test/a/b?c=%2F#d");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->Origin(), "https://cdn.test:443");
  EXPECT_EQ(url->target, "/a/b?c=%2F");
  EXPECT_EQ(ParseUrl("http://[::1]:8080")->Origin(), "http://[::1]:8080");
  EXPECT_EQ(ParseUrl("http://a?b")->target, "/?b");
  for (const char* text :
       {"", "a", "ftp://a", "http://", "http://a:0/", "http://a:99999/",
        "http://user@a/", "http://a/b c", "http://a/\r\nX: y", "http://[::1"}) {
    EXPECT_FALSE(ParseUrl(text).ok()) << text;
  }
}

TEST(UrlTest, LocationsAreRelativeOrWhole) {
  const Url base = *ParseUrl("https://a:444/b/c?d");
  const auto resolve = [&](const char* location) {
    const auto url = ResolveLocation(base, location);
    return url.ok() ? url->Origin() + url->target : "";
  };
  EXPECT_EQ(resolve("/d?e"), "https://a:444/d?e");
  EXPECT_EQ(resolve("//f/g"), "https://f:443/g");
  EXPECT_EQ(resolve("http://f/g"), "http://f:80/g");
  EXPECT_EQ(resolve("file:///etc/passwd"), "");
  EXPECT_EQ(resolve("javascript:g"), "");
  EXPECT_EQ(resolve("g"), "https://a:444/b/g");
  EXPECT_EQ(resolve("g/h:i?j:k"), "https://a:444/b/g/h:i?j:k");
  EXPECT_EQ(resolve("?e"), "https://a:444/b/c?e");
  EXPECT_EQ(resolve("../g"), "https://a:444/g");
  EXPECT_EQ(resolve("../../../g/./h/.."), "https://a:444/g/");
  EXPECT_EQ(resolve("/g/../h?i=../j"), "https://a:444/h?i=../j");
  EXPECT_EQ(resolve(""), "https://a:444/b/c");
  EXPECT_EQ(ResolveLocation(*ParseUrl("http://a"), "g")->target, "/g");
}

TEST(UrlTest, AnErrorShowsNoPassword) {
  const absl::Status status = ParseUrl("http://me:secret@a/").status();
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "'@'"));
  EXPECT_EQ(status.message().find("secret"), absl::string_view::npos);
}

// The HTTP library gives a decoded address.
TEST(UrlTest, ALocationIsTheWrittenOne) {
  const std::string decoded = "https://cdn.test/a?s=b/c+d&n=\"e f\"";
  const std::string written = "https://cdn.test/a?s=b%2Fc%2Bd&n=%22e%20f%22";
  EXPECT_EQ(WrittenLocation(decoded, "Found. Redirecting to " + written),
            written);
  EXPECT_EQ(WrittenLocation(decoded, "<a href=\"" + written + "\">"), written);
  // Another address is not believed.
  const std::string encoded = "https://cdn.test/a?s=b/c+d&n=%22e%20f%22";
  EXPECT_EQ(WrittenLocation(decoded, "Redirecting to http://evil.test"),
            encoded);
  EXPECT_EQ(WrittenLocation(decoded, ""), encoded);
  EXPECT_EQ(WrittenLocation("/a\r\nX: b", ""), "/a%0D%0AX:%20b");
  EXPECT_EQ(WrittenLocation("/a#b%20", "Found. Redirecting to /a%23b%2520"),
            "/a%23b%2520");
  EXPECT_EQ(WrittenLocation(written, ""), written);
}

TEST(UrlTest, EncodesEveryOddByte) {
  EXPECT_EQ(PercentEncode("a/b c?#%\xC3\xA4~", true),
            "a/b%20c%3F%23%25%C3%A4~");
  EXPECT_EQ(PercentEncode("refs/pr/1", false), "refs%2Fpr%2F1");
}

TEST(UrlTest, ReadsProxies) {
  const auto proxy = ParseProxy("http://me:p%40ss@proxy:3128/");
  ASSERT_TRUE(proxy.ok());
  EXPECT_EQ(proxy->host, "proxy");
  EXPECT_EQ(proxy->port, 3128);
  EXPECT_EQ(proxy->user, "me");
  EXPECT_EQ(proxy->password, "p@ss");
  EXPECT_EQ(ParseProxy("proxy:8080")->port, 8080);
  EXPECT_THAT(ParseProxy("socks5://me:secret@proxy:1080"),
              IsError(absl::StatusCode::kInvalidArgument, "HTTPS_PROXY"));
  EXPECT_FALSE(ParseProxy("http://").ok());
}

TEST(UrlTest, KnowsExemptHosts) {
  EXPECT_TRUE(IsExempt("hub.test", "localhost, .test"));
  EXPECT_TRUE(IsExempt("hub.test", "HUB.test"));
  EXPECT_TRUE(IsExempt("hub.test", "*"));
  EXPECT_FALSE(IsExempt("hub.test", ""));
  EXPECT_FALSE(IsExempt("myhub.test", "hub.test"));
}

}  // namespace
}  // namespace trivium
