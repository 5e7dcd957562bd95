// Markdown: what of it is text, and what becomes of its delimiters.
#include <gmock/gmock.h>

#include <algorithm>

#include "server/translation/markdown_escapes.h"
#include "tests/server/translation/translated_markup.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::HasSubstr;

Markup Markdown(std::string text) {
  auto markup = Markup::Parse(MarkupFormat::kMarkdown, std::move(text));
  EXPECT_TRUE(markup.ok()) << markup.status();
  return *std::move(markup);
}
std::string Plain(const std::string& text) { return Markdown(text).plain(); }

// The text with its only sentence translated, word by word as said, if of a
// pair one is not the other.
std::string Says(const std::string& text, const std::string& translation,
                 const Pairs& pairs) {
  const Markup markup = Markdown(text);
  const TextSpan all =
      WithoutWhiteSpace(markup.plain(), {0, markup.plain().size()});
  return Translated(markup, std::string(all.Of(markup.plain())), translation,
                    pairs);
}

TEST(MarkdownTest, FindsThePlainText) {
  EXPECT_EQ(Plain("# A *b* \\* C# #\n\nD **e\nf** `g` &amp; &eacute;.  \nH\\\n"
                  "i\n"),
            "\nA b * C#\nD e f \uFFFC & é.\nH\ni\n");
  EXPECT_EQ(Plain("AT&T &copy 1 &check;"), "AT&T &copy 1 \uFFFC");
  EXPECT_EQ(Plain("[A](b 'c') <https://d.e> ![F](g) https://h.i/j_k. [l][m]\n"
                  "\n[m]: n\n"),
            "A \uFFFC F \uFFFC. l\n");
  EXPECT_EQ(Plain("A <b>b</b> <kbd>c</kbd> d<br>e <!-- f --> <i>g~~h~~"),
            "A b \uFFFC d\ne gh");
}

TEST(MarkdownTest, SeparatesBlocksFromText) {
  EXPECT_EQ(Plain("---\ntitle: A\n---\n# B\n\n- c\n  d\n  - [ ] e\n\n1. f\n\n"
                  "> g\n> h\n>\n>     code\n\n```\ncode\n```\n\nI\n===\n\n---\n"
                  "<div>\nhtml\n</div>\n\n[j]: k \"l\"\n"),
            "\nB\nc d\ne\nf\ng h\nI\n");
  EXPECT_EQ(Plain("| A | *b* |\n|---|:-:|\n| `c\\|d` | e \\| f |\n"),
            "\nA\nb\n\uFFFC\ne | f\n");
  // GitHub wants one dash of a cell.
  EXPECT_EQ(Plain("A|b\n-|:-\nc|*d*\n\nE|f\n- | -\n"),
            "A\nb\nc\nd\nE|f\n| -\n");
  EXPECT_EQ(Plain("+++\nA\n"), "+++ A\n");
  EXPECT_EQ(Plain("A <!--\n*b* --> c"), "A c");
}

TEST(MarkdownTest, KeepsBlocksByteForByte) {
  const std::string text =
      "---\nt: 1\n---\n\n>  1)  A b\n> \tC d\n\n|  A b  | c |\n|-|-|\n| d |e|\n"
      "\n* * *\n    code\n\nA b\n---\n";
  const Markup markup = Markdown(text);
  EXPECT_EQ(Translated(markup, "A b C d", "x", {}).size(), text.size() - 9);
  EXPECT_THAT(Translated(markup, "A b C d", "x", {}),
              HasSubstr("\n>  1)  x\n\n|  A b  |"));
}

TEST(MarkdownTest, MovesElementsWithTheirWords) {
  EXPECT_EQ(Says("The **red** [house](h \"H\") & *its* `door`.",
                 "Das Haus, rot, & \uFFFC seine.",
                 {{"Das", "The"},
                  {"Haus", "house"},
                  {"rot", "red"},
                  {"\uFFFC", "\uFFFC"},
                  {"seine", "its"}}),
            "Das [Haus](h \"H\"), **rot**, & `door` *seine*.");
  EXPECT_EQ(
      Says("A **B _C_** d", "c b a", {{"c", "C"}, {"b", "B"}, {"a", "A"}}),
      "**_c_ b** a");
  EXPECT_EQ(Says("A ![b *c*](d) e", "c b a", {{"c", "c"}, {"b", "b"}}),
            "![*c* b](d) a");
}

