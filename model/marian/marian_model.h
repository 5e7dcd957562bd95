#ifndef TRIVIUM_MODEL_MARIAN_MARIAN_MODEL_H_
#define TRIVIUM_MODEL_MARIAN_MARIAN_MODEL_H_

#include <memory>
#include <string>

#include "base/config_reader.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A model in Marian's own files: weights and configuration in one .npz or .bin,
// vocabularies beside it, and a decoder's configuration that names both.
// Firefox's models have a metadata.json instead, which names the languages.
struct MarianModel {
  nlohmann::json config;  // the array special:model.yml
  nlohmann::json
      generation_config;  // in the form of a folder's generation_config.json
  nlohmann::json
      tokenizer_config;  // in the form of a folder's; null: no settings
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Tokenizer> tokenizer;
  std::string shortlist;  // path of a lexical shortlist; empty: none
  bool shared_vocabulary = false;
};

// True if `path` names such a model: a .npz, a .bin, a decoder's .yml, or a
// folder that has one of these and no config.json.
bool IsMarianModel(const std::string& path);

// Reads the model at `path` and adds everything that is wrong with it to
// `problems`. Of the paths in a configuration only the file names count: the
// files are in its folder, wherever they were at the training.
MarianModel ReadMarianModel(const std::string& path, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MARIAN_MARIAN_MODEL_H_
