// A server whose ports are Unix sockets.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

class UnixSocketsTest : public RpcTest {
 protected:
  void SetUp() override {
    const std::string folder =
        testing::TempDir() + "/unix" + std::to_string(getpid());
    options_.listen = "unix:" + folder + "grpc";
    options_.http_listen = "unix:" + folder + "http";
    options_.metrics_listen = "unix:" + folder + "metrics";
    StartServer();
  }

  static UniqueFd Connect(const std::string& address) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address.copy(to.sun_path, sizeof(to.sun_path) - 1, kUnixPrefix.size());
    UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval minute = {60, 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
    const bool connected =
        connect(client.get(), reinterpret_cast<const sockaddr*>(&to),
                sizeof(to)) == 0;
    return connected ? std::move(client) : UniqueFd();
  }
  static HttpResult Ask(const std::string& address, const std::string& text) {
    const UniqueFd client = Connect(address);
    std::string all;
    char bytes[4096];
    if (send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
      return {};
    }
    for (ssize_t count;
         (count = recv(client.get(), bytes, sizeof(bytes), 0)) > 0;) {
      all.append(bytes, static_cast<size_t>(count));
    }
    return ParseHttpResult(all);
  }
  static bool Exists(const std::string& address) {
    struct stat file {};
    return stat(address.substr(kUnixPrefix.size()).c_str(), &file) == 0;
  }
};

TEST_F(UnixSocketsTest, AnswerAsPortsDo) {
  const auto stub = v1::Inference::NewStub(
      grpc::CreateChannel(options_.listen, grpc::InsecureChannelCredentials()));
  v1::TranslateResponse response;
  const grpc::Status status =
      stub->Translate(Context().get(), TextsRequest({"abc"}), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  // Whatever the host is called.
  const std::string call = PostText("/trivium.v1.Inference/Translate",
                                    R"({"inputs":[{"text":"abc"}]})",
                                    "Content-Type: application/json\r\n");
  std::string other = call;
  other.replace(other.find("localhost"), 9, "any.example");
  EXPECT_EQ(Ask(options_.http_listen, call).status, 200);
  EXPECT_EQ(Ask(options_.http_listen, other).status, 200);
  // The server asks its own ports.
  EXPECT_EQ(
      Ask(options_.metrics_listen, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
          .status,
      200);
}

// Clients cannot be told apart, so the bound of one client is none.
TEST_F(UnixSocketsTest, AllConnectionsMayBeUsed) {
  options_.max_connections = 8;
  StartServer();
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(Connect(options_.http_listen));
    ASSERT_TRUE(clients.back());
  }
  for (const UniqueFd& client : clients) {
    const std::string get = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(send(client.get(), get.data(), get.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(get.size()));
    char begin[9];
    EXPECT_EQ(recv(client.get(), begin, sizeof(begin), MSG_WAITALL), 9);
  }
}

TEST_F(UnixSocketsTest, AreRemovedWithTheServer) {
  for (const std::string& address :
       {options_.listen, options_.http_listen, options_.metrics_listen}) {
    EXPECT_TRUE(Exists(address));
  }
  server_.reset();
  for (const std::string& address :
       {options_.listen, options_.http_listen, options_.metrics_listen}) {
    EXPECT_FALSE(Exists(address));
  }
}

}  // namespace
}  // namespace trivium