TEST(MarkdownTest, KeepsTheNameOfALinksDefinition) {
  const std::string definition = "\n\n[red]: x\n";
  EXPECT_EQ(Says("A [Red]." + definition, "Ein rot.", {{"rot", "Red"}}),
            "Ein [rot][Red]." + definition);
  EXPECT_EQ(Says("A [Red][]." + definition, "Ein rot.", {{"rot", "Red"}}),
            "Ein [rot][Red]." + definition);
  EXPECT_EQ(Says("A [b][red]." + definition, "Ein b.", {{"b", "b"}}),
            "Ein [b][red]." + definition);
  EXPECT_EQ(Says("A [red] [b]." + definition, "rot [b].", {{"rot", "red"}}),
            "[rot][red] [b]." + definition);
  // Of two sentences, the second has the end.
  const Markup markup = Markdown("[A b. C d.]\n\n[a b. c d.]: x\n");
  EXPECT_EQ(Translated(markup, "C d.", "c.", {{"c", "C"}, {".", "."}}),
            "[A b. c.][A b. C d.]\n\n[a b. c d.]: x\n");
  // Nobody reads a footnote's mark.
  EXPECT_EQ(Plain("A[^1] b.\n\n[^1]: C\n[^2]: d\n"), "A b.\nC\nd\n");
  EXPECT_EQ(Plain("A[^1] b.\n\n[^1]: C d.\n"), "A b.\nC d.\n");
}

TEST(MarkdownTest, EscapesTextThatLooksLikeMarkup) {
  const auto escaped = [](const std::string& text) {
    return EscapeMarkdown(text, {0, text.size()});
  };
  EXPECT_EQ(escaped("2 * 3 *a* a_b _c_ d _ `e` [f] \\g ~h~ i|j"),
            "2 * 3 \\*a\\* a_b \\_c\\_ d _ \\`e\\` \\[f\\] \\g ~h\\~ i\\|j");
  EXPECT_EQ(escaped("a < b <c> </d> AT&T &amp; &#33; C# ! 1."),
            "a < b \\<c> \\</d> AT&T \\&amp; \\&#33; C# ! 1.");
  EXPECT_EQ(escaped("1986. A"), "1986\\. A");
  EXPECT_EQ(escaped("- A"), "\\- A");
  EXPECT_EQ(escaped("-5 A"), "-5 A");
  EXPECT_EQ(escaped("## A #"), "\\## A \\#");
  EXPECT_EQ(escaped("> A"), "\\> A");
  EXPECT_EQ(escaped("---"), "\\---");
  EXPECT_EQ(Says("A! [B](c)", "A!B", {{"B", "B"}}), "A\\![B](c)");
}

TEST(MarkdownTest, BarsAndBracketsThatAreTextNeedNoBackslash) {
  EXPECT_EQ(Says("a|b", "c|d", {}), "c|d");
  EXPECT_EQ(Says("*a* || b", "a || c", {{"a", "a"}}), "*a* || c");
  EXPECT_EQ(Says("a", "b|c [d]", {}), "b\\|c \\[d\\]");
  EXPECT_EQ(Says("a \\| b", "c | d", {}), "c \\| d");
  EXPECT_EQ(Says("[a] b", "[c] b", {}), "[c] b");
  EXPECT_EQ(Says("[a] *b*", "[c] b", {{"b", "b"}}), "[c] *b*");
  // It might name a link.
  EXPECT_EQ(Says("[a] \\[b]", "[a] [b]", {}), "\\[a\\] \\[b\\]");
  // These would be a link, a footnote, a definition and the box of a task.
  EXPECT_EQ(Says("[a] b", "[c](d)", {}), "[c\\](d)");
  EXPECT_EQ(Says("[a] b", "c [^d]", {}), "c \\[^d]");
  EXPECT_EQ(Says("[a] b", "[c]: d", {}), "[c\\]: d");
  EXPECT_EQ(Says("[a] b", "[x] d", {}), "\\[x] d");
  // A backslash before a letter is one.
  EXPECT_EQ(Says("a \\b", "c \\d", {}), "c \\d");
  EXPECT_EQ(Says("a\\ *b*", "c\\b", {{"b", "b"}}), "c\\\\*b*");
}

