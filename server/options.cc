#include "server/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <functional>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/observability/version.h"

namespace trivium {
namespace {

// Makes options that all have a group and a twin in the environment:
// --kv-cache-bytes is TRIVIUM_KV_CACHE_BYTES.
class FlagSet {
 public:
  explicit FlagSet(CLI::App* app) : app_(app) {}

  void set_group(const std::string& group) { group_ = group; }

  template <typename T>
  CLI::Option* Add(const std::string& name, T* value, const std::string& help) {
    return Finish(
        name,
        app_->add_option("--" + name, *value, help)->capture_default_str());
  }

  CLI::Option* Flag(const std::string& name, bool* value,
                    const std::string& help) {
    return Finish(name, app_->add_flag("--" + name, *value, help));
  }

  // Bytes, also as 64KiB or 4MiB; 0 only where `none` has a meaning.
  CLI::Option* Bytes(const std::string& name, int64_t* value,
                     const std::string& help, bool none = false) {
    return Add(name, value, help + " (bytes; 64KiB, 4MiB too)")
        ->transform(CLI::AsSizeValue(false))
        ->check(none ? CLI::NonNegativeNumber : CLI::PositiveNumber);
  }

  CLI::Option* Count(const std::string& name, int* value,
                     const std::string& help) {
    return Add(name, value, help)->check(CLI::PositiveNumber);
  }

  // Seconds, fractions too.
  void Seconds(const std::string& name, absl::Duration* value,
               const std::string& help) {
    CLI::Option* option = app_->add_option_function<double>(
        "--" + name,
        [value](const double& seconds) { *value = absl::Seconds(seconds); },
        help + " (seconds)");
    option->default_str(fmt::format("{}", absl::ToDoubleSeconds(*value)))
        ->check(CLI::Range(0.0, 1e9));
    Finish(name, option);
  }

  // A value that `parse` understands.
  CLI::Option* Parsed(const std::string& name, const std::string& help,
                      std::function<absl::Status(const std::string&)> parse) {
    return Finish(
        name, app_->add_option_function<std::string>(
                  "--" + name,
                  [parse](const std::string& text) {
                    const absl::Status status = parse(text);
                    if (!status.ok()) {
                      throw CLI::ValidationError(std::string(status.message()));
                    }
                  },
                  help));
  }

  // `auto`, which leaves the value unset, or from 1 to `most`.
  void AutoOrCount(const std::string& name, int most, std::optional<int>* value,
                   const std::string& help) {
    const auto parse = [name, most,
                        value](const std::string& text) -> absl::Status {
      value->reset();
      if (text == "auto") return absl::OkStatus();
      int count = 0;
      const char* const end = text.data() + text.size();
      const auto [rest, code] = std::from_chars(text.data(), end, count);
      if (code != std::errc() || rest != end || count < 1 || count > most) {
        return absl::InvalidArgumentError(
            fmt::format("--{} '{}' must be auto or a number from 1 to {}", name,
                        text, most));
      }
      *value = count;
      return absl::OkStatus();
    };
    Parsed(name, help, parse)->default_str("auto");
  }

  CLI::Option* Finish(const std::string& name, CLI::Option* option) {
    std::string variable = "TRIVIUM_";
    for (const char c : name) {
      variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    }
    option->envname(variable)->group(group_);
    return option;
  }

