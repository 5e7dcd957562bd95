#include "base/exceptions.h"

#include <new>
#include <stdexcept>

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(CatchExceptionsTest, ReturnsWhatTheWorkReturns) {
  EXPECT_TRUE(CatchExceptions([] {}).ok());
  EXPECT_EQ(CatchExceptions([] { return absl::NotFoundError("gone"); }),
            absl::NotFoundError("gone"));
}

TEST(CatchExceptionsTest, MakesStatusesOfExceptions) {
  EXPECT_EQ(CatchExceptions([] { throw std::bad_alloc(); }), NoMemoryStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(NoMemoryStatus()));
  EXPECT_EQ(CatchExceptions([] { throw std::length_error("too long"); }),
            absl::InternalError("too long"));
  EXPECT_FALSE(CatchExceptions([] { throw 1; }).ok());
}

}  // namespace
}  // namespace trivium
