// trivium-bench-speculation: prompts of a file answered with and without
// guesses, in turns, as JSON. What measure_speculation measures. From the
// second round on the prompts are kept, so that the times are of new tokens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "server/batching/batcher.h"
#include "tests/benchmarks/bench_support.h"
#include "tests/benchmarks/cpu_seconds.h"

namespace trivium {
namespace {

struct Flags {
  std::string model;
  std::string prompts;  // a JSON list of texts
  std::string precision = "auto";
  std::string max_isa;
  int worker_threads = 1;
  int in_flight = 1;
  int max_new_tokens = 128;
  bool sample = false;
  int rounds = 5;
};

class Guesses : public BatchingObserver {
 public:
  void OnDrafted(const ServedModel&, int drafted, int accepted) override {
    drafted_ += drafted;
    accepted_ += accepted;
  }
  int64_t drafted() const { return drafted_; }
  int64_t accepted() const { return accepted_; }

 private:
  std::atomic<int64_t> drafted_{0}, accepted_{0};
};

using Answers = std::vector<std::vector<Hypothesis>>;

absl::StatusOr<std::vector<Request>> MakeRequests(const Flags& flags,
                                                  const ModelHandle& served) {
  const Model& model = *served->model;
  if (model.info().design != Design::kDecoder || model.tokenizer() == nullptr) {
    return absl::InvalidArgumentError(
        flags.model + " must be a decoder alone, with a tokenizer");
  }
  std::ifstream file(flags.prompts);
  const auto prompts = nlohmann::json::parse(file, nullptr, false);
  if (!prompts.is_array() || prompts.empty()) {
    return absl::InvalidArgumentError(flags.prompts +
                                      " must be a JSON list of texts");
  }
  std::vector<Request> requests;
  for (const auto& prompt : prompts) {
    Request& request = requests.emplace_back();
    request.model = served;
    TRIVIUM_ASSIGN_OR_RETURN(
        Encoding encoding,
        model.tokenizer()->Encode(prompt.get<std::string>(), {}));
    request.prefix = std::move(encoding.ids);
    request.decoding = model.decoding_defaults();
    request.decoding->sample = flags.sample;
    request.decoding->beam_size = 1;
    request.decoding->seed = requests.size();
    request.decoding->max_new_tokens = flags.max_new_tokens;
  }
  return requests;
}

bool Same(const Answers& a, const Answers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) {
                      return one[0].ids == other[0].ids &&
                             one[0].logprobs == other[0].logprobs;
                    });
}

absl::Status Run(const Flags& flags) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const ModelHandle served,
      LoadForBench(flags.model, flags.precision, flags.max_isa));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Request> requests,
                           MakeRequests(flags, served));
  Guesses guesses;
  std::unique_ptr<Batcher> batchers[2];  // without, with
  for (const bool speculate : {false, true}) {
    Batcher::Options options;
    options.speculate = speculate;
    options.observer = &guesses;
    TRIVIUM_ASSIGN_OR_RETURN(
        batchers[speculate],
        MakeBenchBatcher(served, options, flags.worker_threads));
  }
  Answers answers[2];
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  double best[2] = {kForEver, kForEver};
  double processor[2] = {kForEver, kForEver};
  for (int round = 0; round < flags.rounds; ++round) {
    for (const bool speculate : {false, true}) {
      answers[speculate].resize(requests.size());
      const double begin = CpuSeconds();
      TRIVIUM_ASSIGN_OR_RETURN(
          const double seconds,
          BenchRound::Run(batchers[speculate].get(), requests, flags.in_flight,
                          [&](size_t i, RequestResult result) {
                            answers[speculate][i] =
                                std::move(result.hypotheses);
                          }));
      best[speculate] = std::min(best[speculate], seconds);
      processor[speculate] =
          std::min(processor[speculate], CpuSeconds() - begin);
    }
    if (!Same(answers[false], answers[true])) {
      return absl::InternalError("the answers differ");
    }
  }
  size_t prompt_tokens = 0, new_tokens = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    prompt_tokens += requests[i].prefix.size();
    new_tokens += answers[true][i][0].ids.size();
  }
  const nlohmann::json report = {
      {"precision", PrecisionName(served->model->info().precision)},
      {"isa", IsaName(served->model->info().isa)},
      {"prompt_tokens", prompt_tokens},
      {"new_tokens", new_tokens},
      {"seconds_without", best[false]},
      {"seconds_with", best[true]},
      {"processor_seconds_without", processor[false]},
      {"processor_seconds_with", processor[true]},
      {"drafted_of_a_round", guesses.drafted() / flags.rounds},
      {"accepted_of_a_round", guesses.accepted() / flags.rounds}};
  std::cout << report.dump(1) << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  trivium::Flags flags;
  CLI::App app("Answers prompts with and without guesses, and prints how fast");
  app.add_option("model", flags.model, "Folder or GGUF file")->required();
  app.add_option("prompts", flags.prompts, "A JSON list of texts")->required();
  app.add_option("--precision", flags.precision, "f32, bf16, int8 or auto");
  app.add_option("--max-isa", flags.max_isa, "avx2, avx512, vnni, bf16, amx");
  app.add_option("--worker-threads", flags.worker_threads, "Of the one worker")
      ->check(CLI::Range(1, 1024));
  app.add_option("--in-flight", flags.in_flight, "Requests at a time")
      ->check(CLI::Range(1, 256));
  app.add_option("--max-new-tokens", flags.max_new_tokens, "Of each answer")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--sample", flags.sample, "Draw, instead of the best token");
  app.add_option("--rounds", flags.rounds, "The best of each kind counts")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return trivium::ExitCode(trivium::Run(flags));
}
