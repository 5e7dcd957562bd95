#include "model/tokenizer/piece_decoder.h"

#include <array>
#include <string_view>
#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/unicode.h"
#include "model/tokenizer/utf8.h"

namespace trivium {
namespace {

// How many bytes at the beginning of `bytes` are a character or, where they
// form none, what one U+FFFD stands for: the longest beginning of a character.
// 0: more bytes may make it a character.
size_t CharacterOrBroken(std::string_view bytes, bool* valid) {
  const size_t length = Utf8Length(bytes, 0);
  const uint8_t first = static_cast<uint8_t>(bytes[0]);
  *valid = length > 1 || first < 0x80;
  if (*valid) return length;
  const size_t wanted = Utf8LengthFromFirstByte(first);
  // Which second bytes each first one takes (Unicode, table 3-7).
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  size_t size = 1;
  for (; size < wanted; ++size) {
    if (size == bytes.size()) return 0;
    const uint8_t byte = static_cast<uint8_t>(bytes[size]);
    if (byte < low || byte > high) break;
    low = 0x80;
    high = 0xBF;
  }
  return size;
}

class ByteLevelStep : public DecoderStep {
 public:
  void Push(std::string piece, const Sink& next) override {
    std::string bytes;
    for (size_t at = 0; at < piece.size();) {
      const int byte = ByteOfByteAlphabet(NextCharacter(piece, &at));
      // A piece of other characters, as added tokens are, is text.
      if (byte < 0) {
        bytes = std::move(piece);
        break;
      }
      bytes.push_back(static_cast<char>(byte));
    }
    bytes_ += bytes;
    Flush(/*all=*/false, next);
  }
  void Finish(const Sink& next) override { Flush(/*all=*/true, next); }

 private:
  void Flush(bool all, const Sink& next) {
    std::string text;
    std::string_view rest = bytes_;
    while (!rest.empty()) {
      bool valid = false;
      size_t size = CharacterOrBroken(rest, &valid);
      if (size == 0) {
        if (!all) break;
        size = rest.size();
      }
      text += valid ? rest.substr(0, size) : kReplacementCharacter;
      rest.remove_prefix(size);
    }
    bytes_ = std::string(rest);
    if (!text.empty()) next(std::move(text));
  }

  std::string bytes_;  // of a character that is not whole yet
};

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

class WordPieceStep : public DecoderStep {
 public:
  WordPieceStep(std::string prefix, bool clean_up)
      : prefix_(std::move(prefix)), clean_up_(clean_up) {}

  void Push(std::string piece, const Sink& next) override {
    if (!first_) {
      if (piece.starts_with(prefix_)) {
        piece.erase(0, prefix_.size());
      } else {
        piece.insert(0, " ");
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

  void Push(std::string piece, const Sink& next) override {
    std::string replaced;
    size_t done = 0;
    for (const ByteSpan& match : pattern_->Find(piece)) {
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
  // A run is text as a whole or not at all.
  void Finish(const Sink& next) override {
    if (bytes_.empty()) return;
    std::string broken;
    bool valid = true;
    for (size_t at = 0; at < bytes_.size();) {
      const size_t size = Utf8Length(bytes_, at);
      valid &= size > 1 || static_cast<uint8_t>(bytes_[at]) < 0x80;
      at += size;
    }
    for (size_t i = 0; i < bytes_.size() && !valid; ++i) {
      broken += kReplacementCharacter;
    }
    next(valid ? std::move(bytes_) : std::move(broken));
    bytes_.clear();
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

 private:
  std::string content_;
  const int start_;
  const int stop_;
  const bool fused_;
  bool begun_ = false;  // a character that stays was seen
  int stripped_ = 0;
  std::string held_;  // at the end, if nothing follows
};

class SpacesBetweenStep : public DecoderStep {
 public:
  void Push(std::string piece, const Sink& next) override {
    if (!first_) piece.insert(0, " ");
    next(std::move(piece));
    first_ = false;
  }

 private:
  bool first_ = true;
};

}  // namespace

DecoderStepFactory ByteLevelDecoder() {
  return [] { return std::make_unique<ByteLevelStep>(); };
}

DecoderStepFactory WordPieceDecoder(std::string prefix, bool clean_up) {
  return [=] { return std::make_unique<WordPieceStep>(prefix, clean_up); };
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

void PieceDecoder::Finish(std::string* out) {
  for (size_t step = 0; step < steps_.size(); ++step) {
    steps_[step]->Finish(
        [&](std::string next) { PushTo(step + 1, std::move(next), out); });
  }
}

}  // namespace trivium
