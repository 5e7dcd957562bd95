#ifndef TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATION_RESULTS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATION_RESULTS_H_

#include "server/translation/pipeline/routed_translation.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The message of a translated input.
v1::TranslateResult ConvertTranslation(RoutedText in);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATION_RESULTS_H_
