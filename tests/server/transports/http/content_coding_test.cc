// Compressed bodies and answers: the functions, and the port with attackers.
#include "server/transports/http/content_coding.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/server/transports/http/http_api_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kGzipBits = 15 + 16;
constexpr int kZlibBits = 15;
constexpr char kJson[] = "Content-Type: application/json\r\n";
constexpr char kJsonInGzip[] =
    "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";

std::string Packed(std::string text, int window_bits = kGzipBits) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Unpacks what comes in pieces of `size` bytes.
absl::StatusOr<std::string> Unpacked(
    std::string_view packed, size_t size = 1 << 20, size_t most = 1 << 10,
    ContentCoding coding = ContentCoding::kGzip) {
  Unpacker unpacker(coding);
  std::string text;
  while (!packed.empty()) {
    unpacker.Add(packed.substr(0, size));
    packed.remove_prefix(std::min(size, packed.size()));
    while (true) {
      auto piece = unpacker.Next(most);
      if (!piece.ok()) return piece.status();
      if (piece->empty()) break;
      EXPECT_LE(piece->size(), most);
      text += *piece;
    }
  }
  if (absl::Status status = unpacker.CheckEnd(); !status.ok()) return status;
  return text;
}

std::string SomeText() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * i) + ",";
  return text;
}

TEST(ContentCodingTest, ReadsContentEncoding) {
  for (const char* const value : {"", "identity", " Identity "}) {
    EXPECT_EQ(*ParseContentCoding(value), ContentCoding::kIdentity);
  }
  for (const char* const value : {"gzip", "x-gzip", "GZip", "\tgzip"}) {
    EXPECT_EQ(*ParseContentCoding(value), ContentCoding::kGzip);
  }
  EXPECT_EQ(*ParseContentCoding("deflate"), ContentCoding::kDeflate);
  for (const char* const value : {"br", "zstd", "gzip, gzip", "gzip;q=1"}) {
    EXPECT_THAT(ParseContentCoding(value),
                IsError(absl::StatusCode::kUnimplemented, value));
  }
}

TEST(ContentCodingTest, ReadsAcceptEncoding) {
  for (const char* const value :
       {"gzip", "deflate, gzip", "gzip;q=0.1", "br;q=1.0, gzip;q=0.8, *;q=0.1",
        "*", "x-gzip", "GZIP ; q=1", "identity;q=0.5, gzip;q=0.5",
        "gzip, deflate, br, zstd"}) {
    EXPECT_TRUE(AcceptsGzip(value)) << value;
  }
  for (const char* const value :
       {"", "identity", "br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0",
        "gzip;q=0.5, identity", "gzipped", "gzip;q=x", "gzip;level=1", ",,",
        ";q=1", "gzip;q=-1", "gzip;q=2"}) {
    EXPECT_FALSE(AcceptsGzip(value)) << value;
  }
}

TEST(ContentCodingTest, UnpacksHoweverTheBytesCome) {
  const std::string text = SomeText();
  const std::string gzip = Packed(text);
  for (const size_t size : {size_t{1}, size_t{7}, size_t{1000}, gzip.size()}) {
    for (const size_t most : {size_t{1}, size_t{100}, 2 * text.size()}) {
      EXPECT_EQ(Unpacked(gzip, size, most).value_or("?"), text);
    }
  }
  EXPECT_EQ(Unpacked(Packed(text, kZlibBits), 7, 100, ContentCoding::kDeflate)
                .value_or("?"),
            text);
  EXPECT_EQ(Unpacked(Packed("a") + Packed("") + Packed("b"), 3).value_or("?"),
            "ab");
  EXPECT_EQ(Unpacked(PackGzip(text)).value_or("?"), text);
  EXPECT_EQ(Unpacked("").value_or("?"), "");
}

TEST(ContentCodingTest, PacksOnlyWhatGetsSmaller) {
  EXPECT_EQ(PackGzip(""), "");
  EXPECT_EQ(PackGzip("a"), "");
  EXPECT_EQ(PackGzip(Packed(SomeText())), "");
  EXPECT_TRUE(IsPackable("text/html", 1 << 10));
  EXPECT_FALSE(IsPackable("text/html", 1000));
  EXPECT_FALSE(IsPackable("application/zip", 1 << 20));
}

