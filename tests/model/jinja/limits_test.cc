// Templates that would hang, exhaust the memory or overflow the stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/model/jinja/rendering.h"
#include "tests/support/error_texts.h"

namespace trivium::jinja {
namespace {

std::string Repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(TemplateLimitsTest, StopsHostileTemplates) {
  Limits limits;
  limits.work = int64_t{1} << 22;
  limits.bytes = size_t{1} << 22;
  const std::string sources[] = {
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
      "{% endfor %}",
      "{{ 'x' * 999999999999 }}",
      "{{ [1] * 999999999999 }}",
      "{% set n = namespace(s='ab') %}{% for i in range(99) %}"
      "{% set n.s = n.s + n.s %}{% endfor %}",
      "{% set n = namespace(s='ab') %}{% for i in range(99) %}"
      "{% set n.s = n.s|replace('a', n.s) %}{% endfor %}",
      "{% set n = namespace(l=[1]) %}{% for i in range(99) %}"
      "{% set n.l = n.l + n.l %}{% endfor %}",
      "{% set n = namespace(l=[1]) %}{% for i in range(9999) %}"
      "{% set n.l = [n.l] %}{% endfor %}",
      "{% set n = namespace(l=[1]) %}{% for i in range(9999) %}"
      "{% set n.l = n.l|map('default', n.l) %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
      "{{ ('a,' * 9999).split(',')|join('x' * 9999) }}",
      "{{ ('\\n' * 9999)|indent(1000, blank=true) }}",
      "{% for i in range(99999) %}{{ 'xxxxxxxxxxxxxxxxxxxxxxxx' }}{% endfor %}",
      "{{ 'x'.zfill(999999999999) }}",
      "{% set n = namespace(s='a') %}{% for i in range(9999) %}"
      "{{ n.s|upper|lower|title|tojson|trim }}{% set n.s = n.s ~ 'b' %}"
      "{% endfor %}",
  };
  for (const std::string& source : sources) {
    EXPECT_EQ(RenderWith(source, "{}", limits).status().code(),
              absl::StatusCode::kResourceExhausted)
        << source;
  }
}

TEST(TemplateLimitsTest, RefusesTemplatesThatAreTooDeep) {
  const std::string sources[] = {
      "{{ " + Repeated("(", 9999) + "1" + Repeated(")", 9999) + " }}",
      "{{ " + Repeated("[", 9999) + Repeated("]", 9999) + " }}",
      "{{ " + Repeated("-", 9999) + "1 }}",
      "{{ " + Repeated("not ", 9999) + "1 }}",
      "{{ 1" + Repeated(" + 1", 9999) + " }}",
      "{{ 1" + Repeated("|abs", 9999) + " }}",
      "{{ x" + Repeated(".a", 9999) + " }}",
      "{{ " + Repeated("1 if 1 else ", 9999) + "1 }}",
      Repeated("{% if 1 %}", 9999) + Repeated("{% endif %}", 9999),
  };
  for (const std::string& source : sources) {
    EXPECT_THAT(Template::Parse(source).status(),
                IsError(absl::StatusCode::kInvalidArgument, "line 1"))
        << source.substr(0, 40);
  }
}

TEST(TemplateLimitsTest, RefusesDeepDataButNotLongData) {
  EXPECT_FALSE(RenderWith("{{ x }}", "{\"x\": " + Repeated("[", 100) +
                                         Repeated("]", 100) + "}")
                   .ok());
  const auto text =
      RenderWith("{% for c in x.split(' ') %}{{ c|trim }}{% endfor %}",
                 "{\"x\": \"" + Repeated("word ", 20000) + "\"}");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->size(), 80000u);
}

TEST(TemplateLimitsTest, StopsWhenTheResultIsNoLongerWanted) {
  const auto parsed = Template::Parse(
      "{% for a in range(9999) %}{% for b in range(99) %}{% endfor %}"
      "{% endfor %}");
  ASSERT_TRUE(parsed.ok());
  Heap heap{Limits{}};
  int asked = 0;
  heap.set_check_alive([&] {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("enough");
  });
  const auto text =
      parsed->Render(heap, {}, {absl::Now(), absl::UTCTimeZone()});
  EXPECT_EQ(text.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace trivium::jinja
