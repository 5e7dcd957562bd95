#ifndef TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_
#define TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_

#include <span>
#include <string>
#include <string_view>

#include "model/gguf/config_maker.h"

namespace trivium {

// What the converter of llama.cpp (convert_hf_to_gguf.py) did to a tensor, to
// be undone.
enum class GgufChange {
  kNone,
  // Each head's rows were interleaved, those of its halves in turns.
  kInterleavedQuery,
  kInterleavedKey,
  kPlusOne,     // a norm's weight w is stored as 1 + w
  kTransposed,  // of a weight that the folder has as [in, out]
  // [experts, ...], each of which the folder has by itself: its name has "{}".
  kExperts,
};

struct GgufTensorName {
  std::string_view gguf;    // "attn_q"; of a layer, behind "blk.N."
  std::string_view folder;  // "self_attn.q_proj", behind the layer's prefix
  GgufChange change = GgufChange::kNone;
};

// How an architecture's metadata and tensors are a Hugging Face folder's.
struct GgufArchitecture {
  std::string_view name;          // general.architecture
  std::string_view layer_prefix;  // "model.layers.{}."
  // Without ".weight" and ".bias", which all may have.
  std::span<const GgufTensorName> tensors;
  std::span<const GgufTensorName> layer_tensors;
  // The layers' that it does not share with its kin, which come first.
  std::span<const GgufTensorName> own_tensors;
  // Makes config.json.
  void (*describe)(ConfigMaker* maker);
};

// Null for an unknown one.
const GgufArchitecture* FindGgufArchitecture(std::string_view name);
// The known ones, with commas between.
std::string GgufArchitectureNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_
