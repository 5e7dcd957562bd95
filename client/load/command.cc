#include "client/load/command.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "base/print.h"
#include "base/status.h"
#include "base/utf8.h"
#include "client/commands/line_reader.h"
#include "client/load/experiments.h"
#include "client/load/flags.h"
#include "client/load/report.h"
#include "client/pages/pages.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kDescription[] =
    "Loads a trivium-server and reports latency and throughput.\n"
    "Closed loop (--concurrency N, the default): always N calls in flight. "
    "Open loop\n(--rate R, --ramp, --burst): calls start at random, R per "
    "second, "
    "whatever the server\ndoes; their latency counts from when they were meant "
    "to start.";
constexpr char kFooter[] =
    "TRIVIUM_ADDRESS, TRIVIUM_TIMEOUT, TRIVIUM_CLIENT_MODEL, TRIVIUM_JSON and "
    "TRIVIUM_CLIENT_TLS...\nin the environment set these flags; the flag "
    "wins.\n"
    "Exit codes: 0 some calls succeeded (--find-rate: a rate passed), 1 "
    "none "
    "did, 2 wrong\nusage, 5 a file failed, 130 interrupted (after the report).";

absl::StatusOr<std::vector<v1::Input>> ReadInputs(const std::string& file,
                                                  bool ids, const Io& io) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<LineReader> reader,
                           LineReader::Open(file, io.in));
  std::vector<v1::Input> inputs;
  bool words = false;
  while (true) {
    TRIVIUM_ASSIGN_OR_RETURN(std::optional<std::string> line, reader->Next());
    if (!line) break;
    v1::Input& input = inputs.emplace_back();
    if (ids) {
      const std::optional<std::vector<uint32_t>> parsed = ParseTokenIds(*line);
      if (!parsed || parsed->empty()) {
        return absl::InvalidArgumentError(fmt::format(
            "line {} of {} is not token ids with spaces, such as 17 4 0",
            inputs.size(), file));
      }
      input.mutable_ids()->mutable_ids()->Add(parsed->begin(), parsed->end());
    } else if (!IsUtf8(*line)) {
      return absl::InvalidArgumentError(
          fmt::format("line {} of {} is not UTF-8", inputs.size(), file));
    } else {
      words |= line->find_first_not_of(" \t\r\n\v\f") != std::string::npos;
      input.set_text(*std::move(line));
    }
  }
  if (inputs.empty()) {
    return absl::InvalidArgumentError(fmt::format("{} has no lines", file));
  }
  if (!ids && !words) {
    return absl::InvalidArgumentError(fmt::format("{} has no words", file));
  }
  return inputs;
}

absl::StatusOr<Target> MakeTarget(const std::string& server,
                                  const LoadFlags& flags,
                                  const Workload::Options& workload,
                                  Client::Options client) {
  Target target{server, nullptr};
  if (IsHttp(server)) {
    TRIVIUM_ASSIGN_OR_RETURN(target.caller,
                             MakeHttpCaller(workload, client, server));
    return target;
  }
  client.address = server;
  // Checks the options before any call is made with them.
  TRIVIUM_RETURN_IF_ERROR(Client::Create(client).status());
  target.caller = MakeGrpcCaller(workload, client, flags.connections);
  return target;
}

std::string Page(const LoadFlags& flags, nlohmann::json data) {
  data["servers"] = flags.servers();
  data["setup"] = nlohmann::json::array();
  for (const auto& [name, value] : flags.Describe()) {
    data["setup"].push_back({name, value});
  }
  return MakePage(kLoadPage, data);
}

ExitCode Complain(const Io& io, const std::string& message, ExitCode code) {
  PrintTo(io.err, "trivium-load: {}\n", message);
  return code;
}
ExitCode Complain(const Io& io, const absl::Status& status, ExitCode code) {
  return Complain(io, std::string(status.message()), code);
}

