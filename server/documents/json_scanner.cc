#include "server/documents/json_scanner.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

constexpr size_t kMostJsonNesting = 512;
constexpr size_t kMostJsonTokens = 8'000'000;  // white space included

// A machine whose state is what may come next, and the open brackets.
class JsonScanner {
 public:
  JsonScanner(std::string_view text, std::vector<JsonToken>* tokens)
      : text_(text), tokens_(tokens) {}

  absl::Status Scan() {
    while (SkipSpace(), at_ < text_.size()) {
      if (const char* const wrong = Next()) return Error(wrong);
      if (tokens_->size() > kMostJsonTokens) {
        return absl::InvalidArgumentError(
            "it has millions of values; split it");
      }
    }
    if (expected_ != kEnd) return Error("it ends too early");
    return absl::OkStatus();
  }

 private:
  enum Expected { kValue, kValueOrEnd, kKeyOrEnd, kKey, kColon, kComma, kEnd };

  absl::Status Error(const char* what) const {
    return absl::InvalidArgumentError(
        fmt::format("{}: this is not JSON: {}",
                    LinePlaces(text_).PlaceInLine(text_, at_), what));
  }

  void Add(JsonToken::Kind kind, size_t size) {
    tokens_->push_back({kind, text_.substr(at_, size)});
    at_ += size;
  }
  void Other(size_t size) { Add(JsonToken::Kind::kOther, size); }

  void SkipSpace() {
    size_t end = at_;
    while (end < text_.size() &&
           std::string_view(" \t\r\n").find(text_[end]) != text_.npos) {
      ++end;
    }
    if (end > at_) Other(end - at_);
  }

  // Reads a token; returns what is wrong, or null.
  const char* Next() {
    const char c = text_[at_];
    switch (expected_) {
      case kEnd:
        return "something follows its value";
      case kColon:
        if (c != ':') return "a ':' is missing";
        expected_ = kValue;
        Other(1);
        return nullptr;
      case kComma:
        if (c == ',') {
          expected_ = open_.back() == '{' ? kKey : kValue;
          Other(1);
          return nullptr;
        }
        return Leave(c) ? nullptr : "a ',' is missing";
      case kKeyOrEnd:
        if (Leave(c)) return nullptr;
        [[fallthrough]];
      case kKey:
        if (c != '"') return "a key is missing";
        expected_ = kColon;
        return String(JsonToken::Kind::kKey);
      case kValueOrEnd:
        if (Leave(c)) return nullptr;
        [[fallthrough]];
      case kValue:
        return Value(c);
    }
    return nullptr;
  }

  bool Leave(char c) {
    if (open_.empty() || c != (open_.back() == '{' ? '}' : ']')) return false;
    open_.pop_back();
    expected_ = open_.empty() ? kEnd : kComma;
    Other(1);
    return true;
  }

  const char* Value(char c) {
    if (c == '{' || c == '[') {
      if (open_.size() == kMostJsonNesting) return "it is nested too deeply";
      open_ += c;
      expected_ = c == '{' ? kKeyOrEnd : kValueOrEnd;
      Other(1);
      return nullptr;
    }
    expected_ = open_.empty() ? kEnd : kComma;
    if (c == '"') return String(JsonToken::Kind::kString);
    for (const std::string_view name : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(name)) continue;
      Other(name.size());
      return nullptr;
    }
    const size_t size = NumberSize(text_.substr(at_));
    if (size == 0) return "a value is missing";
    Other(size);
    return nullptr;
  }

  static size_t NumberSize(std::string_view text) {
    const auto digits = [&text](size_t at) {
      while (at < text.size() && absl::ascii_isdigit(text[at])) ++at;
      return at;
    };
    size_t at = text.starts_with('-') ? 1 : 0;
    const size_t whole = digits(at);
    if (whole == at || (text[at] == '0' && whole > at + 1)) return 0;
    at = whole;
    if (at < text.size() && text[at] == '.') {
      const size_t end = digits(at + 1);
      if (end == at + 1) return 0;
      at = end;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
      size_t begin = at + 1;
      if (begin < text.size() && (text[begin] == '+' || text[begin] == '-')) {
        ++begin;
      }
      const size_t end = digits(begin);
      if (end == begin) return 0;
      at = end;
    }
    return at;
  }

  const char* String(JsonToken::Kind kind) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') {
      if (static_cast<uint8_t>(text_[end]) < 0x20) {
        at_ = end;
        return "a string has a control character";
      }
      if (text_[end] != '\\') {
        ++end;
        continue;
      }
      const size_t size = EscapeSize(text_.substr(end));
      if (size == 0) {
        at_ = end;
        return "a string has an unknown escape";
      }
      end += size;
    }
    if (end >= text_.size()) return "a string has no end";
    Add(kind, end + 1 - at_);
    return nullptr;
  }

  static size_t EscapeSize(std::string_view text) {
    if (text.size() < 2) return 0;
    if (text[1] != 'u') {
      return std::string_view("\"\\/bfnrt").find(text[1]) == text.npos ? 0 : 2;
    }
    if (text.size() < 6) return 0;
    for (const char c : text.substr(2, 4)) {
      if (!absl::ascii_isxdigit(c)) return 0;
    }
    return 6;
  }

  const std::string_view text_;
  std::vector<JsonToken>* const tokens_;
  size_t at_ = 0;
  std::string open_;  // brackets
  Expected expected_ = kValue;
};

}  // namespace

absl::Status ScanJson(std::string_view text, std::vector<JsonToken>* tokens) {
  return JsonScanner(text, tokens).Scan();
}

}  // namespace trivium