TEST(MarkdownTest, MarksOfPandocStay) {
  EXPECT_EQ(Plain("A^[it is so] b.\n"), "A b.\n");
  EXPECT_EQ(Says("A^[it *is*] b.", "A^[it is] b.", {}), "A^[it *is*] b.");
  EXPECT_EQ(Plain("# A {#b .c}\n"), "\nA \n");
  EXPECT_EQ(Says("# A {#b .c}", "D", {{"D", "A"}}), "# D {#b .c}");
  EXPECT_EQ(Plain("the 2^nd^ b, e^x\n"), "the \uFFFC b, e^x\n");
  EXPECT_EQ(Plain("A^[b [c] d\n"), "A^[b [c] d\n");
}

TEST(MarkdownTest, ABoldLineIsATextOfItsOwn) {
  EXPECT_EQ(Plain("> **A**\n> b\n"), "\nA\nb\n");
  EXPECT_EQ(Plain("a\n**B *c***\nd\n"), "a B c\nd\n");
  EXPECT_EQ(Plain("a **b**\nc **d** e\n**f** g\n"), "a b c d e f g\n");
}

TEST(MarkdownTest, EachFootnoteIsATextOfItsOwn) {
  const std::string text =
      "A[^1] b[^c].\n\n[^1]: D e.\n[^c]: F g.\n[^h]: I j.\n";
  EXPECT_EQ(Plain(text), "A b.\nD e.\nF g.\nI j.\n");
  EXPECT_EQ(Translated(Markdown(text), "F g.", "x.", {}),
            "A[^1] b[^c].\n\n[^1]: D e.\n[^c]: x.\n[^h]: I j.\n");
}

TEST(MarkdownTest, AFootnoteMayBeOneWord) {
  const std::string text = "A[^1] b[^2].\n\n[^1]: Word.\n[^2]: C \"d\"\ne.\n";
  EXPECT_EQ(Plain(text), "A b.\nWord.\nC \"d\" e.\n");
  EXPECT_EQ(Translated(Markdown(text), "Word.", "x y.", {}),
            "A[^1] b[^2].\n\n[^1]: x y.\n[^2]: C \"d\"\ne.\n");
  EXPECT_EQ(Plain("A[^1].\r\n\r\n[^1]: B.\r\n"), "A.\nB.\n");
  EXPECT_EQ(Plain("A[^1].\n\n[^1]: B."), "A.\nB.");
}

TEST(MarkdownTest, FurtherParagraphsOfAFootnoteAreTexts) {
  const std::string text =
      "A[^1].\n\n[^1]: D e.\n\n    F g\n    h.\n\n\tI j.\n\nK.\n\n    code\n";
  EXPECT_EQ(Plain(text), "A.\nD e.\nF g h.\nI j.\nK.\n");
  EXPECT_EQ(Translated(Markdown(text), "F g h.", "x.", {}),
            "A[^1].\n\n[^1]: D e.\n\n    x.\n\n\tI j.\n\nK.\n\n    code\n");
  // Without a blank line between, each note is its own.
  EXPECT_EQ(Plain("[^1]: A b.\n[^2]: C d.\n\n    E.\n"), "A b.\nC d.\nE.\n");
  EXPECT_EQ(Plain("```\n[^1]: A b.\n\n    C.\n```\n"), "\n");
}

