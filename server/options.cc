// Always:
// - AddFlags only binds flags to `options`. Values arrive when CLI11 parses, so
//   OptionVariables calls AddFlags without a command line.
// - A default is the initial value in Options. A flag that is added with Parsed
//   may repeat it as text (default_str), and the two must be kept equal by
//   hand.
// - A value is checked here on its own. CheckOptions in startup.cc checks
//   values against one another.
// - Errors are exceptions of CLI11, and ParseOptions catches them. If it sets
//   `exit_code`, the options are incomplete and must not be used.
#include "server/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/nearest.h"
#include "base/print.h"
#include "base/status.h"
#include "model/language_names.h"
#include "model/translator_prompts.h"
#include "server/flag_set.h"
#include "server/host_port.h"
#include "server/model_spec.h"
#include "server/observability/version.h"
#include "server/transports/http/cors.h"
#include "server/transports/http/request_checks.h"

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

void AddAlias(const std::string& text, ModelNames* names) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError(fmt::format(
        "--model-alias: '{}' must be NAME=MODEL, such as gpt-4o=chat", text));
  }
  const std::string name = text.substr(0, equals);
  if (absl::Status status = CheckModelName(name); !status.ok()) {
    throw CLI::ValidationError(
        fmt::format("--model-alias: {}", std::string(status.message())));
  }
  if (!names->aliases.emplace(name, text.substr(equals + 1)).second) {
    throw CLI::ValidationError(fmt::format(
        "--model-alias: '{}' is given twice; give it one model", name));
  }
}

void SetOrigins(const std::vector<std::string>& origins, Options* options) {
  const auto check = [](const absl::Status& status) {
    if (status.ok()) return;
    throw CLI::ValidationError(
        fmt::format("--cors-allow-origin: {}", std::string(status.message())));
  };
  options->cors_origins.clear();
  for (const std::string& text : origins) {
    absl::StatusOr<std::string> origin = ParseOrigin(text);
    check(origin.status());
    options->cors_origins.push_back(*std::move(origin));
  }
  check(CheckOrigins(options->cors_origins));
}

