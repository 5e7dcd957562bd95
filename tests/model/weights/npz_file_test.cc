#include "model/weights/npz_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/zip_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

absl::Status Error(const std::string& file) {
  return ReadNpz(Bytes(file)).status();
}
// Returns the error of a file with one array.
absl::Status ArrayError(const std::string& array) {
  return Error(Zip({{"w.npy", array}}));
}
absl::Status HeaderError(const std::string& header) {
  return ArrayError(Npy(header, Floats({1, 2})));
}

TEST(NpzTest, ReadsArrays) {
  const std::string file =
      Zip({{"w.npy", Npy("<f4", {2, 3}, Floats({1, 2, 3, 4, 5, 6}))},
           {"special:text.npy", Npy("|i1", {5}, "a: b\n")},
           {"one.npy", Npy("<f2", {}, "\x01\x3c")}});
  const auto read = ReadNpz(Bytes(file));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->tensors.size(), 3);
  const TensorView& w = read->tensors.at("w");
  EXPECT_EQ(w.dtype, DType::kF32);
  EXPECT_THAT(w.shape, ElementsAre(2, 3));
  std::vector<float> values(6);
  CopyToF32(w, 0, values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
  const TensorView& text = read->tensors.at("special:text");
  EXPECT_EQ(text.dtype, DType::kI8);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.data.data()), 5),
            "a: b\n");
  EXPECT_EQ(read->tensors.at("one").elements(), 1);
}

TEST(NpzTest, ReadsLaterVersionsOfTheFormat) {
  std::string array = Npy("<f4", {2}, Floats({1, 2}));
  array[6] = 2;  // version 2 has a length of four bytes
  array.insert(10, 2, '\0');
  const auto read = ReadNpz(Bytes(Zip({{"w.npy", array}})));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tensors.at("w").elements(), 2);
  array[6] = 9;
  EXPECT_THAT(ArrayError(array), IsError(StatusCode::kInvalidArgument, "9"));
}

TEST(NpzTest, RefusesBrokenArrays) {
  EXPECT_THAT(ArrayError("no array"),
              IsError(StatusCode::kInvalidArgument, "begin"));
  EXPECT_THAT(ArrayError(std::string("\x93NUMPY\x01\0\xff\xff{", 11)),
              IsError(StatusCode::kInvalidArgument, "header"));
  EXPECT_THAT(ArrayError(Npy("<f4", {3}, Floats({1, 2}))),
              IsError(StatusCode::kInvalidArgument, "[3]"));
  EXPECT_THAT(ArrayError(Npy("<f4", {1}, Floats({1, 2}))),
              IsError(StatusCode::kInvalidArgument, "[1]"));
  EXPECT_THAT(ArrayError(Npy("<f4", {int64_t{1} << 62, 8}, Floats({1, 2}))),
              IsError(StatusCode::kInvalidArgument, "4611686018427387904"));
  EXPECT_THAT(ArrayError(Npy("<f8", {1}, Floats({1, 2}))),
              IsError(StatusCode::kInvalidArgument, "<f8"));
  EXPECT_THAT(ArrayError(Npy("|O", {1}, "x")),
              IsError(StatusCode::kInvalidArgument, "|O"));
}

TEST(NpzTest, RefusesMalformedHeaders) {
  for (const char* header :
       {"", "{", "{'descr'", "{'descr': 3}", "{'descr': '<f4}",
        "{'shape': (2,)}",
        "{'descr': '<f4', 'shape': (2, 'fortran_order': False}",
        "{'descr': '<f4', 'shape': (-2,)}", "{'descr': '<f4', 'shape': 2}",
        "{'descr': '<f4', 'shape': (99999999999999999999,)}",
        "{'descr': [('a', '<f4')], 'shape': (2,)}",
        "{'descr': '<f4', 'shape': (2,), 'other': 1}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"}) {
    EXPECT_THAT(HeaderError(header),
                IsError(StatusCode::kInvalidArgument, "header"))
        << header;
  }
  std::string sizes;
  for (int i = 0; i < 65; ++i) sizes += "1,";
  EXPECT_THAT(HeaderError("{'descr': '<f4', 'shape': (" + sizes + ")}"),
              IsError(StatusCode::kInvalidArgument, "header"));
  EXPECT_THAT(
      HeaderError("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}"),
      IsError(StatusCode::kInvalidArgument, "Fortran"));
}

TEST(NpzTest, RefusesBrokenArchives) {
  const std::string array = Npy("<f4", {2}, Floats({1, 2}));
  const std::string file = Zip({{"w.npy", array}});
  EXPECT_THAT(Error(file.substr(0, file.size() / 2)),
              IsError(StatusCode::kInvalidArgument, "damaged"));
  std::string spoiled = file;
  spoiled[spoiled.find("\x93NUMPY") + 4] ^= 1;
  EXPECT_THAT(Error(spoiled),
              IsError(StatusCode::kInvalidArgument, "checksum"));
  EXPECT_THAT(Error(Zip({{"w.txt", array}})),
              IsError(StatusCode::kInvalidArgument, "w.txt"));
  EXPECT_THAT(Error(Zip({{"w.npy", std::string(1000, 'x'), true}})),
              IsError(StatusCode::kInvalidArgument, "compressed"));
}

}  // namespace
}  // namespace trivium
