// Converts translated texts to messages. Spans become offsets in bytes and
// characters here. The spans of each text are converted in its order, so it is
// read only once (CharacterPlaces).
#include "server/calls/convert/translation_results.h"

#include <string>
#include <utility>

#include "server/calls/convert/character_places.h"
#include "server/calls/convert/convert.h"

namespace trivium {
namespace {

v1::Check ToProto(Check check) {
  switch (check) {
    case Check::kRepetition:
      return v1::CHECK_REPETITION;
    case Check::kSourceCopied:
      return v1::CHECK_SOURCE_COPIED;
    case Check::kLengthRatio:
      return v1::CHECK_LENGTH_RATIO;
    case Check::kTruncated:
      return v1::CHECK_TRUNCATED;
    case Check::kUnknownCharacters:
      return v1::CHECK_UNKNOWN_CHARACTERS;
    case Check::kWrongLanguage:
      return v1::CHECK_WRONG_LANGUAGE;
    case Check::kNumbers:
      return v1::CHECK_NUMBERS;
    case Check::kNegation:
      return v1::CHECK_NEGATION;
  }
  return v1::CHECK_UNSPECIFIED;
}

v1::TextStage ToProto(TextStage stage) {
  switch (stage) {
    case TextStage::kUnknownLetters:
      return v1::TEXT_STAGE_UNKNOWN_LETTERS;
    case TextStage::kInvisibleCharacters:
      return v1::TEXT_STAGE_INVISIBLE_CHARACTERS;
    case TextStage::kLetterCase:
      return v1::TEXT_STAGE_LETTER_CASE;
    case TextStage::kNumbers:
      return v1::TEXT_STAGE_NUMBERS;
    case TextStage::kEmoji:
      return v1::TEXT_STAGE_EMOJI;
    case TextStage::kTargetLanguage:
      return v1::TEXT_STAGE_TARGET_LANGUAGE;
    case TextStage::kLinks:
      return v1::TEXT_STAGE_LINKS;
  }
  return v1::TEXT_STAGE_UNSPECIFIED;
}

v1::TargetWord ConvertWord(const TargetWord& in,
                           const v1::SentencePair::Span& place) {
  v1::TargetWord out;
  out.set_byte_begin(place.byte_begin());
  out.set_byte_end(place.byte_end());
  out.set_char_begin(place.char_begin());
  out.set_char_end(place.char_end());
  out.set_mean_logprob(in.mean_logprob);
  out.set_min_logprob(in.min_logprob);
  out.mutable_source_words()->Add(in.source_words.begin(),
                                  in.source_words.end());
  return out;
}

void SetMap(const std::optional<AttentionMap>& in,
            const std::optional<MapSelection>& selection,
            v1::Attention* (v1::Hypothesis::*mutable_map)(),
            v1::Hypothesis* out) {
  if (in && selection) {
    *(out->*mutable_map)() = ConvertAttention(*in, selection->rows);
  }
}

v1::Hypothesis ConvertHypothesis(TranslatedHypothesis in,
                                 const TranslationOptions& options) {
  const Tokenizer* const tokenizer = options.model->tokenizer();
  v1::Hypothesis out;
  out.set_score(in.score);
  out.set_total_logprob(in.log_probability);
  out.set_token_count(static_cast<uint32_t>(in.token_count));
  out.set_finish_reason(ConvertFinishReason(in.reason));
  // Without a tokenizer the ids are the answer.
  if (options.report_tokens || tokenizer == nullptr) {
    out.mutable_ids()->Add(in.ids.begin(), in.ids.end());
  }
  if (options.report_tokens) {
    AddPieces(in.ids, tokenizer, TextSide::kTarget, out.mutable_pieces());
  }
  for (size_t i = 0; i < in.top_logprobs.size(); ++i) {
    *out.add_logprobs() = ConvertLogprobs(in.ids[i], in.logprobs[i],
                                          in.top_logprobs[i], tokenizer);
  }
  CharacterPlaces places;
  for (const TargetWord& word : in.words) {
    *out.add_words() = ConvertWord(word, places.Next(in.text, word.span));
  }
  SetMap(in.cross_attention, options.cross_attention,
         &v1::Hypothesis::mutable_cross_attention, &out);
  SetMap(in.decoder_attention, options.decoder_attention,
         &v1::Hypothesis::mutable_decoder_attention, &out);
  out.set_text(std::move(in.text));
  return out;
}

void AddSentences(const TranslatedText& in, v1::TranslateResult* out) {
  CharacterPlaces source;
  std::vector<CharacterPlaces> targets(in.hypotheses.size());
  for (const SentencePair& sentence : in.sentences) {
    v1::SentencePair* const pair = out->add_sentences();
    *pair->mutable_source() = source.Next(in.source, sentence.source);
    for (size_t h = 0; h < sentence.targets.size(); ++h) {
      *pair->add_targets() =
          targets[h].Next(in.hypotheses[h].text, sentence.targets[h]);
    }
    pair->set_cut(sentence.cut);
  }
}

// Adds what is reported at places of the source.
void AddFindings(const TranslatedText& in, v1::TranslateResult* out) {
  CharacterPlaces lost_places, finding_places, use_places, word_places;
  for (const LostSpan& lost : in.lost) {
    v1::UnkeptSpan* const added = out->add_unkept();
    added->set_text(lost.text);
    *added->mutable_source() = lost_places.Next(in.source, lost.source);
    added->set_hypothesis(static_cast<uint32_t>(lost.hypothesis));
    added->set_count(static_cast<uint32_t>(lost.count));
  }
  for (const Finding& finding : in.findings) {
    v1::Suspicion* const added = out->add_suspicions();
    added->set_check(ToProto(finding.check));
    *added->mutable_source() = finding_places.Next(in.source, finding.source);
    added->set_hypothesis(static_cast<uint32_t>(finding.hypothesis));
  }
  for (const TermUse& use : in.term_uses) {
    v1::GlossaryUse* const added = out->add_glossary_uses();
    added->set_term(static_cast<uint32_t>(use.term));
    *added->mutable_source() = use_places.Next(in.source, use.source);
    added->mutable_missing()->Add(use.missing.begin(), use.missing.end());
  }
  for (const TextSpan& word : in.source_words) {
    *out->add_source_words() = word_places.Next(in.source, word);
  }
}

v1::TranslateResult ConvertText(TranslatedText in,
                                const TranslationOptions& options) {
  v1::TranslateResult out;
  AddSentences(in, &out);
  AddFindings(in, &out);
  for (TranslatedHypothesis& hypothesis : in.hypotheses) {
    *out.add_hypotheses() = ConvertHypothesis(std::move(hypothesis), options);
  }
  const Tokenizer* const tokenizer = options.model->tokenizer();
  if (in.trace) *out.mutable_beam_trace() = ConvertTrace(*in.trace, tokenizer);
  out.set_source_token_count(static_cast<uint32_t>(in.source_tokens));
  out.set_truncated_tokens(static_cast<uint32_t>(in.truncated_tokens));
  AddPieces(in.source_ids, tokenizer, TextSide::kSource,
            out.mutable_source_pieces());
  AddPieces(in.prefix_ids, tokenizer, TextSide::kTarget,
            out.mutable_prefix_pieces());
  if (in.seed) out.set_seed(*in.seed);
  out.set_sentence_count(static_cast<uint32_t>(in.sentence_count));
  out.set_cut_count(static_cast<uint32_t>(in.cut_count));
  out.set_second_try_count(static_cast<uint32_t>(in.second_try_count));
  out.set_second_kept_count(static_cast<uint32_t>(in.second_kept_count));
  for (const TextStage stage : in.text_stages) {
    out.add_text_stages(ToProto(stage));
  }
  return out;
}

}  // namespace

v1::TranslateResult ConvertTranslation(RoutedText in) {
  v1::TranslateResult out;
  if (in.last != nullptr) {
    out = ConvertText(std::move(in.text), *in.last);
  } else {
    v1::Hypothesis* const unchanged = out.add_hypotheses();
    unchanged->set_text(std::move(in.text.hypotheses[0].text));
    unchanged->set_finish_reason(v1::FINISH_REASON_END);
  }
  for (const ReportedStep& step : in.route) {
    v1::TranslationStep* const added = out.add_route();
    added->mutable_model()->set_name(step.model);
    added->mutable_model()->set_revision(step.revision);
    added->set_source_language(step.source_language);
    added->set_target_language(step.target_language);
  }
  for (const LanguageGuess& guess : in.detected) {
    v1::DetectedLanguage* const added = out.add_detected_languages();
    added->set_language(guess.language);
    added->set_confidence(static_cast<float>(guess.percent) / 100);
    added->set_reliable(guess.reliable);
  }
  return out;
}

}  // namespace trivium
