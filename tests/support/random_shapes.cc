// The shapes of RandomTransformer that several tests use.
#include "tests/support/random_transformer.h"

namespace trivium {

std::vector<RandomTransformer::Shape> RandomTransformer::ModernDecoders() {
  Shape llama = LlamaShape();
  llama.encoder_layers = 0;
  llama.decoder_layers = 3;
  llama.vocabulary = 401;
  Shape phi = llama;
  phi.gated = false;
  phi.norm_kind = NormTensors::Kind::kLayer;
  phi.biases = true;
  phi.parallel = true;
  phi.residual_factor = 0.6f;
  Shape command_r = phi;
  command_r.own_head_norms = true;
  Shape ministral = llama;
  ministral.query_growth = 0.7f;
  ministral.head_norms = false;
  ministral.logit_factor = 0.4f;
  Shape gemma2 = llama;
  gemma2.norm_placement = NormPlacement::kBeforeAndOfOutput;
  gemma2.head_norms = false;
  gemma2.residual_factor = 1.3f;
  gemma2.soft_cap = 1.5f;
  gemma2.logit_soft_cap = 4;
  Shape olmo2 = llama;
  olmo2.norm_placement = NormPlacement::kOfOutput;
  olmo2.wide_head_norms = true;
  olmo2.clip = 0.8f;
  Shape hunyuan = llama;
  hunyuan.norms_after_rotary = true;
  Shape bloom = phi;
  bloom.parallel = false;
  bloom.window = 0;
  bloom.rotary_pairs = 0;
  bloom.head_norms = false;
  bloom.alibi = true;
  bloom.embedding_norm = true;
  Shape falcon = bloom;
  falcon.bf16_alibi = true;
  Shape lfm2 = llama;
  lfm2.window = 0;
  lfm2.decoder_layers = 4;
  lfm2.mixer = MixerDescription::Kind::kConvolution;
  Shape qwen3_5 = lfm2;
  qwen3_5.mixer = MixerDescription::Kind::kGatedDelta;
  qwen3_5.gated_attention = true;
  qwen3_5.one_plus_weight = true;
  Shape granite = lfm2;
  granite.mixer = MixerDescription::Kind::kStateSpace;
  granite.norm_after_gate = true;
  granite.head_norms = false;
  granite.residual_factor = 0.7f;
  Shape falcon_h1 = granite;
  falcon_h1.mixes_beside = true;
  falcon_h1.norm_after_gate = false;
  falcon_h1.biases = true;
  Shape deepseek = llama;
  deepseek.head_norms = false;
  deepseek.experts = 6;
  deepseek.grouped_experts = true;
  deepseek.latent_rank = 13;
  deepseek.query_growth = 0.7f;
  Shape deepseek3 = deepseek;
  deepseek3.latent_query_rank = 9;
  deepseek3.window = 0;
  deepseek3.biases = true;
  deepseek3.weigh_over_all = true;
  Shape gemma4 = gemma2;
  gemma4.experts = 5;
  gemma4.experts_beside = true;
  Shape gemma4_small = gemma2;
  gemma4_small.gemma4 = true;
  gemma4_small.head_norms = true;
  gemma4_small.decoder_layers = 4;
  Shape mamba = lfm2;
  mamba.mixer = MixerDescription::Kind::kSelectiveScan;
  mamba.biases = true;
  Shape falcon_mamba = mamba;
  falcon_mamba.norm_after_gate = true;
  Shape phimoe = phi;
  phimoe.parallel = false;
  phimoe.gated = true;
  phimoe.experts = 5;
  phimoe.sparse_mixer = true;
  return {phi,          command_r, ministral,    gemma2,    olmo2,
          hunyuan,      bloom,     falcon,       lfm2,      qwen3_5,
          granite,      falcon_h1, deepseek,     deepseek3, gemma4,
          gemma4_small, mamba,     falcon_mamba, phimoe};
}

}  // namespace trivium
