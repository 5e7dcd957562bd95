// The pre-tokenizers that make spaces visible: GPT-2's and SentencePiece's.

#include <algorithm>
#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/pre_tokenizer.h"

namespace trivium {
namespace {

class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const ByteLevelOptions& options)
      : options_(options), words_(Pattern::Gpt2Words()) {}

  void Apply(PreTokenizedText* pre_tokenized) const override {
    PreTokenizedText out;
    out.status = pre_tokenized->status;
    out.text.reserve(pre_tokenized->text.size() * 5 / 4);
    out.spans.reserve(pre_tokenized->text.size() * 5 / 4);
    out.pre_tokens.reserve(pre_tokenized->pre_tokens.size() +
                           pre_tokenized->text.size() / 4);
    std::string prefixed;
    for (const PreTokenizedText::PreToken& pre_token :
         pre_tokenized->pre_tokens) {
      if (Interrupted(pre_token.end - pre_token.begin)) break;
      std::string_view text = pre_token.view(pre_tokenized->text);
      const ByteSpan* spans = pre_tokenized->spans.data() + pre_token.begin;
      if (pre_token.token >= 0) {
        const uint32_t begin = static_cast<uint32_t>(out.text.size());
        out.text += text;
        out.spans.insert(out.spans.end(), spans, spans + text.size());
        out.pre_tokens.push_back(
            {begin, static_cast<uint32_t>(out.text.size()), pre_token.token});
        continue;
      }
      // The space in front comes from where the first character comes from.
      const size_t added =
          options_.add_prefix_space && !text.starts_with(' ') ? 1 : 0;
      if (added > 0) {
        // GCC 12 warns of an overlap if " " is assigned to a string.
        prefixed.assign(1, ' ');
        prefixed += text;
        text = prefixed;
      }
      const auto append = [&](size_t begin, size_t end) {
        const uint32_t from = static_cast<uint32_t>(out.text.size());
        for (size_t i = begin; i < end; ++i) {
          out.text += CharacterOfByteAlphabet(static_cast<uint8_t>(text[i]));
          out.spans.resize(out.text.size(), spans[i < added ? 0 : i - added]);
        }
        out.pre_tokens.push_back(
            {from, static_cast<uint32_t>(out.text.size()), -1});
      };
      if (options_.use_regex) {
        // Searching for GPT-2's words never fails.
        const std::vector<ByteSpan> words = *words_->Find(text);
        for (const ByteSpan& word : words) {
          append(word.begin, word.end);
        }
      } else {
        append(0, text.size());
      }
    }
    *pre_tokenized = std::move(out);
  }

 private:
  const ByteLevelOptions options_;
  const std::unique_ptr<Pattern> words_;
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        split_(split),
        pattern_(Pattern::Literal(replacement_)) {}

  void Apply(PreTokenizedText* pre_tokenized) const override {
    PreTokenizedText out;
    out.status = pre_tokenized->status;
    out.text.reserve(pre_tokenized->text.size() + 64);
    out.spans.reserve(pre_tokenized->text.size() + 64);
    for (const PreTokenizedText::PreToken& pre_token :
         pre_tokenized->pre_tokens) {
      if (Interrupted(pre_token.end - pre_token.begin)) break;
      const std::string_view text = pre_token.view(pre_tokenized->text);
      const ByteSpan* spans = pre_tokenized->spans.data() + pre_token.begin;
      const uint32_t begin = static_cast<uint32_t>(out.text.size());
      const auto append = [&](std::string_view part, ByteSpan span) {
        out.text += part;
        out.spans.resize(out.text.size(), span);
      };
      if (pre_token.token < 0 && Prepends(text, spans->begin)) {
        append(replacement_, *spans);
      }
      for (size_t i = 0; i < text.size(); ++i) {
        const std::string_view part = text.substr(i, 1);
        append(pre_token.token < 0 && part == " " ? replacement_ : part,
               spans[i]);
      }
      const uint32_t end = static_cast<uint32_t>(out.text.size());
      if (pre_token.token >= 0 || !split_) {
        out.pre_tokens.push_back({begin, end, pre_token.token});
        continue;
      }
      std::vector<ByteSpan> matches =
          *pattern_->Find(std::string_view(out.text).substr(begin));
      for (ByteSpan& match : matches) {
        match.begin += begin;
        match.end += begin;
      }
      AppendSplit(begin, end, matches, SplitBehavior::kMergedWithNext,
                  /*invert=*/false, &out.pre_tokens);
    }
    *pre_tokenized = std::move(out);
  }

 private:
  // `original`: where the pre_token begins in the original text.
  bool Prepends(std::string_view text, uint32_t original) const {
    if (scheme_ == PrependScheme::kNever || text.starts_with(' ') ||
        text.starts_with(replacement_)) {
      return false;
    }
    return scheme_ == PrependScheme::kAlways || original == 0;
  }

  const std::string replacement_;
  const PrependScheme scheme_;
  const bool split_;
  const std::unique_ptr<Pattern> pattern_;
};

class PrependToFirst : public PreTokenizer {
 public:
  explicit PrependToFirst(std::string text) : text_(std::move(text)) {}

  void Apply(PreTokenizedText* pre_tokenized) const override {
    if (pre_tokenized->pre_tokens.empty() ||
        pre_tokenized->pre_tokens.front().token >= 0 ||
        pre_tokenized->spans.front().begin != 0) {
      return;
    }
    pre_tokenized->text.insert(0, text_);
    pre_tokenized->spans.insert(pre_tokenized->spans.begin(), text_.size(),
                                pre_tokenized->spans.front());
    const uint32_t size = static_cast<uint32_t>(text_.size());
    for (PreTokenizedText::PreToken& pre_token : pre_tokenized->pre_tokens) {
      pre_token.begin += size;
      pre_token.end += size;
    }
    pre_tokenized->pre_tokens.front().begin = 0;
  }

 private:
  const std::string text_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakePrependToFirst(std::string text) {
  return std::make_unique<PrependToFirst>(std::move(text));
}

std::unique_ptr<PreTokenizer> MakeByteLevel(const ByteLevelOptions& options) {
  return std::make_unique<ByteLevel>(options);
}

std::unique_ptr<PreTokenizer> MakeMetaspace(std::string replacement,
                                            PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, split);
}

}  // namespace trivium
