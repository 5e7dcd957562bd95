#ifndef TRIVIUM_MODEL_TASK_H_
#define TRIVIUM_MODEL_TASK_H_

#include <string>

#include "model/search/decoding.h"

namespace trivium {

// One of the things that an encoder-decoder was taught, as config.json's
// task_specific_params name them.
struct Task {
  std::string name;          // "summarization", "translation_en_to_de"
  std::string prefix;        // what its texts begin with: "summarize: "
  DecodingOptions decoding;  // how its answers are searched
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TASK_H_
