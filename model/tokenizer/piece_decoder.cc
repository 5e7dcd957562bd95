// Every step is a small state machine that passes on only what later pieces
// cannot change, and holds back the rest until the next piece or the end. The
// concatenation of what a step passes on does not depend on how its input is
// cut in time. So streaming gives exactly the text of a decode at once.
//
// At the end, the steps finish in their order: what a step still held goes
// through all steps after it, which finish later.
#include "model/tokenizer/piece_decoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

// `from` is not empty.
void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

constexpr size_t kMaxPieceBytes = 1 << 20;

class WordPieceStep : public DecoderStep {
 public:
  WordPieceStep(std::string prefix, bool clean_up)
      : prefix_(std::move(prefix)), clean_up_(clean_up) {}

  void Push(std::string piece, const Sink& next) override {
    if (!first_) {
      if (piece.starts_with(prefix_)) {
        piece.erase(0, prefix_.size());
      } else {
        piece.insert(piece.begin(), ' ');
      }
    }
    first_ = false;
    if (clean_up_) {
      for (const auto& [from, to] :
           std::array<std::pair<const char*, const char*>, 11>{
               {{" .", "."},
                {" ?", "?"},
                {" !", "!"},
                {" ,", ","},
                {" ' ", "'"},
                {" n't", "n't"},
                {" 'm", "'m"},
                {" do not", " don't"},
                {" 's", "'s"},
                {" 've", "'ve"},
                {" 're", "'re"}}}) {
        ReplaceAll(from, to, &piece);
      }
    }
    next(std::move(piece));
  }

 private:
  const std::string prefix_;
  const bool clean_up_;
  bool first_ = true;
};

class BpeStep : public DecoderStep {
 public:
  explicit BpeStep(std::string suffix) : suffix_(std::move(suffix)) {}

  // Holds back what follows the first suffix of a piece: at the text's end,
  // suffixes become nothing instead of spaces.
  void Push(std::string piece, const Sink& next) override {
    std::string text = std::exchange(held_, "");
    ReplaceAll(suffix_, " ", &text);
    const size_t end = std::min(piece.find(suffix_), piece.size());
    text.append(piece, 0, end);
    held_ = piece.substr(end);
    if (!text.empty()) next(std::move(text));
  }
  void Finish(const Sink& next) override {
    ReplaceAll(suffix_, "", &held_);
    if (!held_.empty()) next(std::exchange(held_, ""));
  }
  // A suffix is a space only before other pieces.
  bool joins_pieces() const override { return false; }

 private:
  const std::string suffix_;
  std::string held_;
};

class MetaspaceStep : public DecoderStep {
 public:
  MetaspaceStep(std::string replacement, bool strips_first)
      : replacement_(std::move(replacement)), strips_(strips_first) {}

  void Push(std::string piece, const Sink& next) override {
    ReplaceAll(replacement_, strips_ ? "" : " ", &piece);
    strips_ = false;
    next(std::move(piece));
  }

 private:
  const std::string replacement_;
  bool strips_;
};

class ReplaceStep : public DecoderStep {
 public:
  ReplaceStep(std::shared_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  // A piece stays unchanged if it cannot be searched, or would become longer
  // than any text that was tokenized.
  void Push(std::string piece, const Sink& next) override {
    const absl::StatusOr<std::vector<ByteSpan>> found = pattern_->Find(piece);
    if (!found.ok() ||
        piece.size() + found->size() * content_.size() > kMaxPieceBytes) {
      next(std::move(piece));
      return;
    }
    std::string replaced;
    size_t done = 0;
    for (const ByteSpan& match : *found) {
      replaced.append(piece, done, match.begin - done);
      replaced += content_;
      done = match.end;
    }
    replaced.append(piece, done);
    next(std::move(replaced));
  }

 private:
  const std::shared_ptr<const Pattern> pattern_;
  const std::string content_;
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
  return -1;
}

class ByteFallbackStep : public DecoderStep {
 public:
  void Push(std::string piece, const Sink& next) override {
    if (piece.size() == 6 && piece.starts_with("<0x") && piece[5] == '>' &&
        HexDigit(piece[3]) >= 0 && HexDigit(piece[4]) >= 0) {
      bytes_.push_back(
          static_cast<char>(HexDigit(piece[3]) * 16 + HexDigit(piece[4])));
      return;
    }
    Finish(next);
    next(std::move(piece));
  }
  // A run is decoded as a whole or not at all.
  void Finish(const Sink& next) override {
    if (bytes_.empty()) return;
    std::string text = std::exchange(bytes_, "");
    if (!IsUtf8(text)) {
      for (size_t bytes = std::exchange(text, "").size(); bytes > 0; --bytes) {
        AppendUtf8(0xFFFD, &text);
      }
    }
    next(std::move(text));
  }