 private:
  CLI::App* const app_;
  std::string group_;
};

void AddModelFlags(FlagSet* flags, CLI::App* app, Options* options) {
  flags->set_group("Models");
  // Delimiter: for the environment, where an option cannot be repeated.
  flags->Finish(
      "model",
      app->add_option_function<std::vector<std::string>>(
             "--model",
             [options](const std::vector<std::string>& specs) {
               for (const std::string& text : specs) {
                 auto spec = ParseModelSpec(text);
                 if (!spec.ok()) {
                   throw CLI::ValidationError(
                       std::string(spec.status().message()));
                 }
                 options->models.push_back(*std::move(spec));
               }
             },
             "Serve NAME=FOLDER[,precision=...][,shortlist=on|off]; repeat for "
             "more, the first is the default. None: the embedded model")
          ->delimiter(';')
          ->type_name("NAME=FOLDER"));
  flags
      ->Parsed("precision",
               "auto, f32, bf16 or int8; auto picks by the CPU's features",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->precision,
                                          ParsePrecision(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags->Flag("vocabulary-shortlist", &options->vocabulary_shortlist,
              "Restrict translations to the tokens that the folder's "
              "shortlist.safetensors has for each source: faster, and now and "
              "then another translation");
  flags
      ->Parsed("max-isa",
               "Use at most avx2, avx512, vnni, bf16 or amx; for tests and "
               "comparisons",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->max_isa, ParseIsa(text));
                 return absl::OkStatus();
               })
      ->default_str("the CPU's best");
}

void AddLimitFlags(FlagSet* flags, Options* options) {
  RequestLimits& limits = options->limits;
  flags->set_group("Limits of a call");
  flags->Bytes("max-request-bytes", &limits.max_request_bytes, "A request");
  flags->Bytes("max-response-bytes", &limits.max_response_bytes,
               "A response; larger ones are refused before computing");
  flags->Bytes("max-text-bytes", &limits.max_text_bytes, "A text");
  flags->Count("max-inputs", &limits.max_inputs, "Inputs");
  flags->Count("max-windows", &limits.max_windows,
               "Windows of all contexts of an Answer call");
  flags->Count("max-beam-size", &limits.max_beam_size, "Beams or draws")
      ->check(CLI::Range(1, 16));
  flags->Add("max-stop-strings", &limits.max_stop_strings, "Stop strings")
      ->check(CLI::Range(0, 1024));
  flags->Add("max-stop-bytes", &limits.max_stop_bytes, "A stop string (bytes)")
      ->check(CLI::Range(1, 65536));
  flags
      ->Add("max-top-logprobs", &limits.max_top_logprobs,
            "Alternatives to report for a token")
      ->check(CLI::Range(0, 20));
  flags->Flag("truncate", &options->truncate,
              "Cut texts that are longer than the model reads instead of "
              "refusing them, where the request does not say");
  flags->Seconds("default-deadline", &limits.default_deadline,
                 "Time for a unary call whose client set no deadline");
  flags->Seconds("default-stream-deadline", &limits.default_stream_deadline,
                 "The same for a stream");
  flags->Seconds("stall-timeout", &limits.stall_timeout,
                 "Cancel a call whose client takes nothing for so long");
}

void AddFlags(CLI::App* app, Options* options) {
  FlagSet flags(app);
  flags.set_group("Network");
  flags.Add("listen", &options->listen,
            "HOST:PORT of gRPC; port 0 is any that is free");
  flags.Count("max-connections", &options->max_connections,
              "Connections at a time; for one more, the one that has been idle "
              "the longest goes. Fewer where the limit of open files asks for "
              "it");
  flags.Count("max-streams", &options->max_streams,
              "Calls at a time on one connection");
  flags
      .Add("metrics-listen", &options->metrics_listen,
           "HOST:PORT of /metrics, /healthz and /readyz; 'off' or nothing "
           "for none")
      ->expected(0, 1);
  flags.Add("port-file", &options->port_file,
            "Write the real ports to this file once ready, as "
            "'grpc PORT' and 'metrics PORT'");
  flags.Parsed(
      "client-key-header",
      "Tell clients, which share the server evenly, apart by this metadata key "
      "instead of by their addresses; a proxy must set it",
      [options](const std::string& text) -> absl::Status {
        TRIVIUM_ASSIGN_OR_RETURN(options->limits.client_key_header,
                                 ParseMetadataKey(text));
        return absl::OkStatus();
      });
  AddModelFlags(&flags, app, options);

  flags.set_group("Resources");
  flags.AutoOrCount("workers", 4096, &options->workers,
                    "Engines that work side by side, each on requests of its "
                    "own; auto: by the size of the largest model, so that "
                    "all physical cores have work");
  flags.AutoOrCount("worker-threads", 256, &options->worker_threads,
                    "Threads that share a worker's work, so that a lone "
                    "request is answered sooner; auto: likewise");
  flags.Bytes("kv-cache-bytes", &options->kv_cache_bytes,
              "Cache of keys and values, of each worker and model");
  flags
      .Add("max-waiting-tokens", &options->max_waiting_tokens,
           "Tokens that may wait (source + beams x new tokens of each "
           "request); more is refused")
      ->check(CLI::PositiveNumber);
  flags.Seconds("max-queue-wait", &options->max_queue_wait,
                "Refuse calls that would wait longer to begin; 0: only those "
                "that would miss their deadline");
  flags.Bytes("result-cache-bytes", &options->result_cache_bytes,
              "Keep results of greedy and beam searches for equal requests, of "
              "all models together; 0: none",
              /*none=*/true);
  AddLimitFlags(&flags, options);

  flags.set_group("Stopping");
  flags.Seconds("drain-delay", &options->drain_delay,
                "After SIGTERM, keep serving as NOT_SERVING for so long, "
                "until load balancers have noticed");
  flags.Seconds("drain-timeout", &options->drain_timeout,
                "Then wait so long for what runs and waits");

  flags.set_group("Logs");
  flags.Add("log-level", &options->log_level,
            "trace, debug (one line a request), info, warn, error or off");
  flags
      .Parsed("log-format", "text or json",
              [options](const std::string& text) {
                if (text != "text" && text != "json") {
                  return absl::InvalidArgumentError("must be text or json");
                }
                options->log_format =
                    text == "json" ? LogFormat::kJson : LogFormat::kText;
                return absl::OkStatus();
              })
      ->default_str("text on a terminal, else json");

  flags.set_group("Instead of serving");
  flags.Add("check", &options->check_folder,
            "List every problem of a model folder and exit");
  app->set_version_flag("--version", std::string("trivium-server ") + kVersion)
      ->group("Instead of serving");
  app->set_help_flag("--help", "Show this and exit")
      ->group("Instead of serving");
}

}  // namespace

absl::StatusOr<std::string> ParseMetadataKey(const std::string& text) {
  std::string key = absl::AsciiStrToLower(text);
  if (key.empty() || key.starts_with("grpc-") || key.ends_with("-bin") ||
      key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") !=
          std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' must be a metadata key of text, as x-api-key: letters, digits "
        "and -_. (not grpc-..., not ...-bin)",
        text));
  }
  return key;
}

