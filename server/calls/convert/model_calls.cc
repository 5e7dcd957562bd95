#include "server/calls/convert/model_calls.h"

#include "model/chat_template.h"
#include "server/calls/convert/zero_shot.h"

namespace trivium {

namespace {

// A score, or "no" and "yes".
constexpr size_t kMostRerankLabels = 2;

}  // namespace

bool ServesCall(const Model& model, Rpc rpc) {
  const Design design = model.info().design;
  const bool has_tokenizer = model.tokenizer() != nullptr;
  const auto has_head = [&](HeadKind kind) {
    return model.info().head && model.info().head->kind == kind;
  };
  switch (rpc) {
    case Rpc::kEncode:
    case Rpc::kEncodeStream:
    case Rpc::kSimilarity:
      return design != Design::kDecoder;
    case Rpc::kTranslate:
    case Rpc::kTranslateStream:
      return model.translates();
    case Rpc::kTranslateDocument:
      return model.translates() && has_tokenizer;
    case Rpc::kGenerate:
    case Rpc::kScore:
      return design != Design::kEncoder;
    case Rpc::kTokenize:
    case Rpc::kDetokenize:
      return has_tokenizer;
    case Rpc::kClassify:
      return has_head(HeadKind::kClassify);
    case Rpc::kRerank:
      // With more labels none of them says how well a document fits.
      return RanksByEmbeddings(model) ||
             (has_head(HeadKind::kClassify) && has_tokenizer &&
              model.info().head->labels.size() <= kMostRerankLabels);
    case Rpc::kClassifyTokens:
      return has_head(HeadKind::kTag) || has_head(HeadKind::kDiscriminate);
    case Rpc::kFillMask:
      return has_head(HeadKind::kFillMask);
    case Rpc::kAnswer:
      return has_head(HeadKind::kAnswer) && has_tokenizer;
    case Rpc::kListModels:
    case Rpc::kGetModel:
    case Rpc::kLoadModel:
    case Rpc::kReloadModel:
    case Rpc::kUnloadModel:
    case Rpc::kModelInfer:
      break;
  }
  return true;
}

std::string NamesOfServedCalls(const Model& model) {
  std::string names;
  for (const Rpc rpc : kCallsOfModels) {
    if (rpc == Rpc::kEncodeStream || rpc == Rpc::kTranslateStream ||
        !ServesCall(model, rpc)) {
      continue;
    }
    if (!names.empty()) names += ", ";
    names += RpcName(rpc);
  }
  return names;
}

ModelNeed NeedOf(const v1::EncodeRequest& request) {
  bool dense = false, sparse = false, multi_vector = false;
  for (const int output : request.outputs()) {
    dense |= output == v1::ENCODE_OUTPUT_DENSE;
    sparse |= output == v1::ENCODE_OUTPUT_SPARSE;
    multi_vector |= output == v1::ENCODE_OUTPUT_MULTI_VECTOR;
  }
  if (!dense && !sparse && !multi_vector) return nullptr;
  return [=](const Model& model) {
    const SentenceEncoder& sentences = model.sentence_encoder();
    return (!dense || sentences.has_dense()) &&
           (!sparse || sentences.has_sparse()) &&
           (!multi_vector || sentences.has_multi_vector());
  };
}

ModelNeed NeedOf(const v1::ClassifyRequest& request) {
  if (request.labels().empty()) return nullptr;
  return [](const Model& model) {
    return model.info().head && TellsEntailment(model.info().head->labels);
  };
}

bool RanksByEmbeddings(const Model& model) {
  const SentenceEncoder& sentences = model.sentence_encoder();
  const auto& head = model.info().head;
  return model.tokenizer() != nullptr &&
         !(head && head->kind == HeadKind::kClassify) &&
         (sentences.has_sparse() || sentences.has_multi_vector());
}

bool TakesChats(const Model& model) { return !model.chat_templates().empty(); }

}  // namespace trivium
