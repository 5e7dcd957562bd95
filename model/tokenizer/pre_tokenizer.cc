#include "model/tokenizer/pre_tokenizer.h"

#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

// Cuts every segment at the matches that `find` returns for its text.
template <typename Find>
void SplitAll(const Find& find, SplitBehavior behavior, Segments* segments,
              bool invert = false) {
  std::vector<Segments::Segment> out;
  out.reserve(segments->segments.size());
  for (const Segments::Segment& segment : segments->segments) {
    if (Interrupted(segment.end - segment.begin)) break;
    if (segment.token >= 0) {
      out.push_back(segment);
      continue;
    }
    std::vector<ByteSpan> matches = find(segment.view(segments->text));
    for (ByteSpan& match : matches) {
      match.begin += segment.begin;
      match.end += segment.begin;
    }
    AppendSplit(segment.begin, segment.end, matches, behavior, invert, &out);
  }
  segments->segments = std::move(out);
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
  void Apply(Segments* segments) const override { function_(segments); }

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

  void Apply(Segments* segments) const override {
    const auto find = [&](std::string_view text) {
      absl::StatusOr<std::vector<ByteSpan>> found = pattern_->Find(text);
      segments->status.Update(found.status());
      return segments->status.ok() ? *std::move(found)
                                   : std::vector<ByteSpan>();
    };
    SplitAll(find, behavior_, segments, invert_);
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

  void Apply(Segments* segments) const override {
    for (const auto& step : steps_) step->Apply(segments);
  }

 private:
  const std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeBertPreTokenizer() {
  return MakePreTokenizer([](Segments* segments) {
    SplitAll(Characters(IsWhiteSpace), SplitBehavior::kRemoved, segments);
    SplitAll(Characters(IsPunctuation), SplitBehavior::kIsolated, segments);
  });
}

std::unique_ptr<PreTokenizer> MakeWhitespaceSplit() {
  return MakePreTokenizer([](Segments* segments) {
    SplitAll(Characters(IsWhiteSpace), SplitBehavior::kRemoved, segments);
  });
}

std::unique_ptr<PreTokenizer> MakePunctuation(SplitBehavior behavior) {
  return MakePreTokenizer([behavior](Segments* segments) {
    SplitAll(Characters(IsPunctuation), behavior, segments);
  });
}

std::unique_ptr<PreTokenizer> MakeDigits(bool individual) {
  const SplitBehavior behavior =
      individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous;
  return MakePreTokenizer([behavior](Segments* segments) {
    SplitAll(Characters(IsNumber), behavior, segments);
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
