// What templates print, as jinja2 3.1.6 prints it in Transformers' setup.
// tests/fuzz/compare_templates compares far more of them.
#include "model/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/model/jinja/rendering.h"
#include "tests/support/error_texts.h"

namespace trivium::jinja {
namespace {

constexpr std::string_view kData = R"({
  "s": "Hello World", "t": " ab\ncd ", "e": "", "i": 7, "j": -3, "f": 2.5,
  "b": true, "n": null, "l": [3, "a", null, 2.0], "w": ["b", "A", "c"],
  "d": {"b": 1, "a": "x", "items": 3},
  "r": [{"k": "v", "n": {"m": 1}}, {"k": "w", "n": {"m": 2}}],
  "u": "Größe ΣΑΣ"})";

absl::StatusOr<std::string> Render(std::string_view source) {
  TRIVIUM_ASSIGN_OR_RETURN(const Text text, RenderWith(source, kData));
  return Utf8Of(text);
}

void Expect(const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [source, expected] : cases) {
    const auto text = Render(source);
    ASSERT_TRUE(text.ok()) << source << ": " << text.status();
    EXPECT_EQ(*text, expected) << source;
  }
}

TEST(TemplateTest, TrimsWhiteSpace) {
  Expect({
      {"a\n{% if b %}\nc\n{% endif %}\nd\n", "a\nc\nd"},
      {"  {% if b %}x{% endif %}  y", "x  y"},
      {"  {%+ if b %}x{% endif %}", "  x"},
      {"a {%- if b %} x {%- endif %} y", "a x y"},
      {"a {%- if b -%} x {%- endif -%} y", "axy"},
      {"{% if b +%}\nx{% endif %}", "\nx"},
      {"a\n  {{ i }}\n  b", "a\n  7\n  b"},
      {"a\n {{- i -}}\n b", "a7b"},
      {"x{# c #}\ny", "xy"},
      {"x {#- c -#} y", "xy"},
      {"  {# c #}\nz", "z"},
      {"{% raw %}\n{{ i }}{% endraw %}\n!", "\n{{ i }}!"},
      {"a {%- raw -%} {{ {%- endraw %}", "a{{"},
      {"a\r\nb\rc", "a\nb\nc"},
      {"q\n", "q"},
      {"q\n\n", "q\n"},
      {"{{ '}}' }}{{ {'a': {}} }}", "}}{'a': {}}"},
      {"{{ {'a': {'b': 1}}}}", "{'a': {'b': 1}}"},
      {"a{%- set x = 1 %}\n  {%- set y = 2 -%}\n  b", "ab"},
  });
}

TEST(TemplateTest, ReadsLiterals) {
  Expect({
      {"{{ 'it\\'s' ~ \"\\n\\x41\\u00e9\\q\" }}", "it's\nAé\\q"},
      {"{{ 'a' 'b' }}", "ab"},
      {"{{ 1 }} {{ 1.0 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1e16 }} {{ 123456789.125 "
       "}}",
       "1 1.0 1000.0 1.5e-07 1e+16 123456789.125"},
      {"{{ true }} {{ False }} {{ none }} {{ None }}", "True False None None"},
      {"{{ [1, 'x', [2.0]] }} {{ (1,) }} {{ () }} {{ {'a': none, 2: true} }}",
       "[1, 'x', [2.0]] (1,) () {'a': None, 2: True}"},
      {"{{ ['\"', \"'\", '\\'\"', '\\n\\t\\\\', '\\x07\\u200b\\u00a0'] }}",
       "['\"', \"'\", '\\'\"', '\\n\\t\\\\', '\\x07\\u200b\\xa0']"},
      {"{{ d.items() }} {{ d.keys() }} {{ range(3) }} {{ range(1, 9, 2)|list "
       "}}",
       "dict_items([('b', 1), ('a', 'x'), ('items', 3)]) dict_keys(['b', 'a', "
       "'items']) range(0, 3) [1, 3, 5, 7]"},
      {"{{ {'a': 1, 'b': 2, 'a': 3} }} {{ {1: 'x', true: 'y'} }}",
       "{'a': 3, 'b': 2} {1: 'y'}"},
      {"{{ missing }}|{{ [missing] }}", "|[Undefined]"},
  });
}

