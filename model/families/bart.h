#ifndef TRIVIUM_MODEL_FAMILIES_BART_H_
#define TRIVIUM_MODEL_FAMILIES_BART_H_

#include "model/families/registry.h"

namespace trivium {

// BART (Lewis et al. 2019): learned positions, norms after each sublayer and
// after the embeddings. Its classifiers (bart-large-mnli) are encoders with a
// second reading. Like Transformers' models/bart/modeling_bart.py.
FamilyModel LoadBart(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

// mBART (Liu et al. 2020) and mBART-50: norms before each sublayer and after
// the last. Like models/mbart/modeling_mbart.py.
FamilyModel LoadMbart(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

// M2M-100 (Fan et al. 2020) and NLLB: mBART with sines and cosines as positions
// and no norm of the embeddings. Like models/m2m_100/modeling_m2m_100.py.
FamilyModel LoadM2m100(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

// NLLB-MoE (Costa-jussa et al. 2022): M2M-100 with experts in each n-th layer,
// of which each token has two. Like models/nllb_moe/modeling_nllb_moe.py of
// Transformers 4; that of 5.24 sends all tokens to two of the experts.
FamilyModel LoadNllbMoe(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

// LED (Beltagy et al. 2020): BART whose encoder's layers see windows. Like
// models/led/modeling_led.py without a global_attention_mask: no token sees
// all others.
FamilyModel LoadLed(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

// Pegasus (Zhang et al. 2019): M2M-100 with Marian's sines and cosines. Like
// models/pegasus/modeling_pegasus.py.
FamilyModel LoadPegasus(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

// Blenderbot (Roller et al. 2020): mBART without a norm of the embeddings and
// without unused positions. Like models/blenderbot/modeling_blenderbot.py.
FamilyModel LoadBlenderbot(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

// Blenderbot Small: BART without unused positions, and with the decoder's
// positions behind the norm of its embeddings. Like
// models/blenderbot_small/modeling_blenderbot_small.py.
FamilyModel LoadBlenderbotSmall(const nlohmann::json& config,
                                const Weights* weights, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BART_H_
