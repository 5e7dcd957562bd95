#include "server/transports/http/http1_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kMaxHead = 200;
const std::string kGet = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

std::string Passed(const std::string& bytes) {
  Http1Guard guard(kMaxHead);
  return guard.Pass(bytes);
}

TEST(Http1GuardTest, RequestsPassAsTheyAre) {
  const std::string post =
      "POST /a HTTP/1.1\r\nHost:x\r\nA:  \xC3\xA4\t\r\nContent-Length: "
      "5\r\n\r\n\r\n\n\0\r";
  const std::string all = kGet + std::string(post.c_str(), post.size()) + kGet;
  EXPECT_EQ(Passed(all), all);
  Http1Guard guard(kMaxHead);
  std::string passed;
  for (const char byte : all) passed += guard.Pass({&byte, 1});
  EXPECT_EQ(passed, all);
}

TEST(Http1GuardTest, HeadsPassOnceTheyAreWhole) {
  Http1Guard guard(kMaxHead);
  EXPECT_EQ(guard.Pass(kGet.substr(0, kGet.size() - 1)), "");
  EXPECT_EQ(guard.Pass("\n"), kGet);
}

TEST(Http1GuardTest, LeavesOutWhatNobodyReads) {
  EXPECT_EQ(Passed("\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n"), kGet);
  EXPECT_EQ(Passed("GET /a?b=c&d? HTTP/1.1\r\nHost: x\r\n\r\n"),
            "GET /a HTTP/1.1\r\nx-trivium-query: b=c&d?\r\nHost: x\r\n\r\n");
  const std::string head =
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(
      Passed(head + "00A;b=c\r\n\r\n345678\r\n\r\n0;d\r\nE: f\r\n\r\n" + kGet),
      head + "a\r\n\r\n345678\r\n\r\n0\r\n\r\n" + kGet);
}

TEST(Http1GuardTest, ARefusedHeadIsReplacedAndNothingFollows) {
  const std::string wrong = "GET /a HTTP/1.1\nHost: x\r\n\r\n";
  const std::string passed = Passed(kGet + wrong + kGet);
  ASSERT_THAT(passed, StartsWith(kGet));
  const std::string refused = passed.substr(kGet.size());
  EXPECT_THAT(refused, StartsWith("GET / HTTP/1.1\r\nHost: refused\r\n"
                                  "x-trivium-refused: 400 "));
  EXPECT_EQ(refused.find("\r\n\r\n"), refused.size() - 4);
}

TEST(Http1GuardTest, ARefusedBodyEndsWithATrailer) {
  const std::string head =
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string size = Passed(head + "2\r\nab\r\n2\ncd\r\n" + kGet);
  EXPECT_THAT(size, StartsWith(head + "2\r\nab\r\n0\r\nx-trivium-refused: "));
  EXPECT_TRUE(size.ends_with("\r\n\r\n"));
  EXPECT_THAT(Passed(head + "2\r\nabc\r\n" + kGet),
              StartsWith(head + "2\r\nab\r\n0\r\nx-trivium-refused: "));
  EXPECT_THAT(Passed(head + "2\r\nab\r\n0\r\n a\r\n\r\n" + kGet),
              StartsWith(head + "2\r\nab\r\n0\r\nx-trivium-refused: "));
}

TEST(Http1GuardTest, TellsWhichStatusFits) {
  EXPECT_THAT(Passed("PRI * HTTP/2.0\r\n\r\n"), HasSubstr("refused: 505 "));
  EXPECT_THAT(Passed("GET /" + std::string(kMaxHead, 'a')),
              HasSubstr("refused: 431 "));
  EXPECT_THAT(Passed("\x16\x03\x01"), HasSubstr("refused: 400 "));
}

TEST(Http1GuardTest, NobodyElseMayRefuse) {
  const std::string passed = Passed(
      "GET /a HTTP/1.1\r\nHost: x\r\nX-Trivium-Refused: 200 fine\r\n\r\n");
  EXPECT_THAT(passed, HasSubstr("refused: 400 "));
  EXPECT_EQ(passed.find("fine"), passed.npos);
  const std::string trailer = Passed(
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\nX-Trivium-Refused: 200 fine\r\n\r\n");
  EXPECT_EQ(trailer.find("fine"), trailer.npos);
}

}  // namespace
}  // namespace trivium
