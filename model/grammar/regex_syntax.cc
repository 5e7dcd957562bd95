// A parser by recursive descent: Choice, Sequence, Repetitions, Atom.
//
// What always holds:
// - A flag of (?i) or (?s) has its effect while the expression is parsed: sets
//   of characters have both cases already. No later step knows flags.
// - \b and \B are choices of look-around, so CharDfa knows four assertions and
//   the two anchors, nothing else.
// - A lazy `?` and a group's name change no match, so neither is kept.
// - ^ and $ at the ends of alternatives are taken away once all is parsed
//   (TakeAnchors); with `search`, any text stands where none was. If an
//   assertion is left anywhere else, nothing is taken away.
// - What is not known is an error with its byte, never read as plain text.
#include "model/grammar/regex_syntax.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "model/grammar/unicode_sets.h"

namespace trivium {
namespace {

constexpr int kMostGroups = 100;  // inside of each other
// The steps of reading a \p, which may have several hundred ranges.
constexpr size_t kStepsPerProperty = 5000;

const CodePointSet& Digits() {
  static const CodePointSet set({{'0', '9'}});
  return set;
}
const CodePointSet& WordCharacters() {
  static const CodePointSet set(
      {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return set;
}
const CodePointSet& Spaces(RegexDialect dialect) {
  static const CodePointSet re2({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}});
  static const CodePointSet ecma({{'\t', '\r'},
                                  {' ', ' '},
                                  {0xA0, 0xA0},
                                  {0x1680, 0x1680},
                                  {0x2000, 0x200A},
                                  {0x2028, 0x2029},
                                  {0x202F, 0x202F},
                                  {0x205F, 0x205F},
                                  {0x3000, 0x3000},
                                  {0xFEFF, 0xFEFF}});
  return dialect == RegexDialect::kRe2 ? re2 : ecma;
}
const CodePointSet& AnyCharacter(RegexDialect dialect) {
  static const CodePointSet re2 = CodePointSet({{'\n', '\n'}}).Complement();
  static const CodePointSet ecma =
      CodePointSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).Complement();
  return dialect == RegexDialect::kRe2 ? re2 : ecma;
}

RegexNode Character(CodePointSet set) {
  RegexNode node;
  node.kind = RegexNode::Kind::kCharacter;
  node.set = std::move(set);
  return node;
}

absl::Status ErrorAtByte(size_t at, std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("byte {} of the expression: {}", at, what));
}

RegexNode Assertion(RegexNode::Kind kind, size_t at, RegexNode part) {
  RegexNode node;
  node.kind = kind;
  node.at = at;
  node.parts.push_back(std::move(part));
  return node;
}

// \b, or with `inside` \B: of the characters before and behind the place, one
// is of a word, or else both or none are.
RegexNode WordBorder(bool inside, size_t at) {
  using Kind = RegexNode::Kind;
  const auto both = [at](Kind behind, Kind ahead) {
    RegexNode sequence;
    for (const Kind kind : {behind, ahead}) {
      sequence.parts.push_back(
          Assertion(kind, at, Character(WordCharacters())));
    }
    return sequence;
  };
  RegexNode choice;
  choice.kind = Kind::kChoice;
  choice.parts = {
      both(Kind::kBehind, inside ? Kind::kAhead : Kind::kNotAhead),
      both(Kind::kNotBehind, inside ? Kind::kNotAhead : Kind::kAhead)};
  return choice;
}

class RegexParser {
 public:
  RegexParser(std::string_view text, RegexDialect dialect, WorkBudget* work)
      : text_(text), dialect_(dialect), work_(work) {}

  absl::StatusOr<RegexNode> Parse() {
    if (!IsUtf8(text_)) return Error("is not UTF-8");
    // Flags of the whole expression.
    for (bool more = Take("(?"); more;) {
      if (!TakeFlag()) {
        at_ = 0;
        ignore_case_ = dot_is_any_ = false;
        break;
      }
      more = !Take(")");
    }
    TRIVIUM_ASSIGN_OR_RETURN(RegexNode node, Choice(0));
    if (at_ < text_.size()) return Error("a ) without its (");
    return node;
  }

 private:
  absl::Status Error(std::string_view what) const {
    return ErrorAtByte(at_, what);
  }

