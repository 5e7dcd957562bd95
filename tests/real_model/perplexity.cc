// What a decoder alone loses by its precision, and by what it keeps keys and
// values in, on a text:
//
//   trivium-perplexity MODEL TEXT.txt [TOKENS [THREADS]]
//
// The text's first TOKENS (100,000) tokens are read in windows of 512, in each
// of kChoices. Perplexity is exp(-mean log p(token | the window's earlier
// ones)), over all tokens but each window's first. Beside it: how often the
// likeliest next token is the one that f32 has, and the mean of |log p - that
// of f32|.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "base/status.h"
#include "model/kernels/runtime.h"
#include "model/model.h"
#include "model/precision.h"
#include "tests/real_model/predictions.h"

namespace trivium {
namespace {

constexpr int kWindow = 512;

// The first is what the others are compared with.
struct Choice {
  Precision precision;
  Precision kv_precision;
};
constexpr Choice kChoices[] = {
    {Precision::kF32, Precision::kF32},   {Precision::kF32, Precision::kBf16},
    {Precision::kF32, Precision::kInt8},  {Precision::kBf16, Precision::kBf16},
    {Precision::kInt8, Precision::kBf16}, {Precision::kInt8, Precision::kInt8},
    {Precision::kInt4, Precision::kBf16}, {Precision::kInt4, Precision::kInt8}};

absl::StatusOr<std::vector<Prediction>> Read(const std::string& path,
                                             const std::string& text,
                                             const Choice& choice, size_t most,
                                             int threads) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::unique_ptr<Model> model,
      Model::Load(path, {.precision = choice.precision,
                         .kv_precision = choice.kv_precision}));
  if (model->tokenizer() == nullptr ||
      model->info().design != Design::kDecoder) {
    return absl::FailedPreconditionError(
        "the model is no decoder alone with a tokenizer");
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      const Encoding encoding,
      model->tokenizer()->Encode(text, {.add_special_tokens = false}));
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      model->NewEngine({.kv_cache_bytes = 256 << 20, .threads = threads}));
  const std::span<const int32_t> ids =
      std::span(encoding.ids).first(std::min(most, encoding.ids.size()));
  const size_t window =
      std::min<size_t>(kWindow, model->info().max_target_tokens);
  return Predict(engine.get(), ids, window);
}

absl::Status Run(const std::string& path, const std::string& file, size_t most,
                 int threads) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  if (text.empty()) {
    return absl::InvalidArgumentError(file + ": cannot be read, or is empty");
  }
  std::vector<Prediction> exact;
  fmt::print("{:9} {:9} {:>11} {:>11} {:>14} {:>10} {:>8}\n", "precision", "kv",
             "perplexity", "over f32", "same choice", "|log p|", "tok/s");
  for (const Choice& choice : kChoices) {
    const absl::Time begin = absl::Now();
    if (const auto able = ResolvePrecision(choice.precision, ActiveIsa());
        !able.ok()) {
      fmt::print("skipped: {}\n", std::string(able.status().message()));
      continue;
    }
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Prediction> found,
                             Read(path, text, choice, most, threads));
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    if (found.empty()) {
      return absl::InvalidArgumentError(file + ": has fewer than two tokens");
    }
    if (exact.empty()) exact = found;
    const double count = static_cast<double>(found.size());
    double sum = 0, exact_sum = 0, difference = 0, same = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      sum += found[i].logprob;
      exact_sum += exact[i].logprob;
      difference += std::abs(found[i].logprob - exact[i].logprob);
      same += found[i].best == exact[i].best ? 1 : 0;
    }
    fmt::print("{:9} {:9} {:11.4f} {:9.3f} % {:12.2f} % {:10.4f} {:8.0f}\n",
               PrecisionName(choice.precision),
               PrecisionName(choice.kv_precision), std::exp(-sum / count),
               100 * (std::exp((exact_sum - sum) / count) - 1),
               100 * same / count, difference / count, count / seconds);
    std::fflush(stdout);
  }
  fmt::print("{} tokens\n", exact.size());
  return absl::OkStatus();
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    fmt::print(stderr,
               "usage: trivium-perplexity MODEL TEXT.txt [TOKENS [THREADS]]\n");
    return 2;
  }
  const absl::Status status = trivium::Run(
      argv[1], argv[2], argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 100'000,
      argc > 4 ? std::atoi(argv[4]) : 1);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", std::string(status.message()));
  return 1;
}
