#include "client/load/call_kind.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"

namespace trivium {

const std::map<std::string, CallKind>& CallKinds() {
  static const std::map<std::string, CallKind> kinds = {
      {"translate", CallKind::kTranslate},
      {"translate-stream", CallKind::kTranslateStream},
      {"encode", CallKind::kEncode},
      {"encode-stream", CallKind::kEncodeStream},
      {"generate", CallKind::kGenerate},
      {"score", CallKind::kScore},
      {"classify", CallKind::kClassify},
      {"rerank", CallKind::kRerank},
      {"similarity", CallKind::kSimilarity},
      {"tag", CallKind::kTag},
      {"answer", CallKind::kAnswer},
      {"fill-mask", CallKind::kFillMask},
      {"tokenize", CallKind::kTokenize},
      {"detokenize", CallKind::kDetokenize},
      {"model", CallKind::kModel},
      {"openai-embeddings", CallKind::kOpenAiEmbeddings}};
  return kinds;
}

const std::string& NameOf(CallKind kind) {
  return std::find_if(CallKinds().begin(), CallKinds().end(),
                      [kind](const auto& one) { return one.second == kind; })
      ->first;
}

absl::StatusOr<std::vector<MixPart>> ParseMix(const std::string& text) {
  constexpr int kMostWeight = 1'000'000;
  std::vector<MixPart> mix;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string name(part.substr(0, equals));
    const auto kind = CallKinds().find(name);
    if (kind == CallKinds().end()) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: there is no call '{}'; write CALL=WEIGHT,..., with --call's "
          "names",
          text, name));
    }
    int weight = 0;
    if (equals == part.size() ||
        !absl::SimpleAtoi(part.substr(equals + 1), &weight) || weight < 1 ||
        weight > kMostWeight) {
      return absl::InvalidArgumentError(
          fmt::format("{}: {} needs a weight from 1 to {}, as {}=2", text, name,
                      kMostWeight, name));
    }
    for (const MixPart& other : mix) {
      if (other.kind == kind->second) {
        return absl::InvalidArgumentError(
            fmt::format("{}: {} is named twice", text, name));
      }
    }
    mix.push_back({kind->second, weight});
  }
  return mix;
}

}  // namespace trivium
