// trivium-bench-encoder: an encoder's vectors of a file of token ids or texts,
// and how fast they came, as JSON. What compare_encoders.py measures against
// others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "server/batching/batcher.h"
#include "tests/benchmarks/bench_support.h"

namespace trivium {
namespace {

struct Flags {
  std::string folder;
  std::string sentences;  // ids or texts, a sentence a line
  bool texts = false;
  bool sparse = false;
  std::string output;  // f32 vectors, one after the other
  std::string precision = "auto";
  std::string max_isa;
  int workers = 1;
  int worker_threads = 1;
  int in_flight = 0;
  int rounds = 1;
};

// A line's ids, cut to what the model reads.
absl::StatusOr<std::vector<std::vector<int32_t>>> ReadTexts(
    const std::string& path, const Model& model) {
  if (model.tokenizer() == nullptr) {
    return absl::InvalidArgumentError("the model's folder has no tokenizer");
  }
  EncodeOptions options;
  options.max_tokens = model.info().max_source_tokens;
  std::ifstream file(path);
  std::vector<std::vector<int32_t>> sentences;
  for (std::string line; std::getline(file, line);) {
    TRIVIUM_ASSIGN_OR_RETURN(Encoding encoding,
                             model.tokenizer()->Encode(line, options));
    sentences.push_back(std::move(encoding.ids));
  }
  if (sentences.empty()) {
    return absl::InvalidArgumentError(path + ": no lines of text");
  }
  return sentences;
}

absl::Status Run(const Flags& flags) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const ModelHandle served,
      LoadForBench(flags.folder, flags.precision, flags.max_isa));
  TRIVIUM_ASSIGN_OR_RETURN(const auto sentences,
                           flags.texts
                               ? ReadTexts(flags.sentences, *served->model)
                               : ReadSentences(flags.sentences));
  PhaseSums phases;
  Batcher::Options options;
  options.workers = flags.workers;
  options.observer = &phases;
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::unique_ptr<Batcher> batcher,
      MakeBenchBatcher(served, options, flags.worker_threads));

  int64_t tokens = 0;
  for (const auto& sentence : sentences) {
    tokens += static_cast<int64_t>(sentence.size());
  }
  std::vector<double> seconds;
  std::vector<std::vector<float>> vectors(sentences.size());
  std::vector<std::vector<SparseWeight>> weights(sentences.size());
  for (int round = 0; round < flags.rounds; ++round) {
    std::vector<Request> requests(sentences.size());
    for (size_t i = 0; i < sentences.size(); ++i) {
      requests[i].model = served;
      requests[i].source.ids = sentences[i];
      requests[i].sparse = flags.sparse;
      if (!flags.sparse) {
        requests[i].states = served->model->sentence_encoder().Reads({});
      }
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        const double taken,
        BenchRound::Run(batcher.get(), std::move(requests), flags.in_flight,
                        [&](size_t i, RequestResult result) {
                          if (flags.sparse) {
                            weights[i] = std::move(result.sparse);
                            return;
                          }
                          vectors[i] = served->model->sentence_encoder().Embed(
                              result.states, served->model->info().d_model, {});
                        }));
    seconds.push_back(taken);
  }

  if (flags.sparse && !flags.output.empty()) {
    for (size_t i = 0; i < vectors.size(); ++i) {
      vectors[i].assign(served->model->info().vocabulary, 0);
      for (const SparseWeight& one : weights[i])
        vectors[i][one.id] = one.weight;
    }
  }
  if (!flags.output.empty()) {
    std::ofstream output(flags.output, std::ios::binary);
    for (const std::vector<float>& vector : vectors) {
      output.write(reinterpret_cast<const char*>(vector.data()),
                   static_cast<std::streamsize>(vector.size() * sizeof(float)));
    }
    if (!output.flush()) {
      return absl::InvalidArgumentError(flags.output + ": cannot write there");
    }
  }
  const nlohmann::json report =
      BenchReport(*served->model, sentences.size(), tokens, seconds, &phases);
  std::cout << report.dump(1) << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  trivium::Flags flags;
  CLI::App app("Encodes a file of sentences and prints how fast, as JSON");
  app.add_option("folder", flags.folder, "Model folder")->required();
  app.add_option("sentences", flags.sentences, "Ids, a sentence a line")
      ->required();
  app.add_flag("--texts", flags.texts, "The lines are texts");
  app.add_flag("--sparse", flags.sparse,
               "SPLADE's weights instead of dense vectors");
  app.add_option("--output", flags.output,
                 "Where the vectors go, f32, one after the other");
  app.add_option("--precision", flags.precision, "f32, bf16, int8 or auto");
  app.add_option("--max-isa", flags.max_isa, "avx2, avx512, vnni, bf16, amx");
  app.add_option("--workers", flags.workers, "Engines")
      ->check(CLI::Range(1, 1024));
  app.add_option("--worker-threads", flags.worker_threads, "Threads of each")
      ->check(CLI::Range(1, 1024));
  app.add_option("--in-flight", flags.in_flight,
                 "Sentences under way at a time; 0: all")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--rounds", flags.rounds, "Times to encode the file")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return trivium::ExitCode(trivium::Run(flags));
}
