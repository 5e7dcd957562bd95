#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_CONSTRAINT_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_CONSTRAINT_H_

#include <string_view>

#include "server/adapters/json_fields.h"
#include "server/adapters/openai_request.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Reads the members that hold an answer to a form, of which a request may have
// one: OpenAI's `response_format`, vLLM's `structured_outputs` and `guided_*`,
// llama-server's `json_schema` and `grammar`. A schema is held exactly whether
// `strict` is true or not.
//
// `body` is the text of the fields' object: schemas are taken from it as they
// are written there, since the order of properties counts.
void ReadOpenAiConstraint(std::string_view body, JsonFields* fields,
                          v1::DecodingOptions* decoding,
                          CompletionOptions* options);

// Reads the members of the Responses API that do so: the `format` of `text`,
// which is the request's member of this name or null, or vLLM's
// `structured_outputs`.
void ReadResponsesConstraint(std::string_view body, JsonFields* fields,
                             JsonFields* text, v1::DecodingOptions* decoding,
                             CompletionOptions* options);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_CONSTRAINT_H_
