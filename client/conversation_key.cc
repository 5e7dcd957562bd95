#include "client/conversation_key.h"

#include <fmt/format.h>
#include <zlib.h>

namespace trivium {

std::string ConversationOf(const v1::Chat& chat) {
  uLong sum = crc32_z(0, nullptr, 0);
  // Includes the terminating zero, so that two messages differ from their
  // concatenation.
  const auto add = [&sum](const std::string& text) {
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(text.c_str()),
                  text.size() + 1);
  };
  for (const v1::Chat::Message& message : chat.messages()) {
    add(message.role());
    add(message.content());
    if (message.role() == "user") break;
  }
  return fmt::format("{:08x}", sum);
}

}  // namespace trivium
