#ifndef TRIVIUM_TESTS_SUPPORT_GOLDEN_H_
#define TRIVIUM_TESTS_SUPPORT_GOLDEN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/search/decoding.h"
#include "model/weights/mapped_file.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// A search of a golden run and what Transformers found with it.
struct GoldenSearch {
  std::string name;  // "beam4_20_no_repeat_2_length_0_6_early"
  // As the name says, without end tokens and banned words, which belong to the
  // model: see GoldenCase::Complete.
  DecodingOptions options;

  struct Hypothesis {
    std::vector<int32_t> ids;
    std::optional<float> score;
  };
  std::vector<Hypothesis> expected;  // best first
};

struct GoldenRun {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> type_ids;           // empty if the model has none
  std::vector<int32_t> decoder_input_ids;  // of the logits
  std::vector<GoldenSearch> searches;
};

// A model folder and what Transformers computed with it: golden.json (the
// runs) and golden.safetensors (tensors "RUN.NAME" without the batch
// dimension). The folder may have the same model as model.gguf, which is a case
// of its own.
class GoldenCase {
 public:
  // Errors name the file and the run.
  static absl::StatusOr<std::unique_ptr<GoldenCase>> Open(
      const std::string& path);

  const std::string& kind() const { return kind_; }
  // The case's own path, or model/embedded where it has no config.json.
  const std::string& model_folder() const { return model_folder_; }
  const std::vector<GoldenRun>& runs() const { return runs_; }

  // Null when there is no such tensor.
  const TensorView* Find(int run, std::string_view name) const;
  // "RUN.NAME" of every tensor.
  std::vector<std::string> TensorNames() const;

  // The search's options with what the golden was made with besides: the end
  // tokens of the folder (none for decoder-only models), the forced first
  // token and the banned words.
  DecodingOptions Complete(const GoldenSearch& search,
                           const DecodingOptions& model_defaults) const;

 private:
  GoldenCase() = default;

  std::string kind_;  // "encoder", "decoder", "seq2seq"
  std::string model_folder_;
  std::vector<GoldenRun> runs_;
  bool folder_bans_words_ = false;
  std::optional<int32_t> forced_first_id_;
  std::unique_ptr<MappedFile> file_;
  TensorFile tensors_;
};

// The folders with a golden.json below the one that the environment variable
// TRIVIUM_GOLDENS names (default tests/golden), sorted.
std::vector<std::string> GoldenFolders();
// The same, and behind each its model.gguf, if it has one.
std::vector<std::string> GoldenModels();

// Whether `actual` is what the golden says: the same ids, scores within 1e-3;
// hypotheses whose expected scores are closer than that may swap, also with
// one that came right after the last of a list. The error shows both.
absl::Status CompareHypotheses(
    const std::vector<GoldenSearch::Hypothesis>& expected,
    const std::vector<Hypothesis>& actual);

// Whether every element of `actual` is within `tolerance` x the largest
// absolute value of `expected`. The error names the worst element.
absl::Status CompareTensor(const TensorView& expected,
                           const std::vector<float>& actual,
                           float tolerance = 1e-4f);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_GOLDEN_H_
