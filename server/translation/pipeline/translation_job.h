#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_JOB_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_JOB_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/batching/request.h"
#include "server/translation/letter_case.h"
#include "server/translation/markup.h"
#include "server/translation/pipeline/pivot_text.h"
#include "server/translation/pipeline/terminology.h"
#include "server/translation/pipeline/text_parts.h"
#include "server/translation/pipeline/translated_text.h"
#include "server/translation/pipeline/word_alignment.h"
#include "server/translation/placeholders.h"
#include "server/translation/text_edits.h"

namespace trivium {

// The numbers that a reading has placeholders for, or that its search must
// write (numbers_stage.h).
struct HeldNumbers {
  std::string text;             // the reading without their placeholders
  std::vector<TextSpan> spans;  // of the numbers, in `text`
  int style = 0;                // of the placeholders
};

// One text that the model reads for an attempt, and what the model made of it.
struct Reading {
  TextSpan span;  // in TranslationJob::read(): the part, or a piece of it
  std::string
      text;  // the span as the model reads it, perhaps with placeholders
  // The places of the placeholders in `text`; filled only if tokens are needed.
  std::vector<Restored::Place> placeholders = {};

  std::optional<PreparedInput> input = std::nullopt;  // set by tokenizing
  // [input.source.ids] the bytes of the call's text that each token stands for.
  // Filled if tokens are needed; cleared after the request is made unless
  // `aligned`.
  std::vector<TextSpan> tokens = {};
  // The request asks for attention, which gives the candidate's alignment.
  bool aligned = false;
  std::optional<Terminology::Terms> terms = std::nullopt;
  std::optional<WordAlignment> words = std::nullopt;
  std::vector<int32_t> stop_ids = {};  // stop ids of the search
  RequestResult output = {};
  std::optional<HeldNumbers> held = std::nullopt;
  // The case of the span, if `text` has it in normal case.
  LetterCase letter_case = LetterCase::kNormal;
  bool whole_title = false;  // as LetterCases::Normal has it
  bool other_case = false;   // letters of `text` have another case
};

// One try at translating a part: the texts that the model reads for it.
struct Attempt {
  // `way` says how protected spans are treated. 0 .. kPlaceholderStyles - 1:
  // the model reads placeholders of that style. kInPieces: the text between the
  // spans is translated in pieces.
  static constexpr int kInPieces = kPlaceholderStyles;

  size_t part = 0;
  int way = 0;
  bool second_try = false;    // decode with checks.second_try
  bool needs_tokens = false;  // fill Reading::tokens
  // Says how missing numbers are held (numbers_stage.h). 0: they are not.
  int hold = 0;
  // Read a word by itself in another form (letter_case_stage.h).
  bool other_form = false;
  // One reading, the part; or one for each piece. Empty if the part is blank:
  // the model is not asked.
  std::vector<Reading> readings = {};
  size_t results = 0;  // readings that have their result

  bool in_pieces() const { return way == kInPieces; }
  // Returns a copy that is tokenized and has no results.
  Attempt Again() const {
    Attempt again;
    again.part = part;
    again.way = way;
    again.second_try = second_try;
    again.needs_tokens = needs_tokens;
    again.hold = hold;
    again.other_form = other_form;
    for (const Reading& reading : readings) {
      again.readings.push_back(
          {reading.span, reading.text, reading.placeholders, reading.input,
           reading.tokens, reading.aligned, reading.terms, reading.words});
      Reading& copy = again.readings.back();
      copy.held = reading.held;
      copy.letter_case = reading.letter_case;
      copy.whole_title = reading.whole_title;
      copy.other_case = reading.other_case;
    }
    return again;
  }
};

// The translation of a part by one attempt. One after the other, the stages
// turn what the model wrote into what the call's text needs.
struct TranslationCandidate {
  TranslatedText translation;
  // [hypotheses] aligns bytes of the hypothesis with bytes of the call's text;
  // each is empty unless the readings are aligned.
  std::vector<Alignment> alignments;
  // [readings] pieces that `translation` joins; empty unless in pieces.
  std::vector<TranslatedText> pieces;
  int losses = 0;  // protected spans lost, and stray placeholders
  // Numbers of the source that the best hypothesis lacks, as indices, and how
  // bad all differences of numbers are.
  std::vector<size_t> missing_numbers;
  int number_faults = 0;
  bool copied_word = false;  // a word by itself, which has a translation

  // Edits the text of hypothesis `h`. Its alignment follows the text.
  void Edit(size_t h, std::vector<TextEdit> edits) {
    std::string& text = translation.hypotheses[h].text;
    const EditedText edited(std::move(text), std::move(edits));
    if (h < alignments.size()) {
      for (AlignedWords& words : alignments[h]) {
        words.target = edited.InEdited(words.target);
      }
    }
    text = edited.text();
  }

  // Number of findings in the best hypothesis.
  int findings() const {
    int count = 0;
    for (const Finding& finding : translation.findings) {
      if (finding.hypothesis == 0) ++count;
    }
    return count;
  }
};

// An input of a call on its way through one pipeline, or through two. The
// second pipeline translates the first one's translations, part by part.
struct TranslationJob {
  std::string path;  // names the input in errors: "inputs[3]"
  // The call's text. If it has markup, this is the text that people read.
  TextParts text;
  std::optional<Markup> markup;
  // Set if a stage edited the call's text before it was cut: `text` has the
  // edited one, and results go back to the original.
  std::optional<EditedText> edited;
  std::vector<TextSpan> protected_spans;  // in the call's text
  GivenPrefix prefix;                     // empty if there are several parts
  // The first pipeline's translations of the parts; set for the second
  // pipeline.
  std::optional<PivotText> pivot;

  // The requests to submit; the caller moves them out. Empty if there is
  // nothing to ask.
  std::vector<Request> requests;
  int64_t response_bytes = 0;  // estimate, without the text
  // Attempts that wait for results, in the order of their requests.
  std::deque<Attempt> pending;
  std::vector<std::optional<TranslationCandidate>> best;  // [text.parts]
  // Those that changed the whole text or left sentences as they are.
  std::set<TextStage> text_stages;

  bool done() const { return pending.empty(); }
  // The parts as the model reads them: in the pivot language, if `pivot` is
  // set.
  const TextParts& read() const { return pivot ? pivot->text : text; }
  const TextParts::Part& part(const Attempt& attempt) const {
    return text.parts[attempt.part];
  }
  const TextParts::Part& read_part(const Attempt& attempt) const {
    return read().parts[attempt.part];
  }
  // [protected spans of read_part()] their places in the call's text.
  const std::vector<TextSpan>& origins(const Attempt& attempt) const {
    return pivot ? pivot->origins[attempt.part] : part(attempt).protected_spans;
  }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_JOB_H_