TEST(MarkdownTest, PutsDelimitersAtTheBordersOfWords) {
  // The quotation marks would keep "**" from beginning anything.
  EXPECT_EQ(Says("A **\"b\"** c", "a\"b\"c",
                 {{"a", "A"}, {"\"", "\""}, {"b", "b"}, {"c", "c"}}),
            "a\"**b**\"c");
  // "_" begins nothing within a word.
  EXPECT_EQ(Says("家 _x_", "家x", {{"家", "家"}, {"x", "x"}}), "家*x*");
  // And two of "*" would be another.
  EXPECT_EQ(Says("*家* *x* y", "家x y", {{"家", "家"}, {"x", "x"}, {"y", "y"}}),
            "*家* *x* y");
  // Else the emphasis would be around the strong one.
  EXPECT_EQ(Says("**A *b***", "b", {{"b", "b"}}), "**_b_**");
  EXPECT_EQ(Says("**A *b*** c", "b c", {{"b", "b"}, {"c", "c"}}), "**_b_** c");
}

TEST(MarkdownTest, GivesEmphasisAWord) {
  EXPECT_EQ(Says("I **do** know it.", "Ich weiß es.",
                 {{"Ich", "I"}, {"weiß", "know"}, {"es", "it"}}),
            "Ich **weiß** es.");
  EXPECT_EQ(Says("*A* **b**", "a", {{"a", "A"}}), "*a* **\u200B**");
  EXPECT_EQ(Says("A [b](c)", "", {}), "[](c)");
  EXPECT_EQ(Says("A ![](b) c", "c a", {{"c", "c"}, {"a", "A"}}), "![](b) c a");
  const Markup markup = Markdown("A **b c. D e** f.");
  EXPECT_EQ(Translated(markup, "A b c.", "a.", {{"a", "A"}}), "**a. D e** f.");
  EXPECT_EQ(Translated(markup, "D e f.", "f g.", {{"f", "f"}, {"g", "f"}}),
            "A **b c. f** g.");
}

TEST(MarkdownTest, TranslatesLonePicturesByThemselves) {
  EXPECT_EQ(Plain("[![A b](c)](d) ![e](f)\n![](g)\n"), "\nA b\ne\n");
  EXPECT_EQ(Translated(Markdown("[![A b](c)](d) ![e](f)\n"), "A b", "x]", {}),
            "[![x\\]](c)](d) ![e](f)\n");
  EXPECT_EQ(Plain("![](a) *b*\n"), "b\n");
}

TEST(MarkdownTest, KeepsWhatItDoesNotUnderstand) {
  for (const char* text :
       {"",       "*",      "**a",         "`a",           "[a](b",
        "![",     "[]",     "<a",          "\\",           "a\\",
        "&",      "|",      "- ",          "```\na",       "[a]: ",
        "> ",     "\n\n",   "a **b",       "*a **b*",      "_a*",
        "~",      "[a][b]", "[[a](b)](c)", "<a@b.c",       "\xff*a*",
        "1.\n2.", "|-|",    "<!-- a",      "a <b> *c</b>*"}) {
    const Markup markup = Markdown(text);
    std::string out;
    size_t at = 0;
    const std::string& plain = markup.plain();
    for (size_t begin = 0; begin <= plain.size();) {
      const size_t end = std::min(plain.find('\n', begin), plain.size());
      const TextSpan span = WithoutWhiteSpace(plain, {begin, end});
      begin = end + 1;
      if (span.begin == span.end) continue;
      std::vector<AlignedWords> words;
      for (size_t i = span.begin; i < span.end; ++i) {
        words.push_back({{i - span.begin, i - span.begin + 1}, {i, i + 1}, 1});
      }
      const Markup::Sentence sentence = markup.In(span);
      ASSERT_LE(at, sentence.source.begin) << text;
      out.append(markup.text(), at, sentence.source.begin - at);
      out += markup.Place(sentence, span.Of(plain), words);
      at = sentence.source.end;
    }
    out.append(markup.text(), at);
    EXPECT_EQ(Plain(out), plain) << text << "\n" << out;
  }
}