TEST(TemplateTest, ComputesOperators) {
  Expect({
      {"{{ 7 / 2 }} {{ 8 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % "
       "-3 }} {{ 2 ** 10 }} {{ 2 ** -1 }}",
       "3.5 4.0 3 -4 2 -2 1024 0.5"},
      {"{{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 0.1 + 0.2 }} {{ 1 - 1.0 }}",
       "-4.0 0.5 0.30000000000000004 0.0"},
      {"{{ true + 1 }} {{ -b }} {{ +j }}", "2 -1 -3"},
      {"{{ 'ab' * 3 }} {{ 2 * [1] }} {{ 'a' * -1 }}", "ababab [1, 1] "},
      {"{{ 'a' + 'b' }} {{ [1] + [2] }} {{ (1,) + (2,) }} {{ 1 ~ none ~ [1] ~ "
       "missing }}",
       "ab [1, 2] (1, 2) 1None[1]"},
      {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 'a' == 1 }} {{ [1] "
       "== [1.0] }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }}",
       "True False True False True True True"},
      {"{{ 'lo' in s }} {{ 'a' in d }} {{ 3 in l }} {{ 'z' not in l }} {{ 'k' "
       "in r[0] }} {{ 1 in missing }}",
       "True True True True True False"},
      {"{{ e or 'x' }} {{ s and i }} {{ not e }} {{ not e and s }} {{ n or "
       "missing or 0 }}",
       "x 7 True Hello World 0"},
      {"{{ 'y' if b else 'n' }}{{ 'y' if e }}{{ 1 if e else 2 if e else 3 }}",
       "y3"},
      {"{{ 1 + 2 * 3 ** 2 }} {{ (1 + 2) * 3 }} {{ -2 ** 2 }} {{ -j|abs }}",
       "19 9 4 3"},
      {"{{ '%s-%d%%' % ('a', 3) }} {{ '%s' % i }}", "a-3% 7"},
  });
}

TEST(TemplateTest, FindsAttributesAndItems) {
  Expect({
      {"{{ s[0] }}{{ s[-1] }}{{ s[99] }} {{ s[1:4] }} {{ s[::-1] }} {{ s[:-6] "
       "}} {{ s[-3:] }} {{ l[1:] }} {{ l[::2] }} {{ l[9:] }}",
       "Hd ell dlroW olleH Hello rld ['a', None, 2.0] [3, None] []"},
      {"{{ d.a }}{{ d['a'] }}{{ d.zz }}{{ d['items'] }}{{ r[0].k }}{{ r.0.k "
       "}}{{ r[1]['n'].m }}",
       "xx3vv2"},
      {"{{ d.get('a') }} {{ d.get('z') }} {{ d.get('z', 4) }} {{ d.keys()|list "
       "}} {{ d.values()|list }}",
       "x None 4 ['b', 'a', 'items'] [1, 'x', 3]"},
      {"{{ u[1] }}{{ u|length }}{{ 'ab😀c'[2] }}{{ '😀'|length }}", "r9😀1"},
      {"{{ d.items is defined }} {{ d.pop is defined }} {{ l.append is "
       "undefined }} {{ d.zz is none }}",
       "True False True False"},
  });
}

