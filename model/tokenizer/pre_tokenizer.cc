#include "model/tokenizer/pre_tokenizer.h"

#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

// Cuts every pre-token at the matches that `find` returns for its text.
template <typename Find>
void SplitAll(const Find& find, SplitBehavior behavior,
              PreTokenizedText* pre_tokenized, bool invert = false) {
  std::vector<PreTokenizedText::PreToken> out;
  out.reserve(pre_tokenized->pre_tokens.size());
  for (const PreTokenizedText::PreToken& pre_token :
       pre_tokenized->pre_tokens) {
    if (Interrupted(pre_token.end - pre_token.begin)) break;
    if (pre_token.token >= 0) {
      out.push_back(pre_token);
      continue;
    }
    std::vector<ByteSpan> matches = find(pre_token.view(pre_tokenized->text));
    for (ByteSpan& match : matches) {
      match.begin += pre_token.begin;
      match.end += pre_token.begin;
    }
    AppendSplit(pre_token.begin, pre_token.end, matches, behavior, invert,
                &out);
  }
  pre_tokenized->pre_tokens = std::move(out);
}

// Returns the characters for which a predicate is true, as matches.
template <typename Predicate>
auto Characters(Predicate predicate) {
  return [predicate](std::string_view text) {
    std::vector<ByteSpan> matches;
    for (size_t at = 0; at < text.size();) {
      const uint32_t begin = static_cast<uint32_t>(at);
      if (predicate(NextCharacter(text, &at))) {
        matches.push_back({begin, static_cast<uint32_t>(at)});
      }
    }
    return matches;
  };
}

template <typename Function>
class FunctionPreTokenizer : public PreTokenizer {
 public:
  explicit FunctionPreTokenizer(Function function)
      : function_(std::move(function)) {}
  void Apply(PreTokenizedText* pre_tokenized) const override {
    function_(pre_tokenized);
  }

 private:
  const Function function_;
};

template <typename Function>
std::unique_ptr<PreTokenizer> MakePreTokenizer(Function function) {
  return std::make_unique<FunctionPreTokenizer<Function>>(std::move(function));
}

class Split : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void Apply(PreTokenizedText* pre_tokenized) const override {
    const auto find = [&](std::string_view text) {
      absl::StatusOr<std::vector<ByteSpan>> found = pattern_->Find(text);
      pre_tokenized->status.Update(found.status());
      return pre_tokenized->status.ok() ? *std::move(found)
                                        : std::vector<ByteSpan>();
    };
    SplitAll(find, behavior_, pre_tokenized, invert_);
  }

 private:
  const std::unique_ptr<Pattern> pattern_;
  const SplitBehavior behavior_;
  const bool invert_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(
      std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}

  void Apply(PreTokenizedText* pre_tokenized) const override {
    for (const auto& step : steps_) step->Apply(pre_tokenized);
  }

 private:
  const std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeBertPreTokenizer() {
  return MakePreTokenizer([](PreTokenizedText* pre_tokenized) {
    SplitAll(Characters(IsWhiteSpace), SplitBehavior::kRemoved, pre_tokenized);
    SplitAll(Characters(IsPunctuation), SplitBehavior::kIsolated,
             pre_tokenized);
  });
}

std::unique_ptr<PreTokenizer> MakeWhitespaceSplit() {
  return MakePreTokenizer([](PreTokenizedText* pre_tokenized) {
    SplitAll(Characters(IsWhiteSpace), SplitBehavior::kRemoved, pre_tokenized);
  });
}

std::unique_ptr<PreTokenizer> MakePunctuation(SplitBehavior behavior) {
  return MakePreTokenizer([behavior](PreTokenizedText* pre_tokenized) {
    SplitAll(Characters(IsPunctuation), behavior, pre_tokenized);
  });
}

std::unique_ptr<PreTokenizer> MakeDigits(bool individual) {
  const SplitBehavior behavior =
      individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous;
  return MakePreTokenizer([behavior](PreTokenizedText* pre_tokenized) {
    SplitAll(Characters(IsNumber), behavior, pre_tokenized);
  });
}

std::unique_ptr<PreTokenizer> MakeSplit(std::unique_ptr<Pattern> pattern,
                                        SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}

std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

}  // namespace trivium
