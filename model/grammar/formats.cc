#include "model/grammar/formats.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fmt/format.h"

namespace trivium {
namespace {

// RFC 3339. Years 0001 to 9999, with the days that their months have.
std::string Date() {
  constexpr char kYear[] =
      "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})";
  constexpr char kLeapYear[] =
      "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|"
      "(?:0[48]|[2468][048]|[13579][26])00)";
  return fmt::format(
      "(?:{}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"
      "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
      "02-(?:0[1-9]|1[0-9]|2[0-8]))|{}-02-29)",
      kYear, kLeapYear);
}

// Without leap seconds, which exist at few times only.
constexpr char kTime[] =
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,6})?"
    "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

// ISO 8601, as RFC 3339's appendix A writes it.
constexpr char kDuration[] =
    "P(?:[0-9]{1,9}W|"
    "(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|"
    "[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)"
    "(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|"
    "[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?|"
    "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|"
    "[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))";

// RFC 1123, up to four labels, so that no name is over 253 bytes. Unless
// `encoded`, no label has "--" at its third place, as encoded international
// names have it: which of those are right no expression tells.
std::string Hostname(bool encoded) {
  const auto label = [encoded](int most) {
    if (encoded) {
      return fmt::format("[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?",
                         most - 2);
    }
    return fmt::format(
        "[A-Za-z0-9](?:[A-Za-z0-9-]{{0,2}}[A-Za-z0-9]|"
        "[A-Za-z0-9-](?:[A-Za-z0-9][A-Za-z0-9-]|-[A-Za-z0-9])"
        "[A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?",
        most - 5);
  };
  return fmt::format("{}(?:\\.{}){{0,3}}", label(63), label(62));
}

std::string Ipv4() {
  constexpr char kOctet[] = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return fmt::format("{}(?:\\.{}){{3}}", kOctet, kOctet);
}

// RFC 4291, all eight groups or "::" once; the last two may be an IPv4 address.
std::string Ipv6() {
  constexpr char kGroup[] = "[0-9A-Fa-f]{1,4}";
  const std::string ipv4 = Ipv4();
  std::string result = fmt::format("(?:{}:){{7}}{}", kGroup, kGroup);
  result += fmt::format("|(?:{}:){{6}}{}", kGroup, ipv4);
  for (int before = 0; before <= 6; ++before) {
    const std::string left =
        before == 0
            ? ""
            : fmt::format("{}(?::{}){{{}}}", kGroup, kGroup, before - 1);
    const int after = 6 - before;
    const std::string right =
        after == 0
            ? ""
            : fmt::format("(?:{}(?::{}){{0,{}}})?", kGroup, kGroup, after - 1);
    result += "|" + left + "::" + right;
    if (before > 5) continue;
    result +=
        fmt::format("|{}::(?:{}:){{0,{}}}{}", left, kGroup, 5 - before, ipv4);
  }
  return fmt::format("(?:{})", result);
}

constexpr char kJsonPointer[] = "(?:/(?:[^~/]|~[01])*)*";

// Expressions that ECMAScript, Python and RE2 read: characters, ".", classes of
// a few ranges, groups of these, alternatives, and repetitions.
std::string Regex() {
  constexpr char kCount[] = "(?:[*+?]|\\{[1-9][0-9]?\\}|\\{0,[1-9][0-9]?\\})?";
  constexpr char kAtom[] =
      "(?:[A-Za-z0-9 _@:;,/#%&=!<>\"'~-]|\\\\[dDwWsS.*+?()$^|{}\\[\\]\\\\]|\\.|"
      "\\[\\^?(?:[A-Za-z0-9_ ]|a-z|A-Z|0-9|\\\\[dws.-])+\\])";
  const std::string sequence = fmt::format("(?:{}{})*", kAtom, kCount);
  const std::string group = fmt::format(
      "\\((?:\\?:)?{0}{1}(?:\\|{0}{1})*\\){2}", kAtom, sequence, kCount);
  return fmt::format("\\^?(?:{0}{1}|{2})*(?:\\|(?:{0}{1}|{2})*)?\\$?", kAtom,
                     kCount, group);
}

}  // namespace

bool IsFormatOfAnyText(std::string_view format) {
  constexpr std::string_view kAnyText[] = {
      "password", "binary", "path", "file-path", "directory-path",
      // Kinds of input in forms, and OpenAPI's registry.
      "text", "textarea", "multiline", "markdown", "commonmark", "html",
      // Zod's, beside a pattern that says it.
      "starts_with", "ends_with", "includes"};
  return std::find(std::begin(kAnyText), std::end(kAnyText), format) !=
         std::end(kAnyText);
}

