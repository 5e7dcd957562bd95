#ifndef TRIVIUM_MODEL_TASK_H_
#define TRIVIUM_MODEL_TASK_H_

#include <string>

#include "model/search/decoding.h"

namespace trivium {

// A task that an encoder-decoder was trained on, as config.json's
// task_specific_params name it.
struct Task {
  std::string name;          // "summarization", "translation_en_to_de"
  std::string prefix;        // begins its texts: "summarize: "
  DecodingOptions decoding;  // how its answers are searched for
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TASK_H_
