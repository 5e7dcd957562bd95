#ifndef TRIVIUM_MODEL_CHAT_FORMAT_FORMAT_LEARNER_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_FORMAT_LEARNER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat_format/chat_format.h"
#include "model/chat_format/sample_chats.h"

namespace trivium {

// Compares renderings of sample chats. An answer, as a template renders it, is
//
//   header  [begin thinking end]  [content_begin] content [content_end]
//     [calls]  tail
//
// where header ends what the generation prompt and all answers begin with
// ("<|im_start|>assistant\n"), and tail ends the turn. The steps need what the
// earlier ones found: header, thinking, tail, calls.
class FormatLearner {
 public:
  using Json = SampleChats::Json;

  FormatLearner(const ChatTemplate& chat_template,
                const ChatFormat::Options& options)
      : chats_(chat_template, options) {}

  ChatFormat Learn() &&;

 private:
  void LearnSwitch();
  void LearnHeader();
  void LearnThinking();
  bool LearnThinkingFromAnswer(const Json& answer, const Json& variables);
  bool LearnThinkingFromPrompts();
  void CutHeader();
  void LearnTail();
  void LearnCalls(const std::string& with_call);

  // Returns `answer` without the header.
  std::string_view WithoutHeader(std::string_view answer) const;
  // Returns `text`, which stands before calls or content, without white space
  // and without an empty thought.
  std::string_view WithoutThinking(std::string_view text) const;

  SampleChats chats_;
  ChatFormat format_;
  std::vector<std::string> prompts_;  // generation prompts: as is, off, on
  Json thinking_on_ = Json::object();
  std::string content_answer_;  // the answer kContent
  std::string header_;
  std::string tail_;  // what answers and calls end with, from the end back
};

// Learns the form of calls. `one` and `two` are the texts of answers with one
// and two calls, without header, thoughts and tail; `two` is empty if the
// template does not render several.
ToolCallFormat LearnCallFormat(std::string_view one, std::string_view two);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_FORMAT_LEARNER_H_
