// The model is read as a server reads it, so whatever a server serves can be
// quantized, and problems have the same words. What was written is read in the
// same way before it gets its name.
#include "model/quantizer/quantize_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/exceptions.h"
#include "base/status.h"
#include "model/folder.h"
#include "model/gguf/gguf_model.h"
#include "model/marian/marian_model.h"
#include "model/quantizer/four_bit_writer.h"
#include "model/quantizer/matrix_choice.h"
#include "model/quantizer/new_folder.h"
#include "model/quantizer/plain_tensor.h"
#include "model/tokenizer/sentence_config.h"
#include "model/transformer/grouped_linear.h"
#include "model/weights/mapped_file.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The file of weights, in the folder of the Transformer.
constexpr char kWeights[] = "model.safetensors";
// A format with more bits than this has more than four of its own, and scales.
constexpr double kMostFourBits = 5.25;

absl::Status Refuse(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, why));
}

std::string ToText(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

// Returns the path of the folder with the Transformer, relative to a model's.
fs::path TransformerPath(const std::string& folder) {
  return fs::path(TransformerFolder(folder)).lexically_relative(folder);
}

// Reads a model, whose weights are not in four bits.
absl::StatusOr<ModelFolder> Read(const std::string& path) {
  if (path.starts_with("hf:")) {
    return Refuse(path, fmt::format("fetch it first: `trivium pull {}` prints "
                                    "its folder",
                                    path));
  }
  if (IsMarianModel(path)) {
    return Refuse(path,
                  "these are Marian's own files, which have no four bits; "
                  "quantize the model's Hugging Face folder");
  }
  if (SeparateModules(path).has_value()) {
    return Refuse(path,
                  "its modules.json does not name one Transformer alone, which "
                  "is all that can be quantized");
  }
  Problems problems;
  LoadOptions options;
  options.precision = Precision::kF32;
  ModelFolder folder = ReadModelFolder(path, options, &problems);
  if (!problems.empty()) {
    return absl::InvalidArgumentError(fmt::format("cannot load {}:\n  {}", path,
                                                  fmt::join(problems, "\n  ")));
  }
  return folder;
}

// True if the file has a matrix in about four bits a number, or in fewer.
absl::StatusOr<bool> HasFewBits(const std::string& path,
                                const ModelFolder& folder,
                                const std::set<std::string>& chosen) {
  std::unique_ptr<Weights> stored;
  if (!IsGgufFile(path)) {
    TRIVIUM_ASSIGN_OR_RETURN(stored, Weights::Open(TransformerFolder(path)));
  }
  for (const std::string& name : chosen) {
    const TensorView& tensor = *folder.weights->Find(name);
    const int64_t bytes = StoredBytes(
        stored == nullptr ? *folder.weights : *stored, name, tensor);
    if (8 * static_cast<double>(bytes) <
        kMostFourBits * static_cast<double>(tensor.elements())) {
      return true;
    }
    // A folder has one format.
    if (tensor.packed != nullptr && stored != nullptr) break;
  }
  return false;
}

// Returns the matrices to round.
absl::StatusOr<std::set<std::string>> Choose(const std::string& path,
                                             const ModelFolder& folder,
                                             int group_size) {
  const std::set<std::string> chosen =
      ChooseMatrices(*folder.weights, folder.description, group_size);
  bool four = HasFourBitWeights(folder.description);
  // Other formats of few bits: NF4, HQQ, Q2_K and so on.
  if (!four && !folder.weights->Quantization().empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(four, HasFewBits(path, folder, chosen));
  }
  if (four) {
    return Refuse(path, fmt::format("has four bits or fewer already ({}); "
                                    "serve it as it is, or quantize the model "
                                    "that it was made from",
                                    folder.weights->Quantization()));
  }
  if (chosen.empty()) {
    return Refuse(
        path, fmt::format("none of its matrices can be quantized: they are no "
                          "multiple of {} wide, or the family {} keeps them in "
                          "another order; serve it with --precision int4",
                          group_size, folder.family));
  }
  return chosen;
}

// Scales have the type of the model, since other programs compute in it.
ScaleType ScaleTypeOf(const ModelFolder& folder,
                      const std::set<std::string>& chosen) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const auto type = folder.config.find(key);
    if (type == folder.config.end() || !type->is_string()) continue;
    return *type == "bfloat16" ? ScaleType::kBf16 : ScaleType::kF16;
  }
  return folder.weights->Find(*chosen.begin())->dtype == DType::kBf16
             ? ScaleType::kBf16
             : ScaleType::kF16;
}

