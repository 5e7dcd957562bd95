#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "server/host_port.h"
#include "server/option_flags.h"
#include "server/transports/http/cors.h"
#include "server/transports/http/request_checks.h"

namespace trivium {
namespace {

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

void AddNetworkFlags(FlagSet* flags, CLI::App* app, Options* options) {
  flags->set_group("Network");
  flags
      ->Parsed("listen",
               "HOST:PORT of gRPC, or unix:/PATH, a Unix socket; port 0 is any "
               "free port",
               [options](const std::string& text) {
                 options->listen = text;
                 return ParseHostPort(text).status();
               })
      ->default_str(options->listen);
  const auto listen = [flags](const std::string& name, std::string* value,
                              bool* given, const std::string& help) {
    flags
        ->Parsed(name, help + "; 'off' or nothing: none",
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
  flags->Parsed(
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
  flags->Finish(
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
  flags->Flag("no-page", &options->no_page,
              "Show browsers no page at / of --http-listen, and answer no "
              "/openapi.json");
  flags->Flag("http-metrics", &options->http_metrics,
              "Answer /metrics on the port of --http-listen, too; with "
              "--tokens-file it needs a token, as calls do");
  flags->Flag("http-strict", &options->http_strict,
              "Refuse members of HTTP requests that cannot change the answer, "
              "such as OpenAI's metadata, instead of ignoring them");
  flags->Seconds(
      "sse-keep-alive", &options->sse_keep_alive,
      "Send a comment on streams of events over HTTP that were "
      "silent for so long, so that proxies keep them open; 0: never");
  flags->Count(
      "max-connections", &options->max_connections,
      "Connections at a time, of gRPC and of HTTP each; a further one closes "
      "the one that has been idle longest. The limit of open files may lower "
      "this");
  flags->Count("max-streams", &options->max_streams,
               "Calls at a time on one connection");
  flags->Seconds("max-connection-age", &options->max_connection_age,
                 "Tell clients to open a new connection after this time, so "
                 "that they spread again over the servers and present their "
                 "certificates again; running calls then have --drain-timeout; "
                 "0: never");
  listen("metrics-listen", &options->metrics_listen, nullptr,
         "HOST:PORT or unix:/PATH of /metrics, /healthz and /readyz");
  flags->Choice("load-reports", &options->load_reports,
                {{"off", LoadReporting::kOff},
                 {"asked", LoadReporting::kAsked},
                 {"all", LoadReporting::kAll}},
                "Report the server's load to load balancers (ORCA), in gRPC's "
                "trailers and HTTP's headers: off, all (in all answers), or "
                "asked (for calls with endpoint-load-metrics-format)");
  flags->Add(
      "port-file", &options->port_file,
      "Write the ports to this file when the server is ready: lines "
      "'grpc PORT', 'metrics PORT', 'address HOST:PORT' and, if there is "
      "one, 'http PORT'");
  flags->Parsed(
      "client-key-header",
      "Distinguish clients, which share the server evenly, by this metadata "
      "key instead of their addresses; a proxy must set it",
      [options](const std::string& text) -> absl::Status {
        TRIVIUM_ASSIGN_OR_RETURN(options->limits.client_key_header,
                                 ParseMetadataKey(text));
        return absl::OkStatus();
      });
}

}  // namespace trivium
