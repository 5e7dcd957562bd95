#include "base/cpu_limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace trivium {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A made-up /proc and /sys below a temporary folder.
class CpuLimitsTest : public ::testing::Test {
 protected:
  CpuLimitsTest() {
    const ::testing::TestInfo* info =
        ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = ::testing::TempDir() + "/cpu_limits_" + info->name();
    std::filesystem::remove_all(root_);
    Write("/proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 5 kB\n");
  }
  ~CpuLimitsTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  // `cpus` in the kernel's list form.
  void SetAffinity(const std::string& cpus) {
    Write("/proc/self/status",
          "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus + "\n");
  }

  void SetSiblings(int cpu, const std::string& list) {
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
              "/topology/thread_siblings_list",
          list + "\n");
  }

  std::string root_;
};

TEST_F(CpuLimitsTest, CountsTheAffinityMask) {
  SetAffinity("0-3,8,10-11");
  EXPECT_EQ(UsableCores(root_), 7);
}

TEST_F(CpuLimitsTest, CountsHyperThreadsOnce) {
  SetAffinity("0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    SetSiblings(cpu,
                std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
  }
  EXPECT_EQ(UsableCores(root_), 4);
  // Of one core both threads, of another only the upper one.
  SetAffinity("1,5,6");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, SiblingsMayBeARange) {
  SetAffinity("0-3");
  SetSiblings(0, "0-1");
  SetSiblings(1, "0-1");
  SetSiblings(2, "2-3");
  SetSiblings(3, "2-3");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, QuotaV2IsRoundedUp) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(UsableCores(root_), 3);
  Write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(UsableCores(root_), 3);
  Write("/sys/fs/cgroup/cpu.max", "10000 100000\n");
  EXPECT_EQ(UsableCores(root_), 1);
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(UsableCores(root_), 16);
}

TEST_F(CpuLimitsTest, LowestQuotaOfTheAncestorsHolds) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup", "0::/system.slice/trivium.service\n");
  Write("/sys/fs/cgroup/system.slice/cpu.max", "200000 100000\n");
  Write("/sys/fs/cgroup/system.slice/trivium.service/cpu.max",
        "800000 100000\n");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, PathOfTheHostFallsBackToTheMount) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup", "0::/kubepods/pod1/abc\n");
  Write("/sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_EQ(UsableCores(root_), 5);
}

TEST_F(CpuLimitsTest, QuotaV1) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup",
        "11:memory:/docker/abc\n4:cpuacct,cpu:/docker/abc\n1:name=x:/\n");
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "150000\n");
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(UsableCores(root_), 3);
}

TEST_F(CpuLimitsTest, AtLeastOneCoreWhateverTheFilesSay) {
  EXPECT_EQ(UsableCores(root_), 1);
  SetAffinity("");
  EXPECT_EQ(UsableCores(root_), 1);
  SetAffinity("x,-,9-7,,\n");
  EXPECT_EQ(UsableCores(root_), 1);
  SetAffinity("0-1");
  Write("/proc/self/cgroup", "::\n0\nnonsense\n0::relative\n");
  Write("/sys/fs/cgroup/cpu.max", "0 0\n");
  EXPECT_EQ(UsableCores(root_), 2);
  Write("/sys/fs/cgroup/cpu.max", "-5 100000\n");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, HugeCpuNumbersEnd) {
  SetAffinity("0-9223372036854775807");
  EXPECT_LE(UsableCores(root_), (1 << 16) + 1);
}

TEST_F(CpuLimitsTest, MemoryOfTheMachine) {
  EXPECT_EQ(UsableMemory(root_), 1024 * kMiB);
}

TEST_F(CpuLimitsTest, MemoryOfTheCgroup) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/memory.max", "268435456\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root_), 256 * kMiB);
}

TEST_F(CpuLimitsTest, MemoryOfTheCgroupV1) {
  Write("/proc/self/cgroup", "11:memory:/docker/abc\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(UsableMemory(root_), 1024 * kMiB);
  Write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes",
        "134217728\n");
  EXPECT_EQ(UsableMemory(root_), 128 * kMiB);
}

TEST(RealMachine, HasCoresAndMemory) {
  EXPECT_GE(UsableCores(), 1);
  EXPECT_GT(UsableMemory(), kMiB);
  EXPECT_LT(UsableMemory(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace trivium
