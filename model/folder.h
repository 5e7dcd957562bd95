#ifndef TRIVIUM_MODEL_FOLDER_H_
#define TRIVIUM_MODEL_FOLDER_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "model/chat_template.h"
#include "model/families/registry.h"
#include "model/generation_config.h"
#include "model/model.h"
#include "model/pair_template.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/formats.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A model folder, read and checked as a whole, before anything is computed
// from it.
struct ModelFolder {
  nlohmann::json config;
  nlohmann::json tokenizer_config;  // null when there is none
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Tokenizer> tokenizer;  // null when there is none
  std::string family;
  TransformerDescription description;  // points into weights
  GenerationConfig generation;
  std::optional<HeadInfo> head;
  std::optional<int32_t> mask_id;
  SentenceEncoder sentence_encoder;
  std::optional<PairTemplate> pair_template;
  ChatTemplates chat_templates;
  Precision precision = Precision::kF32;  // resolved
  Formats formats;                        // of this precision
  // Marian's own lexical shortlist beside the model (lexical_shortlist.h);
  // empty: none.
  std::string lexical_shortlist;
  bool shared_vocabulary = false;  // of such a model's both sides
  std::string revision;
};

// Reads `path` and adds everything that is wrong with it to `problems`; the
// result is of use only if there is nothing. With `imagine`, weights that are
// not there at all are imagined (imagined_weights.h).
ModelFolder ReadModelFolder(const std::string& path, const LoadOptions& options,
                            Problems* problems, bool imagine = false);

// The problem of a folder of which a library threw something, or for which
// memory does not suffice.
std::string UnreadableFolder(const std::exception& error);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FOLDER_H_
