#include "server/tracing/trace_context.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/random_bits.h"

namespace trivium {
namespace {

// traceparent is version-trace id-parent id-flags, in lower-case hex digits.
// Later versions may have more fields after another dash.
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

// The specification requires at least this many bytes, and allows at most so
// many members.
constexpr size_t kMostStateBytes = 512, kMostStateMembers = 32;

// A key starts with a lower-case letter or a digit. It may have one '@',
// between a tenant and its system.
bool IsStateKey(std::string_view key) {
  return !key.empty() && key.size() <= 256 &&
         (absl::ascii_islower(key[0]) || absl::ascii_isdigit(key[0])) &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-*/@") ==
             std::string_view::npos &&
         std::count(key.begin(), key.end(), '@') <= 1;
}

// Printable characters except '='; ',' has already ended the value.
bool IsStateValue(std::string_view value) {
  return !value.empty() && value.size() <= 256 &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

// Returns the members without the white space between them; empty if the text
// is invalid.
std::string CheckedState(std::string_view text) {
  if (text.size() > kMostStateBytes) return "";
  std::set<std::string_view> keys;
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    const absl::string_view trimmed =
        absl::StripAsciiWhitespace({rest.data(), end});
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (trimmed.empty()) continue;  // members may be empty
    const std::string_view member(trimmed.data(), trimmed.size());
    const size_t equals = std::min(member.find('='), member.size() - 1);
    const std::string_view key = member.substr(0, equals);
    if (!IsStateKey(key) || !IsStateValue(member.substr(equals + 1)) ||
        !keys.insert(key).second || keys.size() > kMostStateMembers) {
      return "";
    }
    if (!out.empty()) out += ',';
    out += member;
  }
  return out;
}

}  // namespace

std::optional<TraceContext> ParseTraceContext(std::string_view text,
                                              std::string_view tracestate) {
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
      (last & kSampledFlag) != 0, CheckedState(tracestate)};
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
