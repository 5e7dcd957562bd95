#ifndef TRIVIUM_MODEL_MODEL_H_
#define TRIVIUM_MODEL_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/isa.h"
#include "model/engine.h"
#include "model/search/decoding.h"
#include "model/sentence_encoder.h"
#include "model/task.h"
#include "model/text_kind.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

enum class Precision { kAuto, kF32, kBf16, kInt8, kInt4 };

// Returns "auto", "f32", "bf16", "int8" or "int4".
std::string_view PrecisionName(Precision precision);
absl::StatusOr<Precision> ParsePrecision(std::string_view name);
// Reads a precision of cached keys and values, which have no int4.
absl::StatusOr<Precision> ParseKvPrecision(std::string_view name);

struct EngineOptions {
  int64_t kv_cache_bytes = 0;  // memory for KV blocks; whole blocks are used
  // Threads that run a step, the caller's included. If
  // ModelInfo::batch_invariant, results do not depend on them, to the bit.
  int threads = 1;
  // Part of kv_cache_bytes that may hold cached beginnings which nobody reads
  // at the moment, for requests that begin alike; unset: all free blocks.
  std::optional<int64_t> prefix_cache_bytes = std::nullopt;
};

// The three architectures that are served.
enum class Design { kEncoder, kDecoder, kEncoderDecoder };

struct LoadOptions {
  Precision precision = Precision::kAuto;
  // Format of a decoder's keys and values; kAuto: that of `precision` (int8:
  // bytes with a scale for each token and head). bf16 and f32 are more exact
  // and take 2 and 4 times the memory. Encoders keep no keys and values.
  Precision kv_precision = Precision::kAuto;
  // Restricts each translation to the tokens that the folder's
  // shortlist.safetensors has for its source: faster, but the translation
  // sometimes differs. Loading fails if there is no such file.
  bool vocabulary_shortlist = false;
  // The prompt with which a decoder translates: the name of a TranslatorPrompt
  // (translator_prompts.h), "auto" (as its folder tells) or "none". The text
  // must outlive all uses of these options.
  std::string_view translate_with = "auto";
  // The task whose adapter is added to the weights, of a folder that has
  // adapters of several (lora_adaptations, jina-embeddings-v3); empty: none is.
  // A name T with tasks T.query and T.passage loads the model twice, for
  // queries and for documents.
  std::string task = {};
  // The folder in which packed weights are kept for the next load, which maps
  // them; empty: they are not kept.
  std::string weights_cache = {};
};

// Tells how LoadOptions::weights_cache was used.
struct WeightsCacheUse {
  enum Kind {
    kOff,         // no folder was given, or the model has no large weights
    kMapped,      // the weights are mapped from `path`
    kWritten,     // `path` was written for the next load
    kPacked,      // packed; `path` is to be written, or another process does it
    kNotWritten,  // `path` cannot be written
  };
  Kind kind = kOff;
  std::string path = {};
  std::string broken = {};       // why a file that was there is not used
  std::string not_written = {};  // why it is not written
};

struct Language {
  std::string bcp47;  // "de"
  std::string code;   // the folder's own, ">>deu<<" or "de"

  friend bool operator==(const Language&, const Language&) = default;
};

// The meaning of the outputs of a model's head.
struct HeadInfo {
  HeadKind kind = HeadKind::kClassify;
  // The function from logits to scores.
  enum class Scores { kSoftmax, kSigmoid, kNone };
  Scores scores = Scores::kSoftmax;
  // [outputs] of classification and tagging: id2label, or "LABEL_0"... A
  // discriminator has two labels; its one logit belongs to the second.
  std::vector<std::string> labels;
};

class ChatTemplates;
class Model;
class PairTemplate;
struct PromptLanguage;
struct TranslatorPrompt;

// The part of a model that reads texts of one kind.
struct TextReader {
  const Model* model;  // describes the part; belongs to the whole model
  int route;           // EncoderInput::route of its inputs
};

// Describes a loaded model; the answer of GetModel.
struct ModelInfo {
  std::string folder;
  std::string family;  // "marian"
  Design design = Design::kEncoderDecoder;
  Precision precision = Precision::kF32;  // never kAuto
  // Format of the decoder's cached keys and values; unset: it has no decoder.
  std::optional<Precision> kv_precision;
  Isa isa = Isa::kAvx2;
  // Bytes of a decoder's keys and values for a sequence as long as the model
  // can read, source and target; 0: it has no decoder.
  int64_t longest_kv_bytes = 0;
  bool batch_invariant = false;  // found by the start-up self-test
  // The quantization of the folder's weights, such as "4-bit AWQ, groups of
  // 128". Empty: they have none, or one of GGUF's or Marian's types.
  std::string quantization;
  int64_t parameters = 0;
  int64_t weight_bytes = 0;  // as served
  WeightsCacheUse weights_cache = {};
  std::string revision;  // hex digest of config and weights' headers
  int d_model = 0;
  int max_source_tokens = 0;
  int max_target_tokens = 0;
  int vocabulary = 0;
  bool vocabulary_shortlist = false;
  // True if the folder's generation settings name how tokens are drawn
  // (temperature, top_k, top_p, min_p), and how many there are at most.
  bool names_sampling = false;
  bool names_max_new_tokens = false;
  int type_vocabulary = 0;       // segments; 0: none
  int pooled_size = 0;           // size of the pooler's output; 0: no pooler
  std::optional<HeadInfo> head;  // of encoder-only models
  // The id of the mask token, which stands for a word to fill in, if any.
  std::optional<int32_t> mask_id;
  int encoder_layers = 0;
  int decoder_layers = 0;
  int encoder_heads = 0;  // query heads in every layer
  int decoder_heads = 0;
  int decoder_kv_heads = 0;  // heads of keys and values; divides decoder_heads
  // [decoder_layers] tokens that a token sees, itself included; 0: all. Empty:
  // all in every layer.
  std::vector<int> decoder_windows;
  bool recurrent_decoder = false;          // has no self-attention
  bool decoder_has_states = false;         // layers keep a state per sequence
  std::vector<Language> source_languages;  // empty: unknown or not needed
  std::vector<Language> target_languages;
  // Target of calls that name none; unset: they must name one, or there is no
  // choice.
  std::optional<Language> default_target_language;
};

