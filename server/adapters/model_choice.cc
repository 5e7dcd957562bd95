#include "server/adapters/model_choice.h"

#include <algorithm>

#include "server/calls/convert/convert.h"

namespace trivium {

std::string ModelFor(const Environment& environment, std::string_view call,
                     const std::function<bool(const v1::Model&)>& fits) {
  for (const ModelHandle& handle : environment.models.List()) {
    const v1::Model model = ConvertModel(*handle, environment.limits);
    const auto& calls = model.calls();
    if (std::find(calls.begin(), calls.end(), call) != calls.end() &&
        (!fits || fits(model))) {
      return model.name();
    }
  }
  return "";
}

}  // namespace trivium
