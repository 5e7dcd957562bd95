#include "client/commands/batches.h"

#include <optional>

#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Within the server's default limits of 32 inputs and 4 MiB for a call.
constexpr size_t kMaxInputs = 32;
constexpr size_t kMaxBytes = 1 << 20;

}  // namespace

absl::Status CallInBatches(
    CommandInputs& source, Output& output,
    const std::function<absl::Status(const std::vector<v1::Input>&)>& call,
    const std::function<absl::Status(const absl::Status&)>& fail) {
  int64_t done = 0, failed = 0;
  const auto fail_one = [&](const absl::Status& status) {
    ++failed;
    output.Complain(
        fmt::format("text {}: {}", ++done, std::string(status.message())));
    return fail(status);
  };
  const auto call_with = [&](const std::vector<v1::Input>& inputs) {
    absl::Status status = call(inputs);
    if (status.ok()) done += inputs.size();
    return status;
  };
  const auto refused = [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kInvalidArgument;
  };

  while (true) {
    std::vector<v1::Input> batch;
    size_t bytes = 0;
    absl::StatusOr<std::optional<InputSource::Item>> item = source.Next();
    while (item.ok() && item->has_value() && (*item)->error.ok()) {
      bytes += (*item)->input.ByteSizeLong();
      batch.push_back(std::move((*item)->input));
      item = std::optional<InputSource::Item>();
      if (batch.size() == kMaxInputs || bytes >= kMaxBytes || !source.Ready()) {
        break;
      }
      item = source.Next();
    }
    if (!batch.empty()) {
      const absl::Status status = call_with(batch);
      if (refused(status) && batch.size() == 1) {
        TRIVIUM_RETURN_IF_ERROR(fail_one(status));
      } else if (refused(status)) {
        for (v1::Input& input : batch) {
          const absl::Status alone = call_with({std::move(input)});
          if (refused(alone)) {
            TRIVIUM_RETURN_IF_ERROR(fail_one(alone));
          } else {
            TRIVIUM_RETURN_IF_ERROR(alone);
          }
        }
      } else {
        TRIVIUM_RETURN_IF_ERROR(status);
      }
    }
    TRIVIUM_RETURN_IF_ERROR(item.status());
    if (item->has_value()) {
      TRIVIUM_RETURN_IF_ERROR(fail_one((*item)->error));
    } else if (batch.empty()) {
      return SomeFailed(failed);
    }
  }
}

}  // namespace trivium
