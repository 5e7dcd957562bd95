#ifndef TRIVIUM_TESTS_MODEL_CHAT_FORMAT_TRANSCRIPTS_H_
#define TRIVIUM_TESTS_MODEL_CHAT_FORMAT_TRANSCRIPTS_H_

#include <optional>
#include <string>
#include <vector>

#include "model/chat_format/chat_format.h"
#include "model/chat_format/chat_reader.h"
#include "model/chat_template.h"
#include "nlohmann/json.hpp"

namespace trivium {

// An answer that a template renders, and that must be read back.
struct Transcript {
  std::string name;
  std::string content;
  std::string reasoning = {};
  struct Call {
    std::string name;
    nlohmann::ordered_json arguments;
  };
  std::vector<Call> calls = {};
};

// Content alone; one call, two, one without arguments; content and a call;
// thoughts with content and with a call. Texts have quotes, line ends, braces,
// angle brackets and characters beyond ASCII; arguments are nested.
std::vector<Transcript> Transcripts();
// The tools that the transcripts call.
std::string TranscriptTools();

// A text that a model would have written.
struct Generated {
  std::string text;
  bool thinking = false;    // the prompt has opened a thought
  bool has_content = true;  // false: the template leaves out the content
};
// Renders a question with `transcript` as its answer, and cuts off the prompt
// and the end of the turn. nullopt if the template refuses it or leaves out the
// thought or a call.
std::optional<Generated> Generate(const ChatTemplate& chat_template,
                                  const ChatFormat& format,
                                  const Transcript& transcript,
                                  const std::string& variables);

// Returns what of the transcript was not read back; empty if all was. Reads the
// text whole and with random cuts.
std::string Compare(const ChatFormat& format, const Transcript& transcript,
                    const Generated& generated);

// Reads the text in random pieces; `seed` picks the cuts.
ReadMessage ReadInPieces(const ChatFormat& format,
                         const std::vector<ChatTool>& tools, bool thinking,
                         std::string_view text, unsigned seed);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_CHAT_FORMAT_TRANSCRIPTS_H_
