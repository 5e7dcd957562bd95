#ifndef TRIVIUM_CLIENT_COMMANDS_FLAGS_H_
#define TRIVIUM_CLIENT_COMMANDS_FLAGS_H_

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "client/client.h"
#include "client/tls.h"
#include "trivium/v1/common.pb.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Flags that several programs and commands have. Each Add function gives
// `app` the flags and writes what the user sets straight into the object,
// which must live as long as the app: what is not set stays unset, so that
// the server's defaults hold.

// --address, --timeout, those of TLS and --token-file.
struct ConnectionFlags {
  std::string address = Client::Options().address;
  double timeout_seconds = absl::ToDoubleSeconds(Client::Options().timeout);
  std::string priority;  // of programs that have the flag
  bool tls = false;
  TlsFiles tls_files;
  std::string tls_server_name;
  std::string token_file;

  // Reads the files of TLS, and the token, from TRIVIUM_TOKEN where there is no
  // file; the error names the one that is wrong.
  absl::StatusOr<Client::Options> ToOptions() const;
};
void AddConnectionFlags(CLI::App& app, ConnectionFlags* flags);
// --priority, for calls that wait for workers.
CLI::Option* AddPriorityFlag(CLI::App& app, ConnectionFlags* flags);

// The group of flags that --help leaves to --help-all.
inline constexpr char kMoreFlags[] = "More flags";
// So that the help of a command fits a screen; without the names of variables
// and choices, too.
void HideMoreFlags(CLI::App& app);

void AddModelFlag(CLI::App& app, std::string* model);
void AddJsonFlag(CLI::App& app, bool* json);

void AddDecodingFlags(CLI::App& app, v1::DecodingOptions* options);

// --source-language, --target-language and --task of a message that has these
// fields, or the first two.
template <typename Message>
void AddLanguageFlags(CLI::App& app, Message* message) {
  app.add_option_function<std::string>(
      "--source-language",
      [message](const std::string& code) {
        message->set_source_language(code);
      },
      "Theirs: BCP 47 or its English name; or auto");
  app.add_option_function<std::string>(
      "--target-language",
      [message](const std::string& code) {
        message->set_target_language(code);
      },
      "Language to translate to");
  if constexpr (requires { message->set_task(""); }) {
    app.add_option_function<std::string>(
           "--task",
           [message](const std::string& name) { message->set_task(name); },
           "Instead: one of the model's tasks, as summarization")
        ->group(kMoreFlags);
  }
}

// --truncate and --truncation-direction of a message that has these fields.
template <typename Message>
void AddTruncationFlags(CLI::App& app, Message* message) {
  app.add_flag_function(
         "--truncate,!--no-truncate",
         [message](int64_t count) { message->set_truncate(count > 0); },
         "Cut texts longer than the model takes; default: the server's choice")
      ->group(kMoreFlags);
  app.add_option_function<std::string>(
         "--truncation-direction",
         [message](const std::string& side) {
           message->set_truncation_direction(
               side == "left" ? v1::TRUNCATION_DIRECTION_LEFT
                              : v1::TRUNCATION_DIRECTION_RIGHT);
         },
         "Which end is cut: left or right; default: right")
      ->check(CLI::IsMember({"left", "right"}))
      ->group(kMoreFlags);
}

// --prompt-name and --prompt of a message that has these fields.
template <typename Message>
void AddPromptFlags(CLI::App& app, Message* message) {
  CLI::Option* const name = app.add_option_function<std::string>(
      "--prompt-name",
      [message](const std::string& text) { message->set_prompt_name(text); },
      "Texts begin with this prompt of the folder");
  app.add_option_function<std::string>(
         "--prompt",
         [message](const std::string& text) { message->set_prompt(text); },
         "What texts begin with")
      ->excludes(name);
}

// --truncate, --truncation-direction, the languages and --tokens of a message
// that has these fields.
template <typename Message>
void AddTextFlags(CLI::App& app, Message* message) {
  AddLanguageFlags(app, message);
  AddTruncationFlags(app, message);
  app.add_flag_function(
         "--tokens,!--no-tokens",
         [message](int64_t count) { message->set_tokens(count > 0); },
         "Tokens too, in --json")
      ->group(kMoreFlags);
}

// NAME-layers and NAME-heads, which ask for attention maps. `flag` is
// "--attention" or the like; `selection` makes the message present.
void AddAttentionFlags(CLI::App& app, const std::string& flag,
                       std::function<v1::AttentionSelection*()> selection);

// Comma- or space-separated token ids; unset where one is not an id.
std::optional<std::vector<uint32_t>> ParseTokenIds(std::string_view text);

// Gives every flag of `app` its twin in the environment: TRIVIUM_BEAM_SIZE
// for --beam-size. --model's is TRIVIUM_CLIENT_MODEL, since TRIVIUM_MODEL is
// the server's, which names a folder. A flag of the command line wins.
void AddEnvironmentTwins(CLI::App& app);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_FLAGS_H_
