#ifndef TRIVIUM_SERVER_CALLS_HANDLERS_H_
#define TRIVIUM_SERVER_CALLS_HANDLERS_H_

#include <memory>

#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"

namespace trivium {

// The calls of the API. Each function makes the handler of one call, which its
// transport then starts. The request is the call's request message, the
// responses are its response messages. Context and transport belong to this one
// call; the transport outlives the handler, and `environment` outlives all
// calls.

// One request, one response.
using NewHandler = std::unique_ptr<Handler>(const Environment& environment,
                                            CallContext context,
                                            Transport* transport);
NewHandler NewEncode;
NewHandler NewTranslate;
NewHandler NewTokenize;
NewHandler NewDetokenize;
NewHandler NewScore;
NewHandler NewClassify;
NewHandler NewRerank;
NewHandler NewSimilarity;
NewHandler NewClassifyTokens;
NewHandler NewFillMask;
NewHandler NewAnswer;
NewHandler NewListModels;
NewHandler NewGetModel;
NewHandler NewLoadModel;
NewHandler NewReloadModel;
NewHandler NewUnloadModel;

// One request, a stream of responses.
std::unique_ptr<Handler> NewGenerate(const Environment& environment,
                                     CallContext context,
                                     ResponseStream* transport);
// The same, as one of several that share a client. Its writes also wait for the
// others', so `transport` must look for stalls.
decltype(NewGenerate) NewGeneratePart;

// A stream of requests, a stream of responses.
using NewStreamHandler =
    std::unique_ptr<Handler>(const Environment& environment,
                             CallContext context, RequestStream* transport);
NewStreamHandler NewTranslateStream;
NewStreamHandler NewEncodeStream;
NewStreamHandler NewTranslateDocument;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_HANDLERS_H_
