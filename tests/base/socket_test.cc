#include "base/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(SocketTest, ADescriptorIsClosedWithItsOwner) {
  int number = -1;
  {
    UniqueFd first(open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    UniqueFd second = std::move(first);
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), number);
    UniqueFd third;
    third = std::move(second);
    EXPECT_EQ(third.get(), number);
  }
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(SocketTest, AllAddressesOfANameShareAPort) {
  const auto listeners = Listen("localhost", 0);
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  const int port = PortOf(listeners->front().get());
  EXPECT_GT(port, 0);
  for (const UniqueFd& listener : *listeners) {
    EXPECT_EQ(PortOf(listener.get()), port);
  }
  // The port is now in use.
  EXPECT_TRUE(absl::IsUnavailable(Listen("127.0.0.1", port).status()));
  EXPECT_TRUE(absl::IsUnavailable(Listen("no such host", 0).status()));
}

TEST(SocketTest, AddressesAreWrittenAsGrpcDoes) {
  sockaddr_storage storage{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(5000);
  v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(AddressText(storage), "ipv4:127.0.0.1:5000");
  storage = {};
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(5000);
  v6->sin6_addr = in6addr_loopback;
  EXPECT_EQ(AddressText(storage), "ipv6:[::1]:5000");
}

}  // namespace
}  // namespace trivium
