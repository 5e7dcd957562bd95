#include "client/load/flags.h"

#include <cmath>
#include <functional>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : CallKinds()) names.push_back(name);
  return names;
}

// Adds an option whose text `read` parses. `read` returns an error if it is
// wrong.
CLI::Option* AddParsed(
    CLI::App& app, const std::string& name,
    const std::function<absl::Status(const std::string&)>& read,
    const std::string& type, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [name, read](const std::string& text) {
            const absl::Status status = read(text);
            if (!status.ok()) {
              throw CLI::ValidationError(name, std::string(status.message()));
            }
          },
          help)
      ->type_name(type);
}

absl::Status ReadMetadata(const std::string& pair, Workload::Options* options) {
  const size_t equals = pair.find('=');
  if (equals == 0 || equals == std::string::npos ||
      pair.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") <
          equals) {
    return absl::InvalidArgumentError(
        pair + " is not KEY=VALUE, with a key in lower case");
  }
  options->metadata.emplace_back(pair.substr(0, equals),
                                 pair.substr(equals + 1));
  return absl::OkStatus();
}

// Parses "10:200:60" as `count` numbers, none of which is negative.
std::optional<std::vector<double>> Numbers(const std::string& text,
                                           size_t count) {
  std::vector<double> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ':')) {
    double number;
    if (!absl::SimpleAtod(part, &number) || !std::isfinite(number) ||
        number < 0 || number > 1e6) {
      return std::nullopt;
    }
    numbers.push_back(number);
  }
  if (numbers.size() != count) return std::nullopt;
  return numbers;
}

absl::Status ReadRamp(const std::string& text, Pacing* pacing) {
  const auto numbers = Numbers(text, 3);
  if (!numbers || (*numbers)[0] + (*numbers)[1] <= 0 || (*numbers)[2] <= 0) {
    return absl::InvalidArgumentError(
        text + " is not FROM:TO:SECONDS, two rates and a time, as 10:200:60");
  }
  pacing->ramp = {(*numbers)[0], (*numbers)[1], absl::Seconds((*numbers)[2])};
  return absl::OkStatus();
}

absl::Status ReadBurst(const std::string& text, Pacing* pacing) {
  const auto numbers = Numbers(text, 2);
  if (!numbers || (*numbers)[0] < 1 ||
      (*numbers)[0] != std::floor((*numbers)[0]) || (*numbers)[1] <= 0) {
    return absl::InvalidArgumentError(
        text + " is not CALLS:SECONDS, as 100:5 for 100 calls every 5 s");
  }
  pacing->burst = {static_cast<int>((*numbers)[0]),
                   absl::Seconds((*numbers)[1])};
  return absl::OkStatus();
}

