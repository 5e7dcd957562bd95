#ifndef TRIVIUM_BASE_CPU_LIMITS_H_
#define TRIVIUM_BASE_CPU_LIMITS_H_

#include <cstdint>
#include <string>

namespace trivium {

// Returns the physical cores that this process may use: the affinity mask's
// cores (two hyper-threads of one core count once), capped by the cgroup's CPU
// quota (v1 or v2, rounded up); at least 1. `root` replaces "/" in tests.
int UsableCores(const std::string& root = "");

// Returns the bytes of memory that this process may use: the smaller of the
// machine's memory and the cgroup's limit.
int64_t UsableMemory(const std::string& root = "");

// Returns the part of UsableMemory that other processes leave free now; files
// that the system caches in memory count as free. Returns UsableMemory if the
// system does not tell.
int64_t AvailableMemory(const std::string& root = "");

// Returns the private memory of this process in bytes; 0 if the system does not
// tell. Shared memory is excluded: it is mostly the files of models, which can
// be read again.
int64_t PrivateMemory();

}  // namespace trivium

#endif  // TRIVIUM_BASE_CPU_LIMITS_H_
