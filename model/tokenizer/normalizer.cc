// Always:
// - A step changes the text only through NormalizedText, which keeps each
//   byte's place in the original.
// - A step returns no error. A pattern that takes too long fails the text,
//   which is empty for the steps after it.
// - BERT's parts have a fixed order: control characters, Chinese characters,
//   accents, letter case. Each reads what the one before it wrote. Accents are
//   removed from the decomposed text, which stays decomposed.
// - Nmt has lists of its own, and they are not Unicode's white space: U+200B is
//   a space to it and U+00A0 is not. Strip and BERT use IsWhiteSpace.
#include "model/tokenizer/normalizer.h"

#include <algorithm>
#include <utility>

#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options)
      : options_(options) {}

  void Apply(NormalizedText* text) const override {
    if (options_.clean_text) {
      text->Filter([](char32_t c) {
        return c == '\t' || c == '\n' || c == '\r' ||
               (c != 0xFFFD && !IsControl(c));
      });
      text->Map([](char32_t c) { return IsWhiteSpace(c) ? U' ' : c; });
    }
    if (options_.space_chinese_chars) SpaceChinese(text);
    if (options_.strip_accents) {
      text->Normalize(DecompositionKind::kCanonical, /*compose=*/false);
      text->Filter([](char32_t c) { return !IsNonspacingMark(c); });
    }
    if (options_.lower_case) text->LowerCase();
  }

 private:
  static void SpaceChinese(NormalizedText* text) {
    std::vector<NormalizedText::Change> changes;
    bool found = false;
    for (size_t at = 0; at < text->text().size();) {
      const char32_t c = NextCharacter(text->text(), &at);
      if (c >= 0x3400 && IsChineseCharacter(c)) {
        found = true;
        changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
      } else {
        changes.push_back({c, 0});
      }
    }
    if (found) text->Transform(changes, 0);
  }

  const BertNormalizerOptions options_;
};

// A step that is a function of the text.
template <typename Function>
class FunctionNormalizer : public Normalizer {
 public:
  explicit FunctionNormalizer(Function function)
      : function_(std::move(function)) {}
  void Apply(NormalizedText* text) const override { function_(text); }

 private:
  const Function function_;
};

template <typename Function>
std::unique_ptr<Normalizer> MakeNormalizer(Function function) {
  return std::make_unique<FunctionNormalizer<Function>>(std::move(function));
}

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void Apply(NormalizedText* text) const override {
    const absl::StatusOr<std::vector<ByteSpan>> found =
        pattern_->Find(text->text());
    if (found.ok()) {
      text->Replace(*found, content_);
    } else {
      text->Fail(found.status());
    }
  }

 private:
  const std::unique_ptr<Pattern> pattern_;
  const std::string content_;
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps_(std::move(steps)) {}

  void Apply(NormalizedText* text) const override {
    for (const auto& step : steps_) step->Apply(text);
  }

 private:
  const std::vector<std::unique_ptr<Normalizer>> steps_;
};

void Strip(bool left, bool right, NormalizedText* text) {
  const std::string& all = text->text();
  size_t begin = all.size();  // first character that is not white space
  size_t end = all.size();  // end of the last character that is not white space
  for (size_t at = 0; at < all.size();) {
    const size_t from = at;
    if (IsWhiteSpace(NextCharacter(all, &at))) continue;
    begin = std::min(begin, from);
    end = at;
  }
  if (begin == all.size()) {
    // The text is all white space.
    if (left || right) text->Cut(0, 0);
    return;
  }
  text->Cut(left ? begin : 0, right ? end : all.size());
}

bool DroppedByNmt(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
         c == 0x7F || c == 0x8F || c == 0x9F;
}

bool SpaceToNmt(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
         c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

}  // namespace

std::unique_ptr<Normalizer> MakeBertNormalizer(
    const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}

std::unique_ptr<Normalizer> MakeLowerCase() {
  return MakeNormalizer([](NormalizedText* text) { text->LowerCase(); });
}

std::unique_ptr<Normalizer> MakeUnicodeNormalizer(DecompositionKind kind,
                                                  bool compose) {
  return MakeNormalizer([kind, compose](NormalizedText* text) {
    text->Normalize(kind, compose);
  });
}

std::unique_ptr<Normalizer> MakeStripAccents() {
  return MakeNormalizer([](NormalizedText* text) {
    text->Filter([](char32_t c) { return !IsMark(c); });
  });
}

std::unique_ptr<Normalizer> MakeStripCombining() {
  return MakeNormalizer([](NormalizedText* text) {
    text->Filter([](char32_t c) { return CombiningClass(c) == 0; });
  });
}

std::unique_ptr<Normalizer> MakeStrip(bool left, bool right) {
  return MakeNormalizer(
      [left, right](NormalizedText* text) { Strip(left, right, text); });
}

std::unique_ptr<Normalizer> MakePrepend(std::string prefix) {
  return MakeNormalizer([prefix = std::move(prefix)](NormalizedText* text) {
    text->Prepend(prefix);
  });
}

std::unique_ptr<Normalizer> MakeReplace(std::unique_ptr<Pattern> pattern,
                                        std::string content) {
  return std::make_unique<ReplaceNormalizer>(std::move(pattern),
                                             std::move(content));
}

std::unique_ptr<Normalizer> MakeNmt() {
  return MakeNormalizer([](NormalizedText* text) {
    text->Filter([](char32_t c) { return !DroppedByNmt(c); });
    text->Map([](char32_t c) { return SpaceToNmt(c) ? U' ' : c; });
  });
}

std::unique_ptr<Normalizer> MakeNormalizerSequence(
    std::vector<std::unique_ptr<Normalizer>> steps) {
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

}  // namespace trivium
