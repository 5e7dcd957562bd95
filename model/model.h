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
#include "model/tokenizer/tokenizer.h"

namespace trivium {

enum class Precision { kAuto, kF32, kBf16, kInt8 };

// "auto", "f32", "bf16", "int8".
std::string_view PrecisionName(Precision precision);
absl::StatusOr<Precision> ParsePrecision(std::string_view name);

struct EngineOptions {
  int64_t kv_cache_bytes = 0;  // of KV blocks, rounded down to blocks
  // That run a step, the caller's among them. Bits do not depend on them where
  // ModelInfo::batch_invariant.
  int threads = 1;
  // Of kv_cache_bytes, what is kept of beginnings that nobody reads at the
  // moment, for who begins alike; unset: all that nobody needs.
  std::optional<int64_t> prefix_cache_bytes = std::nullopt;
};

// The three ways that meet here.
enum class Design { kEncoder, kDecoder, kEncoderDecoder };

struct LoadOptions {
  Precision precision = Precision::kAuto;
  // What a decoder's keys and values are kept in; kAuto: as `precision` has it
  // (int8: bytes with a scale for each token and head). bf16 and f32 are more
  // exact, and take 2 and 4 times the memory. Encoders keep none.
  Precision kv_precision = Precision::kAuto;
  // Restrict each translation to the tokens that the folder's
  // shortlist.safetensors has for its source: faster, and now and then another
  // translation. An error where there is no such file.
  bool vocabulary_shortlist = false;
};

struct Language {
  std::string bcp47;  // "de"
  std::string code;   // the folder's own, ">>deu<<" or "de"

  friend bool operator==(const Language&, const Language&) = default;
};

// What a model's head says.
struct HeadInfo {
  HeadKind kind = HeadKind::kClassify;
  // How logits become scores.
  enum class Scores { kSoftmax, kSigmoid, kNone };
  Scores scores = Scores::kSoftmax;
  // [outputs] of classification and tagging: id2label, or "LABEL_0"... A
  // discriminator's one logit is that of the second of two.
  std::vector<std::string> labels;
};

class ChatTemplates;
class PairTemplate;

// What GetModel tells.
struct ModelInfo {
  std::string folder;
  std::string family;  // "marian"
  Design design = Design::kEncoderDecoder;
  Precision precision = Precision::kF32;  // never kAuto
  // Of the keys and values that a decoder keeps; unset: it has no decoder.
  std::optional<Precision> kv_precision;
  Isa isa = Isa::kAvx2;
  // Of a decoder's keys and values for a sequence that reads as much as the
  // model can, source and target; 0: it has no decoder.
  int64_t longest_kv_bytes = 0;
  bool batch_invariant = false;  // found by the start-up self-test
  int64_t parameters = 0;
  int64_t weight_bytes = 0;  // as served
  std::string revision;      // hex digest of config and weights' headers
  int d_model = 0;
  int max_source_tokens = 0;
  int max_target_tokens = 0;
  int vocabulary = 0;
  bool vocabulary_shortlist = false;
  int type_vocabulary = 0;       // segments; 0: none
  int pooled_size = 0;           // of the pooler's output; 0: no pooler
  std::optional<HeadInfo> head;  // of encoder-only models
  // The id that stands for a word to be filled in, where there is one.
  std::optional<int32_t> mask_id;
  int encoder_layers = 0;
  int decoder_layers = 0;
  int encoder_heads = 0;  // of queries, in every layer
  int decoder_heads = 0;
  int decoder_kv_heads = 0;  // of keys and values; divides decoder_heads
  // [decoder_layers] tokens that one sees, itself counted; 0: all. Empty: all.
  std::vector<int> decoder_windows;
  bool recurrent_decoder = false;          // without self-attention
  std::vector<Language> source_languages;  // empty: not known or not needed
  std::vector<Language> target_languages;
  // Of calls that name none; unset: they must, or there is no choice.
  std::optional<Language> default_target_language;
};

// What a model is told to do with texts: into which language to translate them,
// from which, or another task of its folder.
struct Direction {
  const Task* task = nullptr;    // of Model::tasks()
  std::string text_prefix = {};  // what texts begin with
  // Before and behind a text's tokens, and whether those of the tokenizer's own
  // are there, too.
  std::vector<int32_t> prefix_ids = {};
  std::vector<int32_t> suffix_ids = {};
  bool add_special_tokens = true;
  // The decoder's, instead of decoder_prefix().
  std::optional<int32_t> start_id = std::nullopt;
  // Of what the decoder writes, a target prefix included.
  std::optional<int32_t> forced_first_id = std::nullopt;
  // BCP 47 ("de"), as ModelInfo has them; empty: not known.
  std::string source_language = {};
  std::string target_language = {};
};

// Models are mapped files while they load; one that is cut short meanwhile is
// an error, for which the process's SIGBUS is handled. After this call it is
// not, and such a file ends the process. Before the first Load.
void LeaveSignalsAlone();

// A loaded model: tokenizer, configuration and weights; the one door into
// this folder. Immutable and thread-safe; engines are made from it, one a
// worker.
class Model {
 public:
  // Loads an ordinary Hugging Face folder: config.json, generation_config.json
  // (optional), model.safetensors (single or sharded) or pytorch_model.bin,
  // and the tokenizer's files (without them the model serves token ids only);
  // a .gguf file; or Marian's own files (model/marian/marian_model.h).
  // The error names the file, what is wrong and how to mend it.
  static absl::StatusOr<std::unique_ptr<Model>> Load(
      const std::string& folder, const LoadOptions& options);

  // Whether there is what looks like a model: a folder, or a .gguf file.
  static bool IsAt(const std::string& path);

  // Every problem of a folder at once, for --check; empty when it would load.
  static std::vector<std::string> Check(const std::string& folder,
                                        const LoadOptions& options);

  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;
  // Null when the folder has no tokenizer files.
  virtual const Tokenizer* tokenizer() const = 0;

  // How the folder makes embeddings of token vectors.
  virtual const SentenceEncoder& sentence_encoder() const;

  // How pairs of texts are read whose relation a decoder scores; null: as the
  // tokenizer reads pairs.
  virtual const PairTemplate* pair_template() const { return nullptr; }

  // Of decoders alone; empty where the folder has none.
  virtual const ChatTemplates& chat_templates() const;

  // The folder's generation_config.json (or config.json in older folders)
  // over Transformers' defaults. max_new_tokens is the most the model allows.
  virtual const DecodingOptions& decoding_defaults() const = 0;
  // What the decoder reads first: {decoder_start_token_id}; empty for
  // decoder-only models, whose prompt is the prefix.
  virtual const std::vector<int32_t>& decoder_prefix() const = 0;

  // What an encoder-decoder's folder says that it was taught.
  virtual std::span<const Task> tasks() const { return {}; }

  // An unset language is allowed where the model has exactly one, or names one.
  // Accepts BCP 47, English names and the folder's own code. INVALID_ARGUMENT
  // lists the choices, or the nearest of many.
  virtual absl::StatusOr<Direction> ResolveDirection(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const = 0;

  // RESOURCE_EXHAUSTED when the cache has no room for any sequence. Memory is
  // taken from the system when it is first touched.
  virtual absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      const EngineOptions& options) const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MODEL_H_
