// The small parts that all calls use.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "server/calls/call_registry.h"
#include "server/errors/status.h"
#include "server/observability/rpc.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

TEST(StatusTest, DelaysAreSpread) {
  for (int i = 0; i < 100; ++i) {
    const absl::Status status =
        WithRetry(absl::ResourceExhaustedError("full"), absl::Seconds(2));
    EXPECT_GE(*RetryDelay(status), absl::Seconds(2));
    EXPECT_LE(*RetryDelay(status), absl::Seconds(3));
  }
  EXPECT_FALSE(RetryDelay(absl::InternalError("x")));
}

TEST(StatusTest, ShortensAtCharacters) {
  EXPECT_EQ(Shorten("abc", 3), "abc");
  EXPECT_EQ(Shorten("aé€", 4), "aé...");
}

TEST(RpcTest, NamesAreTheApisMethods) {
  std::set<std::string> names, methods = {"ModelInfer"};  // KServe's
  for (int i = 0; i < kRpcs; ++i) names.emplace(RpcName(static_cast<Rpc>(i)));
  for (const auto* file : {v1::EncodeRequest::descriptor()->file(),
                           v1::GetModelRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int k = 0; k < file->service(i)->method_count(); ++k) {
        methods.insert(file->service(i)->method(k)->name());
      }
    }
  }
  EXPECT_EQ(names, methods);
}

TEST(CallRegistryTest, RefusesWhileDrainingAndWaitsForTheLast) {
  CallRegistry registry(Clock::Real());
  EXPECT_TRUE(registry.Begin());
  EXPECT_FALSE(registry.Drain(absl::ZeroDuration()));
  EXPECT_FALSE(registry.Begin());
  registry.End();
  registry.End();
  EXPECT_TRUE(registry.Drain(absl::ZeroDuration()));
}

TEST(CallRegistryTest, TicksAndDrainsStreams) {
  struct Counting : Handler {
    void Start() override {}
    void OnCancel() override {}
    void OnTick(absl::Time) override { ++ticks; }
    void OnDrain() override { ++drains; }
    std::atomic<int> ticks = 0, drains = 0;
  } early, late;
  CallRegistry registry(Clock::Real(), absl::Milliseconds(1));
  registry.Add(&early);
  while (early.ticks < 3) std::this_thread::yield();
  registry.Drain(absl::ZeroDuration());
  registry.Add(&late);
  EXPECT_EQ(early.drains, 1);
  EXPECT_EQ(late.drains, 1);
  registry.Remove(&early);
  registry.Remove(&late);
  const int ticks = early.ticks;
  std::this_thread::yield();
  EXPECT_EQ(early.ticks, ticks);
}

}  // namespace
}  // namespace trivium