 private:
  std::string bytes_;
};

class StripStep : public DecoderStep {
 public:
  StripStep(char32_t content, int start, int stop, bool fused)
      : start_(start), stop_(stop), fused_(fused) {
    AppendUtf8(content, &content_);
  }

  void Push(std::string piece, const Sink& next) override {
    std::string_view rest = piece;
    for (; !begun_ && stripped_ < start_ && rest.starts_with(content_);
         ++stripped_) {
      rest.remove_prefix(content_.size());
    }
    if (!rest.empty()) begun_ = true;
    std::string text = std::move(held_) + std::string(rest);
    held_.clear();
    for (int i = 0; i < stop_ && text.ends_with(content_); ++i) {
      text.resize(text.size() - content_.size());
      held_ += content_;
    }
    if (!fused_) {
      held_.clear();
      begun_ = false;
      stripped_ = 0;
    }
    next(std::move(text));
  }
  bool joins_pieces() const override { return !fused_ || stop_ == 0; }

 private:
  std::string content_;
  const int start_;
  const int stop_;
  const bool fused_;
  bool begun_ = false;  // a character that is kept has been seen
  int stripped_ = 0;
  std::string held_;  // stripped if nothing follows
};

class SpacesBetweenStep : public DecoderStep {
 public:
  void Push(std::string piece, const Sink& next) override {
    if (!first_) piece.insert(piece.begin(), ' ');
    next(std::move(piece));
    first_ = false;
  }

 private:
  bool first_ = true;
};

}  // namespace

DecoderStepFactory WordPieceDecoder(std::string prefix, bool clean_up) {
  return [=] { return std::make_unique<WordPieceStep>(prefix, clean_up); };
}

DecoderStepFactory BpeDecoder(std::string suffix) {
  return [=] { return std::make_unique<BpeStep>(suffix); };
}

DecoderStepFactory MetaspaceDecoder(std::string replacement,
                                    bool strips_first) {
  return [=] {
    return std::make_unique<MetaspaceStep>(replacement, strips_first);
  };
}

DecoderStepFactory ReplaceDecoder(std::shared_ptr<const Pattern> pattern,
                                  std::string content) {
  return [=] { return std::make_unique<ReplaceStep>(pattern, content); };
}

DecoderStepFactory ByteFallbackDecoder() {
  return [] { return std::make_unique<ByteFallbackStep>(); };
}

DecoderStepFactory StripDecoder(char32_t content, int start, int stop,
                                bool fused) {
  return
      [=] { return std::make_unique<StripStep>(content, start, stop, fused); };
}

DecoderStepFactory SpacesBetweenDecoder() {
  return [] { return std::make_unique<SpacesBetweenStep>(); };
}

PieceDecoder::PieceDecoder(const std::vector<DecoderStepFactory>& steps) {
  for (const DecoderStepFactory& step : steps) steps_.push_back(step());
}

void PieceDecoder::PushTo(size_t step, std::string piece, std::string* out) {
  if (step == steps_.size()) {
    *out += piece;
    return;
  }
  steps_[step]->Push(std::move(piece), [&](std::string next) {
    PushTo(step + 1, std::move(next), out);
  });
}

void PieceDecoder::Push(std::string piece, std::string* out) {
  PushTo(0, std::move(piece), out);
}

bool PieceDecoder::joins_pieces() const {
  return std::all_of(steps_.begin(), steps_.end(),
                     [](const auto& step) { return step->joins_pieces(); });
}

void PieceDecoder::Finish(std::string* out) {
  for (size_t step = 0; step < steps_.size(); ++step) {
    steps_[step]->Finish(
        [&](std::string next) { PushTo(step + 1, std::move(next), out); });
  }
}

}  // namespace trivium
