#ifndef TRIVIUM_MODEL_FAMILIES_MODERNBERT_H_
#define TRIVIUM_MODEL_FAMILIES_MODERNBERT_H_

#include "model/families/registry.h"

namespace trivium {

// ModernBERT (Warner et al. 2024): an encoder with rotary positions, norms
// before the sublayers, and a gated feed-forward. Every few layers see the
// whole text; the others see a window to both sides, and have rotary positions
// of their own. Like Transformers' models/modernbert/modeling_modernbert.py.
FamilyModel LoadModernBert(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MODERNBERT_H_
