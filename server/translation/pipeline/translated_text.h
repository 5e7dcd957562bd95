#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATED_TEXT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATED_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/search/beam_trace.h"
#include "model/search/decoding.h"
#include "server/batching/request.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/sentences.h"

namespace trivium {

// The translation of a text, or of a part of one, as plain structs. Spans are
// bytes: of the source, bytes of the call's text; of a hypothesis, bytes of its
// own text.

// A word of a hypothesis: a run of characters between white space.
struct TargetWord {
  TextSpan span;
  // Over the word's tokens; 0 if it has none of its own.
  float mean_logprob = 0;
  float min_logprob = 0;
  std::vector<size_t> source_words = {};  // indices
};

struct TranslatedHypothesis {
  std::string text;
  float score = 0;
  float log_probability = 0;
  size_t token_count = 0;
  FinishReason reason = FinishReason::kEnd;
  // [token_count], if the answer shows any of it, else empty.
  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  std::vector<std::vector<TokenLogprob>> top_logprobs;
  std::vector<TargetWord> words;
  std::optional<AttentionMap> cross_attention;
  std::optional<AttentionMap> decoder_attention;
};

// A sentence of a text, or a part of one that was cut.
struct SentencePair {
  TextSpan source;
  std::vector<TextSpan> targets;  // [hypotheses]
  bool cut = false;               // less than a sentence
};

// A protected span that a hypothesis does not have exactly once.
struct LostSpan {
  std::string text;
  TextSpan source;
  size_t hypothesis = 0;  // index
  int count = 0;          // in the hypothesis: 0, or more than 1
};

// A check found something suspicious in a hypothesis.
struct Finding {
  Check check;
  TextSpan source;  // the sentence
  size_t hypothesis = 0;
};

// A term of the glossary in the source.
struct TermUse {
  size_t term = 0;  // index in the glossary
  TextSpan source;
  // Hypotheses that have its target less often than the sentence has sources
  // of it.
  std::vector<size_t> missing = {};
};

struct TranslatedText {
  std::string source;  // the call's text; only of a finished job
  std::vector<TranslatedHypothesis> hypotheses;  // best first
  size_t source_tokens = 0;
  size_t truncated_tokens = 0;
  // If the answer shows tokens: of the source, and what the decoder read first.
  std::vector<int32_t> source_ids;
  std::vector<int32_t> prefix_ids;
  std::optional<uint64_t> seed;  // of sampling
  std::optional<BeamTrace> trace;
  std::vector<SentencePair> sentences;  // if asked for
  size_t sentence_count = 0;
  size_t cut_count = 0;  // of these, parts of sentences
  std::vector<LostSpan> lost;
  std::vector<Finding> findings;
  // Sentences that were translated a second time, and those of them whose
  // second translation is this one.
  size_t second_try_count = 0;
  size_t second_kept_count = 0;
  std::vector<TextSpan> source_words;  // if asked for
  std::vector<TermUse> term_uses;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATED_TEXT_H_