// True for "--name" or "--name=value" of a flag that there is not, and for
// "-v".
bool IsUnknownFlag(const std::string& argument,
                   const std::vector<std::string>& flags) {
  if (argument == "-v") return true;
  if (!argument.starts_with("--") || argument.size() == 2) return false;
  const std::string name = argument.substr(
      2, argument.find('=') == argument.npos ? argument.npos
                                             : argument.find('=') - 2);
  return std::find(flags.begin(), flags.end(), name) == flags.end();
}

}  // namespace

ExitCode RunTriviumLoad(const std::vector<std::string>& arguments, const Io& io,
                        const std::atomic<bool>& stop) {
  CLI::App app(kDescription, "trivium-load");
  app.footer(kFooter);
  app.set_version_flag("--version", "trivium-load " TRIVIUM_VERSION);
  LoadFlags flags;
  AddLoadFlags(app, &flags);
  // --http names the server, whatever TRIVIUM_ADDRESS says.
  const auto is_http = [](const std::string& argument) {
    return argument == "--http" || argument.starts_with("--http=");
  };
  if (std::any_of(arguments.begin(), arguments.end(), is_http)) {
    app.get_option("--address")->envname("");
  }
  try {
    // CLI11 expects them in reverse order.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForVersion& version) {
    PrintTo(io.out, "{}\n", version.what());
    return kExitOk;
  } catch (const CLI::Success&) {
    PrintTo(io.out, "{}", app.help());
    return kExitOk;
  } catch (const CLI::ExtrasError&) {
    return Complain(io, UnknownFlag(app.remaining().front(), FlagNames(app)),
                    kExitUsage);
  } catch (const CLI::Error& error) {
    // An unknown flag may be why another is missing.
    for (const std::string& argument : arguments) {
      if (IsUnknownFlag(argument, FlagNames(app))) {
        return Complain(io, UnknownFlag(argument, FlagNames(app)), kExitUsage);
      }
    }
    return Complain(io, error.what(), kExitUsage);
  }
  if (const auto fit = CheckLoadFlags(app, &flags); !fit.ok()) {
    return Complain(io, fit, kExitUsage);
  }
  const absl::StatusOr<Client::Options> client = flags.connection.ToOptions();
  if (!client.ok()) return Complain(io, client.status(), kExitUsage);
  absl::StatusOr<std::vector<v1::Input>> inputs =
      ReadInputs(flags.file, flags.ids, io);
  if (!inputs.ok()) return Complain(io, inputs.status(), kExitIo);
  flags.workload.inputs = *std::move(inputs);
  if (flags.workload.query.empty()) {
    flags.workload.query = flags.workload.inputs.front().text();
  }
  flags.run.live = isatty(fileno(io.err)) == 1 ? io.err : nullptr;
  const Workload workload(flags.workload);
  std::vector<Target> targets;
  for (const std::string& server : flags.servers()) {
    absl::StatusOr<Target> target =
        MakeTarget(server, flags, workload.options(), *client);
    if (!target.ok()) return Complain(io, target.status(), kExitUsage);
    targets.push_back(*std::move(target));
  }
  if (!flags.html.empty()) {
    // Fails now instead of after all the work.
    const absl::Status written = WriteFile(flags.html, "");
    if (!written.ok()) return Complain(io, written, kExitIo);
  }

  const LoadSetup setup = {flags.run, flags.pacing, workload, stop};
  Findings findings =
      flags.find_rate ? FindRate(setup, targets[0], flags.p99,
                                 {.tolerance = flags.tolerance})
      : targets.size() > 1
          ? CompareServers(setup, targets[0], targets[1], flags.rounds)
          : MeasureOnce(setup, targets[0]);
  PrintTo(io.out, "{}", flags.json ? JsonLine(findings.json) : findings.text);
  if (std::fflush(io.out) != 0) {
    return Complain(io, "cannot write the report", kExitIo);
  }
  if (!flags.html.empty()) {
    const absl::Status written =
        WriteFile(flags.html, Page(flags, std::move(findings.page)));
    if (!written.ok()) return Complain(io, written, kExitIo);
  }
  if (stop) return kExitInterrupted;
  return findings.succeeded ? kExitOk : kExitFailed;
}

}  // namespace trivium
