#ifndef TRIVIUM_BASE_ISA_H_
#define TRIVIUM_BASE_ISA_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace trivium {

// The instruction set of 64-bit Arm, and those of x86-64, each of which
// includes those before it. The process uses the best one that the CPU has and
// --max-isa allows.
enum class Isa {
  kNeon,        // on every 64-bit Arm CPU
  kAvx2,        // avx2, fma, bmi, bmi2, f16c
  kAvx512,      // avx512f, bw, cd, dq, vl
  kAvx512Vnni,  // + avx512_vnni: dot products of four bytes
  kAvx512Bf16,  // + avx512_bf16
  kAmx,         // + amx_tile, amx_int8, amx_bf16, and the kernel's permission
};

// Returns "avx2", "avx512", "vnni", "bf16" or "amx"; on Arm "neon".
std::string_view IsaName(Isa isa);

// The inverse of IsaName for the instruction sets of this architecture; the
// error lists their names.
absl::StatusOr<Isa> ParseIsa(std::string_view name);

// Returns the best instruction set of this CPU. On an x86 CPU that lacks a
// part of kAvx2, returns an error that says what is missing.
absl::StatusOr<Isa> DetectIsa();

}  // namespace trivium

#endif  // TRIVIUM_BASE_ISA_H_
