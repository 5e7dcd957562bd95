#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_CONSTRAINT_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_CONSTRAINT_H_

#include <vector>

#include "server/adapters/http_status.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai_request.h"
#include "server/adapters/written_body.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Reads the members that hold an answer to a form, of which a request may have
// one: OpenAI's `response_format`, vLLM's `structured_outputs` and `guided_*`,
// llama-server's `json_schema` and `grammar`. A schema is held exactly whether
// `strict` is true or not.
//
// `written` is the fields' object.
void ReadOpenAiConstraint(WrittenBody* written, JsonFields* fields,
                          v1::DecodingOptions* decoding,
                          CompletionOptions* options);

// Reads the members of the Responses API that do so: the `format` of `text`,
// which is the request's member of this name or null, or vLLM's
// `structured_outputs`.
void ReadResponsesConstraint(WrittenBody* written, JsonFields* fields,
                             JsonFields* text, v1::DecodingOptions* decoding,
                             CompletionOptions* options);

// Adds the request's name for a constraint, whose member is `name`.
void AddConstraintNames(const char* name, std::vector<FieldName>* names);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_CONSTRAINT_H_
