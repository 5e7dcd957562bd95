// trivium-bench: the engine and the batcher on a file of token ids, as JSON.
// What compare_ctranslate2.py measures against CTranslate2.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "base/isa.h"
#include "base/mutex.h"
#include "base/status.h"
#include "model/kernels/runtime.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "server/batching/batcher.h"

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
  int running = 32;
  int beam = 1;
  int new_tokens = 0;
  int max_new_tokens = 256;
  int rounds = 1;
};

// Adds up where the time of all iterations went.
class PhaseSums : public BatchingObserver {
 public:
  void OnIteration(const Iteration& iteration) override {
    MutexLock lock(&mutex_);
    ++iterations_;
    decoder_rows_ += iteration.decoder_rows;
    busy_ += absl::ToDoubleSeconds(iteration.duration);
    sum_.encode += iteration.phases.encode;
    sum_.self_attention += iteration.phases.self_attention;
    sum_.cross_attention += iteration.phases.cross_attention;
    sum_.feed_forward += iteration.phases.feed_forward;
    sum_.output_projection += iteration.phases.output_projection;
    sum_.quantize += iteration.phases.quantize;
    sum_.other += iteration.phases.other;
  }

  nlohmann::json ToJson() {
    MutexLock lock(&mutex_);
    const double iterations = std::max<int64_t>(1, iterations_);
    return {{"iterations", iterations_},
            {"rows_per_iteration", decoder_rows_ / iterations},
            {"busy_seconds", busy_},
            {"encode", sum_.encode},
            {"self_attention", sum_.self_attention},
            {"cross_attention", sum_.cross_attention},
            {"feed_forward", sum_.feed_forward},
            {"output_projection", sum_.output_projection},
            {"quantize", sum_.quantize},
            {"other", sum_.other}};
  }

 private:
  Mutex mutex_;
  int64_t iterations_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t decoder_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  double busy_ ABSL_GUARDED_BY(mutex_) = 0;
  PhaseSeconds sum_ ABSL_GUARDED_BY(mutex_);
};

// Collects the answers of one round.
class Answers {
 public:
  explicit Answers(size_t count) : ids_(count), waiting_(count) {}

  std::shared_ptr<RequestObserver> Observer(size_t index) {
    class One : public RequestObserver {
     public:
      One(Answers* answers, size_t index) : answers_(answers), index_(index) {}
      void OnDone(absl::StatusOr<RequestResult> result) override {
        answers_->Put(index_, std::move(result));
      }

     private:
      Answers* const answers_;
      const size_t index_;
    };
    return std::make_shared<One>(this, index);
  }

  // Ids of the best hypotheses, or the first error.
  absl::StatusOr<std::vector<std::vector<int32_t>>> Wait() {
    MutexLock lock(&mutex_);
    while (waiting_ > 0) done_.Wait(&mutex_);
    if (!status_.ok()) return status_;
    return ids_;
  }

 private:
  void Put(size_t index, absl::StatusOr<RequestResult> result) {
    MutexLock lock(&mutex_);
    if (result.ok()) {
      ids_[index] = result->hypotheses.at(0).ids;
    } else {
      status_.Update(result.status());
    }
    if (--waiting_ == 0) done_.SignalAll();
  }

  Mutex mutex_;
  CondVar done_;
  std::vector<std::vector<int32_t>> ids_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::vector<std::vector<int32_t>>> ReadSentences(
    const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<int32_t>> sentences;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<int32_t> ids;
    for (int32_t id; words >> id;) ids.push_back(id);
    sentences.push_back(std::move(ids));
  }
  if (sentences.empty()) {
    return absl::InvalidArgumentError(path + ": no sentences of token ids");
  }
  return sentences;
}

std::vector<Request> MakeRequests(
    const Flags& flags, const Model& model,
    const std::vector<std::vector<int32_t>>& sentences, Answers* answers) {
  DecodingOptions options = model.decoding_defaults();
  options.beam_size = flags.beam;
  options.max_new_tokens =
      flags.new_tokens > 0 ? flags.new_tokens : flags.max_new_tokens;
  options.min_new_tokens = flags.new_tokens;
  if (flags.new_tokens > 0) options.forced_last_id.reset();
  std::vector<Request> requests;
  for (size_t i = 0; i < sentences.size(); ++i) {
    Request request;
    request.source.ids = sentences[i];
    request.decoding = options;
    request.prefix = model.decoder_prefix();
    request.observer = answers->Observer(i);
    requests.push_back(std::move(request));
  }
  return requests;
}

