#include "client/commands/flags.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kConnection[] = "Connection";
constexpr size_t kMaxTokenBytes = 4096;

// Formats help that fits a screen: flags without their choices, exclusions and
// variables, no empty lines, and no usage line except the one in the
// description.
class ShortHelp : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string type = option->get_type_name();
    const std::string preset = option->get_default_str();
    return fmt::format(" {}{}{}", type.substr(0, type.find(':')),
                       preset.empty() ? "" : "=", preset);
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    const auto twice = [](char a, char b) { return a == '\n' && b == '\n'; };
    help.erase(std::unique(help.begin(), help.end(), twice), help.end());
    return help;
  }
};

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  std::string token;
  if (!path.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(token, ReadFile(path, kMaxTokenBytes));
  } else if (const char* const variable = std::getenv("TRIVIUM_TOKEN")) {
    token = variable;
  }
  absl::StripAsciiWhitespace(&token);
  const bool plain = std::all_of(token.begin(), token.end(),
                                 [](char c) { return absl::ascii_isgraph(c); });
  if (plain && (path.empty() || !token.empty())) return token;
  return absl::InvalidArgumentError(fmt::format(
      "{} has no token: it must be one line of printable characters",
      path.empty() ? "TRIVIUM_TOKEN" : path));
}

// Their variables begin with TRIVIUM_CLIENT_TLS_, since the server's flags have
// TRIVIUM_TLS_...
void AddTlsFlags(CLI::App& app, ConnectionFlags* flags) {
  CLI::Option* const tls =
      app.add_flag("--tls", flags->tls, "The server uses TLS")
          ->envname("TRIVIUM_CLIENT_TLS")
          ->group(kMoreFlags);
  const auto file = [&](const char* name, const char* variable,
                        std::string* path, const char* help) {
    return app.add_option(name, *path, help)
        ->type_name("FILE")
        ->envname(variable)
        ->needs(tls)
        ->group(kMoreFlags);
  };
  file("--tls-ca", "TRIVIUM_CLIENT_TLS_CA", &flags->tls_files.ca,
       "Certificates (PEM) that may sign the server's; default: the "
       "system's");
  CLI::Option* const certificate =
      file("--tls-certificate", "TRIVIUM_CLIENT_TLS_CERTIFICATE",
           &flags->tls_files.certificate,
           "The client's certificate (PEM), for a server that asks");
  CLI::Option* const key =
      file("--tls-key", "TRIVIUM_CLIENT_TLS_KEY", &flags->tls_files.key,
           "The certificate's key (PEM)");
  app.add_option("--tls-server-name", flags->tls_server_name,
                 "Name in the server's certificate; default: the host of "
                 "--address")
      ->envname("TRIVIUM_CLIENT_TLS_SERVER_NAME")
      ->needs(tls)
      ->group(kMoreFlags);
  app.add_option("--token-file", flags->token_file,
                 "File with the token for the server; or the token in "
                 "TRIVIUM_TOKEN")
      ->type_name("FILE")
      ->envname("TRIVIUM_CLIENT_TOKEN_FILE")
      ->group(kMoreFlags);
  certificate->needs(key);
  key->needs(certificate);
}

}  // namespace

absl::StatusOr<Client::Options> ConnectionFlags::ToOptions() const {
  Client::Options options;
  options.address = address;
  options.timeout = absl::Seconds(timeout_seconds);
  options.priority = priority;
  options.tls_server_name = tls_server_name;
  TlsFiles files = tls_files;
  TRIVIUM_ASSIGN_OR_RETURN(files.token, ReadToken(token_file));
  if (tls) {
    TRIVIUM_ASSIGN_OR_RETURN(options.credentials, ReadTlsCredentials(files));
  } else if (!files.token.empty()) {
    return absl::InvalidArgumentError(
        "a token is sent over TLS only, since others could read it: give "
        "--tls");
  }
  return options;
}

void AddConnectionFlags(CLI::App& app, ConnectionFlags* flags) {
  app.add_option("--address", flags->address, "Server, HOST:PORT")
      ->capture_default_str()
      ->group(kConnection);
  app.add_option("--timeout", flags->timeout_seconds,
                 "Seconds to wait for an answer, or for the next one")
      ->capture_default_str()
      ->group(kConnection);
  AddTlsFlags(app, flags);
}

CLI::Option* AddPriorityFlag(CLI::App& app, ConnectionFlags* flags) {
  return app
      .add_option("--priority", flags->priority,
                  "batch: other calls run first; default: interactive")
      ->check(CLI::IsMember({"interactive", "batch"}));
}

void HideMoreFlags(CLI::App& app) {
  bool hidden = false;
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group() != kMoreFlags) continue;
    option->group("");
    hidden = true;
  }
  app.footer(hidden ? "--help-all shows more flags." : "");
  app.formatter(std::make_shared<ShortHelp>());
}

void AddModelFlag(CLI::App& app, std::string* model) {
  app.add_option("--model", *model, "Model; default: the server's first one")
      ->group(kConnection);
}

void AddJsonFlag(CLI::App& app, bool* json) {
  app.add_flag("--json", *json, "One JSON object a line, with all results");
}

void AddWeightsFlag(CLI::App& app,
                    std::function<v1::RerankWeights*()> weights) {
  app.add_option_function<std::vector<float>>(
         "--weights",
         [weights](const std::vector<float>& given) {
           v1::RerankWeights* const set = weights();
           set->set_dense(given[0]);
           set->set_sparse(given[1]);
           set->set_multi_vector(given[2]);
         },
         "DENSE,SPARSE,MULTI: how much each comparison counts, for models that "
         "make embeddings; default: all alike")
      ->delimiter(',')
      ->expected(3)
      ->allow_extra_args(false)
      ->group(kMoreFlags);
}

void AddAttentionFlags(CLI::App& app, const std::string& flag,
                       std::function<v1::AttentionSelection*()> selection) {
  app.add_flag_function(
         flag, [selection](int64_t count) { selection(); },
         "Return attention maps, in --json")
      ->group(kMoreFlags);
  app.add_option_function<uint32_t>(
         flag + "-layer",
         [selection](uint32_t layer) { selection()->add_layers(layer); },
         "Only maps of this layer (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
  app.add_option_function<uint32_t>(
         flag + "-head",
         [selection](uint32_t head) { selection()->add_heads(head); },
         "Only maps of this head (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
}

std::optional<std::vector<uint32_t>> ParseTokenIds(std::string_view text) {
  std::vector<uint32_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", \t"), text.size()));
    if (text.empty()) return ids;
    uint32_t id;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(end - text.data());
    if (!text.empty() && text.find_first_of(", \t") != 0) return std::nullopt;
    ids.push_back(id);
  }
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& own = option->get_lnames();
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

void AddEnvironmentTwins(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    std::string name = option->get_lnames().front();
    if (option->get_group() != kConnection && name != "json") continue;
    if (name == "model") name = "client_model";
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    option->envname("TRIVIUM_" + name);
  }
}

}  // namespace trivium