TEST(TemplateTest, CallsMethods) {
  Expect({
      {"[{{ t.strip() }}][{{ t.lstrip() }}][{{ t.rstrip() }}][{{ s.strip('Hd') "
       "}}]",
       "[ab\ncd][ab\ncd ][ ab\ncd][ello Worl]"},
      {"{{ s.split() }} {{ s.split('o') }} {{ s.split('o', 1) }} {{ "
       "s.rsplit('o', 1) }} {{ ' a  b '.split() }} {{ ''.split('x') }} {{ 'a b "
       "c'.split(none, 1) }}",
       "['Hello', 'World'] ['Hell', ' W', 'rld'] ['Hell', ' World'] ['Hello "
       "W', 'rld'] ['a', 'b'] [''] ['a', 'b c']"},
      {"{{ s.startswith('He') }} {{ s.endswith(('x', 'ld')) }} {{ s.find('o') "
       "}} {{ s.rfind('o') }} {{ s.find('z') }} {{ s.count('l') }}",
       "True True 4 7 -1 3"},
      {"{{ s.upper() }} {{ s.lower() }} {{ u.upper() }} {{ u.lower() }} {{ 'x "
       "y-z'.title() }} {{ 'ab CD'.capitalize() }} {{ 'straße'.upper() }}",
       "HELLO WORLD hello world GRÖSSE ΣΑΣ größe σας X Y-Z Ab cd STRASSE"},
      {"{{ s.replace('l', 'LL') }} {{ s.replace('l', '', 1) }} {{ "
       "'ab'.replace('', '-') }}",
       "HeLLLLo WorLLd Helo World -a-b-"},
      {"{{ ', '.join(w) }}", "b, A, c"},
      {"{{ '{} {a}'.format(1, a='x') }} {{ '{0}{1}{0}{{'.format('a', 'b') }}",
       "1 x aba{"},
      {"{{ 'a,b,c'.partition(',') }} {{ 'a,b,c'.rpartition(',') }} {{ "
       "'ab'.partition('x') }}",
       "('a', ',', 'b,c') ('a,b', ',', 'c') ('ab', '', '')"},
      {"{{ 'a\\nb\\r\\nc'.splitlines() }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) "
       "}} {{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }}",
       "['a', 'b', 'c'] 007 -007 True True True"},
      {"{{ 'prefix'.removeprefix('pre') }} {{ 'prefix'.removesuffix('x') }} {{ "
       "l.index('a') }} {{ w.count('A') }}",
       "fix prefi 1 1"},
  });
}