TEST(ContentCodingTest, RefusesWhatIsBroken) {
  const std::string gzip = Packed(SomeText());
  std::string wrong_sum = gzip;
  wrong_sum[gzip.size() - 5] ^= 1;
  std::string wrong_middle = gzip;
  wrong_middle[gzip.size() / 2] ^= 0x55;
  const auto is_broken = IsError(absl::StatusCode::kInvalidArgument, "gzip");
  for (const std::string& broken :
       {gzip.substr(0, gzip.size() - 1), gzip.substr(0, 5), gzip + "garbage",
        gzip + '\0', std::string("{}"), wrong_sum, wrong_middle,
        Packed("a", kZlibBits)}) {
    for (const size_t size : {size_t{1}, broken.size()}) {
      EXPECT_THAT(Unpacked(broken, size), is_broken);
    }
  }
  const std::string zlib = Packed("a", kZlibBits);
  for (const std::string& broken : {zlib + "b", zlib + zlib, gzip}) {
    EXPECT_THAT(Unpacked(broken, 1, 100, ContentCoding::kDeflate),
                IsError(absl::StatusCode::kInvalidArgument, "deflate"));
  }
}

TEST(ContentCodingTest, UnpacksNoMoreOfABombThanItIsAskedTo) {
  const std::string bomb = Packed(std::string(8 << 20, ' '));
  Unpacker unpacker(ContentCoding::kGzip);
  unpacker.Add(bomb);
  EXPECT_EQ(unpacker.Next(1000).value_or("").size(), 1000u);
  EXPECT_EQ(unpacker.Next(1000).value_or("").size(), 1000u);
}

class CodingPortTest : public HttpApiTest {
 protected:
  static constexpr int64_t kMost = 256 << 10;

  CodingPortTest() { environment_.limits.max_request_bytes = kMost; }

  int64_t incoming() { return overload_.account()->bytes(Held::kIncoming); }
  // A call whose texts are `bytes` long.
  static std::string Call(size_t bytes) {
    return R"({"inputs":[{"text":")" + std::string(bytes, 'a') +
           R"("}],"options":{"truncate":true}})";
  }
  // Texts whose answer has more than 100 KiB.
  static std::string ManyTexts() {
    std::string inputs;
    for (int i = 0; i < 900; ++i) {
      if (i > 0) inputs += ',';
      inputs +=
          R"({"text":")" + std::to_string(i) + std::string(60, 'a') + "\"}";
    }
    return R"({"inputs":[)" + inputs + "]}";
  }
};

