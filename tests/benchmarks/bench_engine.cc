// trivium-bench: the engine and the batcher on a file of token ids, as JSON:
// sentences to translate or, of a decoder alone, prompts. What
// compare_ctranslate2.py and compare_decoders.py measure against others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "server/batching/batcher.h"
#include "tests/benchmarks/bench_support.h"

namespace trivium {
namespace {

struct Flags {
  std::string folder;
  std::string sentences;  // ids, a sentence a line
  std::string output;     // ids of the best hypotheses, a sentence a line
  std::string precision = "auto";
  std::string max_isa;
  bool shortlist = false;
  int workers = 1;
  int worker_threads = 1;
  int running = 32;
  bool choose_rows = false;
  int beam = 1;
  int new_tokens = 0;
  int max_new_tokens = 256;
  int rounds = 1;
};

std::vector<Request> MakeRequests(
    const Flags& flags, const ModelHandle& served,
    const std::vector<std::vector<int32_t>>& sentences) {
  const Model& model = *served->model;
  DecodingOptions options = model.decoding_defaults();
  options.beam_size = flags.beam;
  options.max_new_tokens =
      flags.new_tokens > 0 ? flags.new_tokens : flags.max_new_tokens;
  options.min_new_tokens = flags.new_tokens;
  if (flags.new_tokens > 0) options.forced_last_id.reset();
  std::vector<Request> requests;
  for (size_t i = 0; i < sentences.size(); ++i) {
    Request request;
    request.model = served;
    request.decoding = options;
    if (model.info().design == Design::kDecoder) {
      request.prefix = sentences[i];
    } else {
      request.source.ids = sentences[i];
      request.prefix = model.decoder_prefix();
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

absl::Status Run(const Flags& flags) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto sentences,
                           ReadSentences(flags.sentences));
  LoadOptions load_options;
  load_options.vocabulary_shortlist = flags.shortlist;
  const absl::Time begin_load = absl::Now();
  TRIVIUM_ASSIGN_OR_RETURN(
      const ModelHandle served,
      LoadForBench(flags.folder, flags.precision, flags.max_isa, load_options));
  const double load_seconds = absl::ToDoubleSeconds(absl::Now() - begin_load);
  PhaseSums phases;
  Batcher::Options options;
  options.workers = flags.workers;
  options.max_rows = flags.running * flags.beam;
  options.fixed_rows = !flags.choose_rows;
  options.observer = &phases;
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::unique_ptr<Batcher> batcher,
      MakeBenchBatcher(served, options, flags.worker_threads));

  std::vector<double> seconds;
  std::vector<std::vector<int32_t>> ids(sentences.size());
  for (int round = 0; round < flags.rounds; ++round) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const double taken,
        BenchRound::Run(batcher.get(), MakeRequests(flags, served, sentences),
                        0, [&](size_t i, RequestResult result) {
                          ids[i] = std::move(result.hypotheses.at(0).ids);
                        }));
    seconds.push_back(taken);
  }

  int64_t tokens = 0;
  for (const std::vector<int32_t>& one : ids) {
    tokens += static_cast<int64_t>(one.size());
  }
  if (!flags.output.empty()) {
    std::ofstream output(flags.output);
    for (const std::vector<int32_t>& one : ids) {
      for (int32_t id : one) output << id << ' ';
      output << '\n';
    }
    if (!output.flush()) {
      return absl::InvalidArgumentError(flags.output + ": cannot write there");
    }
  }
  nlohmann::json report =
      BenchReport(*served->model, sentences.size(), tokens, seconds, &phases);
  report["load_seconds"] = load_seconds;
  std::cout << report.dump(1) << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  trivium::Flags flags;
  CLI::App app(
      "Translates a file of token ids, or continues prompts, and prints how "
      "fast, as JSON");
  app.add_option("folder", flags.folder, "Model folder")->required();
  app.add_option("sentences", flags.sentences, "Ids, a sentence a line")
      ->required();
  app.add_option("--output", flags.output, "Where the ids found go");
  app.add_option("--precision", flags.precision, "f32, bf16, int8 or auto");
  app.add_option("--max-isa", flags.max_isa, "avx2, avx512, vnni, bf16, amx");
  app.add_flag("--shortlist", flags.shortlist,
               "Use the folder's vocabulary shortlist");
  app.add_option("--workers", flags.workers, "Engines")
      ->check(CLI::Range(1, 1024));
  app.add_option("--worker-threads", flags.worker_threads, "Threads of each")
      ->check(CLI::Range(1, 1024));
  app.add_option("--running", flags.running, "Requests a worker runs at once")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--choose-rows", flags.choose_rows,
               "Run as many as are worth it, --running at most, as servers do");
  app.add_option("--beam", flags.beam, "Beam size, 1 for greedy")
      ->check(CLI::Range(1, 16));
  app.add_option("--new-tokens", flags.new_tokens,
                 "Exactly so many new tokens; 0: until the end token");
  app.add_option("--max-new-tokens", flags.max_new_tokens,
                 "At most so many, without --new-tokens");
  app.add_option("--rounds", flags.rounds, "Times to translate the file")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return trivium::ExitCode(trivium::Run(flags));
}
