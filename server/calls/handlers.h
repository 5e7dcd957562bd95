#ifndef TRIVIUM_SERVER_CALLS_HANDLERS_H_
#define TRIVIUM_SERVER_CALLS_HANDLERS_H_

#include <memory>

#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"

namespace trivium {

// The calls of the API: a function each makes the handler of one call, which
// its transport then starts. The request is the call's request message, the
// responses are its response messages. Context and transport are the call's
// own; the transport outlives the handler, and `environment` all calls.

// Calls with one request and one response.
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

// A stream of requests, a stream of responses.
using NewStreamHandler =
    std::unique_ptr<Handler>(const Environment& environment,
                             CallContext context, RequestStream* transport);
NewStreamHandler NewTranslateStream;
NewStreamHandler NewEncodeStream;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_HANDLERS_H_
