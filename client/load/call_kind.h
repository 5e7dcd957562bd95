#ifndef TRIVIUM_CLIENT_LOAD_CALL_KIND_H_
#define TRIVIUM_CLIENT_LOAD_CALL_KIND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// What can be called.
enum class CallKind {
  kTranslate,
  kTranslateStream,
  kEncode,
  kEncodeStream,
  kGenerate,
  kScore,
  kClassify,
  kRerank,
  kTag,
  kAnswer,
  kFillMask,
  kTokenize,
  kDetokenize,
  kModel,            // GetModel: a call without work, to subtract from others
  kOpenAiEmbeddings  // OpenAI's /v1/embeddings, over HTTP only
};

// By the names that people write.
const std::map<std::string, CallKind>& CallKinds();
const std::string& NameOf(CallKind kind);

// A kind, and how often it is called beside the others.
struct MixPart {
  CallKind kind;
  int weight;
};
// Of "translate=8,encode=2". The error says what is wrong.
absl::StatusOr<std::vector<MixPart>> ParseMix(const std::string& text);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CALL_KIND_H_
