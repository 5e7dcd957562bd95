#include "server/host_port.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(HostPortTest, GivesTheAddressOnThisMachine) {
  EXPECT_EQ(AddressToCall("0.0.0.0:0", 7), "127.0.0.1:7");
  EXPECT_EQ(AddressToCall("[::]:9", 9), "[::1]:9");
  EXPECT_EQ(AddressToCall("10.0.0.2:9", 9), "10.0.0.2:9");
}

TEST(HostPortTest, ParsesHostsAndPorts) {
  EXPECT_EQ(ParseHostPort("127.0.0.1:9464")->port, 9464);
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseHostPort("unix:/run/a.sock")->host, "unix:/run/a.sock");
  EXPECT_EQ(AddressToCall("unix:/run/a.sock", 0), "unix:/run/a.sock");
  for (const char* bad : {"", "host", ":80", "h:", "h:x", "h:70000", "h:-1",
                          "::1:80", "h:1x", "unix:"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace trivium
