#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_OPTIONS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_OPTIONS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/alive_check.h"
#include "model/engine.h"
#include "server/translation/markup_pieces.h"
#include "server/translation/pipeline/model_input.h"
#include "server/translation/pipeline/option_rules.h"
#include "server/translation/pipeline/translating_model.h"
#include "server/translation/protected_spans.h"

namespace trivium {

// What a check looks for in a translation (translation_checks.h).
enum class Check {
  kRepetition,
  kSourceCopied,
  kLengthRatio,
  kTruncated,
  kUnknownCharacters,
  kWrongLanguage,
};

struct ProtectionOptions {
  std::vector<ProtectedKind> kinds;
  std::vector<std::string> patterns;  // RE2's
  // A sentence whose placeholders are lost may be translated in pieces.
  bool pieces = true;
};

struct CheckOptions {
  // Empty: all, without kWrongLanguage where CLD2 does not know the target.
  std::vector<Check> kinds;
  // How to decode a sentence again in which something is found; unset: it is
  // not translated again.
  std::optional<CallDecoding> second_try;
};

struct GlossaryOptions {
  struct Term {
    std::string source;
    std::string target;
    std::optional<bool> match_case;  // Glossary::Term's
  };
  std::vector<Term> terms;
  bool inflections = false;
};

// How one model translates the inputs of a call. A path of two models has one
// for each (translation_path.h).
struct TranslationOptions {
  std::string path;  // of the options in errors: "options"
  OptionSet given;   // which options the call has; passes CheckExclusions
  std::shared_ptr<const TranslatingModel> model;
  CallDecoding decoding;
  // Cut texts into sentences. Without it a text is one part, and a text with
  // markup has a part for each line.
  bool split = true;
  bool report_sentences = false;
  bool report_tokens = false;
  bool report_words = false;
  std::optional<MarkupFormat> format;
  std::optional<ProtectionOptions> protect;
  std::optional<CheckOptions> checks;
  std::optional<GlossaryOptions> glossary;
  std::optional<MapSelection> cross_attention;
  std::optional<MapSelection> decoder_attention;
  size_t max_parts = 2048;  // of a text, and of a round of one input
  int max_beam_size = 16;
  // Returns an error once nobody wants the answer; asked every few KiB. May be
  // null.
  AliveCheck check_alive = {};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_OPTIONS_H_
