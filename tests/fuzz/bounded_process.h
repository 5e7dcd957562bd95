#ifndef TRIVIUM_TESTS_FUZZ_BOUNDED_PROCESS_H_
#define TRIVIUM_TESTS_FUZZ_BOUNDED_PROCESS_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"

namespace trivium {

// True if memory is bounded, and time as strictly as in deployment. False under
// a sanitizer, which reserves terabytes and computes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kBoundsMemory = false;
#else
inline constexpr bool kBoundsMemory = true;
#endif

// Reads a model folder in a process of its own, which the system ends when
// Model::Check takes more than 10 seconds of a core's time, or more memory than
// 256 MiB and twice the folder's files. A folder that Check finds nothing wrong
// with is loaded, in 512 MiB and eight times its files, and its tokenizer used.
// Says how the process ended when it did not end by itself; empty: all is well.
std::string ReadFolderInBounds(const std::string& folder);

// Calls write(i) for each of the cases, which puts files into the folder, and
// reports the folder (folder_report.h) after each. All of this runs in one
// process with the bounds of Model::Check above. Tells as above how it ended,
// and also if a report has a negative size. After a failure the folder has the
// files of the case that failed.
std::string ReportInBounds(const std::string& folder, size_t cases,
                           absl::FunctionRef<void(size_t)> write);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_FUZZ_BOUNDED_PROCESS_H_
