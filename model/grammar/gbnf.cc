// Reads GBNF as llama.cpp's grammar-parser does: a rule ends at the end of a
// line, unless a group or an alternative is open.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "model/grammar/code_points.h"
#include "model/grammar/frontends.h"

namespace trivium {
namespace {

constexpr int kMostGbnfGroups = 100;  // inside of each other

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const GrammarLimits& limits)
      : text_(text), grammar_(limits) {}

  absl::StatusOr<Grammar> Parse() {
    if (text_.size() > grammar_.limits().text_bytes) {
      return absl::ResourceExhaustedError(
          fmt::format("a grammar of {} bytes is too long, give at most {}",
                      text_.size(), grammar_.limits().text_bytes));
    }
    if (!IsUtf8(text_)) return Error(0, "the grammar is not UTF-8");
    Space(true);
    while (at_ < text_.size()) TRIVIUM_RETURN_IF_ERROR(ParseRule());
    for (const auto& [name, rule] : rules_) {
      if (rule.defined) continue;
      return Error(rule.first_use,
                   fmt::format("the rule {} is used but not defined", name));
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) {
      return Error(0, "there is no rule named root, which is the whole text");
    }
    grammar_.set_root(root->second.id);
    TRIVIUM_RETURN_IF_ERROR(grammar_.Check());
    return std::move(grammar_);
  }

 private:
  struct NamedRule {
    RuleId id = 0;
    size_t first_use = 0;
    bool defined = false;
  };

  absl::Status Error(size_t at, std::string_view what) const {
    const std::string_view before = text_.substr(0, at);
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return absl::InvalidArgumentError(
        fmt::format("line {}, column {}: {}",
                    std::count(before.begin(), before.end(), '\n') + 1,
                    at - line_begin + 1, what));
  }
  absl::Status Error(std::string_view what) const { return Error(at_, what); }

  bool Peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool Take(std::string_view prefix) {
    if (!text_.substr(at_).starts_with(prefix)) return false;
    at_ += prefix.size();
    return true;
  }

