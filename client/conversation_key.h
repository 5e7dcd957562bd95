#ifndef TRIVIUM_CLIENT_CONVERSATION_KEY_H_
#define TRIVIUM_CLIENT_CONVERSATION_KEY_H_

#include <string>

#include "trivium/v1/inference.pb.h"

namespace trivium {

// The metadata key with a chat's conversation, for balancers that send the
// turns of one to the server that has read those before
// (deploy/envoy/envoy.yaml).
inline constexpr char kConversationKey[] = "x-conversation";

// Its value: the CRC-32, in hexadecimal digits, of the messages until the
// user's first, which stay the same while a conversation grows. The Python
// client says the same.
std::string ConversationOf(const v1::Chat& chat);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CONVERSATION_KEY_H_