Options ParseOptions(int argc, const char* const* argv,
                     std::optional<int>* exit_code) {
  Options options;
  options.log_format =
      isatty(STDERR_FILENO) ? LogFormat::kText : LogFormat::kJson;
  CLI::App app(
      "Serves transformer models over gRPC. Every flag has a twin in the "
      "environment, TRIVIUM_ and its name; the flag wins.",
      "trivium-server");
  AddFlags(&app, &options);
  try {
    // CLI11 takes an empty value for none at all.
    std::vector<const char*> arguments(argv, argv + argc);
    for (const char*& argument : arguments) {
      if (std::string_view(argument) == "--metrics-listen=") {
        argument = "--metrics-listen=off";
      }
    }
    app.parse(argc, arguments.data());
    if (options.metrics_listen == "off") options.metrics_listen.clear();
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error);
  }
  return options;
}

absl::StatusOr<ModelSpec> ParseModelSpec(const std::string& text) {
  ModelSpec spec;
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "model '{}' must be NAME=FOLDER[,precision=...][,shortlist=on|off]",
        text));
  }
  spec.name = text.substr(0, equals);
  spec.folder = text.substr(equals + 1);
  // Folders may have commas in their names; only a known key ends them.
  for (size_t comma; (comma = spec.folder.rfind(',')) != std::string::npos;
       spec.folder.resize(comma)) {
    const std::string setting = spec.folder.substr(comma + 1);
    const size_t value = setting.find('=') + 1;
    if (setting.rfind("precision=", 0) == 0) {
      TRIVIUM_ASSIGN_OR_RETURN(spec.precision,
                               ParsePrecision(setting.substr(value)));
    } else if (setting == "shortlist=on" || setting == "shortlist=off") {
      spec.shortlist = setting.substr(value) == "on";
    } else if (setting.rfind("shortlist=", 0) == 0) {
      return absl::InvalidArgumentError(
          fmt::format("model '{}': shortlist is '{}' and must be on or off",
                      spec.name, setting.substr(value)));
    } else {
      break;
    }
  }
  if (spec.folder.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("model '{}' names no folder", text));
  }
  return spec;
}

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const auto error = [&text] {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' must be HOST:PORT, as 127.0.0.1:9464 or [::1]:9464", text));
  };
  const size_t colon = text.rfind(':');
  if (colon == 0 || colon == std::string::npos) return error();
  HostPort result;
  result.host = text.substr(0, colon);
  if (result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.find(':') != std::string::npos) {
    return error();
  }
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(begin, end, result.port);
  if (code != std::errc() || rest != end || result.port < 0 ||
      result.port > 65535) {
    return error();
  }
  return result;
}

}  // namespace trivium
