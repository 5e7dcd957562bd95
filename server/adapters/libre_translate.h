#ifndef TRIVIUM_SERVER_ADAPTERS_LIBRE_TRANSLATE_H_
#define TRIVIUM_SERVER_ADAPTERS_LIBRE_TRANSLATE_H_

#include "server/adapters/codec.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The HTTP shapes of LibreTranslate (https://docs.libretranslate.com), in JSON
// or as forms, whose values may also be in the query. Requests name languages
// but no model; the server finds the models that translate between them.

// POST /translate: a text or several, with `alternatives` more translations
// each.
NewCodec NewLibreTranslateCodec;
// POST /detect: the languages that a text, or several together, may be in.
NewCodec NewLibreDetectCodec;
// GET /languages: the languages of all models, and which others each is
// translated to.
NewCodec NewLibreLanguagesCodec;
// GET /frontend/settings: what LibreTranslate's page asks first.
NewCodec NewLibreSettingsCodec;

// POST /translate_file: a file of text, HTML, Markdown or XML, or a document in
// several texts (DocumentTexts). The answer has the address of its translation,
// which is kept for a while (KeptFiles).
NewCodec NewLibreFileCodec;
// GET /download_file/KEY.NAME: the translation of a file.
NewCodec NewLibreDownloadCodec;
inline constexpr char kDownloadPath[] = "/download_file/";

// Shared by these codecs: the body of an error, and the languages of a request,
// with the key that LibreTranslate's clients may send.
HttpAnswer LibreFailure(const Ending& ending);
void ReadLibreLanguages(const Environment& environment, JsonFields* fields,
                        v1::TranslateRequest* request);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_LIBRE_TRANSLATE_H_
