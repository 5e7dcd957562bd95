#ifndef TRIVIUM_BASE_ISA_H_
#define TRIVIUM_BASE_ISA_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace trivium {

// The instruction set of 64-bit Arm, and those of x86-64, each containing those
// before it. The process runs at the best one that the CPU has and --max-isa
// allows.
enum class Isa {
  kNeon,        // every 64-bit Arm CPU has it
  kAvx2,        // avx2 + fma
  kAvx512,      // avx512f, bw, cd, dq, vl
  kAvx512Vnni,  // + avx512_vnni: dot products of four bytes
  kAvx512Bf16,  // + avx512_bf16
  kAmx,         // + amx_tile, amx_int8, amx_bf16, and the kernel's permission
};

// "avx2", "avx512", "vnni", "bf16", "amx"; on Arm "neon".
std::string_view IsaName(Isa isa);

// The inverse of IsaName for the sets of this architecture, whose names the
// error lists.
absl::StatusOr<Isa> ParseIsa(std::string_view name);

// The best instruction set of this CPU, or an error that says what is missing
// when it is of x86 and lacks even AVX2.
absl::StatusOr<Isa> DetectIsa();

}  // namespace trivium

#endif  // TRIVIUM_BASE_ISA_H_
