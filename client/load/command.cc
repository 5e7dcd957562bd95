#include "client/load/command.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/status.h"
#include "base/utf8.h"
#include "client/commands/flags.h"
#include "client/commands/line_reader.h"
#include "client/load/runner.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kDescription[] =
    "Loads a trivium-server and reports latency and throughput.\n"
    "Closed loop (--concurrency N, the default): always N calls in flight. "
    "Open loop\n(--rate R): calls come at random, R a second, whatever the "
    "server does, and their\nlatency counts from when they were meant to "
    "start.";
constexpr char kFooter[] =
    "TRIVIUM_ADDRESS, TRIVIUM_TIMEOUT, TRIVIUM_CLIENT_MODEL, TRIVIUM_JSON and "
    "TRIVIUM_CLIENT_TLS...\nin the environment stand for these flags; the flag "
    "wins.\n"
    "Exit codes: 0 some calls succeeded, 1 none did, 2 wrong usage, 5 a file "
    "failed,\n130 interrupted (after the report).";

using Kind = CallOptions::Kind;

const std::map<std::string, Kind>& Kinds() {
  static const std::map<std::string, Kind> kinds = {
      {"translate", Kind::kTranslate},
      {"translate-stream", Kind::kTranslateStream},
      {"encode", Kind::kEncode},
      {"encode-stream", Kind::kEncodeStream},
      {"generate", Kind::kGenerate},
      {"score", Kind::kScore},
      {"classify", Kind::kClassify},
      {"rerank", Kind::kRerank},
      {"tag", Kind::kTag},
      {"answer", Kind::kAnswer},
      {"fill-mask", Kind::kFillMask},
      {"tokenize", Kind::kTokenize},
      {"detokenize", Kind::kDetokenize},
      {"model", Kind::kModel}};
  return kinds;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : Kinds()) names.push_back(name);
  return names;
}

struct LoadFlags {
  ConnectionFlags connection;
  CallOptions call;
  std::string file, kind = "translate";
  int concurrency = 32, max_in_flight = 10000, connections = 1;
  double rate = 0;  // 0: closed loop
  uint64_t schedule_seed = 1;
  double warm_up = 2, duration = 10;
  int64_t count = 0;
  bool ids = false, json = false;
};

void AddFlags(CLI::App& app, LoadFlags* flags) {
  AddConnectionFlags(app, &flags->connection);
  AddModelFlag(app, &flags->call.model);
  AddJsonFlag(app, &flags->json);
  app.add_option(
         "--file", flags->file,
         "Texts, one a line, taken in turn; of score SOURCE<tab>TARGET, "
         "or TARGET alone")
      ->required();
  app.add_flag("--ids", flags->ids,
               "The lines are token ids with spaces, not texts");
  app.add_option("--call", flags->kind,
                 "What to call; model is GetModel, a call without work")
      ->check(CLI::IsMember(KindNames()))
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
      "--metadata",
      [flags](const std::vector<std::string>& pairs) {
        for (const std::string& pair : pairs) {
          const size_t equals = pair.find('=');
          if (equals == 0 || equals == std::string::npos ||
              pair.find_first_not_of(
                  "abcdefghijklmnopqrstuvwxyz0123456789-_.") < equals) {
            throw CLI::ValidationError(
                pair + " is not KEY=VALUE, with a key in lower case");
          }
          flags->call.metadata.emplace_back(pair.substr(0, equals),
                                            pair.substr(equals + 1));
        }
      },
      "KEY=VALUE to send with every call; repeat for more");
  app.add_option("--inputs-per-call", flags->call.inputs_per_call,
                 "Texts, documents or contexts in each call; generate has one")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--query", flags->call.query,
                 "Of rerank, and the question of answer; default: the file's "
                 "first line");
  app.add_option("--concurrency", flags->concurrency,
                 "Closed loop: calls in flight")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--rate", flags->rate, "Open loop: calls a second")
      ->check(CLI::Range(1e-3, 1e6));
  app.add_option("--schedule-seed", flags->schedule_seed,
                 "Open loop: same seed, same times")
      ->capture_default_str();
  app.add_option("--max-in-flight", flags->max_in_flight,
                 "Open loop: at most this many at once; more start late")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--connections", flags->connections,
                 "Connections, used in turn")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--warm-up", flags->warm_up, "Seconds that do not count")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--duration", flags->duration, "Seconds to measure")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  app.add_option("--count", flags->count,
                 "Calls to measure, instead of --duration")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  AddDecodingFlags(app, &flags->call.decoding);
  AddEnvironmentTwins(app);
}

