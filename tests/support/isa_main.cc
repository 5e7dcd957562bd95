// A main() for tests that run once at each instruction set, each in its own
// process, since a process chooses its instruction set once:
//   kernels_test --isa=avx2
// "best" is the machine's own, "above-avx2" the same where that is not avx2.
// Without the flag TRIVIUM_MAX_ISA caps it. Exits with 77, "skipped", when the
// CPU lacks it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/isa.h"
#include "gtest/gtest.h"
#include "model/kernels/runtime.h"

namespace {

constexpr int kNotOnThisMachine = 77;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string exact;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--isa=", 0) != 0) {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      return 2;
    }
    exact = argument.substr(6);
  }
  const char* cap = std::getenv("TRIVIUM_MAX_ISA");
  const std::string name = !exact.empty() ? exact : cap != nullptr ? cap : "";
  const absl::StatusOr<trivium::Isa> best = trivium::DetectIsa();
  if (!best.ok()) return Fail(best.status());
  const bool above = name == "above-avx2";
  const absl::StatusOr<trivium::Isa> wanted =
      name.empty() || name == "best" || above ? best : trivium::ParseIsa(name);
  if (!wanted.ok()) return Fail(wanted.status());
  if ((!exact.empty() && *wanted > *best) ||
      (above && *best == trivium::Isa::kAvx2)) {
    std::printf("skipped: this machine has no instruction set %s\n",
                name.c_str());
    return kNotOnThisMachine;
  }
  if (const absl::Status status = trivium::CapIsa(*wanted); !status.ok()) {
    return Fail(status);
  }
  return RUN_ALL_TESTS();
}
