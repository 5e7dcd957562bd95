#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_JOB_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_JOB_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/batching/request.h"
#include "server/translation/markup.h"
#include "server/translation/pipeline/pivot_text.h"
#include "server/translation/pipeline/terminology.h"
#include "server/translation/pipeline/text_parts.h"
#include "server/translation/pipeline/translated_text.h"
#include "server/translation/pipeline/word_alignment.h"
#include "server/translation/placeholders.h"

namespace trivium {

// One text that the model reads for an attempt, and what it made of it.
struct Reading {
  TextSpan span;  // of TranslationJob::read(): the part, or a piece of it
  std::string
      text;  // the span as the model reads it, perhaps with placeholders
  // Of `text`; filled if tokens are needed and there are placeholders.
  std::vector<Restored::Place> placeholders = {};

  std::optional<PreparedInput> input = std::nullopt;  // once it is tokenized
  // [input.source.ids] the bytes of the call's text that each token stands for;
  // filled if tokens are needed, and later dropped unless `aligned`.
  std::vector<TextSpan> tokens = {};
  // The request asks for attention, from which the candidate's alignment comes.
  bool aligned = false;
  std::optional<Terminology::Terms> terms = std::nullopt;
  std::optional<WordAlignment> words = std::nullopt;
  std::vector<int32_t> stop_ids = {};  // of the search
  RequestResult output = {};
};

// One way to have a part translated: the texts that the model reads for it.
struct Attempt {
  // Placeholders of the styles 0 .. kPlaceholderStyles - 1 stand for protected
  // spans; or what is between them is translated in pieces.
  static constexpr int kInPieces = kPlaceholderStyles;

  size_t part = 0;
  int way = 0;
  bool second_try = false;    // decode with checks.second_try
  bool needs_tokens = false;  // fill Reading::tokens
  // One, the part; or a piece each. Empty: nothing is asked of the model, since
  // the part is blank.
  std::vector<Reading> readings = {};
  size_t results = 0;  // of readings, so far

  bool in_pieces() const { return way == kInPieces; }
  // The same again: tokenized, without results.
  Attempt Again() const {
    Attempt again;
    again.part = part;
    again.way = way;
    again.second_try = second_try;
    again.needs_tokens = needs_tokens;
    for (const Reading& reading : readings) {
      again.readings.push_back(
          {reading.span, reading.text, reading.placeholders, reading.input,
           reading.tokens, reading.aligned, reading.terms, reading.words});
    }
    return again;
  }
};

// What an attempt made of a part. Stages turn it, one after the other, from
// what the model wrote into what the call's text needs.
struct TranslationCandidate {
  TranslatedText translation;
  // [hypotheses]; empty unless the readings are aligned. Of the hypothesis's
  // bytes with bytes of the call's text.
  std::vector<Alignment> alignments;
  // [readings] the pieces that `translation` joins; only in pieces.
  std::vector<TranslatedText> pieces;
  int losses = 0;  // protected spans lost, and stray placeholders

  // Findings in the best hypothesis.
  int findings() const {
    int count = 0;
    for (const Finding& finding : translation.findings) {
      if (finding.hypothesis == 0) ++count;
    }
    return count;
  }
};

// An input of a call on its way through a pipeline, or through two: the second
// one reads, part by part, the first one's translations.
struct TranslationJob {
  std::string path;  // of the input in errors: "inputs[3]"
  // The call's text, of a text with markup what people read of it.
  TextParts text;
  std::optional<Markup> markup;
  std::vector<TextSpan> protected_spans;  // of the call's text
  GivenPrefix prefix;                     // empty if there are several parts
  // For the second pipeline: what the first one made of the parts.
  std::optional<PivotText> pivot;

  // To submit; the caller takes them away. None if nothing is to be asked.
  std::vector<Request> requests;
  int64_t response_bytes = 0;  // about, beside the text
  // Attempts without all their results, in the order of their requests.
  std::deque<Attempt> pending;
  std::vector<std::optional<TranslationCandidate>> best;  // [text.parts] so far

  bool done() const { return pending.empty(); }
  // The parts as the model reads them.
  const TextParts& read() const { return pivot ? pivot->text : text; }
  const TextParts::Part& part(const Attempt& attempt) const {
    return text.parts[attempt.part];
  }
  const TextParts::Part& read_part(const Attempt& attempt) const {
    return read().parts[attempt.part];
  }
  // [protected spans of read_part()], in the call's text.
  const std::vector<TextSpan>& origins(const Attempt& attempt) const {
    return pivot ? pivot->origins[attempt.part] : part(attempt).protected_spans;
  }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_JOB_H_
