#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_MODEL_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_MODEL_H_

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "model/chat_template.h"
#include "model/model.h"
#include "server/batching/served_model.h"

namespace trivium {

// A tokenizer whose tokens are bytes: id = byte + kFirst, and 0 ends a text.
// So tests can read ids, and a character of several bytes comes in several
// tokens.
class PuppetTokenizer : public Tokenizer {
 public:
  static constexpr int32_t kEnd = 0;
  static constexpr int32_t kFirst = 4;
  static constexpr int kVocabulary = kFirst + 256;

  bool pairs = false;
  // A byte of texts whose token is special, as that of an unknown word.
  char unknown = '\0';
  // If set, hears of each text that is tokenized, before it is.
  std::function<void(std::string_view)> heard;

  std::vector<Token> TokensOf(std::string_view text) const {
    std::vector<Token> tokens;
    int characters = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (!IsContinuation(text[i])) ++characters;
      Token token;
      token.id = kFirst + static_cast<unsigned char>(text[i]);
      token.piece = IdToPiece(token.id, TextSide::kSource);
      token.byte_begin = static_cast<int>(i);
      token.byte_end = static_cast<int>(i) + 1;
      token.char_begin = characters - 1;
      token.char_end = characters;
      token.special = text[i] == unknown && unknown != '\0';
      tokens.push_back(std::move(token));
    }
    return tokens;
  }

  absl::StatusOr<Encoding> Encode(std::string_view text,
                                  const EncodeOptions& options) const override {
    if (heard) heard(text);
    if (absl::Status alive = options.check_alive(); !alive.ok()) return alive;
    const size_t added = options.prefix_ids.size() + options.suffix_ids.size() +
                         (options.add_special_tokens ? 1 : 0);
    const size_t room =
        options.max_tokens > 0 ? options.max_tokens - added : text.size();
    std::vector<Token> own = TokensOf(text);
    Encoding encoding;
    if (own.size() > room) {
      encoding.truncated = static_cast<int>(own.size() - room);
      const auto begin = own.begin() + (options.truncate_left ? 0 : room);
      own.erase(begin, begin + encoding.truncated);
    }
    for (const int32_t id : options.prefix_ids) {
      Token token;
      token.id = id;
      token.special = true;
      encoding.tokens.push_back(std::move(token));
    }
    std::move(own.begin(), own.end(), std::back_inserter(encoding.tokens));
    if (options.add_special_tokens) {
      Token end;
      end.id = kEnd;
      end.piece = "</s>";
      end.byte_begin = end.byte_end = static_cast<int>(text.size());
      end.char_begin = end.char_end = static_cast<int>(CountCharacters(text));
      end.special = true;
      encoding.tokens.push_back(std::move(end));
    }
    for (const int32_t id : options.suffix_ids) {
      Token token;
      token.id = id;
      token.special = true;
      encoding.tokens.push_back(std::move(token));
    }
    for (const Token& token : encoding.tokens) encoding.ids.push_back(token.id);
    if (!options.with_tokens) encoding.tokens.clear();
    return encoding;
  }

  // "<end>" is the end where it is not literal.
  absl::StatusOr<Encoding> EncodeParts(
      std::span<const TextPart> parts,
      const EncodeOptions& options) const override {
    constexpr std::string_view kSpelled = "<end>";
    Encoding encoding;
    for (const TextPart& part : parts) {
      std::string_view text = part.text;
      while (!text.empty()) {
        const bool end = !part.literal && text.starts_with(kSpelled);
        encoding.ids.push_back(
            end ? kEnd : kFirst + static_cast<unsigned char>(text[0]));
        text.remove_prefix(end ? kSpelled.size() : 1);
      }
    }
    return encoding;
  }

  // Both texts with their ends, as segments 0 and 1.
  absl::StatusOr<FirstText> TokenizeFirst(
      std::string_view first, const EncodeOptions& options) const override {
    if (heard) heard(first);
    if (!pairs) {
      return absl::FailedPreconditionError("the model does not read pairs");
    }
    return FirstText{.tokens = TokensOf(first)};
  }
  absl::StatusOr<Encoding> EncodeSecond(
      const FirstText& first, std::string_view second,
      const EncodeOptions& options) const override {
    if (heard) heard(second);
    const absl::StatusOr<std::vector<Token>> tokens =
        AddSpecialTokens(first.tokens, TokensOf(second));
    if (!tokens.ok()) return tokens.status();
    Encoding encoding;
    for (const Token& token : *tokens) {
      encoding.ids.push_back(token.id);
      encoding.type_ids.push_back(token.type_id);
    }
    return encoding;
  }

  // As EncodeSecond.
  absl::StatusOr<std::vector<Token>> AddSpecialTokens(
      std::vector<Token> first,
      std::optional<std::vector<Token>> second) const override {
    if (second && !pairs) {
      return absl::FailedPreconditionError("the model does not read pairs");
    }
    Token end;
    end.id = kEnd;
    end.special = true;
    end.text_index = -1;
    first.push_back(end);
    if (!second) return first;
    end.type_id = 1;
    for (Token& token : *second) {
      token.type_id = 1;
      token.text_index = 1;
      first.push_back(std::move(token));
    }
    first.push_back(end);
    return first;
  }
  int special_token_count(bool pair) const override { return pair ? 2 : 1; }

