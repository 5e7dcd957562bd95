// trivium completion: the completions of a shell, made of the same tables as
// the help.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

struct Named {
  std::string name;
  std::string what;  // a short text, in one line
};
struct Described {
  Named command;
  std::vector<Named> flags;  // with their dashes
};

// Returns a text up to its first colon, and without the characters that shells
// read in quotes.
std::string Short(const std::string& text) {
  std::string out = text.substr(0, text.find_first_of(":\n"));
  std::replace(out.begin(), out.end(), '\'', ' ');
  std::replace(out.begin(), out.end(), '\\', ' ');
  return out;
}

std::vector<Described> Describe(const CLI::App& app) {
  std::vector<Described> all;
  for (const CLI::App* const each : app.get_subcommands({})) {
    Described& one = all.emplace_back();
    one.command = {each->get_name(), Short(each->get_description())};
    for (const CLI::Option* const option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        one.flags.push_back({"--" + name, Short(option->get_description())});
      }
    }
  }
  return all;
}

std::vector<std::string> Names(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

std::string Bash(const std::vector<Described>& all) {
  std::vector<std::string> commands = {"help"};
  std::string cases;
  for (const Described& one : all) {
    commands.push_back(one.command.name);
    cases += fmt::format("    {}) words='{}' ;;\n", one.command.name,
                         absl::StrJoin(Names(one.flags), " "));
  }
  return fmt::format(
      R"(# trivium completion bash > ~/.local/share/bash-completion/completions/trivium
_trivium() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  case ${{COMP_WORDS[1]}} in
{}  esac
  if ((COMP_CWORD == 1)) || [[ ${{COMP_WORDS[1]}} == help ]]; then
    words='{}'
  elif [[ ${{COMP_WORDS[1]}} == completion && $word != -* ]]; then
    words='bash zsh fish'
  elif [[ $word != -* ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _trivium trivium
)",
      cases, absl::StrJoin(commands, " "));
}

std::string Zsh(const std::vector<Described>& all) {
  std::string commands, cases;
  for (const Described& one : all) {
    commands +=
        fmt::format("    '{}:{}'\n", one.command.name, one.command.what);
    cases += fmt::format("    {}) flags=(\n", one.command.name);
    for (const Named& flag : one.flags) {
      cases += fmt::format("      '{}:{}'\n", flag.name, flag.what);
    }
    cases += "    ) ;;\n";
  }
  return fmt::format(
      R"(#compdef trivium
# trivium completion zsh > ~/.zfunc/_trivium   (a folder of $fpath)
_trivium() {{
  local -a commands flags
  commands=(
    'help:Help of a command'
{}  )
  if ((CURRENT == 2)) || [[ $words[2] == help ]]; then
    _describe command commands
    return
  fi
  if [[ $words[2] == completion && $PREFIX != -* ]]; then
    compadd bash zsh fish
    return
  fi
  case $words[2] in
{}  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o flag flags
  else
    _files
  fi
}}
_trivium "$@"
)",
      commands, cases);
}

std::string Fish(const std::vector<Described>& all) {
  std::string out =
      "# trivium completion fish > ~/.config/fish/completions/trivium.fish\n"
      "complete -c trivium -n __fish_use_subcommand -f -a help -d 'Help of a "
      "command'\n"
      "complete -c trivium -n '__fish_seen_subcommand_from completion' -f -a "
      "'bash zsh fish'\n";
  std::string commands;
  for (const Described& one : all) {
    out += fmt::format(
        "complete -c trivium -n __fish_use_subcommand -f -a {} -d '{}'\n",
        one.command.name, one.command.what);
    for (const Named& flag : one.flags) {
      out += fmt::format(
          "complete -c trivium -n '__fish_seen_subcommand_from {}' -l {} -d "
          "'{}'\n",
          one.command.name, flag.name.substr(2), flag.what);
    }
    commands += " " + one.command.name;
  }
  // After "help" the names of commands are words, and no commands.
  return out + fmt::format(
                   "complete -c trivium -n '__fish_seen_subcommand_from help' "
                   "-f -a '{}'\n",
                   commands.substr(std::min<size_t>(1, commands.size())));
}

class CompletionCommand : public Command {
 public:
  explicit CompletionCommand(const CLI::App& app) : app_(app) {}

  bool has_priority() const override { return false; }
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client&, const Io& io) override {
    Output output(io, /*keep_newlines=*/true, nullptr);
    const std::string shell = inputs_.texts.size() == 1 ? inputs_.texts[0] : "";
    const std::vector<Described> all = Describe(app_);
    if (shell == "bash") return output.Piece(Bash(all));
    if (shell == "zsh") return output.Piece(Zsh(all));
    if (shell == "fish") return output.Piece(Fish(all));
    return absl::InvalidArgumentError("name the shell: bash, zsh or fish");
  }

 private:
  const CLI::App& app_;
  InputFlags inputs_;
};

}  // namespace

Subcommand AddCompletion(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "completion",
      "Completions for a shell: trivium completion bash|zsh|fish");
  return {sub, std::make_unique<CompletionCommand>(app)};
}

}  // namespace trivium
