#ifndef TRIVIUM_SERVER_ADAPTERS_MODEL_CHOICE_H_
#define TRIVIUM_SERVER_ADAPTERS_MODEL_CHOICE_H_

#include <functional>
#include <string>
#include <string_view>

#include "server/calls/environment.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// Chooses the model of a request that cannot name one: returns the name of the
// first that serves the call and `fits`, if that is set. Returns an empty name
// if there is none, so that the error is that of the server's first model.
std::string ModelFor(const Environment& environment, std::string_view call,
                     const std::function<bool(const v1::Model&)>& fits = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_MODEL_CHOICE_H_
