#include <algorithm>
#include <array>

#include "client/commands/command.h"
#include "client/commands/flags.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kDescription[] =
    "Calls a trivium-server: translates, encodes and generates text.\n"
    "Texts are TEXT arguments (quote a sentence), the lines of --file, or the "
    "lines of\nstandard input; there is one result a line, in order. A text "
    "that begins with -\ngoes after --.";
constexpr char kFooter[] =
    "Each flag has a twin in the environment (--beam-size: TRIVIUM_BEAM_SIZE; "
    "--model:\nTRIVIUM_CLIENT_MODEL); the flag wins.\n"
    "Exit codes: 0 done, 1 refused or some texts failed, 2 wrong usage, 3 no "
    "server,\n4 timeout, 5 a file or the output failed, 130 interrupted.";

// What the flags leave over are texts; but not what looks like a flag, which
// is more often a misspelt one.
absl::Status TakeTexts(const std::vector<std::string>& left_over,
                       const std::vector<std::string>& after_dashes,
                       InputFlags* inputs) {
  for (const std::string& text : left_over) {
    if (text.size() > 1 && text[0] == '-') {
      return absl::InvalidArgumentError(fmt::format(
          "unknown flag {} (a text that begins with - goes after --)", text));
    }
  }
  std::vector<std::string> texts = left_over;
  texts.insert(texts.end(), after_dashes.begin(), after_dashes.end());
  if (inputs == nullptr && !texts.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("this command takes no text: {}", texts[0]));
  }
  if (inputs != nullptr) inputs->texts = std::move(texts);
  return absl::OkStatus();
}

ExitCode Complain(const Io& io, const absl::Status& status, ExitCode code) {
  fmt::print(io.err, "trivium: {}\n", std::string(status.message()));
  return code;
}

}  // namespace

absl::Status SomeFailed(int64_t failed) {
  if (failed == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} of the texts failed", failed));
}

ExitCode RunTrivium(const std::vector<std::string>& arguments, const Io& io) {
  CLI::App app(kDescription, "trivium");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  std::array<Subcommand, 12> subcommands = {
      AddTranslate(app), AddEncode(app), AddGenerate(app), AddClassify(app),
      AddTag(app),       AddAnswer(app), AddFillMask(app), AddTokens(app),
      AddAttention(app), AddBeams(app),  AddModels(app),   AddHealth(app)};
  for (Subcommand& each : subcommands) {
    AddConnectionFlags(*each.app, &each.command->connection);
    AddEnvironmentTwins(*each.app);
    // Not a positional option: CLI11 takes a text like "[a, b]" apart.
    each.app->allow_extras();
  }

  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  // CLI11 takes them last first.
  std::vector<std::string> flags(std::make_reverse_iterator(dashes),
                                 arguments.rend());
  try {
    app.parse(std::move(flags));
  } catch (const CLI::Success& help) {
    fmt::print(io.out, "{}",
               help.get_name() == "CallForAllHelp"
                   ? app.help("", CLI::AppFormatMode::All)
                   : app.help());
    return kExitOk;
  } catch (const CLI::Error& error) {
    return Complain(io, absl::InvalidArgumentError(error.what()), kExitUsage);
  }

  for (Subcommand& each : subcommands) {
    if (!each.app->parsed()) continue;
    Command& command = *each.command;
    const std::vector<std::string> after(
        dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
    if (absl::Status status =
            TakeTexts(each.app->remaining(), after, command.inputs());
        !status.ok()) {
      return Complain(io, status, kExitUsage);
    }
    absl::StatusOr<std::unique_ptr<Client>> client =
        Client::Create(command.connection.ToOptions());
    if (!client.ok()) return Complain(io, client.status(), kExitUsage);
    const absl::Status status = command.Run(**client, io);
    if (status.ok()) return kExitOk;
    return Complain(io, status, ExitCodeOf(status));
  }
  return kExitUsage;
}

}  // namespace trivium
