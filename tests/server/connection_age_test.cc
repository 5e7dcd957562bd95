// --max-connection-age, over gRPC and HTTP.
#include <gmock/gmock.h>

#include <string>
#include <thread>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kOld =
    "trivium_connections_ended_total{reason=\"old\"} ";
// GOAWAY of HTTP/2: no error, whatever stream was the last.
const std::string kGoAway("\0\0\10\7\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0", 17);

class ConnectionAgeTest : public RpcTest {
 protected:
  ConnectionAgeTest() { options_.http_listen = "127.0.0.1:0"; }
  // Connections come with each test.
  void SetUp() override {}

  // That were told to go, so far.
  int Old() const {
    const std::string text = metrics_->Text();
    return std::stoi(text.substr(text.find(kOld) + kOld.size()));
  }

  std::string KeptAlive() const {
    std::string request = PostText("/trivium.v1.Inference/Translate",
                                   R"({"inputs":[{"text":"abc"}]})");
    request.erase(request.find("Connection: close\r\n"), 19);
    return request;
  }
};

TEST_F(ConnectionAgeTest, TellsAnOldGrpcConnectionToGo) {
  options_.max_connection_age = absl::Milliseconds(50);
  options_.drain_timeout = absl::ZeroDuration();
  StartServer();
  HttpSocket socket(server_->port());
  // The preface, and settings that change nothing.
  socket.Send(
      std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33));
  EXPECT_THAT(socket.Receive(), EndsWith(kGoAway));
  EXPECT_GT(Old(), 0);
}

TEST_F(ConnectionAgeTest, FinishesCallsOfAnOldConnection) {
  options_.max_connection_age = absl::Milliseconds(50);
  StartServer();
  batcher_->Hold();
  grpc::Status status;
  std::thread client([&] {
    v1::TranslateResponse response;
    status = Translate(TextsRequest({"abc"}), &response);
  });
  batcher_->WaitForSubmitted(1);
  while (Old() == 0) std::this_thread::yield();
  batcher_->Release();
  client.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  // The next call goes by another connection.
  v1::TranslateResponse response;
  EXPECT_TRUE(Translate(TextsRequest({"abc"}), &response).ok());
}

TEST_F(ConnectionAgeTest, EndsAnOldHttpConnectionWithItsAnswer) {
  options_.max_connection_age = absl::Nanoseconds(1);
  StartServer();
  for (const std::string& request :
       {KeptAlive(), std::string("GET /none HTTP/1.1\r\nHost: x\r\n\r\n")}) {
    HttpSocket socket(server_->http_port());
    socket.Send(request);
    EXPECT_THAT(socket.Receive(), HasSubstr("Connection: close"));
  }
}

TEST_F(ConnectionAgeTest, EndsAnOldHttpConnectionThatIsIdle) {
  options_.max_connection_age = absl::Milliseconds(200);
  StartServer();
  HttpSocket socket(server_->http_port());
  socket.Send(KeptAlive());
  EXPECT_THAT(socket.Receive(), StartsWith("HTTP/1.1 200"));
  EXPECT_GT(Old(), 0);
}

TEST_F(ConnectionAgeTest, LimitsNoAgeByDefault) {
  StartServer();
  HttpSocket socket(server_->http_port());
  socket.Send(KeptAlive() + PostText("/detect", R"({"q":"abc"})"));
  const std::string answers = socket.Receive();
  EXPECT_THAT(answers.substr(0, answers.find("\r\n\r\n")),
              Not(HasSubstr("Connection: close")));
  EXPECT_EQ(Old(), 0);
}

}  // namespace
}  // namespace trivium
