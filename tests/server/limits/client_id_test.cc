#include "server/limits/client_id.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(ClientIdTest, TreatsAnAddressAsAClient) {
  EXPECT_EQ(NetworkOf("ipv4:10.0.0.1:5000"), NetworkOf("ipv4:10.0.0.1:6000"));
  EXPECT_NE(NetworkOf("ipv4:10.0.0.1:5000"), NetworkOf("ipv4:10.0.0.2:5000"));
  EXPECT_EQ(NetworkOf("unix:/a"), NetworkOf("unix:/b"));
  EXPECT_EQ(NetworkOf(""), NetworkOf(""));
  EXPECT_NE(NetworkOf(""), NetworkOf("unix:"));
}

TEST(ClientIdTest, TreatsAnIpv6NetworkAsAClient) {
  const std::string one = NetworkOf("ipv6:[2001:db8:1:2::1]:5000");
  EXPECT_EQ(NetworkOf("ipv6:[2001:db8:1:2:ffff::9]:1"), one);
  EXPECT_EQ(NetworkOf("ipv6:[2001:0db8:0001:0002:0:0:0:1]:5000"), one);
  EXPECT_NE(NetworkOf("ipv6:[2001:db8:1:3::1]:5000"), one);
  EXPECT_EQ(NetworkOf("ipv6:[fe80::1%eth0]:5000"),
            NetworkOf("ipv6:[fe80::2%eth0]:5000"));
}

TEST(ClientIdTest, TreatsIpv4WithinIpv6AsIpv4) {
  EXPECT_EQ(NetworkOf("ipv6:[::ffff:10.0.0.1]:5000"),
            NetworkOf("ipv4:10.0.0.1:5000"));
  EXPECT_NE(NetworkOf("ipv6:[::ffff:10.0.0.1]:5000"),
            NetworkOf("ipv6:[::ffff:10.0.0.2]:5000"));
}

TEST(ClientIdTest, TellsKeysFromAddresses) {
  CallContext key, address;
  key.client_key = "ipv4:10.0.0.1";
  address.peer = "ipv4:10.0.0.1:5000";
  EXPECT_NE(ClientOf(key), ClientOf(address));
  key.peer = "ipv4:10.0.0.9:1";
  CallContext elsewhere;
  elsewhere.client_key = key.client_key;
  EXPECT_EQ(ClientOf(key), ClientOf(elsewhere));
}

}  // namespace
}  // namespace trivium
