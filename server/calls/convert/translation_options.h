#ifndef TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATION_OPTIONS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATION_OPTIONS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/calls/convert/convert.h"
#include "server/calls/environment.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/pipeline/translation_router.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Converts options of translations from messages to the plain structs of
// server/translation/pipeline. `path` names the options in errors: "options".

// Returns the options of each step of a route. `source_named` and
// `check_alive`: as in TranslationOptions.
absl::StatusOr<std::vector<TranslationOptions>> ConvertTranslation(
    const v1::TranslateOptions& in, const std::string& path,
    const TranslationRoute& route, bool source_named,
    const Environment& environment, const AliveCheck& check_alive);

// Returns nullopt for plain text.
absl::StatusOr<std::optional<MarkupFormat>> ConvertFormat(
    const v1::TranslateOptions& in, const std::string& path);

// True if the call asks for nothing but texts: no tokens, words, attention or
// trace, which only a model can tell.
bool AsksForTextsOnly(const v1::TranslateOptions& in);

TranslationInput ConvertTranslationInput(const v1::Input& in,
                                         const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATION_OPTIONS_H_
