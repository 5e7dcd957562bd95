// Tests that the arrays which trivium attention writes are the server's numbers
// and the texts' pieces, in the format of numpy.load().
#include <zip.h>

#include <cstring>
#include <fstream>
#include <string>

#include "client/commands/command.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/client/run_command.h"

namespace trivium {
namespace {

// Returns an entry of a zip file.
std::string Entry(const std::string& path, const char* name) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &error);
  EXPECT_NE(archive, nullptr);
  if (archive == nullptr) return "";
  zip_stat_t stat;
  EXPECT_EQ(zip_stat(archive, name, 0, &stat), 0) << name;
  EXPECT_EQ(stat.comp_method, ZIP_CM_STORE);
  std::string bytes(stat.size, '\0');
  zip_file_t* file = zip_fopen(archive, name, 0);
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(zip_fread(file, bytes.data(), bytes.size()),
            static_cast<zip_int64_t>(bytes.size()));
  zip_fclose(file);
  zip_close(archive);
  return bytes;
}

// Returns the values of an npy file of version 1.0, whose header must begin
// with `head`.
std::string Values(const std::string& npy, const std::string& header) {
  EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t size =
      static_cast<uint8_t>(npy[8]) + 256 * static_cast<uint8_t>(npy[9]);
  EXPECT_EQ((10 + size) % 64, 0u);
  EXPECT_EQ(npy.substr(10, header.size()), header);
  EXPECT_EQ(npy[10 + size - 1], '\n');
  return npy.substr(10 + size);
}

TEST(NpzTest, ExportsAttentionForNumpy) {
  FakeServer server;
  const std::string path = testing::TempDir() + "/npz_test.npz";
  // Replaces an old, longer file.
  std::ofstream(path) << std::string(100000, 'x');
  const CommandRun run = RunWithFiles([&](const Io& io) {
    return RunTrivium(
        {"attention", "--address", server.address(), "--npz", path, "--no-html",
         "--kind", "cross", "--head", "1", "e\u0301\U0001F34E two"},
        io);
  });
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const std::string weights =
      Values(Entry(path, "cross.weights.npy"),
             "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1, 2, 2,), "
             "}");
  ASSERT_EQ(weights.size(), 12 * sizeof(float));
  float last;
  std::memcpy(&last, weights.data() + 11 * sizeof(float), sizeof(float));
  EXPECT_EQ(last, FakeServer::Weight(2, 1, 1, 1));
  const std::string heads =
      Values(Entry(path, "cross.heads.npy"),
             "{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }");
  EXPECT_EQ(heads, std::string("\1\0\0\0", 4));
  const std::string keys =
      Values(Entry(path, "cross.keys.npy"),
             "{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }");
  EXPECT_EQ(keys, std::string("e\0\0\0\x01\x03\0\0\x4E\xF3\x01\0 \0\0\0"
                              "t\0\0\0w\0\0\0o\0\0\0\0\0\0\0",
                              32));
}

}  // namespace
}  // namespace trivium
