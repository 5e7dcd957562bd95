// Reports of load on the ports, as balancers get them.
#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "server/transports/grpc/header_fields.h"
#include "server/transports/grpc/http2_frames.h"
#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/http_get.h"
#include "xds/orca_load_report.pb.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::Not;

// A connection of HTTP/2: gRPC's own client keeps the trailer to itself.
class Connection {
 public:
  explicit Connection(int port) : socket_(port) {
    std::string hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    AppendHead({.type = kSettings}, &hello);
    socket_.Send(hello);
  }

  // The fields of a call's answer, its trailers among them.
  HeaderFields Translate(const v1::TranslateRequest& request,
                         const std::string& asked) {
    HeaderFields fields = {{":method", "POST"},
                           {":scheme", "http"},
                           {":path", "/trivium.v1.Inference/Translate"},
                           {":authority", "localhost"},
                           {"te", "trailers"},
                           {"content-type", "application/grpc"}};
    if (!asked.empty()) fields.push_back({kLoadFormatKey, asked});
    stream_ += stream_ == 0 ? 1 : 2;
    std::string bytes;
    AppendHeaders(stream_, 0, WriteFields(fields), &bytes);
    const std::string message = request.SerializeAsString();
    const auto size = static_cast<uint32_t>(message.size());
    AppendHead({.length = size + 5,
                .type = kData,
                .flags = kEndStream,
                .stream = stream_},
               &bytes);
    AppendNumber(0, 1, &bytes);  // not compressed
    AppendNumber(size, 4, &bytes);
    socket_.Send(bytes + message);
    return Answer();
  }

 private:
  HeaderFields Answer() {
    HeaderFields all;
    while (true) {
      FrameReader frames;
      std::string_view head = Receive(9);
      if (head.empty() || !frames.Read(&head)) return all;
      const FrameHead frame = frames.head();
      const std::string payload(Receive(frame.length));
      if (frame.stream != stream_) continue;
      if (frame.type == kHeaders) {
        const auto fields = reader_.Read(payload, 1 << 16);
        EXPECT_TRUE(fields.ok()) << fields.status();
        all.insert(all.end(), fields->begin(), fields->end());
      }
      if (frame.flags & kEndStream) return all;
    }
  }
  // The next bytes; none: the connection has ended.
  std::string_view Receive(size_t size) {
    got_.erase(0, taken_);
    taken_ = 0;
    while (got_.size() < size) {
      const std::string more = socket_.ReceiveSome();
      if (more.empty()) return "";
      got_ += more;
    }
    taken_ = size;
    return std::string_view(got_).substr(0, size);
  }

  HttpSocket socket_;
  HeaderReader reader_;
  uint32_t stream_ = 0;  // of the last call
  std::string got_;
  size_t taken_ = 0;
};

class LoadReportsPortTest : public RpcTest {
 protected:
  void Start(LoadReporting when) {
    options_.http_listen = "127.0.0.1:0";
    options_.load_reports = when;
    StartServer();
    connection_ = std::make_unique<Connection>(server_->port());
  }
  // A call's report; its status in status_.
  std::optional<xds::OrcaLoadReport> Call(const std::string& asked,
                                          const std::string& model = "") {
    v1::TranslateRequest request = TextsRequest({"abc"});
    request.set_model(model);
    const HeaderFields fields = connection_->Translate(request, asked);
    status_ = FindField(fields, "grpc-status");
    const std::string_view text =
        FindField(fields, "endpoint-load-metrics-bin");
    std::string bytes;
    xds::OrcaLoadReport report;
    if (text.empty()) return std::nullopt;
    EXPECT_TRUE(absl::Base64Unescape({text.data(), text.size()}, &bytes));
    EXPECT_TRUE(report.ParseFromString(bytes));
    EXPECT_EQ(report.named_metrics().size(), 3u);
    return report;
  }
  HttpResult Post(const std::string& path, const std::string& body,
                  const std::string& asked) {
    std::string headers = "Content-Type: application/json\r\n";
    if (!asked.empty()) {
      headers += std::string(kLoadFormatKey) + ": " + asked + "\r\n";
    }
    return HttpPost(server_->http_port(), path, body, headers);
  }
  HttpResult Post(const std::string& asked) {
    return Post("/trivium.v1.Inference/Translate",
                R"({"inputs":[{"text":"abc"}]})", asked);
  }

  std::unique_ptr<Connection> connection_;
  std::string status_;
};

TEST_F(LoadReportsPortTest, AreOffByDefault) {
  Start(LoadReporting::kOff);
  EXPECT_FALSE(Call("text"));
  EXPECT_EQ(status_, "0");
  EXPECT_THAT(Post("text").headers, Not(HasSubstr("load-metrics")));
}

TEST_F(LoadReportsPortTest, GoToCallsThatAsk) {
  Start(LoadReporting::kAsked);
  EXPECT_FALSE(Call(""));
  EXPECT_TRUE(Call("bin"));
  EXPECT_EQ(status_, "0");
  EXPECT_THAT(Post("").headers, Not(HasSubstr("load-metrics")));
  EXPECT_THAT(Post("text").headers,
              HasSubstr("endpoint-load-metrics: TEXT cpu_utilization="));
  EXPECT_THAT(Post("JSON").headers,
              HasSubstr("endpoint-load-metrics: JSON {\"cpu_utilization\":"));
  // With a stream's head, before the answer is known.
  const HttpResult stream =
      Post("/v1/completions",
           R"({"model":"translator","prompt":"abc","stream":true})", "text");
  EXPECT_EQ(stream.status, 200) << stream.body;
  EXPECT_THAT(stream.headers, HasSubstr("endpoint-load-metrics: TEXT "));
}

TEST_F(LoadReportsPortTest, GoWithAllAnswersAndRefusals) {
  Start(LoadReporting::kAll);
  EXPECT_TRUE(Call(""));
  EXPECT_EQ(status_, "0");
  EXPECT_TRUE(Call("", "none-such"));
  EXPECT_EQ(status_, "5");
  EXPECT_THAT(Post("").headers, HasSubstr("endpoint-load-metrics: JSON "));
  // Before gRPC hears of the call.
  batcher_->RefuseBeforehand(absl::ResourceExhaustedError("too much"));
  EXPECT_TRUE(Call(""));
  EXPECT_EQ(status_, "8");
  EXPECT_THAT(Post("").headers, HasSubstr("endpoint-load-metrics: JSON "));
}

}  // namespace
}  // namespace trivium