  // Skips blanks and comments; with `lines`, ends of lines too.
  void Space(bool lines) {
    while (at_ < text_.size()) {
      if (Peek('#')) {
        while (at_ < text_.size() && !Peek('\n') && !Peek('\r')) ++at_;
      } else if (Peek(' ') || Peek('\t') ||
                 (lines && (Peek('\n') || Peek('\r')))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  static bool IsNameByte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
  }

  std::string Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameByte(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  NamedRule& RuleOf(const std::string& name, size_t use) {
    const auto [found, added] = rules_.try_emplace(name);
    if (added) found->second = {grammar_.AddRule(), use, false};
    return found->second;
  }

  absl::Status ParseRule() {
    const size_t begin = at_;
    const std::string name = Name();
    if (name.empty()) return Error("a rule begins with its name");
    Space(false);
    if (!Take("::=")) return Error("a name must be followed by ::=");
    Space(true);
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId expression, Choice(0));
    if (at_ < text_.size() && !Take("\n") && !Take("\r\n") && !Take("\r")) {
      return Error("expected the end of the line");
    }
    NamedRule& rule = RuleOf(name, begin);
    if (rule.defined) {
      return Error(begin, fmt::format("the rule {} is defined twice", name));
    }
    rule.defined = true;
    grammar_.Define(rule.id, expression);
    Space(true);
    return grammar_.Check();
  }

  absl::StatusOr<ExpressionId> Choice(int depth) {
    if (depth > kMostGbnfGroups) {
      return Error(
          fmt::format("groups are nested deeper than {}", kMostGbnfGroups));
    }
    std::vector<ExpressionId> parts;
    do {
      Space(true);
      TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId part, Sequence(depth));
      parts.push_back(part);
    } while (Take("|"));
    return grammar_.Choice(std::move(parts));
  }

  absl::StatusOr<ExpressionId> Sequence(int depth) {
    const bool lines = depth > 0;
    std::vector<ExpressionId> parts;
    while (true) {
      Space(lines);
      const size_t begin = at_;
      ExpressionId atom = 0;
      if (Peek('"')) {
        TRIVIUM_ASSIGN_OR_RETURN(atom, Literal());
      } else if (Peek('[')) {
        TRIVIUM_ASSIGN_OR_RETURN(atom, Class());
      } else if (Take(".")) {
        atom = grammar_.AsRule(AnyCharacter());
      } else if (Take("(")) {
        TRIVIUM_ASSIGN_OR_RETURN(atom, Choice(depth + 1));
        if (!Take(")")) return Error("a ( without its )");
      } else if (at_ < text_.size() && IsNameByte(text_[at_])) {
        atom = grammar_.Rule(RuleOf(Name(), begin).id);
      } else if (Peek('<') || Peek('!')) {
        return Error("references to tokens are not known; write their text");
      } else {
        return grammar_.Sequence(std::move(parts));
      }
      TRIVIUM_ASSIGN_OR_RETURN(atom, Repetition(atom, lines));
      parts.push_back(atom);
    }
  }

  bool PeekRepetition() const {
    return Peek('*') || Peek('+') || Peek('?') || Peek('{');
  }

  absl::StatusOr<ExpressionId> Repetition(ExpressionId atom, bool lines) {
    Space(lines);
    if (!PeekRepetition()) return atom;
    int32_t min = 0, max = -1;
    if (Take("+")) {
      min = 1;
    } else if (Take("?")) {
      max = 1;
    } else if (!Take("*")) {
      TRIVIUM_RETURN_IF_ERROR(Count(lines, &min, &max));
    }
    Space(lines);
    if (PeekRepetition()) {
      return Error("a repetition of a repetition; put it into (...)");
    }
    return grammar_.Repeat(atom, min, max);
  }

  absl::Status Count(bool lines, int32_t* min, int32_t* max) {
    Take("{");
    Space(lines);
    TRIVIUM_RETURN_IF_ERROR(Number(min));
    *max = *min;
    Space(lines);
    if (Take(",")) {
      Space(lines);
      *max = -1;
      if (!Peek('}')) TRIVIUM_RETURN_IF_ERROR(Number(max));
      Space(lines);
    }
    if (!Take("}")) return Error("a { without its }");
    if (*max >= 0 && *max < *min) return Error("{n,m}: m is less than n");
    return absl::OkStatus();
  }

  absl::Status Number(int32_t* number) {
    if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') {
      return Error("expected a number");
    }
    *number = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
         ++at_) {
      *number = *number * 10 + (text_[at_] - '0');
      if (*number > kMaxRepetitions) {
        return Error(
            fmt::format("a count is greater than {}", kMaxRepetitions));
      }
    }
    return absl::OkStatus();
  }

  ExpressionId AnyCharacter() {
    if (any_ < 0) any_ = Utf8Expression(CodePointSet::All(), &grammar_);
    return any_;
  }

  absl::StatusOr<ExpressionId> Literal() {
    Take("\"");
    std::string literal;
    while (at_ < text_.size() && !Peek('"')) {
      TRIVIUM_ASSIGN_OR_RETURN(const char32_t c, Character());
      AppendUtf8(c, &literal);
    }
    if (!Take("\"")) return Error("a \" without its end");
    return grammar_.Literal(literal);
  }

  absl::StatusOr<ExpressionId> Class() {
    Take("[");
    const bool negated = Take("^");
    std::vector<CodePointSet::Range> ranges;
    while (at_ < text_.size() && !Peek(']')) {
      TRIVIUM_ASSIGN_OR_RETURN(const char32_t first, Character());
      char32_t last = first;
      if (Peek('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        TRIVIUM_ASSIGN_OR_RETURN(last, Character());
        if (last < first) return Error("a range must go to a later character");
      }
      ranges.push_back({first, last});
    }
    if (!Take("]")) return Error("a [ without its ]");
    CodePointSet set(std::move(ranges));
    return Utf8Expression(negated ? set.Complement() : set, &grammar_);
  }

  absl::StatusOr<char32_t> Character() {
    if (Take("\\")) {
      const char c = at_ < text_.size() ? text_[at_++] : '\0';
      switch (c) {
        case 'n':
          return U'\n';
        case 'r':
          return U'\r';
        case 't':
          return U'\t';
        case '\\':
        case '"':
        case '[':
        case ']':
          return static_cast<char32_t>(c);
        case 'x':
          return Hex(2);
        case 'u':
          return Hex(4);
        case 'U':
          return Hex(8);
        default:
          return Error(
              "of escapes \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH and "
              "\\UHHHHHHHH are known");
      }
    }
    const CodePoint point = FirstCodePoint(text_.substr(at_));
    at_ += point.size;
    return point.value;
  }

  absl::StatusOr<char32_t> Hex(size_t digits) {
    char32_t value = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Error("expected hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (CodePointSet({{value, value}}).empty()) {
      return Error("the escape is not a character");
    }
    return value;
  }

  const std::string_view text_;
  Grammar grammar_;
  size_t at_ = 0;
  std::map<std::string, NamedRule> rules_;
  ExpressionId any_ = -1;
};

}  // namespace

absl::StatusOr<Grammar> GrammarOfGbnf(std::string_view text,
                                      const GrammarLimits& limits) {
  return GbnfParser(text, limits).Parse();
}

}  // namespace trivium