  std::string Decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) {
      if (id >= kFirst && id < kVocabulary) {
        text += static_cast<char>(id - kFirst);
      }
    }
    return text;
  }

  std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const override {
    // Keeps the bytes of a character until it is whole.
    class Decoder : public StreamingDecoder {
     public:
      std::string Push(int32_t id) override {
        if (id < kFirst) return "";
        held_ += static_cast<char>(id - kFirst);
        return WholeSize(held_) == 0 ? "" : std::exchange(held_, "");
      }
      std::string Finish() override { return std::exchange(held_, ""); }

     private:
      std::string held_;
    };
    return std::make_unique<Decoder>();
  }

  int vocabulary_size(TextSide) const override { return kVocabulary; }
  std::string IdToPiece(int32_t id, TextSide) const override {
    return id >= kFirst && id < kVocabulary ? "byte" + std::to_string(id - 4)
                                            : "</s>";
  }
  int32_t PieceToId(std::string_view, TextSide) const override { return -1; }
};

// A model without weights, for tests of what lies above: they give it the
// shape they need.
class PuppetModel : public Model {
 public:
  explicit PuppetModel(Design design = Design::kEncoderDecoder) {
    info_.family = "puppet";
    info_.design = design;
    info_.batch_invariant = true;
    info_.revision = "r1";
    info_.d_model = 2;
    info_.max_source_tokens = 64;
    info_.max_target_tokens = 128;
    info_.vocabulary = PuppetTokenizer::kVocabulary;
    info_.encoder_layers = design == Design::kDecoder ? 0 : 3;
    info_.decoder_layers = design == Design::kEncoder ? 0 : 2;
    info_.encoder_heads = info_.decoder_heads = 4;
    info_.source_languages = {{"en", "en"}};
    info_.target_languages = {{"de", "de"}};
    decoding_.max_new_tokens = 127;
    decoding_.beam_size = 2;
    decoding_.end_ids = {PuppetTokenizer::kEnd};
    if (design != Design::kDecoder) prefix_ = {1};
  }

  ModelInfo& mutable_info() { return info_; }
  DecodingOptions& mutable_decoding() { return decoding_; }
  PuppetTokenizer& mutable_tokenizer() { return *tokenizer_; }
  void RemoveTokenizer() { tokenizer_.reset(); }
  void ReadPairs() {
    tokenizer_->pairs = true;
    info_.type_vocabulary = 2;
  }
  SentenceEncoder& mutable_sentence_encoder() { return sentence_encoder_; }

  const ModelInfo& info() const override { return info_; }
  const Tokenizer* tokenizer() const override {
    return tokenizer_ ? &*tokenizer_ : nullptr;
  }
  const SentenceEncoder& sentence_encoder() const override {
    return sentence_encoder_;
  }
  ChatTemplates& mutable_chat_templates() { return chat_templates_; }
  const ChatTemplates& chat_templates() const override {
    return chat_templates_;
  }
  const DecodingOptions& decoding_defaults() const override {
    return decoding_;
  }
  const std::vector<int32_t>& decoder_prefix() const override {
    return prefix_;
  }
  std::vector<Task>& mutable_tasks() { return tasks_; }
  std::span<const Task> tasks() const override { return tasks_; }
  Direction& mutable_direction() { return direction_; }
  // What it translates from and to; at first "en" and "de".
  void set_languages(const std::vector<std::string>& sources,
                     const std::vector<std::string>& targets) {
    info_.source_languages.clear();
    info_.target_languages.clear();
    for (const std::string& tag : sources) {
      info_.source_languages.push_back({tag, tag});
    }
    for (const std::string& tag : targets) {
      info_.target_languages.push_back({tag, tag});
    }
  }
  absl::StatusOr<Direction> ResolveDirection(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const override {
    Direction direction = direction_;
    const auto choose = [](std::optional<std::string_view> name,
                           const std::vector<Language>& languages,
                           std::string* tag) {
      for (const Language& language : languages) {
        if (name ? language.bcp47 == *name : languages.size() == 1) {
          *tag = language.bcp47;
          return true;
        }
      }
      return false;
    };
    if (!choose(source_language, info_.source_languages,
                &direction.source_language) ||
        !choose(target_language, info_.target_languages,
                &direction.target_language)) {
      return absl::InvalidArgumentError("this model translates en to de");
    }
    return direction;
  }
  absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      const EngineOptions&) const override {
    return absl::FailedPreconditionError("a puppet has no engine");
  }

 private:
  ModelInfo info_;
  SentenceEncoder sentence_encoder_;
  ChatTemplates chat_templates_;
  DecodingOptions decoding_;
  std::vector<int32_t> prefix_;
  std::vector<Task> tasks_;
  Direction direction_{.source_language = "en", .target_language = "de"};
  std::optional<PuppetTokenizer> tokenizer_{std::in_place};
};

// A puppet, as a server serves it.
inline ModelHandle ServedPuppet(
    std::string name,
    std::unique_ptr<PuppetModel> model = std::make_unique<PuppetModel>(),
    int64_t result_cache_bytes = 0) {
  return std::make_shared<const ServedModel>(
      ServedModel{.name = std::move(name),
                  .model = std::move(model),
                  .kv_cache_bytes = 7,
                  .result_cache_bytes = result_cache_bytes});
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_MODEL_H_
