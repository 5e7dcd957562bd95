#ifndef TRIVIUM_BASE_ISA_H_
#define TRIVIUM_BASE_ISA_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace trivium {

// Instruction sets, each containing those before it. The process runs at the
// best one that the CPU has and --max-isa allows.
enum class Isa {
  kAvx2,        // avx2 + fma
  kAvx512,      // avx512f, bw, cd, dq, vl
  kAvx512Vnni,  // + avx512_vnni: dot products of four bytes
  kAvx512Bf16,  // + avx512_bf16
  kAmx,         // + amx_tile, amx_int8, amx_bf16, and the kernel's permission
};

// "avx2", "avx512", "vnni", "bf16", "amx".
std::string_view IsaName(Isa isa);

// The inverse of IsaName; the error lists the names.
absl::StatusOr<Isa> ParseIsa(std::string_view name);

// The best instruction set of this CPU, or an error that says what is missing
// when it lacks even AVX2.
absl::StatusOr<Isa> DetectIsa();

}  // namespace trivium

#endif  // TRIVIUM_BASE_ISA_H_