absl::Status ReadTime(const std::string& text, absl::Duration* time) {
  if (absl::ParseDuration(text, time) && *time > absl::ZeroDuration() &&
      *time < absl::Hours(24)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(text + " is not a time, as 1s or 250ms");
}

void AddServerFlags(CLI::App& app, LoadFlags* flags) {
  AddConnectionFlags(app, &flags->connection);
  AddPriorityFlag(app, &flags->connection);
  AddModelFlag(app, &flags->workload.model);
  CLI::Option* const http =
      app.add_option("--http", flags->http,
                     "Server over HTTP, without TLS: Connect's protocol in "
                     "JSON, and OpenAI's embeddings")
          ->type_name("http://HOST:PORT")
          ->excludes("--address");
  app.add_option("--against", flags->against,
                 "Compare with this server, HOST:PORT or http://HOST:PORT: "
                 "rounds in turns");
  app.add_option("--rounds", flags->rounds, "Rounds of a comparison")
      ->needs("--against")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--connections", flags->connections,
                 "gRPC connections, used in turn; over HTTP each running call "
                 "has one")
      ->excludes(http)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void AddCallFlags(CLI::App& app, LoadFlags* flags) {
  Workload::Options* const workload = &flags->workload;
  app.add_option(
         "--file", flags->file,
         "Texts, one a line, used in turn; for score SOURCE<tab>TARGET, "
         "or TARGET alone")
      ->required();
  app.add_flag("--ids", flags->ids,
               "The lines are token ids with spaces, not texts");
  app.add_option_function<std::string>(
         "--call",
         [workload](const std::string& name) {
           workload->mix = {{CallKinds().at(name), 1}};
         },
         "Which call to make; model is GetModel, a call without work")
      ->check(CLI::IsMember(KindNames()))
      ->default_str("translate");
  AddParsed(
      app, "--mix",
      [workload](const std::string& text) {
        TRIVIUM_ASSIGN_OR_RETURN(workload->mix, ParseMix(text));
        return absl::OkStatus();
      },
      "CALL=WEIGHT,...", "Several kinds of calls, drawn with these weights")
      ->excludes("--call");
  AddParsed(
      app, "--lengths",
      [workload](const std::string& text) {
        TRIVIUM_ASSIGN_OR_RETURN(workload->lengths, ParseLengths(text));
        return absl::OkStatus();
      },
      "1-80|4,16,64",
      "Make texts of these lengths from the file's words (or ids), instead "
      "of using its lines");
  app.add_option_function<std::vector<std::string>>(
      "--metadata",
      [workload](const std::vector<std::string>& pairs) {
        for (const std::string& pair : pairs) {
          const absl::Status status = ReadMetadata(pair, workload);
          if (!status.ok()) {
            throw CLI::ValidationError(std::string(status.message()));
          }
        }
      },
      "KEY=VALUE to send with every call (repeatable)");
  app.add_option("--inputs-per-call", workload->inputs_per_call,
                 "Texts, documents or contexts in each call; generate has one")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option(
      "--query", workload->query,
      "Query of rerank, first text of similarity, question of answer; "
      "default: the file's first line");
  AddDecodingFlags(app, &workload->decoding);
}

void AddPacingFlags(CLI::App& app, LoadFlags* flags) {
  Pacing* const pacing = &flags->pacing;
  CLI::Option* const concurrency =
      app.add_option("--concurrency", pacing->concurrency,
                     "Closed loop: calls in flight")
          ->check(CLI::Range(1, 1 << 20))
          ->capture_default_str();
  CLI::Option* const rate =
      app.add_option("--rate", pacing->rate, "Open loop: calls per second")
          ->check(CLI::Range(1e-3, 1e6))
          ->excludes(concurrency);
  CLI::Option* const ramp =
      AddParsed(
          app, "--ramp",
          [pacing](const std::string& text) { return ReadRamp(text, pacing); },
          "FROM:TO:SECONDS",
          "Open loop: a rate that changes linearly and then stays; the warm-up "
          "has the first rate")
          ->excludes(concurrency)
          ->excludes(rate);
  CLI::Option* const burst =
      AddParsed(
          app, "--burst",
          [pacing](const std::string& text) { return ReadBurst(text, pacing); },
          "CALLS:SECONDS",
          "Open loop: CALLS at once every SECONDS, alone or in addition to "
          "--rate or --ramp")
          ->excludes(concurrency);
  app.add_option("--schedule-seed", pacing->seed,
                 "Same seed, same times, calls, lengths and aborts")
      ->capture_default_str();
  app.add_option("--max-in-flight", pacing->max_in_flight,
                 "Open loop: most calls in flight; others start late")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option(
         "--abort-share", flags->run.abort_share,
         "Cancel this share of the calls, 0 to 1, at random times; they "
         "do not count as failures")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* const find =
      app.add_flag("--find-rate", flags->find_rate,
                   "Search for the highest --rate with p99 <= --p99 and no "
                   "failures; begins at --rate, or at the rate that "
                   "--concurrency achieves")
          ->excludes(ramp)
          ->excludes(burst)
          ->excludes("--against");
  CLI::Option* const p99 = AddParsed(
                               app, "--p99",
                               [flags](const std::string& text) {
                                 return ReadTime(text, &flags->p99);
                               },
                               "TIME", "Limit of --find-rate, as 1s or 250ms")
                               ->needs(find);
  find->needs(p99);
  app.add_option("--tolerance", flags->tolerance,
                 "Precision of --find-rate, relative to the rate")
      ->needs(find)
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
}

void AddTimeFlags(CLI::App& app, LoadFlags* flags) {
  app.add_option("--warm-up", flags->warm_up, "Seconds before measuring")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  CLI::Option* const duration =
      app.add_option("--duration", flags->duration,
                     "Seconds to measure; default with --ramp: its seconds")
          ->check(CLI::Range(1e-3, 1e6))
          ->capture_default_str();
  app.add_option("--count", flags->run.count,
                 "Calls to measure, instead of --duration")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->excludes(duration)
      ->excludes("--ramp")
      ->excludes("--find-rate");
}

}  // namespace

void AddLoadFlags(CLI::App& app, LoadFlags* flags) {
  AddJsonFlag(app, &flags->json);
  AddServerFlags(app, flags);
  AddCallFlags(app, flags);
  AddPacingFlags(app, flags);
  AddTimeFlags(app, flags);
  app.add_option("--html", flags->html,
                 "Write a page with plots to this file; it loads nothing")
      ->type_name("FILE");
  AddEnvironmentTwins(app);
}

}  // namespace trivium
