#ifndef TRIVIUM_SERVER_ADAPTERS_MODEL_CHOICE_H_
#define TRIVIUM_SERVER_ADAPTERS_MODEL_CHOICE_H_

#include <functional>
#include <string>
#include <string_view>

#include "server/calls/environment.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// For requests that cannot name a model: the name of the first that serves the
// call, of those that `fits` where it is set; empty, so that the server's first
// one tells what is missing, where there is none.
std::string ModelFor(const Environment& environment, std::string_view call,
                     const std::function<bool(const v1::Model&)>& fits = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_MODEL_CHOICE_H_
