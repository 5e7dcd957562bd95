#include "base/isa.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace trivium {
namespace {

#if defined(__x86_64__)

constexpr std::array<std::pair<Isa, std::string_view>, 5> kNames = {{
    {Isa::kAvx2, "avx2"},
    {Isa::kAvx512, "avx512"},
    {Isa::kAvx512Vnni, "vnni"},
    {Isa::kAvx512Bf16, "bf16"},
    {Isa::kAmx, "amx"},
}};

// AMX state is large, so Linux grants it only to processes that ask
// (Documentation/x86/xstate.rst). Asking again is harmless.
bool AskForAmx() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureXtileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtileData) == 0;
}

// Reads CPUID.(EAX=1):ECX. clang's __builtin_cpu_supports does not know it.
bool CpuHasF16c() {
  constexpr unsigned kF16c = 1u << 29;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & kF16c) != 0;
}

// Reads CPUID.(EAX=7,ECX=0):EDX, see Intel's manual, volume 2A.
bool CpuHasAmx() {
  constexpr unsigned kAmxBf16 = 1u << 22;
  constexpr unsigned kAmxTile = 1u << 24;
  constexpr unsigned kAmxInt8 = 1u << 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  const unsigned all = kAmxBf16 | kAmxTile | kAmxInt8;
  return (edx & all) == all;
}

#elif defined(__aarch64__)

constexpr std::array<std::pair<Isa, std::string_view>, 1> kNames = {{
    {Isa::kNeon, "neon"},
}};

#else
#error "Trivium runs on x86-64 and on 64-bit Arm"
#endif

}  // namespace

std::string_view IsaName(Isa isa) {
  for (const auto& [value, name] : kNames) {
    if (value == isa) return name;
  }
  return "unknown";
}

absl::StatusOr<Isa> ParseIsa(std::string_view name) {
  std::string names;
  for (const auto& entry : kNames) {
    if (entry.second == name) return entry.first;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.second);
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not an instruction set; give one of {}", name, names));
}

#if defined(__x86_64__)

absl::StatusOr<Isa> DetectIsa() {
  // These also check that the operating system saves the registers.
  __builtin_cpu_init();
  const std::array<std::pair<bool, std::string_view>, 5> needed = {{
      {__builtin_cpu_supports("avx2"), "AVX2"},
      {__builtin_cpu_supports("fma"), "FMA"},
      {__builtin_cpu_supports("bmi"), "BMI"},
      {__builtin_cpu_supports("bmi2"), "BMI2"},
      {CpuHasF16c(), "F16C"},
  }};
  for (const auto& [has, name] : needed) {
    if (has) continue;
    return absl::FailedPreconditionError(fmt::format(
        "this CPU (or the virtual machine's CPU model) lacks {}; Trivium needs "
        "AVX2, FMA, BMI, BMI2 and F16C, which x86-64 CPUs have since 2013 "
        "(Intel Haswell, AMD Excavator)",
        name));
  }
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx2;
  }
  if (!__builtin_cpu_supports("avx512vnni")) return Isa::kAvx512;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::kAvx512Vnni;
  return CpuHasAmx() && AskForAmx() ? Isa::kAmx : Isa::kAvx512Bf16;
}

#else

absl::StatusOr<Isa> DetectIsa() { return Isa::kNeon; }

#endif

}  // namespace trivium
