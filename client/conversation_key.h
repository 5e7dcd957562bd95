#ifndef TRIVIUM_CLIENT_CONVERSATION_KEY_H_
#define TRIVIUM_CLIENT_CONVERSATION_KEY_H_

#include <string>

#include "trivium/v1/inference.pb.h"

namespace trivium {

// Metadata key that identifies a chat's conversation. Balancers use it to send
// all turns of a conversation to the server that has cached the earlier ones
// (deploy/envoy/envoy.yaml).
inline constexpr char kConversationKey[] = "x-conversation";

// Returns the key's value: the CRC-32, in hexadecimal digits, of the messages
// up to the user's first. Those stay the same while a conversation grows. The
// Python client computes the same value.
std::string ConversationOf(const v1::Chat& chat);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CONVERSATION_KEY_H_
