#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_MODEL_INPUT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_MODEL_INPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/engine.h"
#include "model/search/decoding.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// An input that is ready for the model.
struct PreparedInput {
  EncoderInput source;
  std::vector<int32_t> prefix;  // the decoder's first tokens
  bool has_target = false;      // `prefix` ends with a target prefix
  int truncated = 0;            // tokens cut from the text
  // The text is blank: the answer is empty text, and the model is not asked.
  bool blank = false;
  // The text is longer than the model reads, and the caller will divide it:
  // nothing else is set.
  bool too_long = false;
  // [source.ids]; filled only on request, and only for texts.
  std::vector<Token> tokens;
};

// How to decode all inputs of a call: the request's options over the folder's
// over the documented defaults.
struct CallDecoding {
  DecodingOptions options;
  // The request leaves max_new_tokens out: each input gets the default for its
  // length.
  bool default_max_new_tokens = false;
  std::vector<std::string> stop;
  std::shared_ptr<const StopMatcher> matcher;  // null without `stop`
};

// The attention maps that a call asks for. They are computed whole; `rows` says
// which of their rows are sent.
struct MapSelection {
  AttentionSelection maps;
  std::vector<int> rows;  // queries, ascending; empty: all
};

// The beginning of a translation, given by its call: a text, ids or nothing.
struct GivenPrefix {
  std::optional<std::string> text = std::nullopt;
  std::optional<std::vector<uint32_t>> ids = std::nullopt;

  bool empty() const { return !text && !ids; }
};

// An input of a call: a text, a pair of texts, ids, or nothing, which no model
// reads.
struct TranslationInput {
  struct Pair {
    std::string first, second;
  };
  struct Ids {
    std::vector<uint32_t> ids, type_ids;
  };

  std::string path;  // in errors: "inputs[3]"
  std::optional<std::string> text = std::nullopt;
  std::optional<Pair> pair = std::nullopt;
  std::optional<Ids> ids = std::nullopt;
  GivenPrefix prefix = {};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_MODEL_INPUT_H_
