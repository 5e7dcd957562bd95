#ifndef TRIVIUM_CLIENT_COMMANDS_BATCHES_H_
#define TRIVIUM_CLIENT_COMMANDS_BATCHES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "client/commands/inputs.h"
#include "client/commands/output.h"

namespace trivium {

// Runs a unary call over any number of texts. Each call has several texts:
// those that a pipe holds at the moment. A unary call fails as a whole; if one
// is refused because of its input, its texts are tried one by one, so that a
// bad text fails alone.
//
//   `call`: sends these inputs and writes the results, in order.
//   `fail`: writes a placeholder for a text that failed.
absl::Status CallInBatches(
    CommandInputs& source, Output& output,
    const std::function<absl::Status(const std::vector<v1::Input>&)>& call,
    const std::function<absl::Status(const absl::Status&)>& fail);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_BATCHES_H_