TEST(TemplateTest, AppliesFilters) {
  Expect({
      {"{{ t|trim }}|{{ 'xxaxx'|trim('x') }}|{{ i|trim }}", "ab\ncd|a|7"},
      {"{{ s|upper }} {{ s|lower }} {{ 'hELLO wORLD'|capitalize }} {{ "
       "'hello-big (world)'|title }}",
       "HELLO WORLD hello world Hello world Hello-Big (World)"},
      {"{{ w|join }} {{ w|join(', ') }} {{ r|join('-', attribute='k') }} {{ "
       "l|join('/') }} {{ s|join('.') }}",
       "bAc b, A, c v-w 3/a/None/2.0 H.e.l.l.o. .W.o.r.l.d"},
      {"{{ missing|default('x') }} {{ e|default('x') }} {{ e|default('x', "
       "true) }} {{ n|d('x', boolean=true) }} [{{ missing|default }}]",
       "x  x x []"},
      {"{{ l|length }} {{ d|count }} {{ s|length }} {{ missing|length }}",
       "4 3 11 0"},
      {"{{ w|first }} {{ w|last }} {{ []|first is defined }} {{ s|first }} {{ "
       "d|last }}",
       "b c False H items"},
      {"{{ d|list }} {{ 'abc'|list }} {{ range(3)|list }} {{ d.items()|list }} "
       "{{ d|items|list }}",
       "['b', 'a', 'items'] ['a', 'b', 'c'] [0, 1, 2] [('b', 1), ('a', 'x'), "
       "('items', 3)] [('b', 1), ('a', 'x'), ('items', 3)]"},
      {"{{ d|dictsort }} {{ {'b': 2, 'A': 1}|dictsort(true) }} {{ {'b': 1, "
       "'a': 2}|dictsort(by='value', reverse=true) }}",
       "[('a', 'x'), ('b', 1), ('items', 3)] [('A', 1), ('b', 2)] [('a', 2), "
       "('b', 1)]"},
      {"{{ w|sort }} {{ w|sort(case_sensitive=true) }} {{ w|sort(reverse=true) "
       "}} {{ r|sort(attribute='k', reverse=true)|map(attribute='n.m')|list }}",
       "['A', 'b', 'c'] ['A', 'b', 'c'] ['c', 'b', 'A'] [2, 1]"},
      {"{{ ['a', 'A', 'b', 'a']|unique|list }} {{ w|reverse|list }} {{ "
       "'abc'|reverse }}",
       "['a', 'b'] ['c', 'A', 'b'] cba"},
      {"{{ w|map('upper')|join }} {{ r|map(attribute='k')|list }} {{ "
       "r|map(attribute='z', default='-')|list }} {{ w|map('replace', 'b', "
       "'x')|list }}",
       "BAC ['v', 'w'] ['-', '-'] ['x', 'A', 'c']"},
      {"{{ l|select('string')|list }} {{ l|reject('none')|list }} {{ "
       "l|select|list }} {{ r|selectattr('k', 'equalto', 'w')|list|length }} "
       "{{ r|rejectattr('z')|list|length }} {{ r|selectattr('z', "
       "'defined')|list }} {{ l|select('in', [3])|list }}",
       "['a'] [3, 'a', 2.0] [3, 'a', 2.0] 1 2 [] [3]"},
      {"{{ '3'|int }} {{ 'x'|int }} {{ '2.7'|int }} {{ 'x'|int(-1) }} {{ "
       "'ff'|int(0, 16) }} {{ '2.5'|float }} {{ i|float }} {{ 3.99|int }}",
       "3 0 2 -1 255 2.5 7.0 3"},
      {"{{ j|abs }} {{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ "
       "2.1|round(method='ceil') }} {{ 7|round }}",
       "3 2.0 4.0 2.57 3.0 7"},
      {"{{ [1, 5, 2]|min }} {{ w|max }} {{ [1, 2.5]|sum }} {{ "
       "r|sum(attribute='n.m') }}",
       "1 c 3.5 3"},
      {"{{ t|indent }}|{{ t|indent(2, true) }}|{{ 'a\\n\\nb'|indent(1, "
       "blank=true) }}|{{ 'a\\n'|indent('>') }}",
       " ab\n    cd |   ab\n  cd |a\n \n b|a\n"},
      {"{{ s|replace('o', '0') }} {{ s|replace('o', '0', 1) }} {{ i|replace(7, "
       "8) }}",
       "Hell0 W0rld Hell0 World 8"},
      {"{{ i|string + '!' }} {{ n|string }} {{ '%s/%s'|format(1, 'a') }}",
       "7! None 1/a"},
      {"{{ d|tojson }} {{ l|tojson }} {{ u|tojson }} {{ "
       "u|tojson(ensure_ascii=true) }} {{ '😀'|tojson(true) }} {{ "
       "'<&\\'\"\\x01\\x7f/'|tojson }}",
       "{\"b\": 1, \"a\": \"x\", \"items\": 3} [3, \"a\", null, 2.0] \"Größe "
       "ΣΑΣ\" \"Gr\\u00f6\\u00dfe \\u03a3\\u0391\\u03a3\" \"\\ud83d\\ude00\" "
       "\"<&'\\\"\\u0001\177/\""},
      {"{{ d|tojson(indent=2) }} {{ []|tojson(indent=2) }} {{ "
       "d|tojson(sort_keys=true, separators=(',', ':')) }} {{ [1e20, 0.5, "
       "{'a': {}}]|tojson(indent=1) }} {{ {1: 2, none: 3, 2.5: 4}|tojson }}",
       "{\n  \"b\": 1,\n  \"a\": \"x\",\n  \"items\": 3\n} [] "
       "{\"a\":\"x\",\"b\":1,\"items\":3} [\n 1e+20,\n 0.5,\n {\n  \"a\": {}\n "
       "}\n] {\"1\": 2, \"null\": 3, \"2.5\": 4}"},
      {"{{ '{\"a\": [1, 2.0, null, \"\\\\u00e9\"]}'|from_json }}",
       "{'a': [1, 2.0, None, 'é']}"},
      {"{{ '<b>'|safe + '<i>' }} {{ '<i>' + '<b>'|safe }} {{ '<b>'|safe ~ "
       "'<i>' }} {{ '<&\\''|e }} {{ ['<'|safe] }} {{ ('<'|safe).upper() + '>' "
       "}}",
       "<b>&lt;i&gt; &lt;i&gt;<b> <b><i> &lt;&amp;&#39; [Markup('<')] <&gt;"},
  });
}

TEST(TemplateTest, AppliesTests) {
  Expect({
      {"{{ i is defined }} {{ z is defined }} {{ z is undefined }} {{ n is "
       "none }} {{ s is string }} {{ d is mapping }} {{ l is iterable }} {{ i "
       "is iterable }} {{ l is sequence }} {{ d is sequence }} {{ d.items() is "
       "sequence }} {{ i is number }} {{ b is number }} {{ b is boolean }} {{ "
       "1 is boolean }}",
       "True False True True True True True False True True False True True "
       "True False"},
      {"{{ b is true }} {{ 1 is true }} {{ false is false }} {{ i is integer "
       "}} {{ b is integer }} {{ f is float }} {{ i is odd }} {{ i is even }} "
       "{{ i is divisibleby 7 }} {{ 9 is divisibleby(2) }}",
       "True False True True False True True False True False"},
      {"{{ 3 is in l }} {{ 'a' is eq 'a' }} {{ 'a' is equalto('b') }} {{ 1 is "
       "ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 3 }} {{ 1 is not gt 3 }} {{ 'a' is "
       "lower }} {{ 'A1' is upper }} {{ n is sameas none }}",
       "True True False True True False True True True True"},
      {"{{ i is not none and s is string or b }} {{ 'y' if s is string else "
       "'n' }} {{ not i is none }} {{ z is string }} {{ z is iterable }} {{ z "
       "is sequence }} {{ range is callable }}",
       "True y True False True True True"},
  });
}

