#ifndef TRIVIUM_MODEL_FOLDER_REPORT_H_
#define TRIVIUM_MODEL_FOLDER_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace trivium {

// The report of --check on a model folder, made without loading it.
struct FolderReport {
  // Everything that is wrong with the folder, as Model::Check finds it. If the
  // weight files are missing altogether, only config.json was checked.
  std::vector<std::string> problems;
  // Settings that it would be served with and that are rarely meant.
  std::vector<std::string> warnings;
  bool has_weights = true;
  // Without problems: the resources that serving needs.
  std::string family;
  Precision precision = Precision::kF32;  // never kAuto
  std::string quantization;               // of the files, as ModelInfo has it
  int64_t parameters = 0;
  int64_t weight_bytes = 0;  // approximate
  // Bytes for each token that a decoder has read or attends to. 0: the model
  // has no decoder.
  int64_t kv_bytes_per_token = 0;
  int64_t state_bytes = 0;  // of a sequence, however long; 0: none
  // For the longest target and the longest source together, states included.
  int64_t longest_kv_bytes = 0;
  int max_target_tokens = 0;  // 0: no decoder
  int max_source_tokens = 0;  // 0: no encoder
};

FolderReport ReportFolder(const std::string& folder,
                          const LoadOptions& options);

// Three digits: "1.23 GB".
std::string RoundedBytes(int64_t bytes);

// Describes in a sentence what serving takes, for a report without problems.
std::string DescribeMemory(const FolderReport& report);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FOLDER_REPORT_H_