// Returns compressed-tensors' settings. Other programs quantize all modules of
// the class Linear but those of the list.
json QuantizationConfig(const Weights& weights,
                        const std::set<std::string>& chosen, int group_size) {
  constexpr std::string_view kWeight = ".weight";
  std::set<std::string> ignored = {"lm_head"};
  for (const std::string_view name : weights.Names()) {
    if (name.ends_with(kWeight) && weights.Find(name)->shape.size() == 2 &&
        !chosen.contains(std::string(name))) {
      ignored.emplace(name.substr(0, name.size() - kWeight.size()));
    }
  }
  const json numbers = {{"num_bits", 4},
                        {"type", "int"},
                        {"symmetric", true},
                        {"strategy", "group"},
                        {"group_size", group_size},
                        {"dynamic", false},
                        {"actorder", nullptr}};
  const json group = {{"targets", {"Linear"}},
                      {"weights", numbers},
                      {"input_activations", nullptr},
                      {"output_activations", nullptr}};
  return {{"quant_method", "compressed-tensors"},
          {"format", "pack-quantized"},
          {"quantization_status", "compressed"},
          {"config_groups", {{"group_0", group}}},
          {"ignore", ignored}};
}

// Writes all but the weights.
absl::Status WriteFiles(const std::string& from, const ModelFolder& model,
                        json settings, ScaleType scales, NewFolder* to) {
  json config = model.config;
  config.erase("compression_config");  // an older name
  config["quantization_config"] = std::move(settings);
  if (!config.contains("dtype") && !config.contains("torch_dtype")) {
    config["torch_dtype"] = scales == ScaleType::kBf16 ? "bfloat16" : "float16";
  }
  // Some models are asked to translate as their name tells.
  if (!config.contains("_name_or_path")) {
    config["_name_or_path"] =
        fs::path(from + "/").lexically_normal().parent_path().filename();
  }
  if (!IsGgufFile(from)) {
    TRIVIUM_RETURN_IF_ERROR(
        CopyOtherFiles(from, TransformerFolder(from), to->path()));
    return to->WriteFile(TransformerPath(from) / "config.json", ToText(config));
  }
  Problems problems;  // none, as the model could be read
  const GgufModel gguf = ReadGgufModel(from, &problems);
  const std::pair<const char*, const json*> files[] = {
      {"config.json", &config},
      {"generation_config.json", &gguf.generation_config},
      {"tokenizer.json", &gguf.tokenizer},
      {"tokenizer_config.json", &gguf.tokenizer_config}};
  for (const auto& [name, value] : files) {
    if (value->is_null()) continue;
    TRIVIUM_RETURN_IF_ERROR(to->WriteFile(name, ToText(*value)));
  }
  return absl::OkStatus();
}

// Reads what was written as a server does.
absl::Status Check(const std::string& folder, const std::string& to) {
  Problems problems;
  const ModelFolder read = ReadModelFolder(folder, LoadOptions(), &problems);
  if (problems.empty() && HasFourBitWeights(read.description)) {
    return absl::OkStatus();
  }
  return absl::InternalError(fmt::format(
      "{} was not made, since a server could not read it: {}", to,
      problems.empty() ? "its matrices have no four bits" : problems.front()));
}

class FolderQuantizer {
 public:
  FolderQuantizer(const ModelFolder& model, std::set<std::string> chosen,
                  int group_size, ScaleType scales)
      : weights_(*model.weights),
        chosen_(std::move(chosen)),
        group_size_(group_size),
        scales_(scales) {}

