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
#include "model/sentence_modules.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/formats.h"
#include "model/weights/packed_file.h"
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
  TransformerDescription description;  // points into `weights`
  GenerationConfig generation;
  std::optional<HeadInfo> head;
  std::optional<int32_t> mask_id;
  SentenceEncoder sentence_encoder;
  std::optional<PairTemplate> pair_template;
  ChatTemplates chat_templates;
  const TranslatorPrompt* translator_prompt = nullptr;  // null: none
  Precision precision = Precision::kF32;                // resolved
  Formats formats;  // what `precision` stands for
  // Path of Marian's own lexical shortlist beside the model
  // (lexical_shortlist.h); empty: none.
  std::string lexical_shortlist;
  bool shared_vocabulary = false;  // both sides of a Marian model share it
  std::string revision;
  // Maps the packed weights of an earlier load; null: there are none.
  std::shared_ptr<const PackedFile> packed;
  WeightsCacheUse cache_use;
};

// Reads the folder at `path` and adds everything that is wrong with it to
// `problems`; the result may be used only if there are none. With `imagine`,
// missing weight files are replaced by imagined weights (imagined_weights.h).
// `modules` are those of a Router's list, of which the first has the
// transformer; null: as modules.json says.
ModelFolder ReadModelFolder(const std::string& path, const LoadOptions& options,
                            Problems* problems, bool imagine = false,
                            const ModuleList* modules = nullptr);

// Returns the modules of the folder at `path` if its lists are loaded one by
// one: those of a Router, or one that reads a table. Unset: the folder is that
// of one Transformer, or its modules cannot be read, which ReadModelFolder
// reports.
std::optional<SentenceModules> SeparateModules(const std::string& path);

// A model of several that a folder is loaded as.
struct FolderPart {
  const ModuleList* list = nullptr;  // null: as modules.json says
  LoadOptions options;
};

// Returns what the folder at `path` is loaded as: an entry for each of
// `modules` (SeparateModules), which must outlive the result; else one for
// queries and one for documents if options.task names such tasks; else one.
std::vector<FolderPart> PartsOf(const std::string& path,
                                const std::optional<SentenceModules>& modules,
                                const LoadOptions& options);

// Returns the problem of a folder whose reading threw an exception or ran out
// of memory.
std::string UnreadableFolder(const std::exception& error);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FOLDER_H_
