#include <algorithm>
#include <array>
#include <utility>

#include "base/nearest.h"
#include "base/print.h"
#include "client/commands/command.h"
#include "client/commands/flag_words.h"
#include "client/commands/flags.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kDescription[] =
    "Calls a trivium-server: translates, encodes and generates text.\n"
    "Texts are TEXT arguments (quote a sentence), the lines of --file, or the "
    "lines of\nstandard input. Each result is a line, in order. A text "
    "that begins with -\ngoes after --.";
constexpr char kFooter[] =
    "TRIVIUM_ADDRESS, TRIVIUM_TIMEOUT, TRIVIUM_CLIENT_MODEL, TRIVIUM_JSON and "
    "TRIVIUM_CLIENT_TLS...\nin the environment set these flags; the flag "
    "wins.\n"
    "Exit codes: 0 done, 1 refused or some texts failed, 2 wrong usage, 3 no "
    "server,\n4 timeout, 5 a file or the output failed, 130 interrupted.";

// Takes the arguments that are not flags as texts. Refuses those that look like
// flags, since most are misspelt ones.
absl::Status TakeTexts(const std::vector<std::string>& left_over,
                       const std::vector<std::string>& after_dashes,
                       const std::vector<std::string>& flags,
                       InputFlags* inputs) {
  for (const std::string& text : left_over) {
    if (text.size() > 1 && text[0] == '-') {
      return absl::InvalidArgumentError(
          UnknownFlag(text, flags) +
          " (a text that begins with - goes after --)");
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

// Shown without arguments.
constexpr char kFirstSteps[] =
    "trivium calls a trivium-server. To begin with:\n"
    "  trivium models                     what the server serves\n"
    "  trivium translate \"Good morning!\"  a translation\n"
    "  trivium chat                       a conversation\n"
    "  trivium encode \"a text\"            its vector\n"
    "  trivium doctor                     whether this machine is ready\n"
    "`trivium help` lists all commands, `trivium help COMMAND` its flags.\n";

// Turns "help COMMAND" into "COMMAND --help".
std::vector<std::string> AskForHelp(std::vector<std::string> arguments) {
  if (arguments[0] != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
  return arguments;
}

// Words that people know from other programs.
struct CommandTwin {
  std::string_view word, advice;
};
constexpr CommandTwin kTwins[] = {
    {"serve", "trivium-server serves models; "},
    {"server", "trivium-server serves models; "},
    {"start", "trivium-server serves models; "},
    {"run", "trivium-server serves models, and chat talks with one; "},
    {"embed", "did you mean encode? "},
    {"embedding", "did you mean encode? "},
    {"embeddings", "did you mean encode? "},
    {"tokenize", "did you mean tokens? "},
    {"status", "did you mean health? "},
    {"ping", "did you mean health? "},
    {"list", "did you mean models? "},
    {"ls", "did you mean models? "},
    {"ps", "did you mean models? "},
    {"show", "did you mean models? "},
    {"ner", "did you mean tag? "},
    {"complete", "did you mean generate? "},
    {"detect", "translate --source-language auto --json tells the language; "},
    {"document", "trivium-translate, of the Python client, translates files; "},
    {"documents",
     "trivium-translate, of the Python client, translates files; "},
    {"version", "did you mean --version? "}};

std::string MeantCommand(std::string_view word,
                         const std::vector<std::string>& names) {
  for (const CommandTwin& twin : kTwins) {
    if (twin.word == word) return std::string(twin.advice);
  }
  const std::string nearest = Nearest(word, names);
  return IsNear(word, nearest) ? fmt::format("did you mean {}? ", nearest) : "";
}

// Returns INVALID_ARGUMENT unless the first word is a command.
absl::Status CheckCommand(const std::vector<std::string>& arguments,
                          const CLI::App& app) {
  const std::string& word = arguments[0];
  std::vector<std::string> names = {"help"};
  for (const CLI::App* each : app.get_subcommands({})) {
    names.push_back(each->get_name());
  }
  if (word.starts_with('-') ||
      std::find(names.begin(), names.end(), word) != names.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("there is no command {}; {}`trivium help` lists them", word,
                  MeantCommand(word, names)));
}

// Returns the error for arguments that are not in order: what CLI11 says, in
// our words where they are known.
std::string DescribeUsage(const CLI::Error& error,
                          const std::vector<std::string>& arguments,
                          const CLI::App& app) {
  const std::string& first = arguments[0];
  if (first.starts_with('-')) {
    const std::string flag = first.substr(0, first.find('='));
    const size_t begin = std::min(flag.find_first_not_of('-'), flag.size());
    const std::string name = flag.substr(begin);
    for (const CLI::App* each : app.get_subcommands({})) {
      const std::vector<std::string> flags = FlagNames(*each);
      if (std::find(flags.begin(), flags.end(), name) == flags.end()) continue;
      return fmt::format("{} goes behind the command: trivium COMMAND {} ...",
                         flag, flag);
    }
    return UnknownFlag(first, FlagNames(app));
  }
  const std::string text = error.what();
  constexpr std::string_view kNoNumber = "Could not convert: ";
  const size_t equals = text.find(" = ");
  if (text.starts_with(kNoNumber) && equals != text.npos) {
    return fmt::format("{}: '{}' is no number",
                       text.substr(kNoNumber.size(), equals - kNoNumber.size()),
                       text.substr(equals + 3));
  }
  return text;
}

ExitCode Complain(const Io& io, const absl::Status& status, ExitCode code) {
  PrintTo(io.err, "trivium: {}\n",
          InFlagWords(std::string(status.message()), io.flags));
  return code;
}

}  // namespace

absl::Status SomeFailed(int64_t failed) {
  if (failed == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} of the texts failed", failed));
}

ExitCode RunTrivium(const std::vector<std::string>& given, const Io& files) {
  Io io = files;
  CLI::App app(kDescription, "trivium");
  app.footer(kFooter);
  // At most one: after a command, "health" is a text.
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Help of every command");
  app.set_version_flag("--version", "trivium " TRIVIUM_VERSION);
  std::array<Subcommand, 22> subcommands = {
      AddTranslate(app), AddEncode(app),     AddGenerate(app),
      AddScore(app),     AddChat(app),       AddClassify(app),
      AddRerank(app),    AddSimilarity(app), AddSearch(app),
      AddTag(app),       AddAnswer(app),     AddFillMask(app),
      AddTokens(app),    AddAttention(app),  AddBeams(app),
      AddExplain(app),   AddModels(app),     AddPull(app),
      AddQuantize(app),  AddHealth(app),     AddDoctor(app),
      AddCompletion(app)};
  for (Subcommand& each : subcommands) {
    AddConnectionFlags(*each.app, &each.command->connection);
    if (each.command->has_priority()) {
      AddPriorityFlag(*each.app, &each.command->connection)->group(kMoreFlags);
    }
    AddEnvironmentTwins(*each.app);
    // Not a positional option: CLI11 would split a text like "[a, b]".
    each.app->allow_extras();
  }

  if (given.empty()) {
    PrintTo(io.out, "{}", kFirstSteps);
    return kExitOk;
  }
  const std::vector<std::string> arguments = AskForHelp(given);
  if (const absl::Status known = CheckCommand(arguments, app); !known.ok()) {
    return Complain(io, known, kExitUsage);
  }
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  // CLI11 expects them in reverse order.
  std::vector<std::string> flags(std::make_reverse_iterator(dashes),
                                 arguments.rend());
  try {
    app.parse(std::move(flags));
  } catch (const CLI::CallForVersion& version) {
    PrintTo(io.out, "{}\n", version.what());
    return kExitOk;
  } catch (const CLI::Success& help) {
    const bool all = help.get_name() == "CallForAllHelp";
    for (Subcommand& each : subcommands) {
      if (!all) HideMoreFlags(*each.app);
    }
    PrintTo(io.out, "{}",
            all ? app.help("", CLI::AppFormatMode::All) : app.help());
    return kExitOk;
  } catch (const CLI::Error& error) {
    return Complain(
        io, absl::InvalidArgumentError(DescribeUsage(error, arguments, app)),
        kExitUsage);
  }

  for (Subcommand& each : subcommands) {
    if (!each.app->parsed()) continue;
    Command& command = *each.command;
    io.flags = FlagNames(*each.app);
    const std::vector<std::string> after(
        dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
    if (absl::Status status =
            TakeTexts(each.app->remaining(), after, io.flags, command.inputs());
        !status.ok()) {
      return Complain(io, status, kExitUsage);
    }
    absl::StatusOr<Client::Options> options = command.connection.ToOptions();
    if (!options.ok()) return Complain(io, options.status(), kExitUsage);
    absl::StatusOr<std::unique_ptr<Client>> client =
        Client::Create(*std::move(options));
    if (!client.ok()) return Complain(io, client.status(), kExitUsage);
    const absl::Status status = command.Run(**client, io);
    if (status.ok()) return kExitOk;
    return Complain(io, status, ExitCodeOf(status));
  }
  return Complain(io,
                  absl::InvalidArgumentError(
                      "no command is given; `trivium help` lists them"),
                  kExitUsage);
}

}  // namespace trivium
