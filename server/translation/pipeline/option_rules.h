#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_OPTION_RULES_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_OPTION_RULES_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"

namespace trivium {

// Options of a call that exclude others. Where several are wrong, the first one
// of this list is named.
enum class CallOption {
  kFormat,
  kSentences,
  kProtect,
  kSplit,  // into sentences, and the call says so
  kChecks,
  kWords,
  kGlossary,
  kTargetPrefix,  // of an input, as the next one
  kTargetPrefixIds,
  kCrossAttention,
  kDecoderAttention,
  kTrace,
  kSecondTry,
  kOtherTask,       // a task that is no translation, such as a summary
  kWholeTexts,      // texts are not split
  kDraws,           // decoding draws tokens
  kSecondTryDraws,  // checks.second_try draws tokens
};
inline constexpr int kCallOptions = 17;

class OptionSet {
 public:
  constexpr OptionSet() = default;
  constexpr OptionSet(std::initializer_list<CallOption> options) {
    for (const CallOption option : options) Add(option);
  }

  constexpr void Add(CallOption option, bool given = true) {
    if (given) bits_ |= uint32_t{1} << static_cast<int>(option);
  }
  constexpr bool Has(CallOption option) const {
    return (bits_ >> static_cast<int>(option) & 1) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr OptionSet And(OptionSet other) const {
    OptionSet both;
    both.bits_ = bits_ & other.bits_;
    return both;
  }
  constexpr OptionSet Or(OptionSet other) const {
    OptionSet either;
    either.bits_ = bits_ | other.bits_;
    return either;
  }
  // The set has at least one option.
  CallOption First() const;

 private:
  uint32_t bits_ = 0;
};

// The place of options and inputs in a call, for errors.
struct OptionPaths {
  std::string options;  // "options"
  std::string input;    // "inputs[3]"; unused for options of a call
};

// INVALID_ARGUMENT if one of the options excludes another one.
absl::Status CheckExclusions(OptionSet given, const OptionPaths& paths);

// INVALID_ARGUMENT if one of the options is about texts; for an input that is
// ids or a pair of texts.
absl::Status CheckNotAboutTexts(OptionSet given, const OptionPaths& paths);

// INVALID_ARGUMENT if one of the options is about a single search; for a text
// of several sentences.
absl::Status CheckNotAboutOneSentence(OptionSet given,
                                      const OptionPaths& paths);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_OPTION_RULES_H_