absl::Status Run(const Flags& flags) {
  if (!flags.max_isa.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(const Isa isa, ParseIsa(flags.max_isa));
    TRIVIUM_RETURN_IF_ERROR(CapIsa(isa));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const auto sentences,
                           ReadSentences(flags.sentences));
  LoadOptions load_options;
  TRIVIUM_ASSIGN_OR_RETURN(load_options.precision,
                           ParsePrecision(flags.precision));
  load_options.vocabulary_shortlist = flags.shortlist;
  const absl::Time begin_load = absl::Now();
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                           Model::Load(flags.folder, load_options));
  const double load_seconds = absl::ToDoubleSeconds(absl::Now() - begin_load);

  constexpr int64_t kKvCacheBytes = int64_t{1} << 30;
  std::vector<Batcher::ModelEngines> engines(1);
  for (int i = 0; i < flags.workers; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(auto engine, model->NewEngine(kKvCacheBytes));
    engines[0].engines.push_back(std::move(engine));
  }
  PhaseSums phases;
  Batcher::Options options;
  options.workers = flags.workers;
  options.max_rows = flags.running * flags.beam;
  options.max_waiting_tokens = int64_t{1} << 40;
  options.observer = &phases;
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Batcher> batcher,
                           Batcher::Create(options, std::move(engines)));

  nlohmann::json seconds = nlohmann::json::array();
  std::vector<std::vector<int32_t>> ids;
  for (int round = 0; round < flags.rounds; ++round) {
    Answers answers(sentences.size());
    std::vector<Request> requests =
        MakeRequests(flags, *model, sentences, &answers);
    const absl::Time begin = absl::Now();
    // A call each: one call alone leaves some rows to others.
    for (Request& request : requests) {
      std::vector<Request> one;
      one.push_back(std::move(request));
      TRIVIUM_RETURN_IF_ERROR(
          batcher->Submit(batcher->NewCall(), std::move(one)));
    }
    TRIVIUM_ASSIGN_OR_RETURN(ids, answers.Wait());
    seconds.push_back(absl::ToDoubleSeconds(absl::Now() - begin));
  }

  int64_t tokens = 0;
  std::ofstream output(flags.output);
  for (const std::vector<int32_t>& one : ids) {
    tokens += static_cast<int64_t>(one.size());
    for (int32_t id : one) output << id << ' ';
    output << '\n';
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const nlohmann::json report = {
      {"precision", PrecisionName(model->info().precision)},
      {"isa", IsaName(model->info().isa)},
      {"sentences", sentences.size()},
      {"tokens", tokens},
      {"seconds", seconds},
      {"load_seconds", load_seconds},
      {"peak_memory_mib", usage.ru_maxrss / 1024},
      {"phases", phases.ToJson()}};
  std::cout << report.dump(1) << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  trivium::Flags flags;
  CLI::App app("Translates a file of token ids and prints how fast, as JSON");
  app.add_option("folder", flags.folder, "Model folder")->required();
  app.add_option("sentences", flags.sentences, "Ids, a sentence a line")
      ->required();
  app.add_option("--output", flags.output, "Where the ids found go");
  app.add_option("--precision", flags.precision, "f32, bf16, int8 or auto");
  app.add_option("--max-isa", flags.max_isa, "avx2, avx512, vnni, bf16, amx");
  app.add_flag("--shortlist", flags.shortlist,
               "Use the folder's vocabulary shortlist");
  app.add_option("--workers", flags.workers, "Threads")
      ->check(CLI::Range(1, 1024));
  app.add_option("--running", flags.running, "Requests a worker runs at once")
      ->check(CLI::Range(1, 4096));
  app.add_option("--beam", flags.beam, "Beam size, 1 for greedy")
      ->check(CLI::Range(1, 16));
  app.add_option("--new-tokens", flags.new_tokens,
                 "Exactly so many new tokens; 0: until the end token");
  app.add_option("--max-new-tokens", flags.max_new_tokens,
                 "At most so many, without --new-tokens");
  app.add_option("--rounds", flags.rounds, "Times to translate the file")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = trivium::Run(flags);
  if (!status.ok()) {
    fmt::print(stderr, "trivium-bench: {}\n", std::string(status.message()));
    return 1;
  }
  return 0;
}
