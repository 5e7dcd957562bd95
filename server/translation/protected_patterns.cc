#include "server/translation/protected_patterns.h"

#include <re2/re2.h>

namespace trivium {
namespace {

using re2::RE2;

constexpr char kPrintf[] =
    R"((%(?:%|(?:\(\w+\))?(?:\d+\$)?[-+#0']*(?:\d+|\*(?:\d+\$)?)?)"
    R"((?:\.(?:\d+|\*(?:\d+\$)?)?)?(?:hh?|ll?|[Lqjzt])?)"
    R"([diouxXeEfFgGaAcCsSpn@])))";

constexpr char kMustache[] = R"((\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\}))";

// Does not match the punctuation that follows a URL in a sentence. Parentheses
// belong to a URL only in pairs.
constexpr char kUrl[] = R"(\b((?:[A-Za-z][A-Za-z0-9+.-]*://|www\.|mailto:|)"
                        R"((?i:doi|arxiv|urn):))"
                        R"((?:\([^\s<>"()]*\)|[^\s<>"()“”„«»])*)"
                        R"((?:\([^\s<>"()]*\)|[^\s<>"()“”„«».,;:!?\]'…])))";

constexpr char kEmail[] =
    R"(([\pL\pN_.+%-]*[\pL\pN_+%-]@[\pL\pN-]+(?:\.[\pL\pN-]+)+))";

// Matches paths that begin with a root, "~" or dots, and names with a common
// extension, with the folders before them.
constexpr char kFileName[] =
    R"((?:^|[^\pL\pN_./\\~-])()"
    R"([A-Za-z]:\\(?:[^\s"<>|:*?]*[^\s"<>|:*?.,;!)\]'])?)"
    R"(|(?:~|\.\.?)?/[\pL\pN_.+/-]*[\pL\pN_+/-])"
    R"(|(?:[\pL\pN_.+-]+[/\\])*[\pL\pN_+-][\pL\pN_.+-]*\.(?:)"
    R"(txt|md|rst|rtf|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv|json|ya?ml|xml|)"
    R"(html?|css|[cm]?js|tsx?|py|ipynb|rb|go|rs|c|h|cc|cpp|hpp|java|kt|swift|)"
    R"(cs|php|pl|sh|bat|ps1|sql|exe|dll|so|dylib|jar|zip|tar|tgz|gz|bz2|xz|)"
    R"(zst|7z|rar|deb|rpm|apk|dmg|msi|iso|img|png|jpe?g|gif|svg|webp|bmp|ico|)"
    R"(tiff?|mp[34]|m4a|wav|ogg|flac|avi|mov|mkv|webm|log|ini|conf|cfg|toml|)"
    R"(env|lock|db|sqlite|pot?|mo|xliff?|xlf|srt|vtt|epub|tex|bak|tmp|pem|)"
    R"(key|crt|proto|bin|gguf|safetensors)\b)"
    R"())";

constexpr char kNumberWithUnit[] =
    R"((?:^|[^\pL\pN_.,%$€£¥{#])()"
    R"([-+±−]?\d+(?:[.,'’\x{A0}\x{202F}]\d+)*[ \x{A0}\x{202F}]?(?:%|‰|€|£|¥|\$)"
    R"(|°[CF]?|(?:km/h|m/s|mph|rpm|µm|nm|mm|cm|dm|km|m|ft|yd|mi)[²³]?)"
    R"(|µg|mg|kg|g|lbs?|oz|µs|ns|ms|s|min|h|[kMGT]?Hz|[kKMGTP]i?B|B)"
    R"(|[kMGT]?bits?|[kMG]bps|[mk]?V|m?A|[kMG]?Wh?|[hkM]?Pa|bar|psi|N|k?J|k?cal)"
    R"(|K|ml|mL|dl|l|L|px|pt|em|rem|dpi|fps|mol|dB|EUR|USD|GBP|CHF|JPY))"
    R"(|[$€£¥][ \x{A0}\x{202F}]?\d+(?:[.,'’]\d+)*)(?:[^\pL\pN_]|$))";

// Numbers are joined by at most one separator, and are no part of a word.
constexpr char kNumber[] =
    R"((?:^|[^\pL\pN_])()"
    R"([-+±−]?\d+(?:[.,'’:/\-\x{A0}\x{202F}]\d+)*)(?:[^\pL\pN_]|$))";

// Matches names of hosts without a scheme. Top-level domains that are words of
// sentences, such as "it" and "so", are left out: a full stop without a space
// may stand before those.
constexpr char kDomain[] =
    R"((?:^|[^\pL\pN_.@/-])()"
    R"((?:[\pL\pN](?:[\pL\pN-]*[\pL\pN])?\.)+)"
    R"((?:com|org|net|edu|gov|info|biz|io|ai|app|dev|cloud|eu|uk|de|at|ch|fr|)"
    R"(nl|pl|ru|jp|cn|br|au|ca|se|dk|cz|tv)\b)"
    R"((?::\d+)?(?:/(?:[^\s<>"()“”„«»]*[^\s<>"()“”„«».,;:!?\]'…])?)?))";

// Matches code between backticks; variables of shells; flags and variables with
// their values; calls and names with "::" or "->"; names with an underscore or
// a capital inside; words in small letters that go on with digits; entities;
// handles and tags.
// A chain such as "a_b.c::d" is one match. Otherwise each part of a chain would
// look for "()" in all that follows, which takes quadratic time.
constexpr char kIdentifier[] =
    R"((?:^|[^\pL\pN_.@#`/-])()"
    R"(`[^`\n]{1,200}`)"
    R"(|\$(?:[A-Za-z_]\w*\$?|\{[\w.:-]+\}|\(\w+\)))"
    R"(|%[A-Za-z_]\w+%)"
    R"(|(?:--?[A-Za-z][\w-]*|[A-Z][A-Z0-9_]*)=[^\s,;()]*[^\s.,;:!?()'"“”’])"
    R"(|[A-Za-z_]\w*(?:(?:::|->|\.)\w+)*(?:\(\)|(?:::|->)\w+))"
    R"(|\pL[\pL\pN]*(?:_[\pL\pN]+)+)"
    R"(|[a-z]{2,}[A-Z][a-z][\pL\pN]*)"
    R"(|\p{Ll}\pL*\d[\pL\pN]*(?:[.-]\d[\pL\pN]*)*(?:-[a-z]+[.\d]*\d)?)"
    R"(|\d+(?:\.\d+)+-(?:alpha|beta|rc|dev|pre|snapshot)(?:\.?\d+)*\b)"
    R"(|--[A-Za-z][\w-]*\b)"
    R"(|&(?:[A-Za-z]{2,8}\d{0,2}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});)"
    R"(|[@#]\pL[\pL\pN_]*))";

