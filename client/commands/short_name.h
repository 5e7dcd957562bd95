#ifndef TRIVIUM_CLIENT_COMMANDS_SHORT_NAME_H_
#define TRIVIUM_CLIENT_COMMANDS_SHORT_NAME_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"

namespace trivium {

// Returns a short word for a value of an enum: "end" for FINISH_REASON_END.
std::string ShortName(const google::protobuf::EnumValueDescriptor& value);

// Returns the same for a value of a generated enum.
template <typename Enum>
std::string ShortName(Enum value) {
  const auto* found =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(
          static_cast<int>(value));
  return found == nullptr ? std::to_string(static_cast<int>(value))
                          : ShortName(*found);
}

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_SHORT_NAME_H_
