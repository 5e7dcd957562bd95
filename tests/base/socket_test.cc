#include "base/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/acceptor.h"

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

TEST(SocketTest, AUnixSocketReplacesOnlyThatOfADeadServer) {
  const std::string path = testing::TempDir() + "/socket_test.sock";
  struct stat file {};
  {
    const auto server = NewAcceptor("unix:" + path, 0);
    ASSERT_TRUE(server.ok()) << server.status();
    ASSERT_EQ(stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0660u);
    EXPECT_TRUE(absl::IsUnavailable(ListenUnix(path).status()));
    EXPECT_EQ(stat(path.c_str(), &file), 0);
    EXPECT_EQ((*server)->address().ss_family, AF_UNIX);
    EXPECT_EQ(PortOf((*server)->address()), 0);
  }
  EXPECT_NE(stat(path.c_str(), &file), 0);  // it is removed
  { ASSERT_TRUE(ListenUnix(path).ok()); }   // a server that dies
  EXPECT_EQ(stat(path.c_str(), &file), 0);
  {
    const auto next = NewAcceptor("unix:" + path, 0);
    ASSERT_TRUE(next.ok()) << next.status();
    // Another one has taken its place.
    unlink(path.c_str());
    std::ofstream(path) << "a file";
  }
  EXPECT_TRUE(absl::IsUnavailable(ListenUnix(path).status()));
  EXPECT_EQ(stat(path.c_str(), &file), 0);
  unlink(path.c_str());
  EXPECT_TRUE(absl::IsUnavailable(ListenUnix("").status()));
  EXPECT_TRUE(absl::IsUnavailable(ListenUnix(std::string(200, 'a')).status()));
  EXPECT_TRUE(absl::IsUnavailable(ListenUnix("/nowhere/a.sock").status()));
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