// Matches tags; calls whose arguments are no words of a sentence; and lines of
// code: prompts of a shell, SQL, and statements of usual programming languages.
// Each kind of line has a mark that prose lacks.
constexpr char kCode[] =
    R"((</?[A-Za-z][A-Za-z0-9:-]*)"
    R"((?: [A-Za-z:_-]+=(?:"[^"<>\n]*"|'[^'<>\n]*'|[^\s"'<>=]+))*\s?/?>)"
    R"(|<!--[^<>\n]*-->)"
    R"(|\b[A-Za-z_]\w*\((?:"[^"\n]*"[^()\n]*|'[^'\n]*'[^()\n]*)"
    R"(|[\w.]+(?:, ?[\w.]+)+)\))"
    R"(|(?m:^[ \t]*(?:)"
    R"(\$ [a-z][\w./-]*(?: [^\n]*)?)"
    R"(|SELECT (?:DISTINCT )?(?:\*|[a-z"`])[^\n]* FROM [^\n]+)"
    R"(|(?:INSERT INTO|DELETE FROM|CREATE TABLE|UPDATE) [a-z"`][^\n]*;)"
    R"(|#include [<"][^\n]+|import [\w.{}*, ]+ from ["'][^\n]+)"
    R"(|(?:def|function|func|fn) \w*\([^\n]*\)[^\n]*[:{}])"
    R"(|(?:var|let|const|int|auto|float|double|bool|string) \w+ ?= ?[^\n]*;)"
    R"(|(?:if|for|while|switch) ?\([^\n]*\) ?(?:\{[^\n]*|[^\n]*;))"
    R"(|return [\w.()+*/"' -]*;|[\w.]+\([^\n]*\);)"
    R"()[ \t]*$)))";

// Matches fields of messages and templates: of formats and programs, of mail
// merge, of Jinja, ERB and PHP. One in brackets has capitals alone, since words
// of a sentence may stand in brackets, too.
constexpr char kField[] =
    R"((\{%[^{}\n]*%\}|\{#[^{}\n]*#\}|<%[^<>\n]*%>|<\?[^<>\n]*\?>)"
    R"(|[#@%]?\{[\w.\[\]]*(?:![rsa])?(?::[^{}\s]*)?\})"
    R"(|\[\[[^\[\]\n]{1,64}\]\]|\[[A-Z][A-Z0-9_]+\]|\*\|[\w:-]+\|\*)"
    R"(|%%\w+%%|@@\w+@@|##\w+##|\$\$\w+\$\$|\b__[A-Z][A-Z0-9_]*__\b)"
    R"(|\B:[a-z][a-z0-9_]+\b:?))";

// Matches phone numbers, which begin with "+" or 0 or have the usual dashes,
// and numbers of accounts and cards. So no separator of a language gets into
// them.
constexpr char kPhone[] =
    R"((?:^|[^\pL\pN_.,/+-])()"
    R"(\+\d(?:[ ()/\x{A0}-]{0,3}\d){6,17})"
    R"(|\(0\d{1,5}\)(?:[ ./\x{A0}-]{0,3}\d){4,12})"
    R"(|0\d{2,5}(?: ?[/–-] ?|[ \x{A0}])\d{2,}(?:[ \x{A0}-]\d{2,})*)"
    R"(|\(\d{3}\) ?\d{3}-\d{4}|(?:1-)?\d{3}-\d{3}-\d{4})"
    R"(|[A-Z]{2}\d{2} ?[A-Z0-9]{4}(?: ?\d[A-Z0-9]{3}){2,6}(?: ?\d{1,3})?)"
    R"()(?:[^\pL\pN_]|$))";

// Matches feet and inches, and degrees of a map.
constexpr char kMeasure[] =
    R"((?:^|[^\pL\pN_.,/])()"
    R"(\d{1,3}°(?: ?\d{1,2}['′’](?: ?\d{1,2}(?:[.,]\d+)?["″”])?)? ?[NSEWO]\b)"
    R"(|\d{1,2}['′]\d{1,2}["″]?|\d+(?:/\d+)?["″])"
    R"()(?:[^\pL\pN_]|$))";

// Matches emoticons between white space, and faces of several scripts. A face
// in brackets has signs within or arms beside it, so that "(?)" is none.
constexpr char kEmoticon[] =
    R"re((?:^|\s)([:;]['^-]?[()\[\]DPpO3|/\\*]+|=[()DP]|<3+|\^\^|[xX]D|-_-)re"
    R"re(|\\o/|\([\^>TQ;=*oO•°≧][_.,~▽ω□][\^<TQ;=*oO•°≦]\)|\(-[_.]-\))re"
    R"re(|[^\sA-Za-z0-9()"'.,;:!?…–—„“”‘’«»À-ɏ*-]{0,5})re"
    R"re(\([^\s()A-Za-z0-9À-ɏ]{1,8}\))re"
    R"re([^\sA-Za-z0-9()"'.,;:!?…–—„“”‘’«»À-ɏ*-][^\sA-Za-z0-9()"À-ɏ]{0,4}(?: ┻━┻)?)re"
    R"re(|[ʕʢ][^\s()]{1,8}[ʔʡ])(?:\s|$|[.,!?]))re";

}  // namespace

