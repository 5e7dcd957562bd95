// The tables of options that exclude each other.
#include "server/translation/pipeline/option_rules.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using enum CallOption;

// [CallOption] names of fields below the options, or the input.
constexpr std::string_view kNames[kCallOptions] = {
    "format",
    "sentences",
    "protect",
    "split",
    "checks",
    "words",
    "glossary",
    "target_prefix",
    "target_prefix_ids",
    "cross_attention",
    "decoder_attention",
    "decoding.trace",
    "checks.second_try",
    "task",
    "split",
    "decoding",
    "checks.second_try",
};

constexpr OptionSet kTargetPrefixes = {kTargetPrefix, kTargetPrefixIds};
// Results of one search.
constexpr OptionSet kSearchDetails = {kCrossAttention, kDecoderAttention,
                                      kTrace};

// With one of `given`, none of `refused` may be given. `why` follows the name
// of the refused option; "$0" stands for the name of the given one.
struct Exclusion {
  OptionSet given;
  OptionSet refused;
  const char* why;
};
constexpr Exclusion kExclusions[] = {
    {{kWholeTexts}, {kSentences}, "is given, and texts are not split"},
    {{kOtherTask},
     {kFormat, kProtect, kGlossary},
     "is for translations, and the task is another"},
    {{kOtherTask}, {kChecks}, "are of translations, and the task is another"},
    {{kFormat},
     kSearchDetails,
     "is of one search, and sentences with markup may take several"},
    {{kProtect},
     kSearchDetails,
     "is of one search, and sentences with protected spans may take several"},
    {{kSecondTry},
     kSearchDetails,
     "is of one search, and checks.second_try makes a second one"},
    {{kWords},
     {kCrossAttention},
     "is read for words, which may have other layers and rows"},
    {{kProtect},
     {kWords},
     "are of what the model reads and writes, which has placeholders where "
     "spans are protected"},
    {{kFormat},
     {kWords},
     "are of what the model reads and writes, which has no markup"},
    {{kDraws}, {kGlossary}, "is for searches, and decoding draws tokens"},
    {{kSecondTryDraws},
     {kGlossary},
     "is for searches, and checks.second_try draws tokens"},
    {{kFormat, kProtect},
     kTargetPrefixes,
     "is of one search, and $0 may take several"},
    {{kChecks, kGlossary},
     kTargetPrefixes,
     "is a part of a translation, and $0 is about whole ones"},
};

constexpr OptionSet kAboutTexts = {kFormat, kSentences, kProtect, kSplit,
                                   kChecks, kWords,     kGlossary};
constexpr OptionSet kAboutOneSentence = kTargetPrefixes.Or(kSearchDetails);

std::string FieldOf(CallOption option, const OptionPaths& paths) {
  return fmt::format("{}.{}",
                     kTargetPrefixes.Has(option) ? paths.input : paths.options,
                     kNames[static_cast<int>(option)]);
}

}  // namespace

CallOption OptionSet::First() const {
  return static_cast<CallOption>(std::countr_zero(bits_));
}

absl::Status CheckExclusions(OptionSet given, const OptionPaths& paths) {
  for (const Exclusion& exclusion : kExclusions) {
    const OptionSet reasons = given.And(exclusion.given);
    const OptionSet refused = given.And(exclusion.refused);
    if (reasons.empty() || refused.empty()) continue;
    const std::string why = absl::StrReplaceAll(
        exclusion.why, {{"$0", FieldOf(reasons.First(), paths)}});
    return InvalidField(FieldOf(refused.First(), paths),
                        why + "; leave one of them out");
  }
  return absl::OkStatus();
}

absl::Status CheckNotAboutTexts(OptionSet given, const OptionPaths& paths) {
  const OptionSet about_texts = given.And(kAboutTexts);
  if (about_texts.empty()) return absl::OkStatus();
  return InvalidField(
      FieldOf(about_texts.First(), paths),
      fmt::format("is about texts, and {} is none; leave it out", paths.input));
}

absl::Status CheckNotAboutOneSentence(OptionSet given,
                                      const OptionPaths& paths) {
  const OptionSet about_one = given.And(kAboutOneSentence);
  if (about_one.empty()) return absl::OkStatus();
  return InvalidField(
      FieldOf(about_one.First(), paths),
      fmt::format("is for one sentence, and {}.text has several; send each as "
                  "an input, or split: SPLIT_NONE",
                  paths.input));
}

}  // namespace trivium
