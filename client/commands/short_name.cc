// Values of an enum begin with its name (FINISH_REASON_END), as the one of
// number 0 shows, which ends with UNSPECIFIED; where none does so (gRPC's
// health), nothing is left out.
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
