// The origin of each printed character. In these templates' results, data is in
// lower case and the template's own words are in capitals.
#include <gtest/gtest.h>

#include <string>

#include "tests/model/jinja/rendering.h"

namespace trivium::jinja {
namespace {

// Returns the text with everything that came from the data in ⟦ ⟧.
std::string Marked(std::string_view source, std::string_view json) {
  const auto text = RenderWith(source, json);
  if (!text.ok()) return text.status().ToString();
  std::string marked;
  bool inside = false;
  for (const char32_t c : *text) {
    const bool from_data = (c & kFromData) != 0;
    if (from_data != inside) marked += from_data ? "⟦" : "⟧";
    inside = from_data;
    marked += Utf8Of(TextView(&c, 1));
  }
  return inside ? marked + "⟧" : marked;
}

TEST(ProvenanceTest, StaysWithEachCharacter) {
  const std::pair<std::string, std::string> cases[] = {
      {"<S>{{ x }}</S>", "<S>⟦ abc ⟧</S>"},
      {"{{ '<S>' + x ~ '</S>' }}", "<S>⟦ abc ⟧</S>"},
      {"{{ x|trim }}{{ x.strip() }}{{ x[1:3] }}{{ x[2] }}", "⟦abcabcabb⟧"},
      {"{{ x|replace('b', 'B') }}{{ 'AxB'.replace('x', y) }}",
       "⟦ a⟧B⟦c ⟧A⟦y⟧B"},
      {"{{ [x, 'B']|join('+') }}{{ x.split('b') }}",
       "⟦ abc ⟧+B['⟦ a⟧', '⟦c ⟧']"},
      {"{{ x|upper }}{{ 'a'|upper }}{{ x.title() }}", "⟦ ABC ⟧A⟦ Abc ⟧"},
      {"{{ d|tojson }}", "{\"⟦k⟧\": [\"⟦v\\n⟧\", ⟦1⟧, ⟦true⟧, ⟦null⟧, ⟦0.5⟧]}"},
      {"{{ d }}", "{'⟦k⟧': ['⟦v\\n⟧', ⟦1⟧, ⟦True⟧, ⟦None⟧, ⟦0.5⟧]}"},
      {"{{ j|from_json|first }}{{ '[\"Q\"]'|from_json|first }}", "⟦</s>⟧Q"},
      {"{% set b %}<{{ x }}>{% endset %}{{ b }}", "<⟦ abc ⟧>"},
      {"{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x) ~ m('A') }}",
       "<⟦ abc ⟧><A>"},
      {"{% filter trim %} {{ x }}{% endfilter %}", "⟦abc⟧"},
      {"{% for c in y %}{{ c }}{{ loop.index }}{% endfor %}", "⟦y⟧1"},
      {"{{ n + 1 }}{{ 1 + 1 }}{{ '7'|int }}{{ s|int }}", "⟦3⟧27⟦12⟧"},
      {"{{ '%s|%d' % (x, n) }}{{ '{}'.format(x) }}", "⟦ abc ⟧|⟦2 abc ⟧"},
      {"{{ x|e }}{{ ('<'|safe) + h }}", "⟦ abc ⟧<⟦&lt;s&gt;⟧"},
      {"{{ x|indent(2, true) }}{{ y * 2 }}{{ 'B' * n }}", "  ⟦ abc yy⟧BB"},
      {"{{ missing|default(x) }}{{ d.keys()|first }}", "⟦ abc k⟧"},
      {"{{ 'A' if x else 'B' }}{{ y or 'B' }}{{ '' or 'B' }}", "A⟦y⟧B"},
  };
  for (const auto& [source, expected] : cases) {
    EXPECT_EQ(Marked(source, R"({"x": " abc ", "y": "y", "n": 2, "s": "12",
      "h": "<s>", "j": "[\"</s>\"]", "d": {"k": ["v\n", 1, true, null, 0.5]}})"),
              expected)
        << source;
  }
}

}  // namespace
}  // namespace trivium::jinja
