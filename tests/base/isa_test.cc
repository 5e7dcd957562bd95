#include "base/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trivium {
namespace {

using ::testing::HasSubstr;

#if defined(__x86_64__)
constexpr Isa kIsas[] = {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni,
                         Isa::kAvx512Bf16, Isa::kAmx};
constexpr char kNames[] = "avx2, avx512, vnni, bf16, amx";
constexpr char kForeign[] = "neon";
#else
constexpr Isa kIsas[] = {Isa::kNeon};
constexpr char kNames[] = "neon";
constexpr char kForeign[] = "avx2";
#endif

TEST(IsaTest, ParsesTheNameOfEverySet) {
  for (Isa isa : kIsas) {
    const absl::StatusOr<Isa> parsed = ParseIsa(IsaName(isa));
    ASSERT_TRUE(parsed.ok()) << IsaName(isa);
    EXPECT_EQ(*parsed, isa);
  }
}

TEST(IsaTest, LevelsAreOrdered) {
  EXPECT_LT(Isa::kNeon, Isa::kAvx2);
  EXPECT_LT(Isa::kAvx2, Isa::kAvx512);
  EXPECT_LT(Isa::kAvx512, Isa::kAvx512Vnni);
  EXPECT_LT(Isa::kAvx512Vnni, Isa::kAvx512Bf16);
  EXPECT_LT(Isa::kAvx512Bf16, Isa::kAmx);
}

TEST(IsaTest, UnknownNameListsTheNames) {
  for (const char* name : {"", "AVX2", "avx3", "avx2 ", "vnn", kForeign}) {
    const absl::StatusOr<Isa> parsed = ParseIsa(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(kNames));
  }
}

TEST(IsaTest, DetectionAgreesWithItself) {
  const absl::StatusOr<Isa> first = DetectIsa();
  const absl::StatusOr<Isa> second = DetectIsa();
  ASSERT_EQ(first.ok(), second.ok());
  if (first.ok()) {
    EXPECT_EQ(*first, *second);
  }
}

}  // namespace
}  // namespace trivium
