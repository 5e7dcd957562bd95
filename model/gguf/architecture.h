#ifndef TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_
#define TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_

#include <span>
#include <string>
#include <string_view>

#include "model/gguf/config_maker.h"

namespace trivium {

// The change that llama.cpp's converter (convert_hf_to_gguf.py) made to a
// tensor and that must be undone.
enum class GgufChange {
  kNone,
  // The rows of each head's two halves were interleaved.
  kInterleavedQuery,
  kInterleavedKey,
  kPlusOne,     // a norm's weight w is stored as 1 + w
  kTransposed,  // the folder has the weight as [in, out]
  // [experts, ...]. The folder has each expert separately; the name has "{}".
  kExperts,
};

struct GgufTensorName {
  std::string_view gguf;    // "attn_q"; in layers after "blk.N."
  std::string_view folder;  // "self_attn.q_proj"; in layers after the prefix
  GgufChange change = GgufChange::kNone;
};

// Maps an architecture's metadata and tensors to those of a Hugging Face
// folder.
struct GgufArchitecture {
  std::string_view name;          // general.architecture
  std::string_view layer_prefix;  // "model.layers.{}."
  // Names without ".weight" and ".bias", which any may have.
  std::span<const GgufTensorName> tensors;
  std::span<const GgufTensorName> layer_tensors;
  // Names in layers that are specific to this architecture; they take
  // precedence.
  std::span<const GgufTensorName> own_tensors;
  // Makes config.json from the metadata.
  void (*describe)(ConfigMaker* maker);
};

// Returns null for an unknown name.
const GgufArchitecture* FindGgufArchitecture(std::string_view name);
// Returns the known names, separated by commas.
std::string GgufArchitectureNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_
