#include "client/commands/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "fmt/format.h"
#include "google/protobuf/util/json_util.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

Output::Output(const Io& io, bool keep_newlines, Progress* progress)
    : io_(io),
      keep_newlines_(keep_newlines),
      progress_(progress),
      shares_terminal_(progress != nullptr && isatty(fileno(io.out)) == 1) {}

absl::Status Output::Line(std::string_view text) {
  return Write(InOneLine(text) + "\n");
}

absl::Status Output::Piece(std::string_view text) {
  return Write(InOneLine(text));
}

absl::Status Output::Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(
        fmt::format("cannot write the answer as JSON: {}", status.ToString()));
  }
  return Write(json + "\n");
}

absl::Status Output::Failure(const absl::Status& status, bool json) {
  if (!json) return Line("");
  v1::TranslateStreamResponse response;
  response.mutable_error()->set_code(status.raw_code());
  response.mutable_error()->set_message(std::string(status.message()));
  return Json(response);
}

void Output::Complain(std::string_view text) {
  if (progress_ != nullptr) progress_->Hide();
  fmt::print(io_.err, "trivium: {}\n", text);
  std::fflush(io_.err);
}

absl::Status Output::Write(std::string_view bytes) {
  if (shares_terminal_) progress_->Hide();
  if (std::fwrite(bytes.data(), 1, bytes.size(), io_.out) != bytes.size() ||
      std::fflush(io_.out) != 0) {
    return IoError("write", "the results", errno);
  }
  return absl::OkStatus();
}

std::string Output::InOneLine(std::string_view text) const {
  std::string line(text);
  if (!keep_newlines_) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; },
        ' ');
  }
  return line;
}

}  // namespace trivium
