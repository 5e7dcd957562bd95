#ifndef TRIVIUM_BASE_CPU_LIMITS_H_
#define TRIVIUM_BASE_CPU_LIMITS_H_

#include <cstdint>
#include <string>

namespace trivium {

// Physical cores this process may use: the affinity mask's cores (two
// hyper-threads of one core count once), capped by the cgroup's CPU quota
// (v1 or v2, rounded up), at least 1. `root` stands for "/" in tests.
int UsableCores(const std::string& root = "");

// Bytes of memory this process may use: the smaller of the machine's and the
// cgroup's limit.
int64_t UsableMemory(const std::string& root = "");

}  // namespace trivium

#endif  // TRIVIUM_BASE_CPU_LIMITS_H_
