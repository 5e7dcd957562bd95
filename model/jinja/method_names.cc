#include "model/jinja/method_names.h"

#include <algorithm>
#include <span>

namespace trivium::jinja {

namespace {

using Names = std::span<const std::string_view>;

bool Has(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::string_view kTextCalled[] = {
    "capitalize", "count",        "endswith",     "find",    "format",
    "index",      "isalnum",      "isalpha",      "isdigit", "islower",
    "isspace",    "isupper",      "join",         "lower",   "lstrip",
    "partition",  "removeprefix", "removesuffix", "replace", "rfind",
    "rpartition", "rsplit",       "rstrip",       "split",   "splitlines",
    "startswith", "strip",        "title",        "upper",   "zfill"};
constexpr std::string_view kTextOther[] = {
    "casefold", "center",    "encode",       "expandtabs", "format_map",
    "isascii",  "isdecimal", "isidentifier", "isnumeric",  "isprintable",
    "istitle",  "ljust",     "maketrans",    "rindex",     "rjust",
    "swapcase", "translate"};
constexpr std::string_view kListCalled[] = {"count", "index"};
constexpr std::string_view kListRefused[] = {
    "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
constexpr std::string_view kDictCalled[] = {"get", "items", "keys", "values"};
constexpr std::string_view kDictOther[] = {"copy", "fromkeys"};
constexpr std::string_view kDictRefused[] = {"clear", "pop", "popitem",
                                             "setdefault", "update"};
constexpr std::string_view kIntegerOther[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
    "from_bytes",       "imag",      "numerator",  "real",      "to_bytes"};
constexpr std::string_view kRealOther[] = {
    "as_integer_ratio", "conjugate", "fromhex", "hex", "imag",
    "is_integer",       "real"};
constexpr std::string_view kLoopCalled[] = {"cycle"};

MethodUse Allowed(bool has) {
  return has ? MethodUse::kAllowed : MethodUse::kNone;
}

}  // namespace

MethodUse MethodOf(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kText:
      return Allowed(Has(kTextCalled, name) || Has(kTextOther, name));
    case Kind::kList:
      if (Has(kListRefused, name)) return MethodUse::kRefused;
      return Allowed(Has(kListCalled, name) || name == "copy");
    case Kind::kTuple:
      return Allowed(Has(kListCalled, name));
    case Kind::kDict:
      if (Has(kDictRefused, name)) return MethodUse::kRefused;
      return Allowed(Has(kDictCalled, name) || Has(kDictOther, name));
    case Kind::kBoolean:
    case Kind::kInteger:
      return Allowed(Has(kIntegerOther, name));
    case Kind::kReal:
      return Allowed(Has(kRealOther, name));
    case Kind::kLoop:
      return Allowed(Has(kLoopCalled, name));
    default:
      return MethodUse::kNone;
  }
}

bool IsKnownMethod(std::string_view name) {
  for (const Names names :
       {Names(kTextCalled), Names(kListCalled), Names(kListRefused),
        Names(kDictCalled), Names(kDictRefused), Names(kLoopCalled)}) {
    if (Has(names, name)) return true;
  }
  return false;
}

}  // namespace trivium::jinja
