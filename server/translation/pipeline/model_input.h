#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_MODEL_INPUT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_MODEL_INPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/constraint_cache.h"
#include "model/engine.h"
#include "model/search/decoding.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// An input that is ready for the model.
struct PreparedInput {
  EncoderInput source;
  std::vector<int32_t> prefix;  // the decoder's first tokens
  bool has_target = false;      // `prefix` ends with the target prefix
  int truncated = 0;            // tokens cut from the text
  // The text is blank: its translation is empty, and the model is not asked.
  bool blank = false;
  // The text is longer than the model reads, and the caller will divide it.
  // Nothing else is set.
  bool too_long = false;
  // Tokens at the source's beginning that belong to the prompt, if the model's
  // pooling leaves them out; else 0.
  int prompt_tokens = 0;
  // Bytes before the text in what the tokens are of: a prefix, or a prompt.
  size_t text_begin = 0;
  // Tokens of the text in the prompt of a decoder that translates; else 0.
  int text_tokens = 0;
  // [source.ids], or of the prompt: the tokens; filled only on request, and
  // only for texts.
  std::vector<Token> tokens;
};

// Decoding options for all inputs of a call. The request's options override
// those of the model's folder, which override the documented defaults.
struct CallDecoding {
  DecodingOptions options;
  // The request leaves max_new_tokens out: each input gets the default for its
  // length.
  bool default_max_new_tokens = false;
  // The most new tokens by default; 0: only the model bounds them.
  int most_by_default = 0;
  std::vector<std::string> stop;
  bool keep_stop = false;  // the text has the stop that ends it
  std::shared_ptr<const StopMatcher> matcher;  // null without `stop`
  std::optional<ConstraintText> constraint;    // not compiled yet
};

// The attention maps that a call asks for. They are computed whole; only the
// rows in `rows` are sent.
struct MapSelection {
  AttentionSelection maps;
  std::vector<int> rows;  // queries, ascending; empty: all
};

// The beginning of a translation, which the call gives as a text, as ids or not
// at all.
struct GivenPrefix {
  std::optional<std::string> text = std::nullopt;
  std::optional<std::vector<uint32_t>> ids = std::nullopt;

  bool empty() const { return !text && !ids; }
};

// An input of a call: a text, a pair of texts, or ids. If none is set, no model
// can read it.
struct TranslationInput {
  struct Pair {
    std::string first, second;
  };
  struct Ids {
    std::vector<uint32_t> ids, type_ids;
  };

  std::string path;  // names the input in errors: "inputs[3]"
  std::optional<std::string> text = std::nullopt;
  std::optional<Pair> pair = std::nullopt;
  std::optional<Ids> ids = std::nullopt;
  GivenPrefix prefix = {};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_MODEL_INPUT_H_
