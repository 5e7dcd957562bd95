#ifndef TRIVIUM_MODEL_STATE_USE_H_
#define TRIVIUM_MODEL_STATE_USE_H_

#include <string>

#include "base/config_reader.h"
#include "model/folder.h"

namespace trivium {

// Reads how a folder at `path` uses the states of an encoder, or of a decoder
// that does not write text. Such a decoder becomes description.encoder, with
// causal attention:
//
// - if it has a head (LlamaForSequenceClassification), that reads its states;
// - with a modules.json (Qwen3-Embedding) or without an output projection, its
// states become embeddings;
// - if modules.json says LogitScore, or it is a Qwen3-Reranker from before that
// existed, it gets a head whose one logit is W_true x - W_false x of the last
// state x;
// - if a GGUF file says how to pool, its states are pooled.
//
// SPLADE's pooling becomes a part of the head. `modules` are ReadModelFolder's.
void UseStates(const std::string& path, const ModuleList* modules,
               Problems* problems, ModelFolder* folder);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_STATE_USE_H_
