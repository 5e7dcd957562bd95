#include "model/families/registry.h"

#include <utility>

#include "model/families/albert.h"
#include "model/families/arcee.h"
#include "model/families/bamba.h"
#include "model/families/bart.h"
#include "model/families/bert.h"
#include "model/families/bloom.h"
#include "model/families/cohere2.h"
#include "model/families/convbert.h"
#include "model/families/deberta.h"
#include "model/families/deepseek.h"
#include "model/families/distilbert.h"
#include "model/families/dots1.h"
#include "model/families/electra.h"
#include "model/families/ernie4_5.h"
#include "model/families/eurobert.h"
#include "model/families/exaone.h"
#include "model/families/exaone4.h"
#include "model/families/falcon.h"
#include "model/families/falcon_h1.h"
#include "model/families/gemma.h"
#include "model/families/gemma4.h"
#include "model/families/glm4.h"
#include "model/families/glm4_moe.h"
#include "model/families/gpt2.h"
#include "model/families/gpt_bigcode.h"
#include "model/families/gpt_neo.h"
#include "model/families/gpt_neox.h"
#include "model/families/gpt_oss.h"
#include "model/families/gptj.h"
#include "model/families/granite.h"
#include "model/families/granite_hybrid.h"
#include "model/families/gte.h"
#include "model/families/helium.h"
#include "model/families/hunyuan.h"
#include "model/families/lfm2.h"
#include "model/families/llama.h"
#include "model/families/mamba.h"
#include "model/families/mamba2.h"
#include "model/families/marian.h"
#include "model/families/minimax_m2.h"
#include "model/families/mixtral.h"
#include "model/families/mobilebert.h"
#include "model/families/modernbert.h"
#include "model/families/mpnet.h"
#include "model/families/mpt.h"
#include "model/families/nanochat.h"
#include "model/families/nemotron.h"
#include "model/families/nemotron_h.h"
#include "model/families/nomic_bert.h"
#include "model/families/olmo.h"
#include "model/families/olmoe.h"
#include "model/families/openai_gpt.h"
#include "model/families/opt.h"
#include "model/families/phi.h"
#include "model/families/phi3.h"
#include "model/families/phimoe.h"
#include "model/families/pre_norm_bert.h"
#include "model/families/qwen.h"
#include "model/families/qwen3_5.h"
#include "model/families/qwen3_moe.h"
#include "model/families/roformer.h"
#include "model/families/seed_oss.h"
#include "model/families/smollm3.h"
#include "model/families/stablelm.h"
#include "model/families/starcoder2.h"
#include "model/families/t5.h"
#include "model/families/t5gemma.h"
#include "model/families/xglm.h"
#include "model/families/xlm.h"
#include "model/families/xlm_roberta_flash.h"

