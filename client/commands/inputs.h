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

// What a command works on: TEXT arguments, one text each; else the lines of
// --file; else the lines of standard input, if it is not a terminal.
struct InputFlags {
  std::string file;
  bool ids = false;  // the texts are token ids
  std::string target_prefix;
  // Set by the program from what the flags leave over.
  std::vector<std::string> texts;
};

// --file, and --ids and --target-prefix where the call takes them.
void AddInputFlags(CLI::App& app, InputFlags* flags, bool ids,
                   bool target_prefix);

// A source that also tells whether it would have to wait.
class CommandInputs : public InputSource {
 public:
  // False while the writer of a pipe has not written the next line yet.
  virtual bool Ready() const = 0;
};

// INVALID_ARGUMENT where there is nothing to read.
absl::StatusOr<std::unique_ptr<CommandInputs>> OpenInputs(
    const InputFlags& flags, const Io& io);

// The one text that there must be.
absl::StatusOr<v1::Input> OneInput(const InputFlags& flags, const Io& io);

// INTERNAL where the server sent more or fewer results for it than one.
absl::Status ExpectOneResult(int results);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_INPUTS_H_