  absl::StatusOr<QuantizeReport> Write(const std::string& path,
                                       absl::FunctionRef<bool(double)> go_on) {
    std::vector<SafetensorsWriter::Entry> entries;
    for (const std::string_view view : weights_.Names()) {
      const std::string name(view);
      const TensorView& tensor = *weights_.Find(name);
      work_ += WorkOf(name, tensor);
      if (!IsChosen(name)) {
        entries.push_back(PlainEntry(name, tensor));
        continue;
      }
      for (auto& entry :
           FourBitWriter::EntriesOf(name, tensor, group_size_, scales_)) {
        entries.push_back(std::move(entry));
      }
    }
    TRIVIUM_ASSIGN_OR_RETURN(const auto writer,
                             SafetensorsWriter::Create(path, entries));
    FourBitWriter four_bits(group_size_, scales_, writer.get());
    QuantizeReport report;
    double done = 0;
    for (const std::string_view view : weights_.Names()) {
      if (!go_on(done / work_)) return absl::CancelledError("interrupted");
      const std::string name(view);
      const TensorView& tensor = *weights_.Find(name);
      const bool chosen = IsChosen(name);
      TRIVIUM_RETURN_IF_ERROR(chosen ? four_bits.Write(name, tensor)
                                     : WritePlain(name, tensor, writer.get()));
      DropPages(tensor.data);
      report.matrices += chosen ? 1 : 0;
      (chosen ? report.rounded : report.kept) += tensor.elements();
      done += WorkOf(name, tensor);
    }
    TRIVIUM_RETURN_IF_ERROR(writer->Finish());
    TRIVIUM_RETURN_IF_ERROR(weights_.CheckUnchanged());
    report.bytes = writer->bytes();
    return report;
  }

 private:
  bool IsChosen(const std::string& name) const {
    return chosen_.contains(name);
  }
  // Rounding a number takes many times as long as copying it.
  double WorkOf(const std::string& name, const TensorView& tensor) const {
    return static_cast<double>(tensor.elements()) * (IsChosen(name) ? 1 : 0.03);
  }

  const Weights& weights_;
  const std::set<std::string> chosen_;
  const int group_size_;
  const ScaleType scales_;
  double work_ = 0;
};

absl::StatusOr<QuantizeReport> Quantize(const std::string& from,
                                        const std::string& to,
                                        const QuantizeOptions& options,
                                        absl::FunctionRef<bool(double)> go_on) {
  const int group_size = options.group_size;
  if (group_size != 32 && group_size != 64 && group_size != 128) {
    return absl::InvalidArgumentError(fmt::format(
        "groups of {} cannot be written; give 32, 64 or 128", group_size));
  }
  std::error_code error;
  const fs::path inside = fs::weakly_canonical(to, error).lexically_relative(
      fs::weakly_canonical(from, error));
  if (fs::is_directory(from, error) && !inside.empty() &&
      *inside.begin() != "..") {
    return absl::InvalidArgumentError(fmt::format(
        "{} is in the folder {} itself; name another place", to, from));
  }
  // Comes before the model is read, which takes long.
  TRIVIUM_ASSIGN_OR_RETURN(const auto folder, NewFolder::Create(to));
  TRIVIUM_ASSIGN_OR_RETURN(const ModelFolder model, Read(from));
  TRIVIUM_ASSIGN_OR_RETURN(std::set<std::string> chosen,
                           Choose(from, model, group_size));
  const ScaleType scales = ScaleTypeOf(model, chosen);
  TRIVIUM_RETURN_IF_ERROR(WriteFiles(
      from, model, QuantizationConfig(*model.weights, chosen, group_size),
      scales, folder.get()));
  const std::string path =
      IsGgufFile(from) ? folder->path()
                       : (folder->path() / TransformerPath(from)).string();
  FolderQuantizer quantizer(model, std::move(chosen), group_size, scales);
  TRIVIUM_ASSIGN_OR_RETURN(const QuantizeReport report,
                           quantizer.Write(path + "/" + kWeights, go_on));
  TRIVIUM_RETURN_IF_ERROR(Check(folder->path(), to));
  go_on(1);
  TRIVIUM_RETURN_IF_ERROR(folder->Publish());
  return report;
}

}  // namespace

absl::StatusOr<QuantizeReport> QuantizeFolder(
    const std::string& from, const std::string& to,
    const QuantizeOptions& options, absl::FunctionRef<bool(double)> go_on) {
  absl::StatusOr<QuantizeReport> report =
      absl::InternalError("nothing was done");
  const absl::Status status = CatchExceptions([&] {
    report = Quantize(from, to, options, go_on);
    return report.status();
  });
  if (!status.ok()) return status;
  return report;
}

}  // namespace trivium
