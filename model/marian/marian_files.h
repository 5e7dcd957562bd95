#ifndef TRIVIUM_MODEL_MARIAN_MARIAN_FILES_H_
#define TRIVIUM_MODEL_MARIAN_MARIAN_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The paths of a model's files.
struct MarianFiles {
  std::string weights;  // .npz or .bin
  // The decoder's configuration, "model.npz.decoder.yml"; empty and null if
  // there is none.
  std::string decoder_path;
  nlohmann::json decoder;
  // .spm or .yml; both are the same file if the sides share it.
  std::string source_vocabulary, target_vocabulary;
  // The .spm that cuts texts into the pieces of a .yml vocabulary; empty:
  // pieces are the words between spaces.
  std::string source_pieces, target_pieces;
  std::string shortlist;  // "lex.50.50.enes.s2t.bin"; empty: none
};

// Finds a model's files from weights, a decoder's .yml or a folder (see
// IsMarianModel). decoder.yml, config.yml or the only *.decoder.yml or
// config.*.yml names weights and vocabularies. Without one, these count:
//
// - weights: the only .npz or, if there is none, the only model*.bin;
// - vocabularies: vocab.spm, vocab.yml or the only vocab.*.spm for both sides,
//   or the only srcvocab*.spm and trgvocab*.spm.
//
// With .yml vocabularies, source.spm and target.spm cut texts. A lexical
// shortlist is the .bin that the configuration names or the only lex*.bin.
//
// INVALID_ARGUMENT names the folder or the file, what is missing or ambiguous,
// and what to give instead.
absl::StatusOr<MarianFiles> FindMarianFiles(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MARIAN_MARIAN_FILES_H_
