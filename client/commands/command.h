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

// One subcommand of `trivium`. Its flags are its members. It is created before
// the command line is parsed, and runs afterwards.
class Command {
 public:
  virtual ~Command() = default;
  virtual absl::Status Run(Client& client, const Io& io) = 0;

  // True if its calls wait for workers and so have a priority.
  virtual bool has_priority() const { return true; }

  ConnectionFlags connection;
  // Receives the arguments that are not flags, as texts. Null: the command
  // takes no texts.
  virtual InputFlags* inputs() { return nullptr; }
};

// A subcommand and its parser. Each Add function below adds its subcommand,
// with its flags, to `app`.
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
Subcommand AddSimilarity(CLI::App& app);
Subcommand AddSearch(CLI::App& app);
Subcommand AddTag(CLI::App& app);
Subcommand AddAnswer(CLI::App& app);
Subcommand AddFillMask(CLI::App& app);
Subcommand AddAttention(CLI::App& app);
Subcommand AddBeams(CLI::App& app);
Subcommand AddExplain(CLI::App& app);
Subcommand AddModels(CLI::App& app);
Subcommand AddPull(CLI::App& app);
Subcommand AddQuantize(CLI::App& app);
Subcommand AddHealth(CLI::App& app);
Subcommand AddDoctor(CLI::App& app);
Subcommand AddCompletion(CLI::App& app);

// Returns the error of a run in which `failed` texts failed and the others were
// answered.
absl::Status SomeFailed(int64_t failed);

// Runs the whole program. `arguments` do not include its name.
ExitCode RunTrivium(const std::vector<std::string>& arguments, const Io& io);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_COMMAND_H_
