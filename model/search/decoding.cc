#include "model/search/decoding.h"

#include <utility>

#include "base/status.h"
#include "model/search/beam_search.h"
#include "model/search/independent_decoding.h"

namespace trivium {

absl::StatusOr<std::unique_ptr<Decoding>> Decoding::Create(
    const DecodingOptions& options, std::vector<int32_t> prefix,
    const StopMatcher* stop) {
  TRIVIUM_RETURN_IF_ERROR(ValidateDecodingOptions(options));
  std::unique_ptr<Decoding> decoding;
  if (options.beam_size > 1 || !options.required.empty()) {
    decoding = std::make_unique<BeamSearch>(options, std::move(prefix), stop);
  } else {
    decoding =
        std::make_unique<IndependentDecoding>(options, std::move(prefix), stop);
  }
  return decoding;
}

}  // namespace trivium
