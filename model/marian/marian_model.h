#ifndef TRIVIUM_MODEL_MARIAN_MARIAN_MODEL_H_
#define TRIVIUM_MODEL_MARIAN_MARIAN_MODEL_H_

#include <memory>
#include <string>

#include "base/config_reader.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A model as Marian itself writes it: weights and configuration in one .npz or
// .bin, vocabularies beside it, and a decoder's configuration that names both.
// Firefox's have a metadata.json instead, which names the languages.
struct MarianModel {
  nlohmann::json config;             // the array special:model.yml
  nlohmann::json generation_config;  // as a folder's generation_config.json
  nlohmann::json tokenizer_config;   // as a folder's; null: nothing to say
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Tokenizer> tokenizer;
  std::string shortlist;  // a lexical one's path; empty: none
  bool shared_vocabulary = false;
};

// Whether `path` names such a model: a .npz, a .bin, a decoder's .yml, or a
// folder that has one of these and no config.json.
bool IsMarianModel(const std::string& path);

// Reads the model at `path` and adds everything that is wrong with it to
// `problems`. Of a configuration's paths only the files' names count: they lie
// beside it, wherever they were trained.
MarianModel ReadMarianModel(const std::string& path, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MARIAN_MARIAN_MODEL_H_
