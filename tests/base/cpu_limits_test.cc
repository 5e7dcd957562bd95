#include "base/cpu_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace trivium {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A fake /proc and /sys in a temporary folder.
class CpuLimitsTest : public ::testing::Test {
 protected:
  CpuLimitsTest() {
    const ::testing::TestInfo* info =
        ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = info->name();  // contains a slash in parameterized tests
    std::replace(name.begin(), name.end(), '/', '_');
    root_ = ::testing::TempDir() + "/cpu_limits_" + name;
    std::filesystem::remove_all(root_);
    Write("/proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 5 kB\n");
  }
  ~CpuLimitsTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  // `cpus` is in the kernel's list format.
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

TEST_F(CpuLimitsTest, CountsTheCoresOfTheAffinityMask) {
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
  // Both threads of one core, and only the upper one of another.
  SetAffinity("1,5,6");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, ReadsSiblingsGivenAsARange) {
  SetAffinity("0-3");
  SetSiblings(0, "0-1");
  SetSiblings(1, "0-1");
  SetSiblings(2, "2-3");
  SetSiblings(3, "2-3");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, RoundsAQuotaOfV2Up) {
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

TEST_F(CpuLimitsTest, UsesTheLowestQuotaOfAllAncestors) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup", "0::/system.slice/trivium.service\n");
  Write("/sys/fs/cgroup/system.slice/cpu.max", "200000 100000\n");
  Write("/sys/fs/cgroup/system.slice/trivium.service/cpu.max",
        "800000 100000\n");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(CpuLimitsTest, UsesTheMountPointIfThePathIsTheHosts) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup", "0::/kubepods/pod1/abc\n");
  Write("/sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_EQ(UsableCores(root_), 5);
}

TEST_F(CpuLimitsTest, RoundsAQuotaOfV1Up) {
  SetAffinity("0-15");
  Write("/proc/self/cgroup",
        "11:memory:/docker/abc\n4:cpuacct,cpu:/docker/abc\n1:name=x:/\n");
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "150000\n");
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(UsableCores(root_), 3);
}

// The same quota in v2's file and in v1's two files.
struct Quota {
  const char* name;
  int microseconds;  // per 100 ms
  int cores;
};
class QuotaTest : public CpuLimitsTest,
                  public testing::WithParamInterface<Quota> {
 protected:
  // If both versions have a limit, the lower one holds.
  void SetQuotas(int v2, int v1) {
    const auto text = [](int quota, const char* none) {
      return quota == 0 ? std::string(none) : std::to_string(quota);
    };
    Write("/proc/self/cgroup", "4:cpu,cpuacct:/pod\n0::/pod\n");
    Write("/sys/fs/cgroup/unified/pod/cpu.max", text(v2, "max") + " 100000\n");
    Write("/sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", text(v1, "-1") + "\n");
    Write("/sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
  }
};

// A part of a core is worth a thread. With a quota of 1.5, one thread would
// leave a third of it unused forever; two threads use all of it and then wait
// together for a quarter of each period. tests/deploy/measure_quota.py measures
// both.
TEST_P(QuotaTest, RoundsUpInBothVersions) {
  SetAffinity("0-15");
  SetQuotas(GetParam().microseconds, 0);
  EXPECT_EQ(UsableCores(root_), GetParam().cores);
  SetQuotas(0, GetParam().microseconds);
  EXPECT_EQ(UsableCores(root_), GetParam().cores);
  SetQuotas(800000, GetParam().microseconds);
  EXPECT_EQ(UsableCores(root_), GetParam().cores);
}

// The affinity mask already reflects a cpuset of either version: the kernel
// removes the CPUs that it forbids.
TEST_P(QuotaTest, UsesTheSmallerOfQuotaAndCpuset) {
  SetQuotas(GetParam().microseconds, 0);
  SetAffinity("4");
  Write("/sys/fs/cgroup/unified/pod/cpuset.cpus.effective", "4\n");
  Write("/sys/fs/cgroup/cpuset/pod/cpuset.effective_cpus", "4\n");
  EXPECT_EQ(UsableCores(root_), 1);
  SetAffinity("4-5");
  EXPECT_EQ(UsableCores(root_), std::min(2, GetParam().cores));
  // Two hyper-threads of a core do the work of one core.
  SetSiblings(4, "4-5");
  SetSiblings(5, "4-5");
  EXPECT_EQ(UsableCores(root_), 1);
}

INSTANTIATE_TEST_SUITE_P(All, QuotaTest,
                         testing::Values(Quota{"half", 50000, 1},
                                         Quota{"one", 100000, 1},
                                         Quota{"one_and_a_half", 150000, 2},
                                         Quota{"two", 200000, 2},
                                         Quota{"two_and_a_bit", 201000, 3}),
                         [](const auto& info) { return info.param.name; });

TEST_F(CpuLimitsTest, ReturnsAtLeastOneCoreWhateverTheFilesSay) {
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

TEST_F(CpuLimitsTest, BoundsHugeCpuNumbers) {
  SetAffinity("0-9223372036854775807");
  EXPECT_LE(UsableCores(root_), (1 << 16) + 1);
}

TEST_F(CpuLimitsTest, ReadsTheMemoryOfTheMachine) {
  EXPECT_EQ(UsableMemory(root_), 1024 * kMiB);
}

TEST_F(CpuLimitsTest, UsesTheLowestMemoryLimitOfACgroup) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/memory.max", "268435456\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root_), 256 * kMiB);
}

TEST_F(CpuLimitsTest, ReadsTheMemoryLimitOfACgroupV1) {
  Write("/proc/self/cgroup", "11:memory:/docker/abc\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(UsableMemory(root_), 1024 * kMiB);
  Write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes",
        "134217728\n");
  EXPECT_EQ(UsableMemory(root_), 128 * kMiB);
}

TEST_F(CpuLimitsTest, ReadsTheMemoryThatOthersLeaveFree) {
  EXPECT_EQ(AvailableMemory(root_), 1024 * kMiB);
  Write("/proc/meminfo", "MemTotal:  1048576 kB\nMemAvailable: 524288 kB\n");
  EXPECT_EQ(AvailableMemory(root_), 512 * kMiB);
  Write("/proc/self/cgroup", "0::/a\n");
  Write("/sys/fs/cgroup/a/memory.max", "268435456\n");
  EXPECT_EQ(AvailableMemory(root_), 256 * kMiB);
}

TEST(RealMachine, HasCoresAndMemory) {
  EXPECT_GT(PrivateMemory(), 0);
  EXPECT_LT(PrivateMemory(), UsableMemory());
  EXPECT_GE(UsableCores(), 1);
  EXPECT_GT(UsableMemory(), kMiB);
  EXPECT_LT(UsableMemory(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace trivium
