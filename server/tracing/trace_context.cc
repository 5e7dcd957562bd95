#include "server/tracing/trace_context.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/escaping.h"
#include "base/random_bits.h"

namespace trivium {
namespace {

// version-trace id-parent id-flags, in hex digits of small letters. Later
// versions may have more behind another dash.
constexpr size_t kTraceIdAt = 3, kTraceIdDigits = 32;
constexpr size_t kSpanIdAt = 36, kSpanIdDigits = 16;
constexpr size_t kFlagsAt = 53, kFlagsDigits = 2;
constexpr size_t kBytes = kFlagsAt + kFlagsDigits;

bool IsHex(std::string_view digits) {
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsZero(std::string_view digits) {
  return digits.find_first_not_of('0') == std::string_view::npos;
}

void Append(uint64_t bits, std::string* id) {
  char bytes[sizeof(bits)];
  std::memcpy(bytes, &bits, sizeof(bits));
  id->append(bytes, sizeof(bits));
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  if (text.size() < kBytes) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace_id = text.substr(kTraceIdAt, kTraceIdDigits);
  const std::string_view span_id = text.substr(kSpanIdAt, kSpanIdDigits);
  const std::string_view flags = text.substr(kFlagsAt, kFlagsDigits);
  const bool well_formed =
      IsHex(version) && version != "ff" && IsHex(trace_id) &&
      !IsZero(trace_id) && IsHex(span_id) && !IsZero(span_id) && IsHex(flags) &&
      text[kTraceIdAt - 1] == '-' && text[kSpanIdAt - 1] == '-' &&
      text[kFlagsAt - 1] == '-' &&
      (text.size() == kBytes || (version != "00" && text[kBytes] == '-'));
  if (!well_formed) return std::nullopt;
  const int last = static_cast<unsigned char>(
      absl::HexStringToBytes({flags.data(), flags.size()})[0]);
  return TraceContext{
      absl::HexStringToBytes({trace_id.data(), trace_id.size()}),
      absl::HexStringToBytes({span_id.data(), span_id.size()}),
      (last & kSampledFlag) != 0};
}

std::string NewTraceId() {
  std::string id;
  Append(RandomBits(), &id);
  Append(RandomBits() | 1, &id);
  return id;
}

std::string NewSpanId() {
  std::string id;
  Append(RandomBits() | 1, &id);
  return id;
}

}  // namespace trivium
