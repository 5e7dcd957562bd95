#ifndef TRIVIUM_CLIENT_COMMANDS_FLAG_WORDS_H_
#define TRIVIUM_CLIENT_COMMANDS_FLAG_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// Says what a server's message says in the words of a command: a field that one
// of its flags sets becomes that flag.
//
//   "start.options.decoding.beam_size: is 99"  ->  "--beam-size: is 99"
//   "inputs[0].text: is blank; send a target_prefix"
//       ->  "text 1: is blank; send a --target-prefix"
//   "second.inputs[1].text: is blank"  ->  "text 2 of --to: is blank"
//
// `flags` are the command's long names, without dashes: {"beam-size", ...}. A
// field without a flag keeps its own name.
std::string InFlagWords(std::string_view message,
                        const std::vector<std::string>& flags);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_FLAG_WORDS_H_
