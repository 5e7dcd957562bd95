#ifndef TRIVIUM_SERVER_ADAPTERS_DEEPL_H_
#define TRIVIUM_SERVER_ADAPTERS_DEEPL_H_

#include "server/adapters/codec.h"

namespace trivium {

// The HTTP shapes of DeepL (https://developers.deepl.com), which translators'
// tools speak, in JSON or as forms. A request names languages but no model; the
// server finds the models that translate between them. A token comes as
// "Authorization: DeepL-Auth-Key TOKEN".

// POST /v2/translate: texts, perhaps with tags or with a glossary by its id.
NewCodec NewDeeplTranslateCodec;
// GET /v2/languages?type=source|target: the languages of all models.
NewCodec NewDeeplLanguagesCodec;
// GET /v2/usage: the server counts no characters and has no limit of them.
NewCodec NewDeeplUsageCodec;

// POST /v2/glossaries keeps a glossary (GlossaryStore), GET lists them.
// GET /v2/glossaries/ID tells about one, GET /v2/glossaries/ID/entries gives
// its terms, DELETE /v2/glossaries/ID removes it.
NewCodec NewDeeplGlossariesCodec;
inline constexpr char kDeeplGlossaries[] = "/v2/glossaries";
inline constexpr char kDeeplGlossary[] = "/v2/glossaries/";
// The same for glossaries of several pairs of languages. POST /v3/glossaries
// keeps one, GET lists all. GET, PATCH and DELETE /v3/glossaries/ID tell,
// change and remove one. GET /v3/glossaries/ID/entries gives the terms of one
// dictionary, and PUT and DELETE /v3/glossaries/ID/dictionaries replace and
// remove one.
NewCodec NewDeeplMultilingualCodec;
inline constexpr char kDeeplMultilingual[] = "/v3/glossaries";
inline constexpr char kDeeplMultilingualOne[] = "/v3/glossaries/";
inline constexpr char kDeeplEntries[] = "/entries";
inline constexpr char kDeeplDictionaries[] = "/dictionaries";
// GET /v2/glossary-language-pairs: the pairs that a glossary may have.
NewCodec NewDeeplGlossaryPairsCodec;

// POST /v2/document: a document, which is translated while nobody waits
// (DocumentJobs). POST /v2/document/ID tells how far it is, and POST
// /v2/document/ID/result gives the translation, once.
NewCodec NewDeeplDocumentCodec;
NewCodec NewDeeplDocumentStatusCodec;
NewCodec NewDeeplDocumentResultCodec;
inline constexpr char kDeeplDocuments[] = "/v2/document";
inline constexpr char kDeeplDocument[] = "/v2/document/";
inline constexpr char kDeeplDocumentResult[] = "/result";

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_DEEPL_H_
