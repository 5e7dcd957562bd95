// White space around a tag is trimmed by these rules (jinja2's lexer.py):
//
//   {%- {{- {#-   all of it before the tag
//   {%  {#        from the beginning of the line to the tag, if there are only
//                 spaces and tabs (lstrip_blocks); not with {%+
//   -%} -}} -#}   all of it after the tag
//   %}  #}        one line end after the tag (trim_blocks); not with +%}
//
// Data and tags alternate: LexData reads up to the next tag, adds the trimmed
// text, and then skips a comment, copies a raw block or lexes the tag's tokens.
#include "model/jinja/lexer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "model/jinja/string_literal.h"

namespace trivium::jinja {

namespace {

bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsNameBegin(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= 0x80 && !IsSpace(c));
}

Text Normalized(std::string_view source) {
  Text text;
  for (const char32_t c : TextFromUtf8(source, /*from_data=*/false)) {
    if (c == '\n' && !text.empty() && text.back() == '\r') {
      text.back() = '\n';
    } else {
      text.push_back(c);
    }
  }
  for (char32_t& c : text) {
    if (c == '\r') c = '\n';
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(Normalized(source)) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (at_ < source_.size()) {
      const absl::Status status = LexData();
      if (!status.ok()) return status;
    }
    Add(TokenType::kEnd);
    return std::move(tokens_);
  }

 private:
  char32_t At(size_t place) const {
    return place < source_.size() ? source_[place] : 0;
  }
  bool Ahead(size_t place, TextView what) const {
    return TextView(source_)
        .substr(std::min(place, source_.size()))
        .starts_with(what);
  }
  void Advance(size_t to) {
    for (; at_ < to; ++at_) {
      if (source_[at_] == '\n') ++line_;
    }
    line_begins_ = to > 0 && source_[to - 1] == '\n';
  }
  Token& Add(TokenType type) {
    tokens_.push_back({type, line_, {}, {}});
    return tokens_.back();
  }

  // Adds the text before a tag that begins at `tag`; the tag's sign, if any, is
  // at `sign`.
  void AddData(size_t tag, size_t sign, bool is_variable) {
    TextView data = TextView(source_).substr(at_, tag - at_);
    if (At(sign) == '-') {
      data = Strip(data, Side::kRight);
    } else if (At(sign) != '+' && !is_variable) {
      const size_t line_end = data.rfind(U'\n');
      const size_t begin = line_end == data.npos ? 0 : line_end + 1;
      if ((begin > 0 || line_begins_) &&
          data.find_first_not_of(U" \t", begin) == data.npos) {
        data = data.substr(0, begin);
      }
    }
    if (!data.empty()) Add(TokenType::kData).text = Text(data);
    Advance(tag);
  }

  // Moves past the end of a tag whose % } or # is at `end`, after its sign.
  void SkipEnd(size_t end, bool stripped, bool kept, bool trims) {
    size_t next = end + 2;
    if (stripped) {
      while (next < source_.size() && IsSpace(source_[next])) ++next;
    } else if (trims && !kept && At(next) == '\n') {
      ++next;
    }
    Advance(next);
  }

  absl::Status LexData() {
    size_t tag = at_;
    while (tag < source_.size() &&
           !(source_[tag] == '{' && (At(tag + 1) == '%' || At(tag + 1) == '{' ||
                                     At(tag + 1) == '#'))) {
      ++tag;
    }
    if (tag == source_.size()) {
      Add(TokenType::kData).text = source_.substr(at_);
      Advance(tag);
      return absl::OkStatus();
    }
    const char32_t kind = source_[tag + 1];
    AddData(tag, tag + 2, kind == '{');
    size_t inside = tag + 2;
    if (At(inside) == '-' || At(inside) == '+') ++inside;
    if (kind == '#') return SkipComment(inside);
    if (kind == '%') {
      if (const std::optional<size_t> end = TagOf(inside, U"raw")) {
        return LexRaw(*end);
      }
    }
    const TokenType begin =
        kind == '%' ? TokenType::kBlockBegin : TokenType::kVariableBegin;
    Add(begin);
    Advance(inside);
    return LexTag(begin);
  }

  absl::Status SkipComment(size_t inside) {
    const int line = line_;
    const size_t end = Find(source_, U"#}", inside);
    if (end == Text::npos) return ErrorAt(line, "{# without #}");
    const char32_t sign = end > inside ? source_[end - 1] : 0;
    SkipEnd(end, sign == '-', sign == '+', /*trims=*/true);
    return absl::OkStatus();
  }

  // Returns the place of %} if a tag consists of `word` alone; nothing if
  // another tag is there.
  std::optional<size_t> TagOf(size_t place, TextView word) const {
    while (IsSpace(At(place)) && place < source_.size()) ++place;
    if (!Ahead(place, word)) return std::nullopt;
    place += word.size();
    while (place < source_.size() && IsSpace(At(place))) ++place;
    if (At(place) == '-' || At(place) == '+') ++place;
    if (!Ahead(place, U"%}")) return std::nullopt;
    return place;
  }

  absl::Status LexRaw(size_t begin_end) {
    const int line = line_;
    SkipEnd(begin_end, At(begin_end - 1) == '-', false, /*trims=*/false);
    for (size_t tag = Find(source_, U"{%", at_); tag != Text::npos;
         tag = Find(source_, U"{%", tag + 1)) {
      size_t inside = tag + 2;
      if (At(inside) == '-' || At(inside) == '+') ++inside;
      if (const std::optional<size_t> end = TagOf(inside, U"endraw")) {
        AddData(tag, tag + 2, false);
        const char32_t sign = At(*end - 1);
        SkipEnd(*end, sign == '-', sign == '+', /*trims=*/true);
        return absl::OkStatus();
      }
    }
    return ErrorAt(line, "{% raw %} without {% endraw %}");
  }

  // Reads up to the tag's end. Brackets inside it are matched, so that the end
  // of a dict is not mistaken for the tag's end.
  absl::Status LexTag(TokenType begin) {
    const bool block = begin == TokenType::kBlockBegin;
    const TextView end = block ? TextView(U"%}") : TextView(U"}}");
    const int line = line_;
    std::string open;
    while (true) {
      while (at_ < source_.size() && IsSpace(source_[at_])) Advance(at_ + 1);
      if (at_ == source_.size()) {
        return ErrorAt(line, block ? "{% without %}" : "{{ without }}");
      }
      if (open.empty()) {
        const bool sign = source_[at_] == '-' || (block && source_[at_] == '+');
        const size_t place = at_ + (sign && Ahead(at_ + 1, end) ? 1 : 0);
        if (Ahead(place, end)) {
          Add(block ? TokenType::kBlockEnd : TokenType::kVariableEnd);
          const char32_t before = place > at_ ? source_[at_] : 0;
          SkipEnd(place, before == '-', before == '+', /*trims=*/block);
          return absl::OkStatus();
        }
      }
      const absl::Status status = LexToken(&open);
      if (!status.ok()) return status;
    }
  }

  absl::Status LexToken(std::string* open) {
    const char32_t c = source_[at_];
    if (IsNameBegin(c)) {
      size_t end = at_;
      while (end < source_.size() &&
             (IsNameBegin(source_[end]) || IsDigit(source_[end]))) {
        ++end;
      }
      Add(TokenType::kName).name =
          Utf8Of(TextView(source_).substr(at_, end - at_));
      Advance(end);
      return absl::OkStatus();
    }
    if (IsDigit(c)) return LexNumber();
    if (c == '\'' || c == '"') return LexString(c);
    return LexOperator(open);
  }

  absl::Status LexNumber() {
    size_t end = at_;
    while (IsDigit(At(end))) ++end;
    bool real = false;
    if (At(end) == '.' && IsDigit(At(end + 1)) &&
        !(at_ > 0 && source_[at_ - 1] == '.')) {
      real = true;
      for (++end; IsDigit(At(end));) ++end;
    }
    if (At(end) == 'e' || At(end) == 'E') {
      size_t exponent = end + 1;
      if (At(exponent) == '+' || At(exponent) == '-') ++exponent;
      if (IsDigit(At(exponent))) {
        real = true;
        for (end = exponent; IsDigit(At(end));) ++end;
      }
    }
    if (IsNameBegin(At(end))) {
      return ErrorAt(line_, "a number that goes on with letters");
    }
    Token& token = Add(real ? TokenType::kReal : TokenType::kInteger);
    token.name = Utf8Of(TextView(source_).substr(at_, end - at_));
    Advance(end);
    return absl::OkStatus();
  }

  absl::Status LexString(char32_t quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) {
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      return ErrorAt(line_, "a string without its closing quote");
    }
    absl::StatusOr<Text> text =
        Unescaped(TextView(source_).substr(at_ + 1, end - at_ - 1));
    if (!text.ok()) return ErrorAt(line_, std::string(text.status().message()));
    Add(TokenType::kString).text = *std::move(text);
    Advance(end + 1);
    return absl::OkStatus();
  }