namespace trivium {
namespace {

constexpr std::pair<std::string_view, FamilyLoader> kFamilies[] = {
    {"albert", LoadAlbert},
    {"arcee", LoadArcee},
    {"bamba", LoadBamba},
    {"bart", LoadBart},
    {"bert", LoadBert},
    {"biogpt", LoadBioGpt},
    {"blenderbot", LoadBlenderbot},
    {"blenderbot-small", LoadBlenderbotSmall},
    {"bloom", LoadBloom},
    {"camembert", LoadRoberta},
    {"codegen", LoadCodeGen},
    {"cohere", LoadCohere},
    {"cohere2", LoadCohere2},
    {"convbert", LoadConvBert},
    {"data2vec-text", LoadRoberta},
    {"deberta", LoadDeberta},
    {"deberta-v2", LoadDebertaV2},
    {"deepseek_v2", LoadDeepSeekV2},
    {"deepseek_v3", LoadDeepSeekV3},
    {"distilbert", LoadDistilBert},
    {"dots1", LoadDots1},
    {"dpr", LoadDpr},
    {"electra", LoadElectra},
    {"ernie", LoadErnie},
    {"ernie4_5", LoadErnie45},
    {"ernie4_5_moe", LoadErnie45Moe},
    {"eurobert", LoadEuroBert},
    {"exaone", LoadExaone},
    {"exaone4", LoadExaone4},
    {"falcon", LoadFalcon},
    {"falcon_h1", LoadFalconH1},
    {"falcon_mamba", LoadFalconMamba},
    {"flaubert", LoadXlm},
    {"gemma", LoadGemma},
    {"gemma2", LoadGemma2},
    {"gemma3_text", LoadGemma3Text},
    {"gemma4_text", LoadGemma4Text},
    {"glm", LoadGlm},
    {"glm4", LoadGlm4},
    {"glm4_moe", LoadGlm4Moe},
    {"glm4_moe_lite", LoadGlm4MoeLite},
    {"gpt2", LoadGpt2},
    {"gpt_bigcode", LoadGptBigCode},
    {"gpt_neo", LoadGptNeo},
    {"gpt_neox", LoadGptNeoX},
    {"gpt_oss", LoadGptOss},
    {"gptj", LoadGptJ},
    {"granite", LoadGranite},
    {"granitemoe", LoadGraniteMoe},
    {"granitemoehybrid", LoadGraniteMoeHybrid},
    {"granitemoeshared", LoadGraniteMoe},
    {"gte", LoadGte},
    {"helium", LoadHelium},
    {"hunyuan_v1_dense", LoadHunyuanDense},
    {"hunyuan_v1_moe", LoadHunyuanMoe},
    {"jina_embeddings_v3", LoadXlmRobertaFlash},
    {"kimi_k2", LoadDeepSeekV3},
    {"led", LoadLed},
    {"lfm2", LoadLfm2},
    {"lfm2_moe", LoadLfm2Moe},
    {"llama", LoadLlama},
    {"llama_bidirec", LoadLlama},
    {"longt5", LoadLongT5},
    {"m2m_100", LoadM2m100},
    {"mamba", LoadMamba},
    {"mamba2", LoadMamba2},
    {"marian", LoadMarian},
    {"mbart", LoadMbart},
    {"megatron-bert", LoadMegatronBert},
    {"minimax_m2", LoadMiniMaxM2},
    {"ministral3", LoadMinistral3},
    {"mistral", LoadMistral},
    {"mistral4", LoadMistral4},
    {"mixtral", LoadMixtral},
    {"mobilebert", LoadMobileBert},
    {"modernbert", LoadModernBert},
    {"mpnet", LoadMpnet},
    {"mpt", LoadMpt},
    {"mt5", LoadMt5},
    {"nanochat", LoadNanoChat},
    {"nemotron", LoadNemotron},
    {"nemotron_h", LoadNemotronH},
    {"new", LoadGte},
    {"nllb-moe", LoadNllbMoe},
    {"nomic_bert", LoadNomicBert},
    {"olmo", LoadOlmo1},
    {"olmo2", LoadOlmo2},
    {"olmo3", LoadOlmo3},
    {"olmoe", LoadOlmoe},
    {"openai-gpt", LoadOpenAiGpt},
    {"opt", LoadOpt},
    {"pegasus", LoadPegasus},
    {"phi", LoadPhi},
    {"phi3", LoadPhi3},
    {"phimoe", LoadPhiMoe},
    {"qwen2", LoadQwen2},
    {"qwen2_5_vl_text", LoadQwen2VlText},
    {"qwen2_moe", LoadQwen2Moe},
    {"qwen2_vl_text", LoadQwen2VlText},
    {"qwen3", LoadQwen3},
    {"qwen3_5_moe_text", LoadQwen35MoeText},
    {"qwen3_5_text", LoadQwen35Text},
    {"qwen3_moe", LoadQwen3Moe},
    {"qwen3_next", LoadQwen3Next},
    {"qwen3_vl_moe_text", LoadQwen3VlMoeText},
    {"qwen3_vl_text", LoadQwen3VlText},
    {"roberta", LoadRoberta},
    {"roberta-prelayernorm", LoadRobertaPreLayerNorm},
    {"roformer", LoadRoFormer},
    {"seed_oss", LoadSeedOss},
    {"smollm3", LoadSmolLm3},
    {"stablelm", LoadStableLm},
    {"starcoder2", LoadStarcoder2},
    {"t5", LoadT5},
    {"t5gemma", LoadT5Gemma},
    {"t5gemma2", LoadT5Gemma2},
    {"umt5", LoadUmt5},
    {"xglm", LoadXglm},
    {"xlm", LoadXlm},
    {"xlm-roberta", LoadRoberta},
    {"xlm-roberta-xl", LoadXlmRobertaXl},
};

}  // namespace

FamilyLoader FindFamily(std::string_view model_type) {
  for (const auto& family : kFamilies) {
    if (family.first == model_type) return family.second;
  }
  return nullptr;
}

std::vector<std::string_view> FamilyNames() {
  std::vector<std::string_view> names;
  for (const auto& family : kFamilies) names.push_back(family.first);
  return names;
}

}  // namespace trivium