TEST(TemplateTest, ExecutesStatements) {
  Expect({
      {"{% if e %}1{% elif i == 7 %}2{% else %}3{% endif %}", "2"},
      {"{% for x in w %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ "
       "loop.first }}{{ loop.last }}{{ x }},{% endfor %}",
       "103TrueFalseb,212FalseFalseA,321FalseTruec,"},
      {"{% for x in w %}{{ loop.previtem }}{{ x }}{{ loop.nextitem }}{{ "
       "loop.length }}{{ loop.cycle('o', 'e') }} {% endfor %}",
       "bA3o bAc3e Ac3o "},
      {"{% for x in [] %}a{% else %}none{% endfor %}", "none"},
      {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d "
       "%}{{ k }}{% endfor %}{% for c in 'añ' %}{{ c }}.{% endfor %}",
       "b=1;a=x;items=3;baitemsa.ñ."},
      {"{% for x in range(9) if x is odd %}{{ x }}{{ loop.last }}{% endfor %}",
       "1False3False5False7True"},
      {"{% for x in w %}{% if x == 'A' %}{% continue %}{% endif %}{{ x }}{% "
       "endfor %}{% for x in w %}{% if x == 'A' %}{% break %}{% endif %}{{ x "
       "}}{% endfor %}",
       "bcb"},
      {"{% set x = 1 %}{% for y in w %}{% set x = y %}{{ x }}{% endfor %}{{ x "
       "}}",
       "bAc1"},
      {"{% set ns = namespace(a=1, b='') %}{% for y in w %}{% set ns.a = ns.a "
       "+ 1 %}{% set ns.b = y ~ ns.b %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.z "
       "is defined }}{{ ns['a'] }}",
       "4cAbFalse4"},
      {"{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set p = 1, 2 %}{{ p }}{% set (c, "
       "g) = w[:2] %}{{ c }}",
       "12(1, 2)b"},
      {"{% set x %}a{{ i }}{% set y = 5 %}{% endset %}[{{ x }}]{{ y is defined "
       "}}{% set z | upper | replace('A', 'b') %}xa{% endset %}{{ z }}",
       "[a7]FalseXb"},
      {"{% if true %}{% set x = 1 %}{% endif %}{{ x }}", "1"},
      {"{% macro m(a, b=2, c=a) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) "
       "}}{{ m(1, 3) }}{{ m(b=5, a=4) }}{{ m() }}",
       "[121][131][454][2]"},
      {"{% macro f(n) -%}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{%- "
       "endmacro %}{{ f(3) }}{{ f(2)|length }}",
       "3212"},
      {"{% macro box() %}<{{ caller('x') }}>{% endmacro %}{% call(v) box() "
       "%}{{ v }}{{ i }}{% endcall %}",
       "<x7>"},
      {"{% macro m() %}{{ g }}{{ i }}{% endmacro %}{% set g = 9 %}{{ m() }}",
       "97"},
      {"{% filter upper|trim %} a{{ s }} {% endfilter %}", "AHELLO WORLD"},
      {"{% with x = 1, y = i %}{{ x }}{{ y }}{% endwith %}{{ x is defined }}",
       "17False"},
      {"{% generation %}a{% set q = 1 %}{% endgeneration %}{{ q is defined }}",
       "aFalse"},
      {"{% for a in w %}{% for c in w %}{{ loop.index }}{% endfor %}{{ "
       "loop.index }}{% endfor %}",
       "123112321233"},
      {"{{ strftime_now('%Y-%m-%d %d %b %Y %B %A %H:%M:%S %%') }}",
       "2025-07-04 04 Jul 2025 July Friday 11:00:00 %"},
      {"{{ dict(a=1, b=2) }} {{ dict(d, z=1)|length }} {{ namespace(d).a }}",
       "{'a': 1, 'b': 2} 4 x"},
      {"{% set g = w|map('upper') %}{{ g|first }}{{ g|list }}{{ g|list }}",
       "B['A', 'C'][]"},
  });
}

