#include "server/limits/open_calls.h"

#include <gmock/gmock.h>

#include <vector>

#include "server/errors/status.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class OpenCallsTest : public testing::Test {
 protected:
  // Opens as many calls as there is room for.
  int Open(ClientId client) {
    for (int opened = 0;; ++opened) {
      auto place = calls_.Admit(client);
      if (!place.ok()) {
        last_ = place.status();
        return opened;
      }
      places_.push_back(*std::move(place));
    }
  }

  Metrics metrics_{1};
  OpenCalls calls_{512 << 20, &metrics_};
  std::vector<std::unique_ptr<OpenCalls::Place>> places_;
  absl::Status last_;
};

TEST_F(OpenCallsTest, BoundsTheMemoryOfOpenCalls) {
  EXPECT_LE(Open(1) * OpenCalls::kBytesACall,
            (512 << 20) / OpenCalls::kPartOfMemory);
  EXPECT_THAT(last_, IsError(absl::StatusCode::kResourceExhausted, "calls"));
  EXPECT_TRUE(RetryDelay(last_).has_value());
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_overload_actions_total{action=\"refused\"} 1"));
  places_.pop_back();
  EXPECT_EQ(Open(1), 1) << "one that ends makes room for one";
}

TEST_F(OpenCallsTest, LeavesRoomForOtherClients) {
  const int greedy = Open(1);
  const int second = Open(2);
  EXPECT_GT(second, greedy / 16);
  EXPECT_GT(Open(3), greedy / 32);
  places_.clear();
  EXPECT_EQ(Open(2), greedy);
}

TEST_F(OpenCallsTest, SomeCallsFitHoweverLittleMemoryThereIs) {
  OpenCalls few(1, &metrics_);
  std::vector<std::unique_ptr<OpenCalls::Place>> places;
  for (int i = 0; i < OpenCalls::kFewest / 2; ++i) {
    auto place = few.Admit(1);
    ASSERT_TRUE(place.ok()) << i;
    places.push_back(*std::move(place));
  }
}

}  // namespace
}  // namespace trivium
