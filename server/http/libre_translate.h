#ifndef TRIVIUM_SERVER_HTTP_LIBRE_TRANSLATE_H_
#define TRIVIUM_SERVER_HTTP_LIBRE_TRANSLATE_H_

#include "server/http/codec.h"

namespace trivium {

// The shapes of LibreTranslate (https://docs.libretranslate.com), in JSON.
// Requests name languages and no model: the server finds those that translate
// between them.

// POST /translate: a text or several, with `alternatives` more of each.
NewCodec NewLibreTranslateCodec;
// POST /detect: the languages that a text may be in.
NewCodec NewLibreDetectCodec;
// GET /languages: those of all models, and what each is translated to.
NewCodec NewLibreLanguagesCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HTTP_LIBRE_TRANSLATE_H_