absl::StatusOr<std::vector<v1::Input>> ReadInputs(const std::string& file,
                                                  bool ids, const Io& io) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<LineReader> reader,
                           LineReader::Open(file, io.in));
  std::vector<v1::Input> inputs;
  while (true) {
    TRIVIUM_ASSIGN_OR_RETURN(std::optional<std::string> line, reader->Next());
    if (!line) break;
    v1::Input& input = inputs.emplace_back();
    if (ids) {
      const std::optional<std::vector<uint32_t>> parsed = ParseTokenIds(*line);
      if (!parsed || parsed->empty()) {
        return absl::InvalidArgumentError(
            fmt::format("line {} of {} is not token ids with spaces, as 17 4 0",
                        inputs.size(), file));
      }
      input.mutable_ids()->mutable_ids()->Add(parsed->begin(), parsed->end());
    } else if (!IsUtf8(*line)) {
      return absl::InvalidArgumentError(
          fmt::format("line {} of {} is not UTF-8", inputs.size(), file));
    } else {
      input.set_text(*std::move(line));
    }
  }
  if (inputs.empty()) {
    return absl::InvalidArgumentError(fmt::format("{} has no lines", file));
  }
  return inputs;
}

absl::Status CheckIds(const LoadFlags& flags) {
  const Kind kind = flags.call.kind;
  const bool texts = kind == Kind::kRerank || kind == Kind::kAnswer ||
                     kind == Kind::kTokenize || kind == Kind::kScore;
  if (flags.ids && texts) {
    return absl::InvalidArgumentError(
        fmt::format("--call {} takes texts; leave --ids out", flags.kind));
  }
  if (!flags.ids && kind == Kind::kDetokenize) {
    return absl::InvalidArgumentError(
        "--call detokenize takes token ids; give a file of them and --ids");
  }
  return absl::OkStatus();
}

ExitCode Complain(const Io& io, const std::string& message, ExitCode code) {
  fmt::print(io.err, "trivium-load: {}\n", message);
  return code;
}

}  // namespace

ExitCode RunTriviumLoad(const std::vector<std::string>& arguments, const Io& io,
                        const std::atomic<bool>& stop) {
  CLI::App app(kDescription, "trivium-load");
  app.footer(kFooter);
  LoadFlags flags;
  AddFlags(app, &flags);
  try {
    // CLI11 takes them last first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success&) {
    fmt::print(io.out, "{}", app.help());
    return kExitOk;
  } catch (const CLI::Error& error) {
    return Complain(io, error.what(), kExitUsage);
  }
  flags.call.kind = Kinds().at(flags.kind);
  if (const absl::Status status = CheckIds(flags); !status.ok()) {
    return Complain(io, std::string(status.message()), kExitUsage);
  }
  const absl::StatusOr<Client::Options> options = flags.connection.ToOptions();
  if (!options.ok()) {
    return Complain(io, std::string(options.status().message()), kExitUsage);
  }
  const Client::Options& client = *options;
  // The checks of the options, before any call is made with them.
  if (const auto valid = Client::Create(client); !valid.ok()) {
    return Complain(io, std::string(valid.status().message()), kExitUsage);
  }
  absl::StatusOr<std::vector<v1::Input>> inputs =
      ReadInputs(flags.file, flags.ids, io);
  if (!inputs.ok()) {
    return Complain(io, std::string(inputs.status().message()), kExitIo);
  }
  flags.call.inputs = *std::move(inputs);
  if (flags.call.query.empty()) {
    flags.call.query = flags.call.inputs.front().text();
  }

  RunOptions run;
  run.start = absl::Now();
  run.warm_up = absl::Seconds(flags.warm_up);
  run.duration = absl::Seconds(flags.duration);
  run.count = flags.count;
  run.live = isatty(fileno(io.err)) == 1 ? io.err : nullptr;
  ClosedPacer closed(flags.concurrency);
  PoissonPacer open(flags.rate > 0 ? flags.rate : 1, flags.schedule_seed,
                    flags.max_in_flight, run.start);
  Pacer& pacer = flags.rate > 0 ? static_cast<Pacer&>(open) : closed;
  const std::unique_ptr<Caller> caller =
      MakeGrpcCaller(std::move(flags.call), client, flags.connections);
  const Report report = RunLoad(run, pacer, *caller, stop);
  fmt::print(io.out, "{}",
             flags.json ? report.ToJson() + "\n" : report.ToText());
  if (std::fflush(io.out) != 0) {
    return Complain(io, "cannot write the report", kExitIo);
  }
  if (stop) return kExitInterrupted;
  return report.succeeded > 0 ? kExitOk : kExitFailed;
}

}  // namespace trivium