// The work that a model must do with texts: languages to translate between, or
// another task of its folder.
struct Direction {
  const Task* task = nullptr;    // one of Model::tasks()
  std::string text_prefix = {};  // prefix of every text
  // Ids before and after a text's tokens, and whether the tokenizer adds its
  // own special tokens, too.
  std::vector<int32_t> prefix_ids = {};
  std::vector<int32_t> suffix_ids = {};
  bool add_special_tokens = true;
  // The decoder's start token, if not that of decoder_prefix().
  std::optional<int32_t> start_id = std::nullopt;
  // The first token that the decoder must write; a target prefix counts as
  // written.
  std::optional<int32_t> forced_first_id = std::nullopt;
  // BCP 47 ("de"), as ModelInfo has them; empty: unknown.
  std::string source_language = {};
  std::string target_language = {};
  // The same, as the prompt of a translator names them; null: unknown, or the
  // model reads no prompt.
  const PromptLanguage* prompt_source = nullptr;
  const PromptLanguage* prompt_target = nullptr;
};

// Gives up the handling of SIGBUS. Models are mapped files while they load; the
// process's SIGBUS handler turns a file that is truncated meanwhile into an
// error. After this call, such a file ends the process. Call it before the
// first Load.
void LeaveSignalsAlone();

// A loaded model: tokenizer, configuration and weights. The only entrance into
// this folder. Immutable and thread-safe; each worker makes its own engine from
// it.
class Model {
 public:
  // Loads an ordinary Hugging Face folder: config.json, generation_config.json
  // (optional), model.safetensors (single or sharded) or pytorch_model.bin, and
  // the tokenizer's files (without them the model serves token ids only). Also
  // loads a GGUF file, or Marian's own files (model/marian/marian_model.h).
  // The error names the file, what is wrong and how to fix it.
  static absl::StatusOr<std::unique_ptr<Model>> Load(
      const std::string& folder, const LoadOptions& options);

  // True if `path` looks like a model: a folder with its files, or a GGUF file.
  static bool IsAt(const std::string& path);

  // Returns every problem of a folder at once, for --check; empty if it would
  // load.
  static std::vector<std::string> Check(const std::string& folder,
                                        const LoadOptions& options);

  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;
  // Null when the folder has no tokenizer files.
  virtual const Tokenizer* tokenizer() const = 0;

  // Describes how the folder turns token vectors into embeddings.
  virtual const SentenceEncoder& sentence_encoder() const;

  // Returns what reads texts of `kind`, or texts without one: this model,
  // unless its folder has a Router. Only the whole model makes engines for its
  // parts.
  virtual TextReader ReaderOf(std::optional<TextKind> kind) const {
    return {.model = this, .route = 0};
  }

  // Describes how a decoder reads pairs of texts whose relation it scores;
  // null: as the tokenizer reads pairs.
  virtual const PairTemplate* pair_template() const { return nullptr; }

  // The prompt with which a decoder translates; null: it does not.
  virtual const TranslatorPrompt* translator_prompt() const { return nullptr; }
  // True if texts can be translated: by encoder and decoder, or by a prompt.
  bool translates() const {
    return info().design == Design::kEncoderDecoder ||
           translator_prompt() != nullptr;
  }

  // The templates of a decoder-only model; empty if the folder has none.
  virtual const ChatTemplates& chat_templates() const;

  // The folder's generation_config.json (or config.json in older folders)
  // over Transformers' defaults. max_new_tokens is the most the model allows.
  virtual const DecodingOptions& decoding_defaults() const = 0;
  // The tokens that the decoder reads first: {decoder_start_token_id}; empty
  // for decoder-only models, whose prompt is the prefix.
  virtual const std::vector<int32_t>& decoder_prefix() const = 0;

  // The tasks that an encoder-decoder's folder says it was trained on.
  virtual std::span<const Task> tasks() const { return {}; }

  // Finds the languages by BCP 47 tag, English name or the folder's own code. A
  // language may be unset if the model has exactly one or names a default.
  // INVALID_ARGUMENT lists the choices, or the nearest of many.
  virtual absl::StatusOr<Direction> ResolveDirection(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const = 0;

  // INVALID_ARGUMENT if a HeadTrace of this head cannot be had: the text goes
  // behind the name of the field that asks.
  virtual absl::Status CheckTracedHead(bool decoder,
                                       const HeadChoice& choice) const;

  // RESOURCE_EXHAUSTED if the cache has no room for any sequence. The system
  // provides memory when it is first touched.
  virtual absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      const EngineOptions& options) const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MODEL_H_
