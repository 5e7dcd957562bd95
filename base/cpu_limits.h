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

// Of these, what other processes of the machine leave free now (files that the
// system keeps in memory count as free); UsableMemory where the system does not
// tell.
int64_t AvailableMemory(const std::string& root = "");

// What this process has of it, without what is shared, which is files of models
// mostly and can be read again; 0 where the system does not tell.
int64_t PrivateMemory();

}  // namespace trivium

#endif  // TRIVIUM_BASE_CPU_LIMITS_H_