void AddModelFlags(FlagSet* flags, CLI::App* app, Options* options) {
  flags->set_group("Models");
  const auto add = [options](const std::vector<std::string>& specs) {
    AddModels("--model", specs, options);
  };
  // Both names are one option, so that models keep the order of the command
  // line. The delimiter is for the environment, where an option cannot be
  // repeated.
  flags->Finish(
      "model",
      app->add_option_function<std::vector<std::string>>(
             "--model,folders", add,
             "Serve [NAME=]FOLDER[,precision=...][,kv=...][,shortlist=on|off]"
             "[,translate_with=...][,task=...]; "
             "repeat it for more models, the first is the default. "
             "hf:OWNER/NAME[@REVISION][:QUANT] instead of FOLDER fetches a "
             "model of the Hugging Face Hub. Without --model, the embedded "
             "model is served")
          ->delimiter(';')
          ->type_name("[NAME=]FOLDER"));
  // Repeatable; the delimiter is for the environment.
  flags->Finish(
      "model-alias",
      app->add_option_function<std::vector<std::string>>(
             "--model-alias",
             [options](const std::vector<std::string>& aliases) {
               for (const std::string& text : aliases) {
                 AddAlias(text, &options->model_names);
               }
             },
             "Serve a model under one more name, NAME=MODEL; repeat it for "
             "more names. Tokens that may use the model may use the name")
          ->delimiter(';')
          ->type_name("ALIAS"));
  flags->Flag("any-model", &options->model_names.any,
              "Answer calls that name a model that is not there as if they "
              "named none: by the first model that serves such calls");
  flags
      ->Parsed(
          "pivot-language",
          "If no model translates between two languages, two models "
          "translate by way of this language (\"en\")",
          [options](const std::string& text) -> absl::Status {
            options->pivot_language = ToBcp47(text);
            if (!options->pivot_language.empty()) return absl::OkStatus();
            return absl::InvalidArgumentError(fmt::format(
                "'{}' is not a language; give its code, such as en", text));
          })
      ->type_name("LANGUAGE");
  flags->Add("model-root", &options->model_root,
             "The folder of the models that LoadModel may load; without it, "
             "models are neither loaded nor unloaded while the server runs");
  flags->Finish(
      "allow-pull",
      app->add_option("--allow-pull", options->pull_owners,
                      "Owners, separated by commas, whose models LoadModel may "
                      "fetch from the hub by the name hf:OWNER/NAME; * allows "
                      "all. Without it, only --model fetches")
          ->delimiter(',')
          ->type_name("OWNERS"));
  flags->Bytes("allow-pull-bytes", &options->pull_bytes,
               "Size of the files of a model that --allow-pull lets clients "
               "fetch");
  flags->Seconds("watch-interval", &options->watch_interval,
                 "Time between two looks at --model-root for new, changed and "
                 "removed models, which are then served or unloaded; 0: never");
  flags
      ->Parsed("precision",
               "Precision to compute with: auto, f32, bf16, int8 or int4. auto "
               "is int4 for a file whose weights are in four bits, else int8, "
               "on 64-bit Arm f32",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->precision,
                                          ParsePrecision(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags
      ->Parsed("kv-precision",
               "Precision of decoders' keys and values: auto, f32, bf16 or "
               "int8; auto is that of --precision, or int8 for int4. bf16 is "
               "more exact than int8 and takes twice the memory",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->kv_precision,
                                          ParseKvPrecision(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags->Flag("vocabulary-shortlist", &options->vocabulary_shortlist,
              "Restrict translations to the tokens that the folder's "
              "shortlist.safetensors has for each source: this is faster, and "
              "changes a few translations");
  flags->Add("weights-cache", &options->weights_cache,
             "Folder in which packed weights are kept, one file a model and "
             "precision: the next start maps them instead of packing the "
             "model's files, and processes on one machine share their memory");
  flags
      ->Parsed("translate-with",
               "How decoders are asked to translate: auto, as their folders "
               "tell; translategemma, hy-mt2, hy-mt1.5, hunyuan-mt, "
               "tower-plus, tower or eurollm; or none, not at all. A --model "
               "may have translate_with=... of its own",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->translate_with,
                                          ParseTranslateWith(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags
      ->Parsed("max-isa",
               "Highest instruction set to use: avx2, avx512, vnni, bf16 or "
               "amx; for tests and comparisons",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->max_isa, ParseIsa(text));
                 return absl::OkStatus();
               })
      ->default_str("the CPU's best");
}

// The values of --plan are models like those of --model.
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
             "Print the memory that these models would need with the other "
             "flags, measure for some seconds how fast this machine answers, "
             "and exit")
          ->delimiter(';')
          ->expected(0, -1)
          ->type_name("[NAME=]FOLDER"));
}

void AddLimitFlags(FlagSet* flags, Options* options) {
  RequestLimits& limits = options->limits;
  flags->set_group("Limits of a call");
  flags->Bytes("max-request-bytes", &limits.max_request_bytes,
               "Size of a request");
  flags->Bytes("max-response-bytes", &limits.max_response_bytes,
               "Size of a response; a call whose response would be larger is "
               "refused before anything is computed");
  flags->Bytes("max-text-bytes", &limits.max_text_bytes, "Size of a text");
  flags->Count("max-inputs", &limits.max_inputs, "Number of inputs");
  flags->Count("max-windows", &limits.max_windows,
               "Number of windows of all contexts of an Answer call");
  flags
      ->Count("max-beam-size", &limits.max_beam_size,
              "Number of beams or draws")
      ->check(CLI::Range(1, 16));
  flags
      ->Add("max-stop-strings", &limits.max_stop_strings,
            "Number of stop strings")
      ->check(CLI::Range(0, 1024));
  flags
      ->Add("max-stop-bytes", &limits.max_stop_bytes,
            "Size of a stop string (bytes)")
      ->check(CLI::Range(1, 65536));
  flags
      ->Add("max-top-logprobs", &limits.max_top_logprobs,
            "Number of alternatives to report for a token")
      ->check(CLI::Range(0, 20));
  flags->Flag("truncate", &options->truncate,
              "Cut texts that are too long for the model instead of refusing "
              "them, unless the request says otherwise");
  flags->Seconds("default-deadline", &limits.default_deadline,
                 "Time for a unary call whose client sets no deadline");
  flags->Seconds("default-stream-deadline", &limits.default_stream_deadline,
                 "Time for a stream whose client sets no deadline");
  flags->Seconds("stall-timeout", &limits.stall_timeout,
                 "Cancel a call whose client reads nothing for this long");
}

void AddSecurityFlags(FlagSet* flags, Options* options) {
  flags->set_group("Security");
  flags->Add("tls-certificate", &options->tls.certificate,
             "Serve gRPC and HTTP with TLS: a PEM file with the server's "
             "certificate, followed by the intermediate ones. This file and "
             "the two below are read again when they change");
  flags->Add("tls-key", &options->tls.key,
             "PEM file with the certificate's key, not encrypted");
  flags->Add("tls-client-ca", &options->tls.client_ca,
             "PEM file with certificates of authorities: clients must present "
             "a certificate that one of these has signed");
  flags->Flag("metrics-tls", &options->metrics_tls,
              "Serve --metrics-listen with TLS as well");
  flags->Add("tokens-file", &options->tokens_file,
             "Accept calls of gRPC and HTTP only with a bearer token of this "
             "JSON file, which is read again when it changes "
             "(docs/operating.md)");
  flags
      ->Parsed(
          "health",
          "Clients that gRPC's health answers: open (all, for load balancers "
          "and probes) or token (those with a token)",
          [options](const std::string& text) {
            options->open_health = text == "open";
            return text == "open" || text == "token"
                       ? absl::OkStatus()
                       : absl::InvalidArgumentError("must be open or token");
          })
      ->default_str("open");
  flags->Add("audit-log", &options->audit_log,
             "Write a JSON line to this file at the end of each call: client, "
             "call, model, status, counts, time; no texts");
}

void AddTraceFlags(FlagSet* flags, Options* options) {
  flags->set_group("Traces");
  flags
      ->Parsed("trace-endpoint",
               "Send spans of calls to this collector by OTLP over HTTP, such "
               "as http://localhost:4318",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->trace_endpoint,
                                          ParseTraceEndpoint(text));
                 return absl::OkStatus();
               })
      ->default_str("none");
  flags->Add("trace-ca", &options->trace_ca,
             "PEM file with certificates of authorities, one of which has "
             "signed the certificate of an https --trace-endpoint; without "
             "it, those that the system trusts");
  flags
      ->Parsed(
          "trace-sample-rate",
          "Part of the calls without a traceparent that is traced, from 0 to "
          "1; calls with a traceparent follow it",
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
      .Parsed("listen",
              "HOST:PORT of gRPC, or unix:/PATH, a Unix socket; port 0 is any "
              "free port",
              [options](const std::string& text) {
                options->listen = text;
                return ParseHostPort(text).status();
              })
      ->default_str(options->listen);
  const auto listen = [&flags](const std::string& name, std::string* value,
                               bool* given, const std::string& help) {
    flags
        .Parsed(name, help + "; 'off' or nothing: none",
                [value, given](const std::string& text) {
                  if (given != nullptr) *given = true;
                  const bool off = text.empty() || text == "off";
                  *value = off ? "" : text;
                  return off ? absl::OkStatus() : ParseHostPort(text).status();
                })
        ->expected(0, 1)
        ->default_str(value->empty() ? "off" : *value);
  };
  listen("http-listen", &options->http_listen, &options->http_given,
         "HOST:PORT or unix:/PATH of the API over HTTP, as JSON: the server's "
         "own calls and those of other APIs (docs/using.md lists them). "
         "Without this flag there is none if another program has the port");
  flags.Parsed(
      "allowed-hosts",
      "Names with dots under which HTTP requests may reach this server, with "
      "commas between them, or *; without TLS and tokens, others are refused, "
      "since a web page can give this server's address a name of its own. "
      "Addresses, localhost and names without dots are never refused",
      [options](const std::string& text) -> absl::Status {
        options->allowed_hosts.clear();
        for (const absl::string_view name :
             absl::StrSplit(text, ',', absl::SkipWhitespace())) {
          std::string host(absl::StripAsciiWhitespace(name));
          if (host != "*") {
            TRIVIUM_ASSIGN_OR_RETURN(host, HostName(host));
          }
          options->allowed_hosts.push_back(std::move(host));
        }
        return absl::OkStatus();
      });
  // Repeatable; the delimiter is for the environment.
  flags.Finish(
      "cors-allow-origin",
      app->add_option_function<std::vector<std::string>>(
             "--cors-allow-origin",
             [options](const std::vector<std::string>& origins) {
               SetOrigins(origins, options);
             },
             "Let web pages of this origin, such as https://chat.example, call "
             "the API over HTTP from a browser, with or without a token; "
             "repeat it for more origins, or give * for all")
          ->delimiter(',')
          ->type_name("ORIGIN"));
  flags.Flag("no-page", &options->no_page,
             "Show browsers no page at / of --http-listen, and answer no "
             "/openapi.json");
  flags.Flag("http-metrics", &options->http_metrics,
             "Answer /metrics on the port of --http-listen, too; with "
             "--tokens-file it needs a token, as calls do");
  flags.Flag("http-strict", &options->http_strict,
             "Refuse members of HTTP requests that cannot change the answer, "
             "such as OpenAI's metadata, instead of ignoring them");
  flags.Seconds("sse-keep-alive", &options->sse_keep_alive,
                "Send a comment on streams of events over HTTP that were "
                "silent for so long, so that proxies keep them open; 0: never");
  flags.Count(
      "max-connections", &options->max_connections,
      "Connections at a time, of gRPC and of HTTP each; a further one closes "
      "the one that has been idle longest. The limit of open files may lower "
      "this");
  flags.Count("max-streams", &options->max_streams,
              "Calls at a time on one connection");
  flags.Seconds("max-connection-age", &options->max_connection_age,
                "Tell clients to open a new connection after this time, so "
                "that they spread again over the servers and present their "
                "certificates again; running calls then have --drain-timeout; "
                "0: never");
  listen("metrics-listen", &options->metrics_listen, nullptr,
         "HOST:PORT or unix:/PATH of /metrics, /healthz and /readyz");
  flags
      .Parsed("load-reports",
              "Report the server's load to load balancers (ORCA), in gRPC's "
              "trailers and HTTP's headers: off, all (in all answers), or "
              "asked (for calls with endpoint-load-metrics-format)",
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
            "Write the ports to this file when the server is ready: lines "
            "'grpc PORT', 'metrics PORT', 'address HOST:PORT' and, if there is "
            "one, 'http PORT'");
  flags.Parsed(
      "client-key-header",
      "Distinguish clients, which share the server evenly, by this metadata "
      "key instead of their addresses; a proxy must set it",
      [options](const std::string& text) -> absl::Status {
        TRIVIUM_ASSIGN_OR_RETURN(options->limits.client_key_header,
                                 ParseMetadataKey(text));
        return absl::OkStatus();
      });
  AddSecurityFlags(&flags, options);
  AddModelFlags(&flags, app, options);

  flags.set_group("Resources");
  flags.AutoOrCount("workers", 4096, &options->workers,
                    "Engines that run side by side, each with its own "
                    "requests; auto: chosen by the size of the largest model, "
                    "so that all physical cores have work");
  flags.AutoOrCount("worker-threads", 256, &options->worker_threads,
                    "Threads that share the work of one worker, so that a lone "
                    "request is answered sooner; auto: chosen like --workers");
  flags.AutoOrBytes("kv-cache-bytes", &options->kv_cache_bytes,
                    "Cache of keys and values, for each worker and model; "
                    "auto: 256 MiB, or the size of a model's longest sequence "
                    "if that is larger, but at most a quarter of the memory "
                    "for all together");
  flags.AutoOrBytes("prefix-cache-bytes", &options->prefix_cache_bytes,
                    "Part of --kv-cache-bytes that may hold prompts of past "
                    "requests, for requests that begin with the same tokens; "
                    "auto: all that running requests do not need, 0: none");
  flags
      .Parsed("speculation",
              "on or off: while few requests run, guess the next tokens from "
              "the prompt, which is faster and changes no answer",
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
           "request); calls beyond this are refused")
      ->check(CLI::Range(int64_t{1}, kMostBytes));
  flags.Seconds("max-queue-wait", &options->max_queue_wait,
                "Refuse calls that would wait longer to start; 0: refuse only "
                "those that would miss their deadline");
  flags.Seconds("step-timeout", &options->step_timeout,
                "If a step of a model's engine lasts longer than this, and "
                "than its tokens take on a slow machine, answer its calls "
                "UNAVAILABLE and be not ready until it returns; 0: wait for "
                "ever");
  flags.Bytes("result-cache-bytes", &options->result_cache_bytes,
              "Size of the cache, for all models together, that holds results "
              "of greedy and beam searches for equal requests; 0: none",
              /*none=*/true);
  flags.Bytes("memory-limit-bytes", &options->memory_limit_bytes,
              "Bound on the process's memory; near it, large requests wait, "
              "then calls are refused, then ended; 0: the memory of the cgroup "
              "or the machine",
              /*none=*/true);
  AddLimitFlags(&flags, options);

  flags.set_group("Stopping");
  flags.Seconds("drain-delay", &options->drain_delay,
                "After SIGTERM, continue to serve for this time while health "
                "reports NOT_SERVING, until load balancers have noticed");
  flags.Seconds("drain-timeout", &options->drain_timeout,
                "Then wait this long for running and queued calls");

  flags.set_group("Logs");
  flags.Add("log-level", &options->log_level,
            "trace, debug (a line for each request), info, warn, error or off");
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
                "List all problems of a model folder, or of hf:OWNER/NAME "
                "before its weights are fetched, and exit");
  CLI::Option* const plan = AddPlanFlag(&flags, app, options);
  plan->excludes(check);
  flags.Flag("json", &options->json, "Write --plan as JSON")->needs(plan);
  flags.Flag("hash-token", &options->hash_token,
             "Read a token from standard input, print its entry for "
             "--tokens-file and exit");
  app->set_version_flag("--version", std::string("trivium-server ") + kVersion)
      ->group("Instead of serving");
  app->set_help_flag("-h,--help", "Show this and exit")
      ->group("Instead of serving");
}

}  // namespace

absl::StatusOr<std::string> ParseMetadataKey(const std::string& text) {
  std::string key = absl::AsciiStrToLower(text);
  if (key.empty() || key.starts_with("grpc-") || key.ends_with("-bin") ||
      key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") !=
          std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' must be a key of text metadata, such as x-api-key: letters, "
        "digits and -_. (not grpc-..., not ...-bin)",
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
      "Serves transformer models over gRPC and HTTP. Every flag can also be "
      "set "
      "by an environment variable, TRIVIUM_ and its name; the flag overrides "
      "the variable.",
      "trivium-server");
  AddFlags(&app, &options);
  try {
    // CLI11 treats an empty value as a missing one.
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
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      const std::vector<std::string>& own = option->get_lnames();
      names.insert(names.end(), own.begin(), own.end());
    }
    PrintTo(stderr, "{}\n", UnknownFlag(app.remaining().front(), names));
    *exit_code = kExitUsage;
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