TEST(TemplateTest, ErrorsNameTheLine) {
  for (const std::string source : {
           "{{ missing.x }}",
           "{{ 1 + 'a' }}",
           "{{ 'a' + 1 }}",
           "{{ 1 / 0 }}",
           "{{ 1 % 0 }}",
           "{{ n|length }}",
           "{{ l.append(1) }}",
           "{{ d.pop('a') }}",
           "{{ d.update({}) }}",
           "{{ 'a' < 1 }}",
           "{{ s.split('') }}",
           "{{ missing() }}",
           "{{ i() }}",
           "{% for x in 5 %}{% endfor %}",
           "{% set d.x = 1 %}",
           "{% set x, y = [1] %}",
           "{{ raise_exception('no!') }}",
           "{{ missing|tojson }}",
           "{{ '{'|from_json }}",
           "{{ s.index('zz') }}",
           "{{ l|sort }}",
           "{{ 5 in 'a' }}",
           "{{ range(1000001) }}",
           "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
           "{% macro m(a) %}{% endmacro %}{{ m(z=2) }}",
           "{{ s|replace('a') }}",
           "{{ s|trim(1, 2) }}",
           "{{ {[]: 1} }}",
           "{{ n[1:] }}",
           "{{ '%s %s' % 1 }}",
           "{{ missing|int }}",
           "{{ none + 1 }}",
           "{{ -s }}",
           "{{ ','.join([1]) }}",
       }) {
    const auto text = Render("\n" + source);
    EXPECT_THAT(text.status(),
                IsError(absl::StatusCode::kInvalidArgument, "line 2"))
        << source;
  }
}
TEST(TemplateTest, NamesUnsupportedPartsAndTheirLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{{ x|frobnicate }}", "'frobnicate'"},
      {"{{ x|map('nope') }}", "'nope'"},
      {"{{ x|select('nope') }}", "'nope'"},
      {"{{ x|selectattr('a', 'nope') }}", "'nope'"},
      {"{{ x|map(x) }}", "map"},
      {"{{ x is odd and x is nope }}", "'nope'"},
      {"{{ x.encode() }}", "'encode'"},
      {"{{ x.__class__ }}", "'__class__'"},
      {"{{ lipsum() }}", "'lipsum'"},
      {"{% include 'x' %}", "'include'"},
      {"{% block a %}", "'block'"},
      {"{% for a in b recursive %}{% endfor %}", "'recursive'"},
      {"{{ f(*x) }}", "**"},
  };
  for (const auto& [source, part] : cases) {
    const absl::Status status = Template::Parse("\n" + source).status();
    EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "line 2"))
        << source;
    EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, part))
        << source;
  }
}

TEST(TemplateTest, RefusesInvalidTemplates) {
  for (const std::string source : {"{{ x",
                                   "{% if x %}",
                                   "{% if x %}{% endfor %}",
                                   "{{ x }",
                                   "{{ }}",
                                   "{{ (x }}",
                                   "{{ x ] }}",
                                   "{{ 'a }}",
                                   "{# x",
                                   "{% raw %}x",
                                   "{{ 12345678901234567890 }}",
                                   "{% endif %}",
                                   "{% break %}",
                                   "{{ x.y() z }}",
                                   "{% set 1 = 2 %}",
                                   "{% macro m(a=1, b) %}",
                                   "{{ f(a=1, 2) }}",
                                   "{{ '\\ud800' }}",
                                   "{{ a ? b }}",
                                   "\xff",
                                   "{% for x %}{% endfor %}",
                                   "{{ x is }}",
                                   "{{ x| }}",
                                   "{% if %}",
                                   "{% set none = 1 %}",
                                   "{{ 1x }}",
                                   "{{ $ }}",
                                   "{% call x %}"}) {
    EXPECT_EQ(Template::Parse(source).status().code(),
              absl::StatusCode::kInvalidArgument)
        << source;
  }
}

}  // namespace
}  // namespace trivium::jinja
