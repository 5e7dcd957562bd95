#include "server/tracing/tracer.h"

#include <cmath>

#include "base/random_bits.h"

namespace trivium {
namespace {

// Returns a uniform number from 0 to below 1.
double RandomFraction() {
  constexpr int kDigits = 53;
  return std::ldexp(static_cast<double>(RandomBits() >> (64 - kDigits)),
                    -kDigits);
}

}  // namespace

Tracer::Tracer(std::unique_ptr<SpanExporter> exporter, double sample_rate)
    : exporter_(std::move(exporter)), sample_rate_(sample_rate) {}

std::unique_ptr<CallTrace> Tracer::Begin(
    const std::optional<TraceContext>& caller, absl::Time now) const {
  const bool sampled =
      caller ? caller->sampled : RandomFraction() < sample_rate_;
  if (!sampled) return nullptr;
  return std::make_unique<CallTrace>(caller, now);
}

}  // namespace trivium
