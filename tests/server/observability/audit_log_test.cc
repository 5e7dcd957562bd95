#include "server/observability/audit_log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

class AuditLogTest : public testing::Test {
 protected:
  ~AuditLogTest() override { std::filesystem::remove(path_); }
  std::string Text() const {
    std::ifstream file(path_);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  const std::string path_ =
      testing::TempDir() + "/audit" + std::to_string(getpid());
};

TEST_F(AuditLogTest, EveryLineIsAnObjectWhateverTheClientsNames) {
  {
    auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->Write(
        absl::UnixEpoch(),
        {{"client", "a \"b\"\n\xff"}, {"results", 3}, {"milliseconds", 1.5}});
  }
  EXPECT_EQ(Text(),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"client\":\"a "
            "\\\"b\\\"\\n\xEF\xBF\xBD\",\"results\":3,\"milliseconds\":1.5}\n");
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, LinesOfManyThreadsGoToTheEndOfTheFile) {
  std::ofstream(path_) << "before\n";
  {
    auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log] {
        for (int j = 0; j < 1000; ++j) {
          (*log)->Write(absl::Now(), {{"call", "Translate"}});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "before");
  int lines = 0;
  for (; std::getline(file, line); ++lines) {
    EXPECT_EQ(nlohmann::json::parse(line)["call"], "Translate");
  }
  EXPECT_EQ(lines, 4000);
}

TEST_F(AuditLogTest, NamesAFileThatCannotBeWritten) {
  EXPECT_THAT(AuditLog::Open("/nowhere/audit.jsonl").status(),
              IsError(absl::StatusCode::kUnavailable, "/nowhere/audit.jsonl"));
}

}  // namespace
}  // namespace trivium