  absl::Status LexOperator(std::string* open) {
    for (const TextView two : {U"//", U"**", U"==", U"!=", U">=", U"<="}) {
      if (Ahead(at_, two)) {
        Add(TokenType::kOperator).name = Utf8Of(two);
        Advance(at_ + 2);
        return absl::OkStatus();
      }
    }
    const char32_t c = source_[at_];
    constexpr TextView kOperators = U"+-*/%~[](){}<>=.:|,;";
    if (kOperators.find(c) == kOperators.npos) {
      return ErrorAt(
          line_, fmt::format("an unexpected '{}'", Utf8Of(TextView(&c, 1))));
    }
    constexpr TextView kOpening = U"([{";
    constexpr TextView kClosing = U")]}";
    if (const size_t bracket = kOpening.find(c); bracket != TextView::npos) {
      open->push_back(static_cast<char>(kClosing[bracket]));
    } else if (kClosing.find(c) != TextView::npos) {
      if (open->empty() || open->back() != static_cast<char>(c)) {
        return ErrorAt(line_,
                       fmt::format("an unexpected '{}'", static_cast<char>(c)));
      }
      open->pop_back();
    }
    Add(TokenType::kOperator).name = std::string(1, static_cast<char>(c));
    Advance(at_ + 1);
    return absl::OkStatus();
  }

  const Text source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;  // the last consumed character was a line end
  std::vector<Token> tokens_;
};

}  // namespace

absl::Status ErrorAt(int line, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("line {}: {}", line, what));
}

absl::StatusOr<std::vector<Token>> Lex(std::string_view source) {
  return Lexer(source).Run();
}

}  // namespace trivium::jinja
