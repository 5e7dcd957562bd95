// For each architecture: the names of its tensors (gguf-py's
// tensor_mapping.py), the changes that llama.cpp's converter makes to them
// (Transformers' modeling_gguf_pytorch_utils.py undoes them, too), and the
// config.json that describes it. A GGUF file omits some values, because
// llama.cpp's loader assumes them; the functions below add these.
//
// A layer's tensor is looked up in own_tensors first, then in layer_tensors, so
// an architecture may override a name of its kin.
//
// A value that no function consumes is a problem of the file. So a function
// also consumes what it does not need, such as GPT-2's attention.head_count_kv.
#include "model/gguf/architecture.h"

#include <algorithm>
#include <vector>

namespace trivium {
namespace {

std::vector<const GgufArchitecture*> AllGgufArchitectures() {
  std::vector<const GgufArchitecture*> all;
  for (const auto& part : {GgufDecoders(), GgufEncoders(), GgufExpertDecoders(),
                           GgufStateDecoders(), GgufMambaDecoders(),
                           GgufOlderDecoders(), GgufGemma4()}) {
    for (const GgufArchitecture& known : part) all.push_back(&known);
  }
  std::sort(all.begin(), all.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  return all;
}

}  // namespace

const GgufArchitecture* FindGgufArchitecture(std::string_view name) {
  for (const GgufArchitecture* known : AllGgufArchitectures()) {
    if (known->name == name) return known;
  }
  return nullptr;
}

std::string GgufArchitectureNames() {
  std::string names;
  for (const GgufArchitecture* known : AllGgufArchitectures()) {
    names += (names.empty() ? "" : ", ") + std::string(known->name);
  }
  return names;
}

}  // namespace trivium
