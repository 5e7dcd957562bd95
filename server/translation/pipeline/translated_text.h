#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATED_TEXT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATED_TEXT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/search/beam_trace.h"
#include "model/search/decoding.h"
#include "server/batching/request.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/sentences.h"

namespace trivium {

// The translation of a text or of a part, as plain structs. Spans are bytes:
// source spans are bytes of the call's text, spans of a hypothesis are bytes of
// its own text.

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
  // [token_count] each; empty if the answer does not show them.
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
  bool cut = false;               // a part of a sentence
};

// A protected span that a hypothesis does not have exactly once.
struct LostSpan {
  std::string text;
  TextSpan source;
  size_t hypothesis = 0;  // index
  int count = 0;          // in the hypothesis: 0, or 2 and more
};

// Something suspicious that a check found in a hypothesis.
struct Finding {
  Check check;
  TextSpan source;  // the sentence
  size_t hypothesis = 0;
};

// A place of the source where a term of the glossary is.
struct TermUse {
  size_t term = 0;  // index in the glossary
  TextSpan source;
  // Indices of hypotheses that miss it: the target occurs fewer times than the
  // source does in the sentence, up to and including this use.
  std::vector<size_t> missing = {};
};

struct TranslatedText {
  std::string source;  // the call's text; set when the job is done
  std::vector<TranslatedHypothesis> hypotheses;  // best first
  size_t source_tokens = 0;
  size_t truncated_tokens = 0;
  // The ids of the source and the decoder's first ids; only if the answer shows
  // tokens.
  std::vector<int32_t> source_ids;
  std::vector<int32_t> prefix_ids;
  std::optional<uint64_t> seed;  // set if tokens are sampled
  std::optional<BeamTrace> trace;
  std::vector<SentencePair> sentences;  // if asked for
  size_t sentence_count = 0;
  size_t cut_count = 0;  // those that are parts of sentences
  std::vector<LostSpan> lost;
  std::vector<Finding> findings;
  // The number of sentences that were translated a second time, and of those
  // whose second translation was kept.
  size_t second_try_count = 0;
  size_t second_kept_count = 0;
  std::vector<TextSpan> source_words;  // if asked for
  std::vector<TermUse> term_uses;
  std::set<TextStage> text_stages;  // those that did something
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATED_TEXT_H_