  bool Peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  // True before a { that begins a count, or is not closed. Others stand for
  // themselves.
  bool PeekCount() const {
    return Peek('{') && (at_ + 1 == text_.size() || text_[at_ + 1] == ',' ||
                         (text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9'));
  }
  bool Take(std::string_view prefix) {
    if (!text_.substr(at_).starts_with(prefix)) return false;
    at_ += prefix.size();
    return true;
  }

  absl::StatusOr<RegexNode> Choice(int depth) {
    if (depth > kMostGroups) {
      return Error(
          fmt::format("groups are nested deeper than {}", kMostGroups));
    }
    RegexNode choice;
    choice.kind = RegexNode::Kind::kChoice;
    do {
      TRIVIUM_ASSIGN_OR_RETURN(RegexNode sequence, Sequence(depth));
      choice.parts.push_back(std::move(sequence));
    } while (Take("|"));
    if (choice.parts.size() > 1) return choice;
    return std::move(choice.parts[0]);
  }

  absl::StatusOr<RegexNode> Sequence(int depth) {
    RegexNode sequence;
    while (at_ < text_.size() && !Peek('|') && !Peek(')')) {
      TRIVIUM_ASSIGN_OR_RETURN(RegexNode atom, Atom(depth));
      TRIVIUM_RETURN_IF_ERROR(Repetitions(&atom));
      sequence.parts.push_back(std::move(atom));
    }
    return sequence;
  }

  absl::Status Repetitions(RegexNode* atom) {
    int32_t min = 0, max = -1;
    if (Take("*")) {
    } else if (Take("+")) {
      min = 1;
    } else if (Take("?")) {
      max = 1;
    } else if (PeekCount()) {
      TRIVIUM_RETURN_IF_ERROR(Count(&min, &max));
    } else {
      return absl::OkStatus();
    }
    if (IsAssertion(*atom)) {
      return Error("^, $ and look-around cannot be repeated");
    }
    Take("?");
    if (Peek('*') || Peek('+') || Peek('?') || PeekCount()) {
      return Error("a repetition of a repetition; put it into (?:...)");
    }
    RegexNode repeat;
    repeat.kind = RegexNode::Kind::kRepeat;
    repeat.min = min;
    repeat.max = max;
    repeat.parts.push_back(std::move(*atom));
    *atom = std::move(repeat);
    return absl::OkStatus();
  }

  absl::Status Number(int32_t* number) {
    if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') {
      return Error("{ must begin {n}, {n,} or {n,m}; write \\{ for a brace");
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

  absl::Status Count(int32_t* min, int32_t* max) {
    Take("{");
    TRIVIUM_RETURN_IF_ERROR(Number(min));
    *max = *min;
    if (Take(",")) {
      *max = -1;
      if (!Peek('}')) TRIVIUM_RETURN_IF_ERROR(Number(max));
    }
    if (!Take("}")) return Error("{ without its }");
    if (*max >= 0 && *max < *min) {
      return Error("{n,m}: m is less than n");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RegexNode> Atom(int depth) {
    RegexNode node;
    node.at = at_;
    // \A and \z are those of RE2 and Python, \Z that of Python.
    if (Take("^") || Take("\\A")) {
      node.kind = RegexNode::Kind::kBegin;
      return node;
    }
    if (Take("$") || Take("\\z") || Take("\\Z")) {
      node.kind = RegexNode::Kind::kEnd;
      return node;
    }
    if (text_.substr(at_).starts_with("\\b") ||
        text_.substr(at_).starts_with("\\B")) {
      at_ += 2;
      return WordBorder(text_[at_ - 1] == 'B', node.at);
    }
    if (Take(".")) {
      return Character(dot_is_any_ ? CodePointSet::All()
                                   : AnyCharacter(dialect_));
    }
    if (Peek('(')) return Group(depth);
    if (Peek('[')) {
      TRIVIUM_ASSIGN_OR_RETURN(CodePointSet set, Class());
      return Character(std::move(set));
    }
    if (Peek('*') || Peek('+') || Peek('?') || PeekCount()) {
      return Error("nothing to repeat before it");
    }
    TRIVIUM_ASSIGN_OR_RETURN(const CodePointSet set, OneCharacter(false));
    return Character(InAnyCase(set));
  }

  absl::StatusOr<RegexNode> Group(int depth) {
    const size_t begin = at_;
    Take("(");
    std::optional<RegexNode::Kind> assertion;
    const bool ignore_case = ignore_case_, dot_is_any = dot_is_any_;
    if (Take("?")) {
      constexpr std::pair<std::string_view, RegexNode::Kind> kAssertions[] = {
          {"=", RegexNode::Kind::kAhead},
          {"!", RegexNode::Kind::kNotAhead},
          {"<=", RegexNode::Kind::kBehind},
          {"<!", RegexNode::Kind::kNotBehind}};
      for (const auto& [sign, kind] : kAssertions) {
        if (!Take(sign)) continue;
        assertion = kind;
        break;
      }
      if (assertion.has_value()) {
      } else if (Take("P<") || Take("<")) {
        const size_t end = text_.find('>', at_);
        if (end == text_.npos) return Error("a name without its >");
        at_ = end + 1;
      } else {
        while (TakeFlag()) {
        }
        if (!Take(":")) {
          return Error(
              "of groups with (? only (?:...), (?<name>...), (?=...), "
              "(?!...), (?<=...), (?<!...) and those with the flags i and s, "
              "(?i:...), are known");
        }
      }
    }
    TRIVIUM_ASSIGN_OR_RETURN(RegexNode node, Choice(depth + 1));
    if (!Take(")")) return Error("a ( without its )");
    ignore_case_ = ignore_case;
    dot_is_any_ = dot_is_any;
    if (!assertion.has_value()) return node;
    return Assertion(*assertion, begin, std::move(node));
  }

  bool TakeFlag() {
    if (Take("i")) return ignore_case_ = true;
    if (Take("s")) return dot_is_any_ = true;
    return false;
  }

  CodePointSet InAnyCase(const CodePointSet& set) const {
    return ignore_case_ ? WithOtherCases(set) : set;
  }

  // Reads a character or an escape; with `in_class`, inside of brackets.
  absl::StatusOr<CodePointSet> OneCharacter(bool in_class) {
    if (!Peek('\\')) {
      const CodePoint point = FirstCodePoint(text_.substr(at_));
      at_ += point.size;
      return CodePointSet({{point.value, point.value}});
    }
    ++at_;
    if (at_ >= text_.size()) return Error("\\ at the end");
    const char c = text_[at_++];
    switch (c) {
      case 'd':
        return Digits();
      case 'D':
        return Digits().Complement();
      case 'w':
        return WordCharacters();
      case 'W':
        return WordCharacters().Complement();
      case 's':
        return Spaces(dialect_);
      case 'S':
        return Spaces(dialect_).Complement();
      case 'n':
        return One('\n');
      case 't':
        return One('\t');
      case 'r':
        return One('\r');
      case 'f':
        return One('\f');
      case 'v':
        return One('\v');
      case 'x':
        return Hex(2);
      case 'u':
        return Hex(4);
      case 'p':
      case 'P':
        return Property(c == 'P');
      case 'c':
        if (at_ < text_.size() && ((text_[at_] >= 'a' && text_[at_] <= 'z') ||
                                   (text_[at_] >= 'A' && text_[at_] <= 'Z'))) {
          return One(static_cast<char32_t>(text_[at_++]) % 32);
        }
        break;
      case '0':
        if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') break;
        return One(0);
      case 'b':
        if (in_class && dialect_ == RegexDialect::kEcmaScript) return One('\b');
        break;
      default:
        // An escaped letter or digit has a meaning that is not known here.
        if (static_cast<unsigned char>(c) < 0x80 &&
            std::string_view("0123456789abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                    .find(c) == std::string_view::npos) {
          return One(static_cast<unsigned char>(c));
        }
    }
    at_ -= 2;
    return Error(fmt::format(
        "the escape \\{} is not known; \\d \\w \\s \\b \\n \\t \\r \\f \\v "
        "\\xHH "
        "\\uHHHH \\p{{...}} and escaped punctuation are",
        static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "..."));
  }

  static CodePointSet One(char32_t c) { return CodePointSet({{c, c}}); }

  // Reads \p{L}, \p{Script=Greek} or \pL, behind the p.
  absl::StatusOr<CodePointSet> Property(bool negated) {
    std::string_view name = text_.substr(at_, 1);
    if (Take("{")) {
      const size_t end = text_.find('}', at_);
      if (end == text_.npos) return Error("{ without its }");
      name = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      at_ += name.size();
    }
    if (!work_->Take(kStepsPerProperty)) return work_->status();
    const auto set = PropertySet(name);
    if (!set.has_value()) {
      return Error(
          "after \\p, a property of Unicode in braces is expected, such as L, "
          "Lu, Letter, Script=Greek or Alphabetic");
    }
    return negated ? set->Complement() : *set;
  }

  // Reads \xHH, \uHHHH or either with {H...}, behind the letter.
  absl::StatusOr<CodePointSet> Hex(int digits) {
    std::string_view hex = text_.substr(at_).substr(0, digits);
    if (Take("{")) {
      const size_t end = text_.find('}', at_);
      if (end == text_.npos) return Error("{ without its }");
      hex = text_.substr(at_, end - at_);
      at_ = end + 1;
      digits = 0;
    } else {
      at_ += hex.size();
    }
    char32_t value = 0;
    for (const char c : hex) {
      const size_t digit = std::string_view("0123456789abcdef")
                               .find(c >= 'A' && c <= 'F' ? c + 32 : c);
      if (digit == std::string_view::npos || value > kLastCodePoint) {
        return Error("not a code point in hexadecimal digits");
      }
      value = value * 16 + static_cast<char32_t>(digit);
    }
    const CodePointSet set = One(value);
    if (hex.empty() ||
        (digits != 0 && hex.size() < static_cast<size_t>(digits)) ||
        set.empty() || value > kLastCodePoint) {
      return Error("not a code point in hexadecimal digits");
    }
    return set;
  }

  absl::StatusOr<CodePointSet> Class() {
    Take("[");
    const bool negated = Take("^");
    std::vector<CodePointSet::Range> ranges;
    // RE2 reads ] as a character if it comes first.
    bool first = dialect_ == RegexDialect::kRe2;
    while (at_ < text_.size() && (!Peek(']') || first)) {
      first = false;
      CodePointSet low;
      if (text_.substr(at_).starts_with("[:") &&
          dialect_ == RegexDialect::kRe2) {
        TRIVIUM_ASSIGN_OR_RETURN(low, NamedClass());
      } else {
        TRIVIUM_ASSIGN_OR_RETURN(low, OneCharacter(true));
      }
      const auto is_one = [](const CodePointSet& set) {
        return set.ranges().size() == 1 &&
               set.ranges()[0].first == set.ranges()[0].second;
      };
      // A - beside \w and its like stands for itself: [\w-.].
      const bool range = Peek('-') && at_ + 1 < text_.size() &&
                         text_[at_ + 1] != ']' && is_one(low);
      if (range) {
        ++at_;
        TRIVIUM_ASSIGN_OR_RETURN(const CodePointSet high, OneCharacter(true));
        if (!is_one(high) || low.ranges()[0].first > high.ranges()[0].first) {
          return Error("a range must go from a character to a later one");
        }
        ranges.push_back({low.ranges()[0].first, high.ranges()[0].first});
      } else {
        ranges.insert(ranges.end(), low.ranges().begin(), low.ranges().end());
      }
    }
    if (!Take("]")) return Error("a [ without its ]");
    const CodePointSet set = InAnyCase(CodePointSet(std::move(ranges)));
    return negated ? set.Complement() : set;
  }

  absl::StatusOr<CodePointSet> NamedClass() {
    const size_t end = text_.find(":]", at_);
    if (end == text_.npos) return Error("[: without its :]");
    const std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
    static const std::pair<std::string_view, CodePointSet> kClasses[] = {
        {"alnum", CodePointSet({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}})},
        {"alpha", CodePointSet({{'A', 'Z'}, {'a', 'z'}})},
        {"ascii", CodePointSet({{0, 0x7F}})},
        {"blank", CodePointSet({{'\t', '\t'}, {' ', ' '}})},
        {"cntrl", CodePointSet({{0, 0x1F}, {0x7F, 0x7F}})},
        {"digit", Digits()},
        {"graph", CodePointSet({{'!', '~'}})},
        {"lower", CodePointSet({{'a', 'z'}})},
        {"print", CodePointSet({{' ', '~'}})},
        {"punct",
         CodePointSet({{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}})},
        {"space", CodePointSet({{'\t', '\r'}, {' ', ' '}})},
        {"upper", CodePointSet({{'A', 'Z'}})},
        {"word", WordCharacters()},
        {"xdigit", CodePointSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}})},
    };
    for (const auto& [known, set] : kClasses) {
      if (known != name) continue;
      at_ = end + 2;
      return set;
    }
    return Error("a class of this name is not known");
  }

  const std::string_view text_;
  const RegexDialect dialect_;
  WorkBudget* const work_;
  size_t at_ = 0;
  bool ignore_case_ = false;  // (?i)
  bool dot_is_any_ = false;   // (?s)
};

// Takes ^ and $ away from the ends of each alternative. With `search`, any text
// may stand where there was none. False if other assertions are left.
bool TakeAnchors(bool search, RegexNode* node) {
  if (node->kind == RegexNode::Kind::kChoice) {
    return std::all_of(
        node->parts.begin(), node->parts.end(),
        [search](RegexNode& part) { return TakeAnchors(search, &part); });
  }
  if (node->kind != RegexNode::Kind::kSequence) {
    RegexNode sequence;
    sequence.parts.push_back(std::move(*node));
    *node = std::move(sequence);
  }
  std::vector<RegexNode>& parts = node->parts;
  // A group around all of an alternative.
  if (parts.size() == 1 && HasAssertions(parts[0]) &&
      (parts[0].kind == RegexNode::Kind::kChoice ||
       parts[0].kind == RegexNode::Kind::kSequence)) {
    return TakeAnchors(search, &parts[0]);
  }
  size_t begin = 0, end = parts.size();
  while (begin < end && parts[begin].kind == RegexNode::Kind::kBegin) ++begin;
  while (end > begin && parts[end - 1].kind == RegexNode::Kind::kEnd) --end;
  const bool anchored_begin = begin > 0, anchored_end = end < parts.size();
  std::vector<RegexNode> rest;
  if (search && !anchored_begin) rest.push_back(AnyText());
  for (size_t i = begin; i < end; ++i) rest.push_back(std::move(parts[i]));
  if (search && !anchored_end) rest.push_back(AnyText());
  parts = std::move(rest);
  return !HasAssertions(*node);
}

}  // namespace

bool RegexNode::operator==(const RegexNode& other) const {
  return kind == other.kind && set == other.set && min == other.min &&
         max == other.max && parts == other.parts;
}

bool HasAssertions(const RegexNode& node) {
  return IsAssertion(node) ||
         std::any_of(node.parts.begin(), node.parts.end(), HasAssertions);
}

RegexNode AnyText() {
  RegexNode any;
  any.kind = RegexNode::Kind::kRepeat;
  any.max = -1;
  any.parts.push_back(Character(CodePointSet::All()));
  return any;
}

RegexNode RegexOfText(std::string_view text) {
  RegexNode sequence;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    text.remove_prefix(point.size);
    RegexNode character;
    character.kind = RegexNode::Kind::kCharacter;
    character.set = CodePointSet({{point.value, point.value}});
    sequence.parts.push_back(std::move(character));
  }
  return sequence;
}

absl::StatusOr<RegexNode> ParseRegex(std::string_view text,
                                     RegexDialect dialect, bool search,
                                     WorkBudget* work) {
  if (!work->Take(text.size())) return work->status();
  TRIVIUM_ASSIGN_OR_RETURN(RegexNode node,
                           RegexParser(text, dialect, work).Parse());
  RegexNode anchored = node;
  if (TakeAnchors(search, &anchored)) return anchored;
  if (!search) return node;
  RegexNode sequence;
  sequence.parts = {AnyText(), std::move(node), AnyText()};
  return sequence;
}

ExpressionId RegexExpression(const RegexNode& node,
                             const CharacterEncoder& encode, Grammar* grammar) {
  std::vector<ExpressionId> parts;
  for (const RegexNode& part : node.parts) {
    parts.push_back(RegexExpression(part, encode, grammar));
  }
  switch (node.kind) {
    case RegexNode::Kind::kCharacter:
      return encode(node.set);
    case RegexNode::Kind::kChoice:
      return grammar->Choice(std::move(parts));
    case RegexNode::Kind::kRepeat:
      return grammar->Repeat(parts[0], node.min, node.max);
    default:
      return grammar->Sequence(std::move(parts));
  }
}

}  // namespace trivium
