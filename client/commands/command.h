#ifndef TRIVIUM_CLIENT_COMMANDS_COMMAND_H_
#define TRIVIUM_CLIENT_COMMANDS_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "client/client.h"
#include "client/commands/flags.h"
#include "client/commands/inputs.h"
#include "client/commands/io.h"
#include "client/commands/output.h"
#include "client/commands/terminal.h"

namespace trivium {

// One subcommand of `trivium`: its flags as members, and what it does with
// them. Made before the command line is parsed, run after.
class Command {
 public:
  virtual ~Command() = default;
  virtual absl::Status Run(Client& client, const Io& io) = 0;

  // Whether its calls wait for workers, and have a priority.
  virtual bool has_priority() const { return true; }

  ConnectionFlags connection;
  // The texts left over by the flags go here; null: the command takes none.
  virtual InputFlags* inputs() { return nullptr; }
};

// Each adds its subcommand with its flags to `app`.
struct Subcommand {
  CLI::App* app;
  std::unique_ptr<Command> command;
};
Subcommand AddTranslate(CLI::App& app);
Subcommand AddEncode(CLI::App& app);
Subcommand AddGenerate(CLI::App& app);
Subcommand AddScore(CLI::App& app);
Subcommand AddChat(CLI::App& app);
Subcommand AddTokens(CLI::App& app);
Subcommand AddClassify(CLI::App& app);
Subcommand AddRerank(CLI::App& app);
Subcommand AddTag(CLI::App& app);
Subcommand AddAnswer(CLI::App& app);
Subcommand AddFillMask(CLI::App& app);
Subcommand AddAttention(CLI::App& app);
Subcommand AddBeams(CLI::App& app);
Subcommand AddModels(CLI::App& app);
Subcommand AddHealth(CLI::App& app);

// A failure of some texts among others that were answered.
absl::Status SomeFailed(int64_t failed);

// The whole program; `arguments` without its name.
ExitCode RunTrivium(const std::vector<std::string>& arguments, const Io& io);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_COMMAND_H_
