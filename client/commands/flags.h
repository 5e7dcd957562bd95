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

// Flags that several programs and commands share. Each Add function adds flags
// to `app` that write the user's values straight into an object, which must
// outlive the app. Fields without a flag on the command line stay unset, so
// that the server's defaults hold.

// Values of --address, --timeout, the TLS flags and --token-file.
struct ConnectionFlags {
  std::string address = Client::Options().address;
  double timeout_seconds = absl::ToDoubleSeconds(Client::Options().timeout);
  std::string priority;  // in programs that have the flag
  bool tls = false;
  TlsFiles tls_files;
  std::string tls_server_name;
  std::string token_file;

  // Reads the TLS files and the token, which comes from TRIVIUM_TOKEN if there
  // is no token file. The error names the file that is wrong.
  absl::StatusOr<Client::Options> ToOptions() const;
};
void AddConnectionFlags(CLI::App& app, ConnectionFlags* flags);
// Adds --priority, for calls that wait for workers.
CLI::Option* AddPriorityFlag(CLI::App& app, ConnectionFlags* flags);

// The group of flags that --help hides and --help-all shows.
inline constexpr char kMoreFlags[] = "More flags";
// Hides the flags of kMoreFlags and the names of variables and choices, so that
// the help of a command fits a screen.
void HideMoreFlags(CLI::App& app);

void AddModelFlag(CLI::App& app, std::string* model);
void AddJsonFlag(CLI::App& app, bool* json);

void AddDecodingFlags(CLI::App& app, v1::DecodingOptions* options);
// Adds --json-schema, --regex and --choice, for calls that take a constraint.
void AddConstraintFlags(CLI::App& app, v1::DecodingOptions* options);

// Copies the languages that `options` has to a request with these fields.
template <typename Message>
void SetLanguages(const v1::TranslateOptions& options, Message* request) {
  if (options.has_source_language()) {
    request->set_source_language(options.source_language());
  }
  if (options.has_target_language()) {
    request->set_target_language(options.target_language());
  }
}

// Adds --source-language and --target-language, for a message with these
// fields, and --task if the message has it.
template <typename Message>
void AddLanguageFlags(CLI::App& app, Message* message) {
  app.add_option_function<std::string>(
      "--source-language",
      [message](const std::string& code) {
        message->set_source_language(code);
      },
      "Language of the texts: BCP 47, a name, or auto");
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
           "One of the model's tasks, instead: summarization...")
        ->group(kMoreFlags);
  }
}

// Adds --truncate and --truncation-direction, for a message with these fields.
template <typename Message>
void AddTruncationFlags(CLI::App& app, Message* message) {
  app.add_flag_function(
         "--truncate,!--no-truncate",
         [message](int64_t count) { message->set_truncate(count > 0); },
         "Cut texts that are too long; default: the server's flag")
      ->group(kMoreFlags);
  app.add_option_function<std::string>(
         "--truncation-direction",
         [message](const std::string& side) {
           message->set_truncation_direction(
               side == "left" ? v1::TRUNCATION_DIRECTION_LEFT
                              : v1::TRUNCATION_DIRECTION_RIGHT);
         },
         "Which end to cut: left or right; default: right")
      ->check(CLI::IsMember({"left", "right"}))
      ->group(kMoreFlags);
}

// Adds --prompt-name and --prompt, for a message with these fields.
template <typename Message>
void AddPromptFlags(CLI::App& app, Message* message) {
  CLI::Option* const name = app.add_option_function<std::string>(
      "--prompt-name",
      [message](const std::string& text) { message->set_prompt_name(text); },
      "Put this prompt of the folder in front of texts");
  app.add_option_function<std::string>(
         "--prompt",
         [message](const std::string& text) { message->set_prompt(text); },
         "Put this in front of texts")
      ->excludes(name);
}

// Adds --truncate, --truncation-direction, the languages and --tokens, for a
// message with these fields.
template <typename Message>
void AddTextFlags(CLI::App& app, Message* message) {
  AddLanguageFlags(app, message);
  AddTruncationFlags(app, message);
  app.add_flag_function(
         "--tokens,!--no-tokens",
         [message](int64_t count) { message->set_tokens(count > 0); },
         "Return tokens, too, in --json")
      ->group(kMoreFlags);
}

// Adds `flag` ("--attention" or the like), which requests attention maps, and
// `flag`-layer and `flag`-head, which select some. `selection` makes the
// message present and returns it.
void AddAttentionFlags(CLI::App& app, const std::string& flag,
                       std::function<v1::AttentionSelection*()> selection);

// Adds --weights, of the kinds of embeddings that a call compares. `weights`
// makes the message present and returns it.
void AddWeightsFlag(CLI::App& app, std::function<v1::RerankWeights*()> weights);

// Parses token ids separated by commas or spaces. Unset if one of them is not
// an id.
std::optional<std::vector<uint32_t>> ParseTokenIds(std::string_view text);

// Returns the long names of a command's flags, without dashes.
std::vector<std::string> FlagNames(const CLI::App& app);

// Gives every flag of `app` an environment variable: TRIVIUM_BEAM_SIZE for
// --beam-size. The variable of --model is TRIVIUM_CLIENT_MODEL, since the
// server's TRIVIUM_MODEL names a folder. A flag on the command line overrides
// its variable.
void AddEnvironmentTwins(CLI::App& app);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_FLAGS_H_
