// trivium-bench-constraints: what a constraint costs texts that are written
// together, as JSON. Each round writes texts held to a constraint, then free
// texts of as many tokens each, or the other way around. `share` is the free
// texts' time divided by that of the held ones: 1 is no cost. Times are those
// of the process's CPU, so other work on the machine does not count.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/constraint_cache.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "server/batching/batcher.h"
#include "tests/benchmarks/bench_support.h"
#include "tests/benchmarks/cpu_seconds.h"

namespace trivium {
namespace {

// Arguments of a tool as programs declare them.
constexpr char kTool[] = R"({
  "type": "object", "additionalProperties": false,
  "required": ["location", "days", "units", "notes"],
  "properties": {
    "location": {"type": "string", "description": "City and country"},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "units": {"enum": ["celsius", "fahrenheit"]},
    "notes": {"type": "array", "items": {"type": "string"}}}})";

struct Flags {
  std::string folder;
  std::string schema;  // a file
  bool json_object = false;
  bool compact = false;
  bool no_speculation = false;
  int streams = 32;
  int new_tokens = 100;
  int threads = 1;
  int rounds = 5;
};

class Bench {
 public:
  static absl::Status Run(const Flags& flags) {
    Bench bench;
    bench.flags_ = flags;
    TRIVIUM_RETURN_IF_ERROR(bench.Load());
    // Caches the prompts and the masks, and tells how long the texts are.
    TRIVIUM_RETURN_IF_ERROR(bench.Round(true).status());
    std::vector<double> shares;
    nlohmann::json rounds = nlohmann::json::array();
    for (int round = 0; round < flags.rounds; ++round) {
      nlohmann::json held, free;
      if (round % 2 == 0) {
        TRIVIUM_ASSIGN_OR_RETURN(held, bench.Round(true));
        TRIVIUM_ASSIGN_OR_RETURN(free, bench.Round(false));
      } else {
        TRIVIUM_ASSIGN_OR_RETURN(free, bench.Round(false));
        TRIVIUM_ASSIGN_OR_RETURN(held, bench.Round(true));
      }
      shares.push_back(free["cpu_seconds"].get<double>() /
                       held["cpu_seconds"].get<double>());
      rounds.push_back({{"held", held}, {"free", free}});
    }
    std::sort(shares.begin(), shares.end());
    std::cout << nlohmann::json{{"share", shares[shares.size() / 2]},
                                {"rounds", rounds},
                                {"text", bench.text_}}
                     .dump(1)
              << std::endl;
    return absl::OkStatus();
  }

 private:
  absl::Status Load() {
    TRIVIUM_ASSIGN_OR_RETURN(served_, LoadForBench(flags_.folder, "auto", ""));
    const Tokenizer* const tokenizer = served_->model->tokenizer();
    TRIVIUM_RETURN_IF_ERROR(ConstraintCache::CheckTokenizer(tokenizer));
    for (int i = 0; i < flags_.streams; ++i) {
      TRIVIUM_ASSIGN_OR_RETURN(
          Encoding prompt,
          tokenizer->Encode(
              fmt::format("Request {}: a person asks about the weather and "
                          "things to do in city number {}. As JSON:\n",
                          i, 7 * i),
              {}));
      prompts_.push_back(std::move(prompt.ids));
    }
    ConstraintText text;
    text.form = flags_.json_object ? ConstraintText::Form::kJsonObject
                                   : ConstraintText::Form::kJsonSchema;
    if (flags_.compact) text.json.space = JsonSpace::kCompact;
    if (!flags_.json_object) {
      text.text = kTool;
      if (!flags_.schema.empty()) {
        std::ifstream file(flags_.schema);
        text.text.assign(std::istreambuf_iterator<char>(file), {});
      }
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        constraint_, served_->constraints->Get(
                         text, *tokenizer, served_->model->info().vocabulary,
                         served_->model->decoding_defaults().end_ids,
                         [] { return absl::OkStatus(); }));
    Batcher::Options options;
    options.max_rows = std::max(256, 2 * flags_.streams);
    options.fixed_rows = true;
    options.speculate = !flags_.no_speculation;
    options.observer = &phases_;
    TRIVIUM_ASSIGN_OR_RETURN(
        batcher_, MakeBenchBatcher(served_, options, flags_.threads));
    return absl::OkStatus();
  }

  absl::StatusOr<nlohmann::json> Round(bool held) {
    std::vector<Request> requests;
    for (size_t i = 0; i < prompts_.size(); ++i) {
      Request request;
      request.model = served_;
      request.prefix = prompts_[i];
      request.decoding = served_->model->decoding_defaults();
      DecodingOptions& options = *request.decoding;
      options.beam_size = 1;
      options.sample = false;
      options.forced_last_id.reset();
      options.max_new_tokens = held ? flags_.new_tokens : lengths_[i];
      options.min_new_tokens = held ? 0 : lengths_[i];
      if (held) options.constraint = constraint_;
      requests.push_back(std::move(request));
    }
    lengths_.resize(prompts_.size());
    const nlohmann::json before = phases_.ToJson();
    const double start = CpuSeconds();
    TRIVIUM_ASSIGN_OR_RETURN(
        const double seconds,
        BenchRound::Run(batcher_.get(), std::move(requests), 0,
                        [&](size_t i, RequestResult result) {
                          const std::vector<int32_t>& ids =
                              result.hypotheses.at(0).ids;
                          if (held) lengths_[i] = static_cast<int>(ids.size());
                          if (held && i == 0) {
                            text_ = served_->model->tokenizer()->Decode(ids);
                          }
                        }));
    const double cpu_seconds = CpuSeconds() - start;
    const nlohmann::json after = phases_.ToJson();
    int tokens = 0;
    for (const int length : lengths_) tokens += length;
    return nlohmann::json{
        {"tokens", tokens},
        {"seconds", seconds},
        {"cpu_seconds", cpu_seconds},
        {"iterations",
         after["iterations"].get<int>() - before["iterations"].get<int>()},
        {"search_seconds",
         after["search"].get<double>() - before["search"].get<double>()}};
  }

  Flags flags_;
  ModelHandle served_;
  std::vector<std::vector<int32_t>> prompts_;
  std::shared_ptr<const Constraint> constraint_;
  std::vector<int> lengths_;  // tokens of the held texts
  std::string text_;          // the first held one
  PhaseSums phases_;
  std::unique_ptr<Batcher> batcher_;
};

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  trivium::Flags flags;
  CLI::App app("Measures what a constraint costs texts that run together.");
  app.add_option("folder", flags.folder, "Model of texts")->required();
  app.add_option("--json-schema", flags.schema,
                 "File of a schema; else that of a tool");
  app.add_flag("--json-object", flags.json_object, "Any JSON object");
  app.add_flag("--compact", flags.compact, "No white space between parts");
  app.add_flag("--no-speculation", flags.no_speculation,
               "Read no token ahead, forced ones neither");
  app.add_option("--streams", flags.streams, "Texts together")
      ->check(CLI::Range(1, 1024));
  app.add_option("--new-tokens", flags.new_tokens, "Tokens of a text, at most")
      ->check(CLI::Range(1, 4096));
  app.add_option("--threads", flags.threads, "Threads of the engine")
      ->check(CLI::Range(1, 1024));
  app.add_option("--rounds", flags.rounds, "Times that both are measured")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return trivium::ExitCode(trivium::Bench::Run(flags));
}