std::optional<std::string> FormatExpression(std::string_view format) {
  // Formats that others are a part of.
  constexpr std::pair<std::string_view, std::string_view> kWider[] = {
      {"idn-email", "email"},
      {"name-email", "email"},
      {"idn-hostname", "hostname"},
      {"iri", "uri"},
      {"uri-reference", "uri"},
      {"iri-reference", "uri"},
      {"multi-host-uri", "uri"},
      {"url", "uri"},
      {"guid", "uuid"},
      {"ip", "ipvanyaddress"},
      {"iso-date-time", "date-time"},
      {"iso-time", "time"}};
  for (const auto& [wider, part] : kWider) {
    if (format == wider) return FormatExpression(part);
  }
  if (format == "date") return Date();
  if (format == "time") return kTime;
  if (format == "date-time") return Date() + "T" + kTime;
  if (format == "duration") return kDuration;
  if (format == "hostname") return Hostname(/*encoded=*/false);
  if (format == "email") {
    // RFC 5321 without quoted names; a local part has at most 64 bytes.
    constexpr char kAtom[] = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
    return fmt::format(
        "(?:{0}{{1,64}}|{0}{{1,31}}\\.{0}{{1,31}}|"
        "{0}{{1,15}}(?:\\.{0}{{1,15}}){{2,3}})@{1}",
        kAtom, Hostname(/*encoded=*/false));
  }
  if (format == "ipv4") return Ipv4();
  if (format == "ipv6") return Ipv6();
  if (format == "json-pointer") return kJsonPointer;  // RFC 6901
  if (format == "relative-json-pointer") {
    return fmt::format("(?:0|[1-9][0-9]{{0,8}})(?:#|{})", kJsonPointer);
  }
  if (format == "uri-template") {  // RFC 6570, names without dots
    return "(?:[A-Za-z0-9._~:/?#@!$&()*+,;=-]|%[0-9A-Fa-f]{2}|"
           "\\{[+#./;?&]?[A-Za-z0-9_]+(?::[1-9][0-9]{0,3}|\\*)?"
           "(?:,[A-Za-z0-9_]+(?::[1-9][0-9]{0,3}|\\*)?)*\\})*";
  }
  if (format == "regex") return Regex();
  if (format == "fraction") {  // pydantic's
    return "-?[0-9]{1,18}(?:/[1-9][0-9]{0,17})?";
  }
  // Pydantic's. A network of one address has no bits that must be zero.
  constexpr char kBits4[] = "/(?:3[0-2]|[12]?[0-9])";
  constexpr char kBits6[] = "/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])";
  if (format == "ipvanyaddress") return Ipv4() + "|" + Ipv6();
  if (format == "ipv4network") return Ipv4() + "(?:/32)?";
  if (format == "ipv6network") return Ipv6() + "(?:/128)?";
  if (format == "ipvanynetwork") {
    return Ipv4() + "(?:/32)?|" + Ipv6() + "(?:/128)?";
  }
  if (format == "ipv4interface" || format == "cidrv4") return Ipv4() + kBits4;
  if (format == "ipv6interface" || format == "cidrv6") return Ipv6() + kBits6;
  if (format == "ipvanyinterface") {
    return Ipv4() + kBits4 + "|" + Ipv6() + kBits6;
  }
  // Zod's.
  constexpr std::pair<std::string_view, const char*> kZod[] = {
      {"cuid", "c[0-9a-z]{24}"},
      {"cuid2", "[a-z][0-9a-z]{23}"},
      {"ulid", "[0-7][0-9A-HJKMNP-TV-Z]{25}"},
      {"xid", "[0-9a-v]{20}"},
      {"ksuid", "[A-Za-z0-9]{27}"},
      {"nanoid", "[A-Za-z0-9_-]{21}"},
      {"e164", "\\+[1-9][0-9]{6,14}"},
      {"base64url", "(?:[A-Za-z0-9_-]{4})*"},
      {"lowercase", "[^A-Z]*"},
      {"uppercase", "[^a-z]*"},
      {"emoji", "(?:\\p{Extended_Pictographic}|\\p{Emoji_Component})+"},
      // The shape of RFC 7515's compact form: what is encoded, no expression
      // tells, but that it begins like an object.
      {"jwt", "eyJ[A-Za-z0-9_-]+\\.eyJ[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+"}};
  for (const auto& [name, expression] : kZod) {
    if (format == name) return expression;
  }
  // Numbers in strings, as protocol buffers and OpenAPI have them, and others.
  constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {"int32", "-?[1-9][0-9]{0,8}|0"},
      {"int64", "-?[1-9][0-9]{0,17}|0"},
      {"uint32", "[1-9][0-9]{0,8}|0"},
      {"uint64", "[1-9][0-9]{0,18}|0"},
      {"decimal", "-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,15})?"},
      {"color", "#[0-9A-Fa-f]{6}"},
      {"mac", "[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}"},
      {"semver",  // 2.0.0, with identifiers that are no numbers
       "(?:0|[1-9][0-9]{0,8})(?:\\.(?:0|[1-9][0-9]{0,8})){2}"
       "(?:-[A-Za-z][0-9A-Za-z-]*(?:\\.[A-Za-z][0-9A-Za-z-]*)*)?"
       "(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?"}};
  for (const auto& [name, expression] : kOthers) {
    if (format == name) return expression;
  }
  if (format == "uuid") {
    return "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
  }
  for (const char version : {'1', '3', '4', '5', '6', '7', '8'}) {  // RFC 9562
    if (format == std::string("uuid") + version) {
      return fmt::format(
          "[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-{}[0-9A-Fa-f]{{3}}-"
          "[89ABab][0-9A-Fa-f]{{3}}-[0-9A-Fa-f]{{12}}",
          version);
    }
  }
  if (format == "byte" || format == "base64") {  // RFC 4648, section 4
    return "(?:[A-Za-z0-9+/]{4})*"
           "(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?";
  }
  if (format == "uri") {
    // RFC 3986 with a host name, or with none (mailto:a@b.example).
    constexpr char kFirst[] =
        "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
    constexpr char kPart[] =
        "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*";
    return fmt::format(
        "[A-Za-z][A-Za-z0-9+.-]{{0,30}}:(?://{}(?::[0-9]{{1,5}})?(?:/{})?|{}{})"
        "(?:\\?{})?(?:#{})?",
        Hostname(/*encoded=*/true), kPart, kFirst, kPart, kPart, kPart);
  }
  return std::nullopt;
}

}  // namespace trivium
