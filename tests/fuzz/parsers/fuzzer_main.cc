// A libFuzzer program for one target, TRIVIUM_FUZZ_TARGET of
// TRIVIUM_FUZZ_TARGETS.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/parsers/targets.h"

namespace {

const trivium::FuzzTarget& Target() {
  for (const trivium::FuzzTarget& target : trivium::TRIVIUM_FUZZ_TARGETS()) {
    if (target.name == std::string_view(TRIVIUM_FUZZ_TARGET)) return target;
  }
  std::fprintf(stderr, "there is no target %s\n", TRIVIUM_FUZZ_TARGET);
  std::exit(1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const trivium::FuzzTarget& target = Target();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
