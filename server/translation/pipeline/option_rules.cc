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

// [CallOption] the names of their fields in the options, or in the input.
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
// Options that ask for details of a single search.
constexpr OptionSet kSearchDetails = {kCrossAttention, kDecoderAttention,
                                      kTrace};

// If one of `given` is set, none of `refused` may be. `why` follows the name of
// the refused option in the error; "$0" stands for the name of the given one.
struct Exclusion {
  OptionSet given;
  OptionSet refused;
  const char* why;
};
constexpr Exclusion kExclusions[] = {
    {{kWholeTexts}, {kSentences}, "is given, and texts are not split"},
    {{kOtherTask},
     {kFormat, kProtect, kGlossary},
     "is for translations, but the task is not one"},
    {{kOtherTask}, {kChecks}, "are for translations, but the task is not one"},
    {{kFormat},
     kSearchDetails,
     "is about one search, but sentences with markup may take several"},
    {{kProtect},
     kSearchDetails,
     "is about one search, but sentences with protected spans may take "
     "several"},
    {{kSecondTry},
     kSearchDetails,
     "is about one search, but checks.second_try makes a second one"},
    {{kWords},
     {kCrossAttention},
     "is also read for words, whose layers and rows may differ"},
    {{kProtect},
     {kWords},
     "are those that the model reads and writes, which are placeholders where "
     "spans are protected"},
    {{kFormat},
     {kWords},
     "are those that the model reads and writes, which have no markup"},
    {{kDraws}, {kGlossary}, "is for searches, and decoding draws tokens"},
    {{kSecondTryDraws},
     {kGlossary},
     "is for searches, and checks.second_try draws tokens"},
    {{kFormat, kProtect},
     kTargetPrefixes,
     "is about one search, but $0 may take several"},
    {{kChecks, kGlossary},
     kTargetPrefixes,
     "is a part of a translation, but $0 is about whole ones"},
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
      fmt::format("is about texts, but {} is not a text; leave it out",
                  paths.input));
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
