#ifndef TRIVIUM_SERVER_HTTP_LIBRE_TRANSLATE_H_
#define TRIVIUM_SERVER_HTTP_LIBRE_TRANSLATE_H_

#include "server/http/codec.h"

namespace trivium {

// The shapes of LibreTranslate (https://docs.libretranslate.com), in JSON.
// Requests name languages and no model: each gets the first one that translates
// between them. Nothing here detects a language, so that `source` may not be
// "auto" and there is no /detect; texts are plain.

// POST /translate: a text or several, with `alternatives` more of each.
NewCodec NewLibreTranslateCodec;
// GET /languages: those of all models, and what each is translated to.
NewCodec NewLibreLanguagesCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HTTP_LIBRE_TRANSLATE_H_
