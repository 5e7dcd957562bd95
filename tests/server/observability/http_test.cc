#include "server/observability/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

namespace trivium {
namespace {

TEST(HttpServerTest, ServesWhileOthersHang) {
  Metrics metrics({{"m", ModelInfo()}}, 1);
  std::atomic<bool> ready = false;
  auto server = HttpServer::Create({"127.0.0.1", 0}, &metrics,
                                   [&ready] { return ready.load(); });
  ASSERT_TRUE(server.ok()) << server.status();
  // A scraper that connects and says nothing.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>((*server)->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(
      connect(silent, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
      0);
  httplib::Client client("127.0.0.1", (*server)->port());
  EXPECT_EQ(client.Get("/readyz")->status, 503);
  ready = true;
  EXPECT_EQ(client.Get("/readyz")->status, 200);
  EXPECT_EQ(client.Get("/metrics")->status, 200);
  EXPECT_EQ(client.Get("/")->status, 404);
  close(silent);
}

TEST(HttpServerTest, TakenPortsAreNamed) {
  Metrics metrics({{"m", ModelInfo()}}, 1);
  const auto ready = [] { return true; };
  auto first = HttpServer::Create({"127.0.0.1", 0}, &metrics, ready);
  ASSERT_TRUE(first.ok());
  const int port = (*first)->port();
  auto second = HttpServer::Create({"127.0.0.1", port}, &metrics, ready);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              testing::HasSubstr(std::to_string(port)));
}

}  // namespace
}  // namespace trivium
