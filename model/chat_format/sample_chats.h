#ifndef TRIVIUM_MODEL_CHAT_FORMAT_SAMPLE_CHATS_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_SAMPLE_CHATS_H_

#include <optional>
#include <string>
#include <string_view>

#include "model/chat_format/chat_format.h"
#include "model/chat_template.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Words that no template writes itself, so that they can be found in what it
// renders. None is a part of another.
namespace sample {
inline constexpr std::string_view kUser = "quorvexauser";
inline constexpr std::string_view kContent = "quorvexbcontent";
inline constexpr std::string_view kReasoning = "quorvexcreasoning";
inline constexpr std::string_view kFirstTool = "quorvexdtool";
inline constexpr std::string_view kSecondTool = "quorvexetool";
inline constexpr std::string_view kFirstKey = "quorvexfkey";
inline constexpr std::string_view kSecondKey = "quorvexgkey";
inline constexpr std::string_view kFirstValue = "quorvexhvalue";
inline constexpr std::string_view kSecondValue = "quorvexivalue";
inline constexpr std::string_view kNumber = "860753091";
// Some templates insist on nine letters or digits.
inline constexpr std::string_view kFirstId = "qvxid0001";
inline constexpr std::string_view kSecondId = "qvxid0002";
}  // namespace sample

// Renders conversations of one question and one answer.
class SampleChats {
 public:
  using Json = nlohmann::ordered_json;

  SampleChats(const ChatTemplate& chat_template,
              const ChatFormat::Options& options);

  // Returns what stands behind the question: the generation prompt if `answer`
  // is null, else the message. nullopt if the template refuses.
  std::optional<std::string> Answer(const Json& answer,
                                    const Json& variables) const;
  // The whole prompt, with tools or without.
  std::optional<std::string> Prompt(bool tools, const Json& variables) const;

  bool MayRead(std::string_view variable) const {
    return template_.MayRead(variable);
  }

  // An answer that calls one tool or two. The first call has kFirstKey:
  // kFirstValue and kSecondKey: kNumber, the second kFirstKey: kSecondValue.
  static Json Calls(int calls, bool arguments_as_text);

 private:
  std::optional<std::string> Render(const Json& messages, bool tools,
                                    bool generation_prompt,
                                    const Json& variables) const;

  const ChatTemplate& template_;
  Json variables_;  // of all renderings
  AliveCheck check_alive_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_SAMPLE_CHATS_H_
