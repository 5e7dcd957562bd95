#include "model/grammar/json_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace trivium {
namespace {

// The most bytes of white space between two parts. Without a bound a model may
// write blanks until its tokens end.
constexpr int32_t kMostSpace = 32;

}  // namespace

JsonText::JsonText(Grammar* grammar, JsonSpace space) : grammar_(*grammar) {
  Grammar& g = grammar_;
  const ExpressionId empty = g.Literal("");
  switch (space) {
    case JsonSpace::kCompact:
      gap_ = empty;
      comma_ = g.Literal(",");
      colon_ = g.Literal(":");
      break;
    case JsonSpace::kSpaced:
      gap_ = empty;
      comma_ = g.Literal(", ");
      colon_ = g.Literal(": ");
      break;
    case JsonSpace::kAny: {
      const ExpressionId one = g.Choice(
          {g.Literal(" "), g.Literal("\n"), g.Literal("\r"), g.Literal("\t")});
      gap_ = g.AsRule(g.Repeat(one, 0, kMostSpace));
      comma_ = g.Sequence({gap_, g.Literal(","), gap_});
      colon_ = g.Sequence({gap_, g.Literal(":"), gap_});
      break;
    }
  }
  not_ascii_ =
      g.AsRule(Utf8Expression(CodePointSet({{0x80, kLastCodePoint}}), &g));
  character_ = MakeCharacter();
  const ExpressionId quote = g.Literal("\"");
  string_ = g.AsRule(g.Sequence({quote, g.Repeat(character_, 0, -1), quote}));

  const ExpressionId digit = g.Bytes('0', '9');
  const ExpressionId digits = g.Repeat(digit, 1, -1);
  const ExpressionId natural =
      g.Choice({g.Literal("0"),
                g.Sequence({g.Bytes('1', '9'), g.Repeat(digit, 0, -1)})});
  const ExpressionId sign = g.Optional(g.Literal("-"));
  integer_ = g.AsRule(g.Choice(
      {g.Literal("0"),
       g.Sequence({sign, g.Bytes('1', '9'), g.Repeat(digit, 0, -1)})}));
  // An exponent of three digits may leave the range of a double.
  const ExpressionId exponent =
      g.Sequence({g.Choice({g.Literal("e"), g.Literal("E")}),
                  g.Optional(g.Choice({g.Literal("+"), g.Literal("-")})),
                  g.Repeat(digit, 1, 2)});
  number_ = g.AsRule(g.Sequence(
      {sign, natural, g.Optional(g.Sequence({g.Literal("."), digits})),
       g.Optional(exponent)}));
  boolean_ = g.Choice({g.Literal("true"), g.Literal("false")});
  null_ = g.Literal("null");

  const RuleId value = g.AddRule();
  value_ = g.Rule(value);
  const ExpressionId member = g.Sequence({string_, colon_, value_});
  object_ = g.AsRule(Enclosed(
      "{", g.Sequence({member, g.Repeat(g.Sequence({comma_, member}), 0, -1)}),
      /*empty_too=*/true, "}"));
  array_ = g.AsRule(Enclosed(
      "[", g.Sequence({value_, g.Repeat(g.Sequence({comma_, value_}), 0, -1)}),
      /*empty_too=*/true, "]"));
  g.Define(value,
           g.Choice({object_, array_, string_, number_, boolean_, null_}));
}

ExpressionId JsonText::Enclosed(const char* open, ExpressionId inside,
                                bool empty_too, const char* close) {
  ExpressionId text = grammar_.Sequence({gap_, inside, gap_});
  // Nothing has one gap around it, not two.
  if (empty_too) text = grammar_.Choice({gap_, text});
  return grammar_.Sequence(
      {grammar_.Literal(open), text, grammar_.Literal(close)});
}

ExpressionId JsonText::MakeCharacter() {
  Grammar& g = grammar_;
  const auto hex = [&g](int low, int high) {
    std::vector<ExpressionId> parts;
    for (int digit = low; digit <= high; ++digit) {
      const std::string lower = fmt::format("{:x}", digit);
      const std::string upper = fmt::format("{:X}", digit);
      parts.push_back(g.Literal(lower));
      if (upper != lower) parts.push_back(g.Literal(upper));
    }
    return g.Choice(std::move(parts));
  };
  const ExpressionId any = hex(0, 15);
  const ExpressionId d = hex(13, 13);
  std::vector<ExpressionId> escapes;
  for (const char c : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'}) {
    escapes.push_back(g.Literal(std::string(1, c)));
  }
  const ExpressionId u = g.Literal("u");
  escapes.push_back(
      g.Sequence({u, g.Choice({hex(0, 12), hex(14, 15)}), any, any, any}));
  escapes.push_back(g.Sequence({u, d, hex(0, 7), any, any}));
  escapes.push_back(g.Sequence({u, d, hex(8, 11), any, any, g.Literal("\\u"), d,
                                hex(12, 15), any, any}));
  return g.Choice(
      {g.Bytes(' ', '!'), g.Bytes('#', '['), g.Bytes(']', 0x7F),
       Utf8Expression(CodePointSet({{0x80, kLastCodePoint}}), &g),
       g.Sequence({g.Literal("\\"), g.Choice(std::move(escapes))})});
}

ExpressionId JsonText::Encode(const CodePointSet& set) {
  const auto [found, added] = encoded_.try_emplace(set, 0);
  if (!added) return found->second;
  static const CodePointSet kPlain({{' ', '!'}, {'#', '['}, {']', 0x7F}});
  static const CodePointSet kNotAscii({{0x80, kLastCodePoint}});
  std::vector<ExpressionId> parts;
  const CodePointSet plain = set.Intersection(kPlain);
  for (const auto& [first, last] : plain.ranges()) {
    parts.push_back(grammar_.Bytes(static_cast<uint8_t>(first),
                                   static_cast<uint8_t>(last)));
  }
  const CodePointSet not_ascii = set.Intersection(kNotAscii);
  if (not_ascii == kNotAscii) {
    parts.push_back(not_ascii_);
  } else if (!not_ascii.empty()) {
    parts.push_back(Utf8Expression(not_ascii, &grammar_));
  }
  for (char32_t c = 0; c < 0x80; ++c) {
    if (!set.Has(c) || kPlain.Has(c)) continue;
    const std::string quoted =
        Schema(std::string(1, static_cast<char>(c))).dump();
    parts.push_back(grammar_.Literal(quoted.substr(1, quoted.size() - 2)));
  }
  return found->second = grammar_.Choice(std::move(parts));
}

std::string JsonText::Spelled(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
  });
  return plain ? '"' + text + '"' : Schema(text).dump();
}

ExpressionId JsonText::Constant(const Schema& value) {
  if (value.is_string()) {
    return grammar_.Literal(Spelled(value.get_ref<const std::string&>()));
  }
  if (!value.is_structured()) return grammar_.Literal(value.dump());
  std::vector<ExpressionId> parts;
  for (const auto& [key, element] : value.items()) {
    if (!parts.empty()) parts.push_back(comma_);
    if (value.is_object()) {
      parts.push_back(grammar_.Literal(Spelled(key)));
      parts.push_back(colon_);
    }
    parts.push_back(Constant(element));
  }
  const bool empty = parts.empty();
  const ExpressionId inside =
      empty ? grammar_.Choice({}) : grammar_.Sequence(std::move(parts));
  return value.is_object() ? Enclosed("{", inside, empty, "}")
                           : Enclosed("[", inside, empty, "]");
}

}  // namespace trivium
