#ifndef TRIVIUM_CLIENT_LOAD_CALL_KIND_H_
#define TRIVIUM_CLIENT_LOAD_CALL_KIND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// The kinds of calls that trivium-load makes.
enum class CallKind {
  kTranslate,
  kTranslateStream,
  kEncode,
  kEncodeStream,
  kGenerate,
  kScore,
  kClassify,
  kRerank,
  kSimilarity,
  kTag,
  kAnswer,
  kFillMask,
  kTokenize,
  kDetokenize,
  kModel,  // GetModel: no work; its time can be subtracted from others
  kOpenAiEmbeddings  // OpenAI's /v1/embeddings, over HTTP only
};

// Returns the kinds by their names on the command line.
const std::map<std::string, CallKind>& CallKinds();
const std::string& NameOf(CallKind kind);

// A kind, and how often it is called relative to the others.
struct MixPart {
  CallKind kind;
  int weight;
};
// Parses "translate=8,encode=2". The error says what is wrong.
absl::StatusOr<std::vector<MixPart>> ParseMix(const std::string& text);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CALL_KIND_H_
