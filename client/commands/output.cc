#include "client/commands/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/print.h"
#include "client/call_status.h"
#include "client/commands/flag_words.h"
#include "client/commands/message_json.h"
#include "fmt/format.h"
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
  return Write(MessageJson(message) + "\n");
}

absl::Status Output::Failure(const absl::Status& status, bool json) {
  if (!json) return Line("");
  v1::TranslateStreamResponse response;
  *response.mutable_error() = ToRpcStatus(status);
  return Json(response);
}

void Output::Note(std::string_view text) {
  if (progress_ != nullptr) progress_->Hide();
  PrintTo(io_.err, "trivium: {}\n", text);
  std::fflush(io_.err);
}

void Output::Complain(std::string_view text) {
  Note(InFlagWords(text, io_.flags));
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
