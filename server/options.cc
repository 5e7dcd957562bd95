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

#include "base/nearest.h"
#include "base/print.h"
#include "base/status.h"
#include "server/flag_set.h"
#include "server/observability/version.h"
#include "server/option_flags.h"

namespace trivium {
namespace {

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
  flags->Choice("health", &options->open_health,
                {{"open", true}, {"token", false}},
                "Clients that gRPC's health answers: open (all, for load "
                "balancers and probes) or token (those with a token)");
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

void AddResourceFlags(FlagSet* flags, Options* options) {
  flags->set_group("Resources");
  flags->AutoOrCount("workers", 4096, &options->workers,
                     "Engines that run side by side, each with its own "
                     "requests; auto: chosen by the size of the largest model, "
                     "so that all physical cores have work");
  flags->AutoOrCount(
      "worker-threads", 256, &options->worker_threads,
      "Threads that share the work of one worker, so that a lone "
      "request is answered sooner; auto: chosen like --workers");
  flags->AutoOrBytes("kv-cache-bytes", &options->kv_cache_bytes,
                     "Cache of keys and values, for each worker and model; "
                     "auto: 256 MiB, or the size of a model's longest sequence "
                     "if that is larger, but at most a quarter of the memory "
                     "for all together");
  flags->AutoOrBytes("prefix-cache-bytes", &options->prefix_cache_bytes,
                     "Part of --kv-cache-bytes that may hold prompts of past "
                     "requests, for requests that begin with the same tokens; "
                     "auto: all that running requests do not need, 0: none");
  flags->Choice("speculation", &options->speculation,
                {{"on", true}, {"off", false}},
                "on or off: while few requests run, guess the next tokens from "
                "the prompt, which is faster and changes no answer");
  flags
      ->Add("max-waiting-tokens", &options->max_waiting_tokens,
            "Tokens that may wait (source + beams x new tokens of each "
            "request); calls beyond this are refused")
      ->check(CLI::Range(int64_t{1}, kMostBytes));
  flags->Seconds("max-queue-wait", &options->max_queue_wait,
                 "Refuse calls that would wait longer to start; 0: refuse only "
                 "those that would miss their deadline");
  flags->Seconds("step-timeout", &options->step_timeout,
                 "If a step of a model's engine lasts longer than this, and "
                 "than its tokens take on a slow machine, answer its calls "
                 "UNAVAILABLE and be not ready until it returns; 0: wait for "
                 "ever");
  flags->Bytes("result-cache-bytes", &options->result_cache_bytes,
               "Size of the cache, for all models together, that holds results "
               "of greedy and beam searches for equal requests; 0: none",
               /*none=*/true);
  flags->Bytes(
      "memory-limit-bytes", &options->memory_limit_bytes,
      "Bound on the process's memory; near it, large requests wait, "
      "then calls are refused, then ended; 0: the memory of the cgroup "
      "or the machine",
      /*none=*/true);
}

void AddStopAndLogFlags(FlagSet* flags, Options* options) {
  flags->set_group("Stopping");
  flags->Seconds("drain-delay", &options->drain_delay,
                 "After SIGTERM, continue to serve for this time while health "
                 "reports NOT_SERVING, until load balancers have noticed");
  flags->Seconds("drain-timeout", &options->drain_timeout,
                 "Then wait this long for running and queued calls");

  flags->set_group("Logs");
  flags->Add(
      "log-level", &options->log_level,
      "trace, debug (a line for each request), info, warn, error or off");
  flags
      ->Choice("log-format", &options->log_format,
               {{"text", LogFormat::kText}, {"json", LogFormat::kJson}},
               "text or json")
      ->default_str("text on a terminal, else json");
}

void AddToolFlags(FlagSet* flags, CLI::App* app, Options* options) {
  flags->set_group("Instead of serving");
  CLI::Option* const check =
      flags->Add("check", &options->check_folder,
                 "List all problems of a model folder, or of hf:OWNER/NAME "
                 "before its weights are fetched, and exit");
  check->check(CLI::Validator(
      [](const std::string& folder) {
        return folder.empty() || folder[0] == '-'
                   ? fmt::format("'{}' names no folder; give it after --check",
                                 folder)
                   : "";
      },
      ""));
  CLI::Option* const plan = AddPlanFlag(flags, app, options);
  plan->excludes(check);
  flags->Flag("json", &options->json, "Write --plan as JSON")->needs(plan);
  flags->Flag("hash-token", &options->hash_token,
              "Read a token from standard input, print its entry for "
              "--tokens-file and exit");
  app->set_version_flag("--version", std::string("trivium-server ") + kVersion)
      ->group("Instead of serving");
  app->set_help_flag("-h,--help", "Show this and exit")
      ->group("Instead of serving");
}

void AddFlags(CLI::App* app, Options* options) {
  FlagSet flags(app);
  AddNetworkFlags(&flags, app, options);
  AddSecurityFlags(&flags, options);
  AddModelFlags(&flags, app, options);
  AddResourceFlags(&flags, options);
  AddLimitFlags(&flags, options);
  AddStopAndLogFlags(&flags, options);
  AddTraceFlags(&flags, options);
  AddToolFlags(&flags, app, options);
}

}  // namespace

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
