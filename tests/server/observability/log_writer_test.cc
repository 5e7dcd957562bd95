#include "server/observability/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"

namespace trivium {
namespace {

using testing::HasSubstr;

std::string ReadSome(int fd) {
  std::string text(1 << 20, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

TEST(LogWriterTest, WritesLinesInOrder) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LogWriter* const writer = LogWriter::Create(ends[1]).value();
  writer->Write("one\n");
  writer->Write("two\n");
  writer->Flush(absl::Minutes(1));
  EXPECT_EQ(ReadSome(ends[0]), "one\ntwo\n");
}

// No thread waits for a reader that does not read, and the log tells how many
// lines were lost.
TEST(LogWriterTest, ABlockedPipeStallsNoThread) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LogWriter* const writer = LogWriter::Create(ends[1]).value();
  const std::string line = std::string(99, 'x') + "\n";
  const int count = 4 * static_cast<int>(LogWriter::kLines);
  for (int i = 0; i < count; ++i) writer->Write(line);
  writer->Flush(absl::Milliseconds(1));
  std::string all;
  while (all.find("lines of the log were left out") == all.npos) {
    all += ReadSome(ends[0]);
  }
  EXPECT_THAT(all, HasSubstr(line));
}

TEST(LogWriterTest, AClosedPipeDoesNotEndTheProcess) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  LogWriter* const writer = LogWriter::Create(ends[1]).value();
  for (int i = 0; i < 100; ++i) writer->Write("nobody hears\n");
  writer->Flush(absl::Minutes(1));
}

}  // namespace
}  // namespace trivium
