#ifndef TRIVIUM_TESTS_FUZZ_PARSERS_TARGETS_H_
#define TRIVIUM_TESTS_FUZZ_PARSERS_TARGETS_H_

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace trivium {

// A reader of bytes that nobody vouches for. `run` gives it some and uses what
// it makes of them; whatever they are, it comes back. What must hold of the
// outcome it checks, and ends the process where it does not (Ensure).
//
// corpus/NAME/ has examples that are read without an error, or nearly so, from
// which mutations start.
struct FuzzTarget {
  const char* name;
  void (*run)(std::string_view bytes);
};

// model/: weights, configurations, tokenizers, templates of chats.
std::span<const FuzzTarget> ModelTargets();
// server/: what comes over its ports.
std::span<const FuzzTarget> ServerTargets();

// Ends the process, which a fuzzer takes for a crash, unless `holds`.
inline void Ensure(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "it does not hold that %s\n", what);
  std::abort();
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_FUZZ_PARSERS_TARGETS_H_
