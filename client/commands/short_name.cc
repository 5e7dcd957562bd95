// Values of an enum begin with the enum's name (FINISH_REASON_END). The value
// 0, which ends with UNSPECIFIED, shows what that prefix is. In an enum without
// such a value (gRPC's health) nothing is removed.
#include "client/commands/short_name.h"

#include <cctype>
#include <string_view>

namespace trivium {

std::string ShortName(const google::protobuf::EnumValueDescriptor& value) {
  constexpr std::string_view kZero = "UNSPECIFIED";
  const auto* zero = value.type()->FindValueByNumber(0);
  const std::string first = zero == nullptr ? "" : std::string(zero->name());
  std::string name(value.name());
  if (first.size() > kZero.size() && first.ends_with(kZero)) {
    const std::string prefix = first.substr(0, first.size() - kZero.size());
    if (name.starts_with(prefix)) name = name.substr(prefix.size());
  }
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

}  // namespace trivium
