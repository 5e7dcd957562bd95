#ifndef TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_
#define TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_

#include <span>
#include <string>
#include <string_view>

#include "model/gguf/config_maker.h"

namespace trivium {

// The change that llama.cpp's converter (convert_hf_to_gguf.py) made to a
// tensor and that must be undone. Sizes are those of config.json.
enum class GgufChange {
  kNone,
  // The rows of each head's two halves were interleaved.
  kInterleavedQuery,
  kInterleavedKey,
  kPlusOne,     // a norm's weight w is stored as 1 + w
  kTransposed,  // the folder has the weight as [in, out]
  // [experts, ...]. The folder has each expert separately; the name has "{}".
  kExperts,
  kVector,       // the folder has all elements in one dimension
  kRow,          // the folder has [1, elements]
  kConvolution,  // [channels, width]; the folder has [channels, 1, width]
  kDecay,        // A_log is stored as -exp(A_log), and is a vector
  kDecayMatrix,  // the same of Mamba 1, whose A_log is a matrix
  // Queries of all heads, then keys, then values; the folder has those of each
  // head of keys together.
  kGroupedRows,
  // [heads, rows, columns] become [heads x rows, columns], after the parts of
  // each head are joined. kHeadColumns are transposed before.
  kHeadRows,
  kHeadColumns,
  // Rows for the padding token's position and those before it are left out.
  kRobertaPositions,
};

struct GgufTensorName {
  std::string_view gguf;    // "attn_q"; in layers after "blk.N."
  std::string_view folder;  // "self_attn.q_proj"; in layers after the prefix
  GgufChange change = GgufChange::kNone;
  // Tensors with the same name of the folder are its rows, in this order.
  int part = -1;  // -1: it is the whole tensor
  // Heads of values stand in another order: those of each head of keys are not
  // together.
  enum class Tiled { kNo, kRows, kColumns } tiled = Tiled::kNo;
  // Not empty: the name counts only if this key of config.json is true.
  std::string_view only_with = {};
};

// A key of config.json that a GGUF file of Falcon sets: each sublayer has a
// norm of its own.
inline constexpr char kGgufTwoNorms[] = "gguf_two_norms";

// Maps an architecture's metadata and tensors to those of a Hugging Face
// folder.
struct GgufArchitecture {
  std::string_view name;          // general.architecture
  std::string_view layer_prefix;  // "model.layers.{}."
  // Names lack ".weight" and ".bias", which any tensor may have. A name that
  // has its ending must come before the same one without it; the folder's name
  // then has its ending, too.
  std::span<const GgufTensorName> tensors;
  std::span<const GgufTensorName> layer_tensors;
  // Names in layers that are specific to this architecture; they take
  // precedence.
  std::span<const GgufTensorName> own_tensors;
  // Makes config.json from the metadata.
  void (*describe)(ConfigMaker* maker);
};

// The parts of the list of architectures; see architecture.cc.
std::span<const GgufArchitecture> GgufDecoders();
std::span<const GgufArchitecture> GgufEncoders();
std::span<const GgufArchitecture> GgufExpertDecoders();
std::span<const GgufArchitecture> GgufStateDecoders();
std::span<const GgufArchitecture> GgufMambaDecoders();
std::span<const GgufArchitecture> GgufOlderDecoders();
std::span<const GgufArchitecture> GgufGemma4();

// Returns null for an unknown name.
const GgufArchitecture* FindGgufArchitecture(std::string_view name);
// Returns the known names, separated by commas.
std::string GgufArchitectureNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_ARCHITECTURE_H_