TEST_F(CodingPortTest, BodiesMayBeCompressed) {
  Start();
  const std::string deflate =
      "Content-Type: application/json\r\nContent-Encoding: deflate\r\n";
  EXPECT_EQ(Post(kTranslate, Packed(kAbc), kJsonInGzip).status, 200);
  EXPECT_EQ(Post(kTranslate, Packed(kAbc, kZlibBits), deflate).status, 200);
  // Most of it is unpacked on a pool.
  EXPECT_EQ(Post(kTranslate, Packed(Call(200'000)), kJsonInGzip).status, 200);
  // The route is chosen by the body.
  EXPECT_EQ(Post("/", Packed(R"({"inputs":"a"})"), kJsonInGzip).status,
            Post("/", R"({"inputs":"a"})", kJson).status);
  EXPECT_EQ(incoming(), 0);
}

TEST_F(CodingPortTest, BytesThatUnpackOnAPoolMayBeFollowedByMore) {
  Start();
  const std::string body = Packed(Call(100'000)) + Packed(" ");
  // The head, then chunks of a few bytes, each of which may unpack to many.
  HttpSocket socket(api_->port());
  socket.Send("POST " + std::string(kTranslate) +
              " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + kJsonInGzip +
              "Transfer-Encoding: chunked\r\n\r\n");
  for (size_t at = 0; at < body.size(); at += 5) {
    const std::string piece = body.substr(at, 5);
    socket.Send(std::to_string(piece.size()) + "\r\n" + piece + "\r\n");
  }
  socket.Send("0\r\n\r\n");
  const HttpResult answer = ParseHttpResult(socket.Receive());
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST_F(CodingPortTest, OtherCodingsAreNamed) {
  Start();
  for (const char* const coding : {"br", "zstd", "gzip, gzip"}) {
    const HttpResult answer =
        Post(kTranslate, kAbc,
             std::string(kJson) + "Content-Encoding: " + coding + "\r\n");
    EXPECT_EQ(answer.status, 415);
    EXPECT_THAT(MessageOf(answer), ErrorAt(coding));
    EXPECT_THAT(answer.headers, HasSubstr("Accept-Encoding: gzip, deflate"));
  }
}

TEST_F(CodingPortTest, BrokenBodiesAreRefused) {
  Start();
  const std::string whole = Packed(Call(100'000));
  for (const std::string& body :
       {std::string(kAbc), whole.substr(0, whole.size() / 2),
        whole.substr(0, whole.size() - 1), whole + "garbage",
        Packed(Packed(kAbc)), Packed("")}) {
    EXPECT_EQ(Post(kTranslate, body, kJsonInGzip).status, 400);
  }
  EXPECT_EQ(Post(kTranslate, "", kJsonInGzip).status, 400);
  EXPECT_EQ(incoming(), 0);
  EXPECT_TRUE(batcher_.submitted().empty());
}

TEST_F(CodingPortTest, ABombIsRefusedHavingHeldTheLimit) {
  Start();
  const std::string bomb = Packed(std::string(64 << 20, ' '));
  std::atomic<bool> over = false;
  int64_t most = 0;
  std::thread watch([&] {
    while (!over) most = std::max(most, incoming());
  });
  const HttpResult answer = Post(kTranslate, bomb, kJsonInGzip);
  EXPECT_EQ(Post(kTranslate, bomb.substr(0, 2000), kJsonInGzip).status, 413);
  over = true;
  watch.join();
  EXPECT_EQ(answer.status, 413);
  EXPECT_LE(most, kMost + Unpacker::kMemory);
  EXPECT_EQ(incoming(), 0);
}

TEST_F(CodingPortTest, ManyBombsKeepNobodyOut) {
  Start();
  const std::string bomb =
      PostText(kTranslate, Packed(std::string(16 << 20, ' ')), kJsonInGzip);
  std::vector<HttpSocket> attackers;
  for (int i = 0; i < 50; ++i) {
    attackers.emplace_back(api_->port());
    attackers.back().Send(bomb);
  }
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
  for (HttpSocket& attacker : attackers) {
    EXPECT_EQ(ParseHttpResult(attacker.Receive()).status, 413);
  }
  EXPECT_EQ(incoming(), 0);
}

// Unpacking ends with the client.
TEST_F(CodingPortTest, ClientsMayGoWhileTheirBodiesAreUnpacked) {
  Start();
  const std::string request =
      PostText(kTranslate, Packed(Call(200'000)), kJsonInGzip);
  for (int i = 0; i < 20; ++i) {
    HttpSocket socket(api_->port());
    socket.Send(request.substr(0, request.size() - static_cast<size_t>(i)));
  }
  EXPECT_EQ(Post(kTranslate, kAbc).status, 200);
}

TEST_F(CodingPortTest, AnswersAreCompressedForThoseWhoTakeIt) {
  environment_.limits.max_inputs = 1000;
  Start();
  const std::string gzip = std::string(kJson) + "Accept-Encoding: gzip\r\n";
  const std::string many = ManyTexts();
  const std::string some =
      R"({"inputs":[{"text":")" + std::string(2000, 'a') + "\"}]}";
  for (const std::string& call : {many, some}) {
    const HttpResult plain = Post(kTranslate, call);
    ASSERT_EQ(plain.status, 200) << plain.body;
    EXPECT_THAT(plain.headers, Not(HasSubstr("Content-Encoding")));
    EXPECT_THAT(plain.headers, HasSubstr("Vary: Accept-Encoding"));
    // Packed on a pool, and on the spot.
    EXPECT_EQ(plain.body.size() > kMostPackedAtOnce, call == many);
    const HttpResult packed = Post(kTranslate, call, gzip);
    EXPECT_THAT(packed.headers, HasSubstr("Content-Encoding: gzip"));
    EXPECT_LT(packed.body.size(), plain.body.size());
    // Their times differ.
    EXPECT_EQ(nlohmann::json::parse(Unpacked(packed.body).value_or("{}"))
                  .value("results", nlohmann::json()),
              nlohmann::json::parse(plain.body)["results"]);
  }
  EXPECT_THAT(Post(kTranslate, some,
                   std::string(kJson) + "Accept-Encoding: gzip;q=0\r\n")
                  .headers,
              Not(HasSubstr("Content-Encoding")));
  // Short ones and streams stay as they are.
  EXPECT_THAT(Post(kTranslate, kAbc, gzip).headers,
              Not(HasSubstr("Content-Encoding")));
  const std::string stream = R"({"model":"translator","prompt":")" +
                             std::string(2000, 'a') + R"(","stream":true})";
  const HttpResult events = Post("/v1/completions", stream, gzip);
  EXPECT_THAT(events.headers, Not(HasSubstr("Content-Encoding")));
}

}  // namespace
}  // namespace trivium
