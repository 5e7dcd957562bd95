#ifndef TRIVIUM_MODEL_STATE_USE_H_
#define TRIVIUM_MODEL_STATE_USE_H_

#include <string>

#include "base/config_reader.h"
#include "model/folder.h"

namespace trivium {

// Reads what a folder at `path` makes of the states of an encoder, or of a
// decoder that is not to write. Such a decoder becomes description.encoder,
// which looks back only:
//   with a modules.json (Qwen3-Embedding) or without an output projection,
//     whose states become embeddings;
//   where modules.json says LogitScore, or it is a Qwen3-Reranker of before
//     that, a head whose one logit is W_true x - W_false x of the last state x;
//   of a GGUF file that says how its states are pooled.
void UseStates(const std::string& path, Problems* problems,
               ModelFolder* folder);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_STATE_USE_H_
