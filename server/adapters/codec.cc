#include "server/adapters/codec.h"

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "server/adapters/http_status.h"

namespace trivium {

// Accepts only application/json: browsers let a web page send some other types
// to any address that its reader reaches, without asking the server first.
absl::Status Codec::Check(const RequestHead& head) {
  if (head.method != "POST") return absl::OkStatus();
  const std::string type = TypeOf(head);
  if (type != "application/json") {
    return absl::UnimplementedError(
        fmt::format("Content-Type is '{}'; send application/json", type));
  }
  return absl::OkStatus();
}

int Codec::StatusOf(absl::StatusCode code) const { return HttpStatusOf(code); }

HttpAnswer Codec::Refuse(const Ending& ending, int status) {
  HttpAnswer answer = Finish(ending, nullptr);
  answer.status = status;
  return answer;
}

}  // namespace trivium