const RE2& PatternOf(ProtectedKind kind) {
  static const RE2 printf_pattern(kPrintf);
  static const RE2 mustache(kMustache);
  static const RE2 url(kUrl);
  static const RE2 email(kEmail);
  static const RE2 file_name(kFileName);
  static const RE2 number_with_unit(kNumberWithUnit);
  static const RE2 number(kNumber);
  static const RE2 domain(kDomain);
  static const RE2 identifier(kIdentifier);
  static const RE2 code(kCode);
  static const RE2 field(kField);
  static const RE2 phone(kPhone);
  static const RE2 measure(kMeasure);
  static const RE2 emoticon(kEmoticon);
  switch (kind) {
    case ProtectedKind::kMustache:
      return mustache;
    case ProtectedKind::kUrl:
      return url;
    case ProtectedKind::kEmail:
      return email;
    case ProtectedKind::kFileName:
      return file_name;
    case ProtectedKind::kNumberWithUnit:
      return number_with_unit;
    case ProtectedKind::kNumber:
      return number;
    case ProtectedKind::kDomain:
      return domain;
    case ProtectedKind::kIdentifier:
      return identifier;
    case ProtectedKind::kCode:
      return code;
    case ProtectedKind::kField:
      return field;
    case ProtectedKind::kPhone:
      return phone;
    case ProtectedKind::kMeasure:
      return measure;
    case ProtectedKind::kEmoticon:
      return emoticon;
    case ProtectedKind::kPrintf:
    case ProtectedKind::kIcuMessage:  // have no pattern
    case ProtectedKind::kIcuChoice:
      break;
  }
  return printf_pattern;
}

}  // namespace trivium
