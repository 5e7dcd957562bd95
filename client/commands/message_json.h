#ifndef TRIVIUM_CLIENT_COMMANDS_MESSAGE_JSON_H_
#define TRIVIUM_CLIENT_COMMANDS_MESSAGE_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace trivium {

// A message as one line of JSON for people and scripts. Differs from Protobuf's
// own JSON: all fields are there, zeros and empty lists too, but for what has
// presence and is not set; names are the proto's; integers of 64 bits are
// numbers; values of enums are short words ("end" for FINISH_REASON_END); no
// character is escaped that JSON has as it is. Bytes are Base64, durations
// "0.25s", details of statuses messages with their "@type".
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_MESSAGE_JSON_H_
