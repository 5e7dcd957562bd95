#include "server/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "model/language_names.h"
#include "server/flag_set.h"
#include "server/host_port.h"
#include "server/observability/version.h"

namespace trivium {
namespace {

void AddModels(const std::string& flag, const std::vector<std::string>& specs,
               Options* options) {
  for (const std::string& text : specs) {
    auto spec = ParseModelSpec(text);
    if (!spec.ok()) {
      throw CLI::ValidationError(
          fmt::format("{}: {}", flag, std::string(spec.status().message())));
    }
    options->models.push_back(*std::move(spec));
  }
}

void AddModelFlags(FlagSet* flags, CLI::App* app, Options* options) {
  flags->set_group("Models");
  const auto add = [options](const std::vector<std::string>& specs) {
    AddModels("--model", specs, options);
  };
  // One option, so that models have the order in which they are given.
  // Delimiter: for the environment, where an option cannot be repeated.
  flags->Finish(
      "model",
      app->add_option_function<std::vector<std::string>>(
             "--model,folders", add,
             "Serve [NAME=]FOLDER[,precision=...][,kv=...][,shortlist=on|off]; "
             "repeat for more, the first is the default. None: the embedded "
             "model")
          ->delimiter(';')
          ->type_name("[NAME=]FOLDER"));
  flags
      ->Parsed("pivot-language",
               "Where no model has a pair of languages, two translate by way "
               "of this one (\"en\")",
               [options](const std::string& text) -> absl::Status {
                 options->pivot_language = ToBcp47(text);
                 if (!options->pivot_language.empty()) return absl::OkStatus();
                 return absl::InvalidArgumentError(fmt::format(
                     "'{}' is no language; give its code, as en", text));
               })
      ->type_name("LANGUAGE");
  flags->Add("model-root", &options->model_root,
             "Below this folder are the models that LoadModel may load; "
             "without it no model comes or goes");
  flags->Seconds("watch-interval", &options->watch_interval,
                 "Look so often for models that came, changed or went in "
                 "--model-root, and serve what is there; 0: never");
  flags
      ->Parsed("precision",
               "auto, f32, bf16 or int8; auto picks by the CPU's features",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->precision,
                                          ParsePrecision(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags
      ->Parsed("kv-precision",
               "What decoders keep keys and values in: auto, f32, bf16 or "
               "int8; auto is what --precision computes with. bf16 is more "
               "exact than int8 and takes twice the memory",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->kv_precision,
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

// Its values are models, as the command line's others.
CLI::Option* AddPlanFlag(FlagSet* flags, CLI::App* app, Options* options) {
  return flags->Finish(
      "plan",
      app->add_option_function<std::vector<std::string>>(
             "--plan",
             [options](const std::vector<std::string>& specs) {
               options->plan = true;
               if (specs == std::vector<std::string>{""}) return;  // no value
               AddModels("--plan", specs, options);
             },
             "Tell what memory these models would take with the other flags, "
             "measure for some seconds how fast this machine answers, and exit")
          ->delimiter(';')
          ->expected(0, -1)
          ->type_name("[NAME=]FOLDER"));
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

void AddSecurityFlags(FlagSet* flags, Options* options) {
  flags->set_group("Security");
  flags->Add("tls-certificate", &options->tls.certificate,
             "Serve gRPC and HTTP with TLS: a PEM file of the server's "
             "certificate, then of those between it and the root. This file "
             "and the two below are read again when they change");
  flags->Add("tls-key", &options->tls.key,
             "A PEM file of the certificate's key, not encrypted");
  flags->Add("tls-client-ca", &options->tls.client_ca,
             "A PEM file of certificates of authorities: clients must show a "
             "certificate that one of these has signed");
  flags->Flag("metrics-tls", &options->metrics_tls,
              "Serve --metrics-listen with TLS as well");
  flags->Add("tokens-file", &options->tokens_file,
             "Take calls of gRPC and HTTP only with a bearer token of this "
             "JSON file, which is read again when it changes "
             "(docs/operating.md)");
  flags
      ->Parsed(
          "health",
          "Whom gRPC's health answers: open (anybody, for balancers and "
          "probes) or token (as other calls)",
          [options](const std::string& text) {
            options->open_health = text == "open";
            return text == "open" || text == "token"
                       ? absl::OkStatus()
                       : absl::InvalidArgumentError("must be open or token");
          })
      ->default_str("open");
  flags->Add("audit-log", &options->audit_log,
             "Write a JSON line to this file at each call's end: client, call, "
             "model, status, counts, time; no texts");
}

void AddTraceFlags(FlagSet* flags, Options* options) {
  flags->set_group("Traces");
  flags
      ->Parsed("trace-endpoint",
               "Send spans of calls to this collector by OTLP over HTTP, as "
               "http://localhost:4318",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->trace_endpoint,
                                          ParseTraceEndpoint(text));
                 return absl::OkStatus();
               })
      ->default_str("none");
  flags->Add("trace-ca", &options->trace_ca,
             "A PEM file of certificates of authorities, one of which has "
             "signed that of an https --trace-endpoint; default: those that "
             "the system trusts");
  flags
      ->Parsed(
          "trace-sample-rate",
          "0 to 1: of the calls without a traceparent, the part that is "
          "traced; the others follow their callers",
          [options](const std::string& text) -> absl::Status {
            double rate = -1;
            if (!absl::SimpleAtod(text, &rate) || !(rate >= 0 && rate <= 1)) {
              return absl::InvalidArgumentError(
                  fmt::format("'{}' must be a number from 0 to 1", text));
            }
            options->trace_sample_rate = rate;
            return absl::OkStatus();
          })
      ->default_str("1");
}

void AddFlags(CLI::App* app, Options* options) {
  FlagSet flags(app);
  flags.set_group("Network");
  flags
      .Parsed("listen", "HOST:PORT of gRPC; port 0 is any that is free",
              [options](const std::string& text) {
                options->listen = text;
                return ParseHostPort(text).status();
              })
      ->default_str(options->listen);
  const auto listen = [&flags](const std::string& name, std::string* value,
                               const std::string& help) {
    flags
        .Parsed(name, help + "; 'off' or nothing for none",
                [value](const std::string& text) {
                  const bool off = text.empty() || text == "off";
                  *value = off ? "" : text;
                  return off ? absl::OkStatus() : ParseHostPort(text).status();
                })
        ->expected(0, 1)
        ->default_str(value->empty() ? "off" : *value);
  };
  listen("http-listen", &options->http_listen,
         "HOST:PORT of the API over HTTP, as JSON: its own calls and those of "
         "OpenAI, Text Embeddings Inference, Cohere and LibreTranslate");
  flags.Count(
      "max-connections", &options->max_connections,
      "Connections at a time, of gRPC and of HTTP each; for one more, the "
      "one that has been idle "
      "the longest goes. Fewer where the limit of open files asks for "
      "it");
  flags.Count("max-streams", &options->max_streams,
              "Calls at a time on one connection");
  flags.Seconds("max-connection-age", &options->max_connection_age,
                "Tell clients to open a new connection after so long, so that "
                "they spread again and show their certificates again; what is "
                "under way then has --drain-timeout; 0: never");
  listen("metrics-listen", &options->metrics_listen,
         "HOST:PORT of /metrics, /healthz and /readyz");
  flags
      .Parsed("load-reports",
              "Tell balancers the server's load (ORCA), in gRPC's trailers and "
              "HTTP's headers: all answers, or those of calls that asked with "
              "endpoint-load-metrics-format; off, asked or all",
              [options](const std::string& text) {
                options->load_reports = text == "all" ? LoadReporting::kAll
                                        : text == "asked"
                                            ? LoadReporting::kAsked
                                            : LoadReporting::kOff;
                return text == "off" || text == "asked" || text == "all"
                           ? absl::OkStatus()
                           : absl::InvalidArgumentError(
                                 "must be off, asked or all");
              })
      ->default_str("off");
  flags.Add("port-file", &options->port_file,
            "Write the real ports to this file once ready, as "
            "'grpc PORT', 'metrics PORT', 'address HOST:PORT' and, where there "
            "is one, 'http PORT'");
  flags.Parsed(
      "client-key-header",
      "Tell clients, which share the server evenly, apart by this metadata key "
      "instead of by their addresses; a proxy must set it",
      [options](const std::string& text) -> absl::Status {
        TRIVIUM_ASSIGN_OR_RETURN(options->limits.client_key_header,
                                 ParseMetadataKey(text));
        return absl::OkStatus();
      });
  AddSecurityFlags(&flags, options);
  AddModelFlags(&flags, app, options);

  flags.set_group("Resources");
  flags.AutoOrCount("workers", 4096, &options->workers,
                    "Engines that work side by side, each on requests of its "
                    "own; auto: by the size of the largest model, so that "
                    "all physical cores have work");
  flags.AutoOrCount("worker-threads", 256, &options->worker_threads,
                    "Threads that share a worker's work, so that a lone "
                    "request is answered sooner; auto: likewise");
  flags.AutoOrBytes("kv-cache-bytes", &options->kv_cache_bytes,
                    "Cache of keys and values, of each worker and model; auto: "
                    "256 MiB, or what one longest sequence of a model takes "
                    "where that is more, but of all together at most a quarter "
                    "of the memory");
  flags.AutoOrBytes("prefix-cache-bytes", &options->prefix_cache_bytes,
                    "Of it, what is kept of prompts that nobody reads at the "
                    "moment, for requests that begin alike; auto: all that "
                    "nobody needs, 0: none");
  flags
      .Parsed("speculation",
              "on or off: while few requests run, read ahead what follows the "
              "last tokens elsewhere in a prompt, which changes no answer",
              [options](const std::string& text) {
                options->speculation = text == "on";
                return text == "on" || text == "off"
                           ? absl::OkStatus()
                           : absl::InvalidArgumentError("must be on or off");
              })
      ->default_str("on");
  flags
      .Add("max-waiting-tokens", &options->max_waiting_tokens,
           "Tokens that may wait (source + beams x new tokens of each "
           "request); more is refused")
      ->check(CLI::Range(int64_t{1}, kMostBytes));
  flags.Seconds("max-queue-wait", &options->max_queue_wait,
                "Refuse calls that would wait longer to begin; 0: only those "
                "that would miss their deadline");
  flags.Bytes("result-cache-bytes", &options->result_cache_bytes,
              "Keep results of greedy and beam searches for equal requests, of "
              "all models together; 0: none",
              /*none=*/true);
  flags.Bytes("memory-limit-bytes", &options->memory_limit_bytes,
              "Memory of the process, below which it keeps by letting large "
              "requests wait, refusing and ending calls; 0: what the cgroup or "
              "the machine has",
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

  AddTraceFlags(&flags, options);

  flags.set_group("Instead of serving");
  CLI::Option* const check =
      flags.Add("check", &options->check_folder,
                "List every problem of a model folder and exit");
  CLI::Option* const plan = AddPlanFlag(&flags, app, options);
  plan->excludes(check);
  flags.Flag("json", &options->json, "Write --plan as JSON")->needs(plan);
  flags.Flag("hash-token", &options->hash_token,
             "Read a token from standard input, print its entry for "
             "--tokens-file and exit");
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
      "Serves transformer models over gRPC and HTTP. Every flag has a twin in "
      "the "
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
      if (std::string_view(argument) == "--http-listen=") {
        argument = "--http-listen=off";
      }
    }
    app.parse(argc, arguments.data());
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return options;
}

std::vector<std::string> OptionVariables() {
  Options options;
  CLI::App app;
  AddFlags(&app, &options);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_envname().empty()) names.push_back(option->get_envname());
  }
  return names;
}

}  // namespace trivium
