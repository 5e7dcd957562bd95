#include "tests/support/golden.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/json.h"
#include "base/status.h"
#include "model/weights/safetensors.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using Json = nlohmann::json;

constexpr float kScoreTolerance = 1e-3f;

// "beam4_20_no_repeat_2_length_0_6_early" -> options; nothing when the name
// is not of that form.
std::optional<DecodingOptions> ParseSearchName(const std::string& name) {
  std::vector<std::string> words;
  std::stringstream stream(name);
  for (std::string word; std::getline(stream, word, '_');) {
    words.push_back(word);
  }
  const auto number = [&words](size_t i) {
    int value = -1;
    if (i < words.size()) {
      const std::string& word = words[i];
      std::from_chars(word.data(), word.data() + word.size(), value);
    }
    return value;
  };
  // {"0", "6"} -> 0.6
  const auto decimal = [&words](size_t i) {
    return i + 1 < words.size()
               ? std::strtof((words[i] + "." + words[i + 1]).c_str(), nullptr)
               : 0.0f;
  };
  DecodingOptions options;
  if (words.empty()) return std::nullopt;
  if (words[0].rfind("beam", 0) == 0) {
    options.beam_size = std::atoi(words[0].c_str() + 4);
  } else if (words[0] != "greedy") {
    return std::nullopt;
  }
  options.max_new_tokens = number(1);
  if (options.beam_size < 1 || options.max_new_tokens < 1) return std::nullopt;
  for (size_t i = 2; i < words.size();) {
    if (words[i] == "no" && number(i + 2) > 0) {
      options.no_repeat_ngram_size = number(i + 2);
      i += 3;
    } else if (words[i] == "repetition" && decimal(i + 1) > 0) {
      options.repetition_penalty = decimal(i + 1);
      i += 3;
    } else if (words[i] == "length" && i + 2 < words.size()) {
      options.length_penalty = decimal(i + 1);
      i += 3;
    } else if (words[i] == "early") {
      options.early_stopping = EarlyStopping::kAtOnce;
      i += 1;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

// The value is the ids of one hypothesis, or a list of {ids, score}.
std::vector<GoldenSearch::Hypothesis> ParseExpected(const Json& value) {
  std::vector<GoldenSearch::Hypothesis> expected;
  if (!value.empty() && value[0].is_object()) {
    for (const Json& item : value) {
      expected.push_back({item.at("ids"), item.at("score").get<float>()});
    }
  } else {
    expected.push_back({value.get<std::vector<int32_t>>(), std::nullopt});
  }
  return expected;
}

GoldenRun ParseRun(const Json& json) {
  GoldenRun run;
  run.input_ids = json.at("input_ids").get<std::vector<int32_t>>();
  for (const auto& [key, value] : json.items()) {
    if (key == "token_type_ids") {
      run.type_ids = value.get<std::vector<int32_t>>();
    } else if (key == "decoder_input_ids") {
      run.decoder_input_ids = value.get<std::vector<int32_t>>();
    } else if (std::optional<DecodingOptions> options = ParseSearchName(key)) {
      GoldenSearch search{key, *options, ParseExpected(value)};
      search.options.hypotheses = static_cast<int>(search.expected.size());
      run.searches.push_back(std::move(search));
    }
  }
  // "beam4_score" belongs to the "beam4_N" that gives ids only.
  for (GoldenSearch& search : run.searches) {
    const auto score =
        json.find(search.name.substr(0, search.name.find('_')) + "_score");
    if (score != json.end() && search.expected.size() == 1 &&
        std::count(search.name.begin(), search.name.end(), '_') == 1) {
      search.expected[0].score = score->get<float>();
    }
  }
  return run;
}

std::string Show(const std::vector<int32_t>& ids, std::optional<float> score) {
  return fmt::format("  {} {}\n", score ? fmt::format("{:.5f}", *score) : "-",
                     ids);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GoldenCase>> GoldenCase::Open(
    const std::string& path) {
  namespace fs = std::filesystem;
  std::unique_ptr<GoldenCase> golden(new GoldenCase);
  const bool file = path.ends_with(".gguf");
  const std::string folder =
      file ? fs::path(path).parent_path().string() : path;
  golden->model_folder_ =
      file || fs::exists(folder + "/config.json") ? path : "model/embedded";
  TRIVIUM_ASSIGN_OR_RETURN(const Json json,
                           ReadJsonFile(folder + "/golden.json"));
  try {
    golden->kind_ = json.at("kind");
    golden->folder_bans_words_ =
        golden->kind_ == "seq2seq" && !json.contains("generate");
    const Json generate = json.value("generate", Json::object());
    if (generate.contains("forced_bos_token_id")) {
      golden->forced_first_id_ = generate["forced_bos_token_id"];
    }
    for (const Json& run : json.at("runs")) {
      golden->runs_.push_back(ParseRun(run));
    }
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(fmt::format("{}/golden.json: run {}: {}",
                                                  folder, golden->runs_.size(),
                                                  error.what()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(golden->file_,
                           MappedFile::Open(folder + "/golden.safetensors"));
  TRIVIUM_ASSIGN_OR_RETURN(golden->tensors_,
                           ReadSafetensors(golden->file_->bytes()));
  return golden;
}

const TensorView* GoldenCase::Find(int run, std::string_view name) const {
  const auto found = tensors_.tensors.find(fmt::format("{}.{}", run, name));
  return found == tensors_.tensors.end() ? nullptr : &found->second;
}

std::vector<std::string> GoldenCase::TensorNames() const {
  std::vector<std::string> names;
  for (const auto& entry : tensors_.tensors) names.push_back(entry.first);
  return names;
}

DecodingOptions GoldenCase::Complete(
    const GoldenSearch& search, const DecodingOptions& model_defaults) const {
  DecodingOptions options = search.options;
  if (kind_ == "seq2seq") options.end_ids = model_defaults.end_ids;
  options.forced_first_id = forced_first_id_;
  if (folder_bans_words_) {
    options.banned_sequences = model_defaults.banned_sequences;
  }
  return options;
}

std::vector<std::string> GoldenFolders() {
  const char* variable = std::getenv("TRIVIUM_GOLDENS");
  const std::string parent = variable ? variable : "tests/golden";
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    if (!std::filesystem::exists(entry.path() / "golden.json")) continue;
    folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> GoldenModels() {
  std::vector<std::string> models;
  for (const std::string& folder : GoldenFolders()) {
    models.push_back(folder);
    const std::string file = folder + "/model.gguf";
    if (std::filesystem::exists(file)) models.push_back(file);
  }
  return models;
}

absl::Status CompareHypotheses(
    const std::vector<GoldenSearch::Hypothesis>& expected,
    const std::vector<Hypothesis>& actual) {
  const auto close = [](std::optional<float> a, std::optional<float> b) {
    return !a || !b || std::abs(*a - *b) <= kScoreTolerance;
  };
  bool equal = expected.size() == actual.size();
  std::vector<bool> found(expected.size());
  const Hypothesis* stranger = nullptr;
  for (size_t i = 0; equal && i < actual.size(); ++i) {
    equal = close(expected[i].score, actual[i].score);
    // One expected hypothesis has these ids and a score that may stand here.
    bool known = false;
    for (size_t j = 0; j < expected.size() && !known; ++j) {
      known = !found[j] && expected[j].ids == actual[i].ids &&
              close(expected[j].score, actual[i].score);
      if (known) found[j] = true;
    }
    if (known) continue;
    equal = equal && stranger == nullptr;
    stranger = &actual[i];
  }
  // Where scores tie at the cut after the last of several, either may be in:
  // the one that is missing and the one in its place both score as the last.
  if (equal && stranger != nullptr) {
    const size_t missing =
        std::find(found.begin(), found.end(), false) - found.begin();
    const std::optional<float> last = expected.back().score;
    equal = expected.size() > 1 && close(last, stranger->score) &&
            close(last, expected[missing].score);
  }
  if (equal) return absl::OkStatus();
  std::string message = "expected:\n";
  for (const auto& one : expected) message += Show(one.ids, one.score);
  message += "actual:\n";
  for (const auto& one : actual) message += Show(one.ids, one.score);
  return absl::InternalError(message);
}

absl::Status CompareTensor(const TensorView& expected,
                           const std::vector<float>& actual, float tolerance) {
  std::vector<float> values(expected.elements());
  if (values.size() != actual.size()) {
    return absl::InternalError(
        fmt::format("expected shape {}, {} elements, but got {} elements",
                    expected.shape, values.size(), actual.size()));
  }
  CopyToF32(expected, 0, values);
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  float worst = 0;
  size_t place = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float difference = std::abs(values[i] - actual[i]);
    // Written so that NaN counts.
    if (!(difference <= worst)) {
      worst = difference;
      place = i;
    }
    if (std::isnan(difference)) break;
  }
  if (worst <= tolerance * largest) return absl::OkStatus();
  return absl::InternalError(fmt::format(
      "element {} of {} (shape {}): expected {}, got {}; the difference is {} "
      "and may be {}",
      place, values.size(), expected.shape, values[place], actual[place], worst,
      tolerance * largest));
}

}  // namespace trivium
