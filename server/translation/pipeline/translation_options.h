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

// The kinds of checks of a translation (translation_checks.h).
enum class Check {
  kRepetition,
  kSourceCopied,
  kLengthRatio,
  kTruncated,
  kUnknownCharacters,
  kWrongLanguage,
  kNumbers,
  kNegation,
};

// The text stages that a result names (TextStage in inference.proto), in the
// order in which it does. The others change nothing that a client would ask
// about.
enum class TextStage {
  kUnknownLetters,
  kInvisibleCharacters,
  kLetterCase,
  kNumbers,
  kEmoji,
  kTargetLanguage,
  kLinks,
};

struct ProtectionOptions {
  std::vector<ProtectedKind> kinds;
  std::vector<std::string> patterns;  // in RE2's syntax
  // A sentence that loses placeholders may be translated in pieces.
  bool pieces = true;
};

struct CheckOptions {
  // Empty: all, but kWrongLanguage only if CLD2 knows the target language, and
  // kNegation only between English and German.
  std::vector<Check> kinds;
  // Decoding options of a second translation of a sentence that has findings;
  // unset: there is none.
  std::optional<CallDecoding> second_try;
};

struct GlossaryOptions {
  struct Term {
    std::string source;
    std::string target;
    std::optional<bool> match_case = std::nullopt;  // as in Glossary::Term
  };
  std::vector<Term> terms;
  bool inflections = false;
};

// Options of one model that translates the inputs of a call. A path of two
// models has one of these for each (translation_path.h).
struct TranslationOptions {
  std::string path;  // names the options in errors: "options"
  OptionSet given;   // the call's options; they pass CheckExclusions
  std::shared_ptr<const TranslatingModel> model;
  CallDecoding decoding;
  // Cut texts into sentences. If false, a text is one part, and a text with
  // markup has one part for each line.
  bool split = true;
  bool report_sentences = false;
  bool report_tokens = false;
  bool report_words = false;
  // The text stages run. A text with a target prefix does without them.
  bool text_stages = false;
  // The call names the language of its texts, or they are a pivot's.
  bool source_named = true;
  std::optional<MarkupFormat> format;
  std::optional<ProtectionOptions> protect;
  std::optional<CheckOptions> checks;
  std::optional<GlossaryOptions> glossary;
  std::optional<MapSelection> cross_attention;
  std::optional<MapSelection> decoder_attention;
  size_t max_parts = 2048;  // in a text, and in one round of an input
  int max_beam_size = 16;
  // Returns an error once nobody waits for the answer; asked every few KiB. May
  // be null.
  AliveCheck check_alive = {};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_OPTIONS_H_
