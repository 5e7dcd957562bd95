#include <algorithm>

#include "base/status.h"
#include "client/load/flags.h"
#include "fmt/format.h"

namespace trivium {
namespace {

absl::Status CheckCall(CallKind kind, const LoadFlags& flags) {
  const std::string& name = NameOf(kind);
  const bool stream =
      kind == CallKind::kTranslateStream || kind == CallKind::kEncodeStream;
  const bool texts = kind == CallKind::kRerank ||
                     kind == CallKind::kSimilarity ||
                     kind == CallKind::kAnswer || kind == CallKind::kTokenize ||
                     kind == CallKind::kScore;
  if (flags.ids && texts) {
    return absl::InvalidArgumentError(
        fmt::format("{} takes texts; leave --ids out", name));
  }
  if (!flags.ids && kind == CallKind::kDetokenize) {
    return absl::InvalidArgumentError(
        "detokenize takes token ids; give a file of them and --ids");
  }
  if (!flags.workload.lengths.empty() &&
      (kind == CallKind::kScore || kind == CallKind::kFillMask)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}'s lines have a form that --lengths would break; leave it out",
        name));
  }
  for (const std::string& server : flags.servers()) {
    if (stream && IsHttp(server)) {
      return absl::InvalidArgumentError(
          fmt::format("{} is called over gRPC, not over HTTP", name));
    }
    if (kind == CallKind::kOpenAiEmbeddings && !IsHttp(server)) {
      return absl::InvalidArgumentError(
          fmt::format("{} is called over HTTP: give --http", name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsHttp(const std::string& server) { return server.starts_with("http"); }

std::vector<std::string> LoadFlags::servers() const {
  std::vector<std::string> all = {http.empty() ? connection.address : http};
  if (!against.empty()) all.push_back(against);
  return all;
}

std::vector<std::pair<std::string, std::string>> LoadFlags::Describe() const {
  std::vector<std::pair<std::string, std::string>> all;
  std::string calls;
  for (const MixPart& part : workload.mix) {
    if (!calls.empty()) calls += ", ";
    calls += NameOf(part.kind);
    if (workload.mix.size() > 1) calls += fmt::format(" {}", part.weight);
  }
  all.emplace_back("calls", calls);
  all.emplace_back("texts a call", fmt::format("{}", workload.inputs_per_call));
  std::string pace;
  if (find_rate) {
    pace = fmt::format("the highest rate with p99 <= {}",
                       absl::FormatDuration(p99));
  } else if (!pacing.open()) {
    pace = fmt::format("{} in flight", pacing.concurrency);
  } else if (pacing.ramp) {
    pace =
        fmt::format("from {:g}/s to {:g}/s in {}", pacing.ramp->from,
                    pacing.ramp->to, absl::FormatDuration(pacing.ramp->time));
  } else if (pacing.rate > 0) {
    pace = fmt::format("{:g}/s", pacing.rate);
  }
  if (pacing.burst) {
    pace += fmt::format("{}{} at once every {}", pace.empty() ? "" : ", and ",
                        pacing.burst->size,
                        absl::FormatDuration(pacing.burst->period));
  }
  all.emplace_back("pace", pace);
  if (run.abort_share > 0) {
    all.emplace_back("aborted", fmt::format("{:g} of them", run.abort_share));
  }
  if (!workload.model.empty()) all.emplace_back("model", workload.model);
  return all;
}

absl::Status CheckLoadFlags(const CLI::App& app, LoadFlags* flags) {
  const auto given = [&app](const char* name) { return app.count(name) > 0; };
  const Pacing& pacing = flags->pacing;
  const Workload::Options& workload = flags->workload;
  if (given("--max-in-flight") && !pacing.open() && !flags->find_rate) {
    return absl::InvalidArgumentError(
        "--max-in-flight is for an open loop: give --rate, --ramp or --burst");
  }
  const bool drawn = pacing.open() || flags->find_rate ||
                     workload.mix.size() > 1 || !workload.lengths.empty() ||
                     flags->run.abort_share > 0;
  if (given("--schedule-seed") && !drawn) {
    return absl::InvalidArgumentError(
        "--schedule-seed has nothing to draw: give --rate, --ramp, --mix, "
        "--lengths or --abort-share, or leave it out");
  }
  flags->run.warm_up = absl::Seconds(flags->warm_up);
  flags->run.duration = absl::Seconds(flags->duration);
  if (pacing.ramp) {
    if (!given("--duration")) flags->run.duration = pacing.ramp->time;
    if (flags->run.duration < pacing.ramp->time) {
      return absl::InvalidArgumentError(
          "--duration is shorter than --ramp; give it at least as many "
          "seconds");
    }
  }
  for (const MixPart& part : workload.mix) {
    TRIVIUM_RETURN_IF_ERROR(CheckCall(part.kind, *flags));
  }
  const std::vector<std::string> servers = flags->servers();
  if (flags->connection.tls &&
      std::any_of(servers.begin(), servers.end(), IsHttp)) {
    return absl::InvalidArgumentError(
        "HTTP works without TLS only; leave --tls out");
  }
  flags->workload.seed = pacing.seed;
  return absl::OkStatus();
}

}  // namespace trivium