TEST(MarkdownTest, FormulasAreOpaque) {
  const std::string text = "Drink **H<sub>2</sub>O** on 20 m<sup>2</sup>.";
  EXPECT_EQ(Plain(text), "Drink \uFFFC on 20 \uFFFC.");
  EXPECT_EQ(Says("H<sub>2</sub>O is wet.", "\uFFFC ist nass.",
                 {{"\uFFFC", "\uFFFC"}, {"ist", "is"}, {"nass", "wet"}}),
            "H<sub>2</sub>O ist nass.");
  EXPECT_EQ(Plain("It is so.<sup>1</sup> We know."), "It is so. We know.");
}

TEST(MarkdownTest, HighlightsAreElements) {
  EXPECT_EQ(Plain("The ==red== and ++new++ house"), "The red and new house");
  EXPECT_EQ(Says("The ==very **red**== house", "Das Haus, sehr rot",
                 {{"Das", "The"},
                  {"Haus", "house"},
                  {"sehr", "very"},
                  {"rot", "red"}}),
            "Das Haus, ==sehr **rot**==");
  EXPECT_EQ(Says("++A++ b", "xay", {{"xay", "A"}}), "++xay++");
  for (const char* const text :
       {"a == b and c == d", "a==b==c", "C++ and D++ or ++i",
        "== a ==", "=== a ===", "==a"}) {
    EXPECT_EQ(Plain(text), text);
  }
}

TEST(MarkdownTest, LinesOfExtensionsStay) {
  EXPECT_EQ(Plain("> [!NOTE]\n> The house\n> is red."), "\nThe house is red.");
  EXPECT_EQ(Plain("> [!tip]- A title\n> A text."), "\nA title A text.");
  EXPECT_EQ(Plain(":::warning Title\nA text.\n:::\n"), "\nA text.\n");
  EXPECT_EQ(Plain("!!! note \"Title\"\n    A text."), "\nA text.");
  EXPECT_EQ(Plain("A text.\n{% include \"x\" %}\nB."), "A text.\nB.");
  EXPECT_EQ(Plain("Term\n: What it is."), "Term\nWhat it is.");
  EXPECT_EQ(Plain("*[HTML]: Hypertext"), "\nHypertext");
  EXPECT_EQ(Plain("See [[Page|this page]]."), "See \uFFFC.");
  for (const char* const text :
       {"A [!NOTE] in text", "!!! oh no", ":: b", "A : b", "[[]]"}) {
    EXPECT_EQ(Plain(std::string("x\n") + text), std::string("x ") + text);
  }
}

TEST(MarkdownTest, BoundsElementsAndTheirDepth) {
  const auto parse = [](std::string text) {
    return Markup::Parse(MarkupFormat::kMarkdown, std::move(text)).status();
  };
  const auto is_error_at = [](const char* place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  };
  const auto times = [](int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_TRUE(parse(times(100, "![") + "a" + times(100, "](b)")).ok());
  EXPECT_THAT(parse(times(50'000, "![") + "a" + times(50'000, "](b)")),
              is_error_at("byte 0"));
  EXPECT_THAT(parse(times(60, "*a <b>") + times(60, "</b>*")),
              is_error_at("byte"));
  // A row has as many cells as the table's head.
  EXPECT_THAT(parse(times(20'000, "|a") + "\n" + times(20'000, "|---") + "\n" +
                    times(1'000, "|\n")),
              is_error_at("100000"));
  EXPECT_THAT(
      parse("[a]: " + times(100'000, "\\!") + "\n\n" + times(1'000, "[a] ")),
      is_error_at("100000"));
  EXPECT_TRUE(parse(times(20'000, "*a **b ")).ok());
  EXPECT_TRUE(parse(times(100'000, "[")).ok());
  EXPECT_TRUE(parse(times(20'000, "<a>*")).ok());
}

}  // namespace
}  // namespace trivium
