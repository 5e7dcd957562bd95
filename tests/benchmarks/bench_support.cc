#include "tests/benchmarks/bench_support.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/time/clock.h"
#include "base/isa.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/kernels/runtime.h"
#include "model/phases.h"

namespace trivium {

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  fmt::print(stderr, "{}: {}\n", program_invocation_short_name,
             std::string(status.message()));
  return 1;
}

absl::StatusOr<std::vector<std::vector<int32_t>>> ReadSentences(
    const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<int32_t>> sentences;
  for (std::string line; std::getline(file, line);) {
    const auto refused = [&](const std::string& what) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: {}; give token ids, separated by spaces", path,
                      sentences.size() + 1, what));
    };
    std::istringstream words(line);
    std::vector<int32_t> ids;
    for (std::string word; words >> word;) {
      int32_t id = 0;
      const char* const end = word.data() + word.size();
      const auto [rest, error] = std::from_chars(word.data(), end, id);
      if (error != std::errc() || rest != end) {
        return refused(fmt::format("'{}' is no number of 32 bits", word));
      }
      ids.push_back(id);
    }
    if (ids.empty()) return refused("the line is empty");
    sentences.push_back(std::move(ids));
  }
  if (sentences.empty()) {
    return absl::InvalidArgumentError(path + ": no sentences of token ids");
  }
  return sentences;
}

absl::StatusOr<ModelHandle> LoadForBench(const std::string& folder,
                                         const std::string& precision,
                                         const std::string& max_isa,
                                         LoadOptions options) {
  if (!max_isa.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(const Isa isa, ParseIsa(max_isa));
    TRIVIUM_RETURN_IF_ERROR(CapIsa(isa));
  }
  TRIVIUM_ASSIGN_OR_RETURN(options.precision, ParsePrecision(precision));
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                           Model::Load(folder, options));
  return std::make_shared<const ServedModel>(
      ServedModel{.name = folder, .model = std::move(model)});
}

absl::StatusOr<std::unique_ptr<Batcher>> MakeBenchBatcher(
    const ModelHandle& model, Batcher::Options options, int threads) {
  constexpr int64_t kKvCacheBytes = int64_t{1} << 30;
  Batcher::Engines engines;
  for (int i = 0; i < options.workers; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(auto engine,
                             model->model->NewEngine({kKvCacheBytes, threads}));
    engines.push_back(std::move(engine));
  }
  options.max_waiting_tokens = int64_t{1} << 40;
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Batcher> batcher,
                           Batcher::Create(options));
  TRIVIUM_RETURN_IF_ERROR(batcher->AddModel(model, std::move(engines)));
  return batcher;
}

void PhaseSums::OnIteration(const Iteration& iteration) {
  MutexLock lock(&mutex_);
  ++iterations_;
  encoder_rows_ += iteration.encoder_rows;
  decoder_rows_ += iteration.decoder_rows;
  busy_ += absl::ToDoubleSeconds(iteration.duration);
  for (const auto& [name, seconds] : kPhases) {
    sum_.*seconds += iteration.phases.*seconds;
  }
}

void PhaseSums::OnSearch(const ServedModel&, absl::Duration duration) {
  MutexLock lock(&mutex_);
  search_ += absl::ToDoubleSeconds(duration);
}

nlohmann::json PhaseSums::ToJson() {
  MutexLock lock(&mutex_);
  const double iterations = std::max<int64_t>(1, iterations_);
  nlohmann::json report = {
      {"iterations", iterations_},
      {"encoder_rows_per_iteration", encoder_rows_ / iterations},
      {"rows_per_iteration", decoder_rows_ / iterations},
      {"busy_seconds", busy_},
      {"search", search_}};
  for (const auto& [name, seconds] : kPhases) report[name] = sum_.*seconds;
  return report;
}

nlohmann::json BenchReport(const Model& model, size_t sentences, int64_t tokens,
                           const std::vector<double>& seconds,
                           PhaseSums* phases) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"precision", PrecisionName(model.info().precision)},
          {"isa", IsaName(model.info().isa)},
          {"sentences", sentences},
          {"tokens", tokens},
          {"seconds", seconds},
          {"peak_memory_mib", usage.ru_maxrss / 1024},
          {"phases", phases->ToJson()}};
}

class BenchRound::Observer : public RequestObserver {
 public:
  Observer(BenchRound* round, size_t index) : round_(round), index_(index) {}
  void OnDone(absl::StatusOr<RequestResult> result) override {
    round_->Put(index_, std::move(result));
  }

 private:
  BenchRound* const round_;
  const size_t index_;
};

absl::StatusOr<double> BenchRound::Run(Batcher* batcher,
                                       std::vector<Request> requests,
                                       size_t in_flight, OnResult on_result) {
  BenchRound round(std::move(on_result));
  if (in_flight == 0) in_flight = requests.size();
  absl::Status status;
  const absl::Time begin = absl::Now();
  for (size_t i = 0; i < requests.size() && status.ok(); ++i) {
    {
      MutexLock lock(&round.mutex_);
      round.WaitFor(in_flight - 1);
      ++round.under_way_;
    }
    requests[i].observer = std::make_shared<Observer>(&round, i);
    std::vector<Request> one;
    one.push_back(std::move(requests[i]));
    status = batcher->Submit(batcher->NewCall(), std::move(one)).status;
  }
  MutexLock lock(&round.mutex_);
  if (!status.ok()) --round.under_way_;  // the refused one is never answered
  round.WaitFor(0);
  status.Update(round.status_);
  if (!status.ok()) return status;
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

void BenchRound::WaitFor(size_t count) {
  awaited_ = count;
  while (under_way_ > count) changed_.Wait(&mutex_);
}

void BenchRound::Put(size_t index, absl::StatusOr<RequestResult> result) {
  MutexLock lock(&mutex_);
  if (result.ok()) {
    on_result_(index, *std::move(result));
  } else {
    status_.Update(result.status());
  }
  // Not at every answer: waking costs the worker more than it takes to answer.
  if (--under_way_ <= awaited_) changed_.SignalAll();
}

}  // namespace trivium
