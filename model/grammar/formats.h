#ifndef TRIVIUM_MODEL_GRAMMAR_FORMATS_H_
#define TRIVIUM_MODEL_GRAMMAR_FORMATS_H_

#include <optional>
#include <string>
#include <string_view>

namespace trivium {

// Returns the regular expression of a JSON schema's format, which matches whole
// texts; nothing if the format is not known. Where a format's definition is not
// regular, the expression matches a part of it, never more.
std::optional<std::string> FormatExpression(std::string_view format);

// True for formats that say what a text is for, and ask for no form.
bool IsFormatOfAnyText(std::string_view format);

// The names of the known formats, for error texts.
inline constexpr char kFormatNames[] =
    "date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uuid, "
    "uuid1, uuid3, uuid4, uuid5, json-pointer, relative-json-pointer, "
    "uri-template, regex, base64, byte, binary, password, path, int32, int64, "
    "uint32, uint64, decimal, color, mac, semver, jwt, text, html, markdown, "
    "and those that pydantic and zod write";

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_FORMATS_H_
