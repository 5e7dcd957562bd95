#ifndef TRIVIUM_MODEL_FOLDER_REPORT_H_
#define TRIVIUM_MODEL_FOLDER_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace trivium {

// What can be told of a model folder without loading it.
struct FolderReport {
  // Everything that is wrong with it, as Model::Check, but for weights that are
  // not there at all: then config.json alone was checked.
  std::vector<std::string> problems;
  // What it would be served with and is seldom meant.
  std::vector<std::string> warnings;
  bool has_weights = true;
  // Without problems, what serving it takes.
  std::string family;
  Precision precision = Precision::kF32;  // never kAuto
  int64_t parameters = 0;
  int64_t weight_bytes = 0;  // about
  // For each token that a decoder has read, or looks at, and the most that it
  // reads; beside it, the most that the encoder reads. 0: there is no such
  // part.
  int64_t kv_bytes_per_token = 0;
  int64_t longest_kv_bytes = 0;  // of as much as both read
  int max_target_tokens = 0;
  int max_source_tokens = 0;
};

FolderReport ReportFolder(const std::string& folder,
                          const LoadOptions& options);

// Three digits: "1.23 GB".
std::string RoundedBytes(int64_t bytes);

// A sentence of what serving takes, for a report without problems.
std::string DescribeMemory(const FolderReport& report);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FOLDER_REPORT_H_
