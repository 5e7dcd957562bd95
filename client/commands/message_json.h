#ifndef TRIVIUM_CLIENT_COMMANDS_MESSAGE_JSON_H_
#define TRIVIUM_CLIENT_COMMANDS_MESSAGE_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace trivium {

// Converts a message to one line of JSON, for people and scripts. It differs
// from Protobuf's own JSON:
//
// - All fields are present, with zeros and empty lists, except for unset fields
//   with presence.
// - Names are the proto's.
// - 64-bit integers are numbers.
// - Enum values are short words ("end" for FINISH_REASON_END).
// - Only characters that JSON must escape are escaped.
//
// Bytes are Base64, durations are strings like "0.25s", and details of statuses
// are messages with their "@type".
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_MESSAGE_JSON_H_
