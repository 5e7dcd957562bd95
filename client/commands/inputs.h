#ifndef TRIVIUM_CLIENT_COMMANDS_INPUTS_H_
#define TRIVIUM_CLIENT_COMMANDS_INPUTS_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/commands/io.h"
#include "client/translate_in_order.h"

namespace trivium {

// The texts of a command: its TEXT arguments; else the lines of --file; else
// the lines of standard input, if that is not a terminal.
struct InputFlags {
  std::string file;
  bool ids = false;  // true: the texts are token ids
  std::string target_prefix;
  // The arguments that are not flags. Set by the program.
  std::vector<std::string> texts;
};

// Adds --file and, as requested, --ids and --target-prefix.
void AddInputFlags(CLI::App& app, InputFlags* flags, bool ids,
                   bool target_prefix);

// A source that can say whether Next would wait.
class CommandInputs : public InputSource {
 public:
  // False while the next line of a pipe has not been written.
  virtual bool Ready() const = 0;
};

// Returns INVALID_ARGUMENT if there is nothing to read.
absl::StatusOr<std::unique_ptr<CommandInputs>> OpenInputs(
    const InputFlags& flags, const Io& io);

// Reads the only text. Returns INVALID_ARGUMENT if there is none or more than
// one.
absl::StatusOr<v1::Input> OneInput(const InputFlags& flags, const Io& io);

// Reads all texts, for a command that sends them in one call. A single bad text
// is an error: without it the answer would be incomplete.
absl::StatusOr<std::vector<v1::Input>> AllInputs(const InputFlags& flags,
                                                 const Io& io);

// Returns INTERNAL unless the server sent exactly one result for one text.
absl::Status ExpectOneResult(int results);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_INPUTS_H_
