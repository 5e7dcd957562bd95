#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "model/weights/torch_legacy.h"
#include "model/weights/torch_zip.h"
#include "tests/model/weights/zip_files.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tensor = PickleWriter::Tensor;

std::string Error(const absl::StatusOr<TensorFile>& read) {
  return read.ok() ? "no error" : std::string(read.status().message());
}

std::vector<float> Values(const TensorFile& file, const std::string& name) {
  const TensorView& tensor = file.tensors.at(name);
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

// A matrix, its transpose, one of its columns and a part of it, all in one
// storage.
std::string ViewsOfOneStorage() {
  return StateDict({
      {"whole", {.storage_elements = 6, .shape = {2, 3}, .strides = {3, 1}}},
      {"turned", {.storage_elements = 6, .shape = {3, 2}, .strides = {1, 3}}},
      {"column",
       {.storage_elements = 6, .offset = 1, .shape = {2}, .strides = {3}}},
      {"part",
       {.storage_elements = 6, .offset = 4, .shape = {2}, .strides = {1}}},
      {"one",
       {.storage_elements = 6,
        .offset = 5,
        .shape = {1, 1},
        .strides = {INT64_MAX, 7}}},
      {"scalar", {.storage_elements = 6, .offset = 2}},
      {"empty", {.storage_elements = 6, .shape = {0, 3}, .strides = {3, 1}}},
  });
}

void ExpectViews(const absl::StatusOr<TensorFile>& read) {
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(Values(*read, "whole"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Values(*read, "turned"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(read->tensors.at("turned").shape, ElementsAre(3, 2));
  EXPECT_THAT(Values(*read, "column"), ElementsAre(1, 4));
  EXPECT_THAT(Values(*read, "part"), ElementsAre(4, 5));
  EXPECT_THAT(Values(*read, "one"), ElementsAre(5));
  EXPECT_THAT(Values(*read, "scalar"), ElementsAre(2));
  EXPECT_TRUE(Values(*read, "empty").empty());
}

TEST(TorchZipTest, ReadsViewsOfASharedStorage) {
  // Padding, because the copy of "turned" must fit into the file's size.
  const std::string file = Zip({{"any name/data.pkl", ViewsOfOneStorage()},
                                {"any name/byteorder", "little"},
                                {"any name/data/0", Floats(kSix)}});
  ExpectViews(ReadTorchZip(Bytes(file)));
}

TEST(TorchLegacyTest, ReadsViewsOfASharedStorage) {
  const std::string file =
      TorchLegacy(ViewsOfOneStorage(), {{"0", 6, Floats(kSix)}});
  ExpectViews(ReadTorchLegacy(Bytes(file)));
}

// Tensors that every format refuses.
TEST(TorchLegacyTest, RefusesTensorsBeyondTheirStorage) {
  const auto error = [](const Tensor& tensor) {
    const std::string file =
        TorchLegacy(StateDict({{"x", tensor}}), {{"0", 6, Floats(kSix)}});
    return Error(ReadTorchLegacy(Bytes(file)));
  };
  EXPECT_EQ(error({.storage_elements = 6, .shape = {6}, .strides = {1}}),
            "no error");
  EXPECT_THAT(error({.storage_elements = 6, .shape = {7}, .strides = {1}}),
              HasSubstr("tensor 'x': sizes [7]"));
  EXPECT_THAT(
      error({.storage_elements = 6, .offset = 1, .shape = {6}, .strides = {1}}),
      HasSubstr("reach beyond"));
  EXPECT_THAT(
      error(
          {.storage_elements = 6, .offset = -1, .shape = {6}, .strides = {1}}),
      HasSubstr("make no sense"));
  EXPECT_THAT(error({.storage_elements = 6, .shape = {2, 3}, .strides = {3}}),
              HasSubstr("make no sense"));
  EXPECT_THAT(error({.storage_elements = 6, .shape = {2}, .strides = {-1}}),
              HasSubstr("make no sense"));
  EXPECT_THAT(error({.storage_elements = 6,
                     .shape = {int64_t{1} << 40, 6},
                     .strides = {0, 1}}),
              HasSubstr("repeats"));
  EXPECT_THAT(error({.storage_elements = 6,
                     .shape = {int64_t{1} << 40, int64_t{1} << 40},
                     .strides = {int64_t{1} << 40, int64_t{1} << 40}}),
              HasSubstr("reach beyond"));
  EXPECT_THAT(error({.storage_elements = 7, .shape = {6}, .strides = {1}}),
              HasSubstr("24 bytes instead of 28"));
  EXPECT_THAT(error({.storage_elements = -1}),
              HasSubstr("belongs to no tensor"));
  EXPECT_THAT(error({.type = "DoubleStorage", .storage_elements = 3}),
              HasSubstr("torch.DoubleStorage"));
  EXPECT_THAT(error({.key = "missing", .storage_elements = 6}),
              HasSubstr("'0' belongs to no tensor"));
}

TEST(TorchLegacyTest, RefusesBrokenFiles) {
  const std::string state =
      StateDict({{"x", {.storage_elements = 6, .shape = {6}, .strides = {1}}}});
  const std::string good = TorchLegacy(state, {{"0", 6, Floats(kSix)}});
  ASSERT_EQ(Error(ReadTorchLegacy(Bytes(good))), "no error");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(Error(ReadTorchLegacy(Bytes(good.substr(0, size)))), "no error")
        << size;
  }
  for (const int64_t elements : {int64_t{7}, int64_t{-1}, INT64_MAX}) {
    EXPECT_THAT(Error(ReadTorchLegacy(Bytes(
                    TorchLegacy(state, {{"0", elements, Floats(kSix)}})))),
                HasSubstr("truncated"))
        << elements;
  }
  EXPECT_THAT(Error(ReadTorchLegacy(Bytes(TorchLegacy(state, {})))),
              HasSubstr("storage '0' is missing"));
  EXPECT_THAT(Error(ReadTorchLegacy(Bytes(TorchLegacy(
                  state, {{"0", 6, Floats(kSix)}, {"0", 6, Floats(kSix)}})))),
              HasSubstr("appears twice"));
  EXPECT_THAT(Error(ReadTorchLegacy(
                  Bytes(TorchLegacy(state, {{"0", 6, Floats(kSix)}}, false)))),
              HasSubstr("big-endian"));
  EXPECT_THAT(Error(ReadTorchLegacy(
                  Bytes(TorchLegacy(PickleWriter().Raw("]").Stop(), {})))),
              HasSubstr("dictionary"));
  EXPECT_THAT(Error(ReadTorchLegacy(
                  Bytes(TorchLegacy(PickleWriter().Raw("}").Stop(), {})))),
              HasSubstr("no tensors"));
  EXPECT_THAT(
      Error(ReadTorchLegacy(Bytes(PickleWriter().Int(1).Stop() + good))),
      HasSubstr("does not begin"));
}

TEST(TorchZipTest, RefusesBrokenFiles) {
  const std::string state =
      StateDict({{"x", {.storage_elements = 6, .shape = {6}, .strides = {1}}}});
  const auto error = [](const std::vector<ZipEntry>& entries) {
    return Error(ReadTorchZip(Bytes(Zip(entries))));
  };
  EXPECT_THAT(error({{"m/other", "x"}}), HasSubstr("NAME/data.pkl"));
  EXPECT_THAT(error({{"m/data.pkl", state}}),
              HasSubstr("tensor 'x': archive entry 'm/data/0' is missing"));
  EXPECT_THAT(error({{"m/data.pkl", state}, {"m/data/0", "short"}}),
              HasSubstr("5 bytes instead of 24"));
  EXPECT_THAT(error({{"m/data.pkl", state},
                     {"m/data/0", std::string(1 << 20, '\0'), true}}),
              HasSubstr("compressed"));
  EXPECT_THAT(error({{"m/data.pkl", state},
                     {"m/byteorder", "big"},
                     {"m/data/0", Floats(kSix)}}),
              HasSubstr("big-endian"));
  EXPECT_THAT(error({{"m/data.pkl", PickleWriter()
                                        .Global("os", "system")
                                        .Text("x")
                                        .Raw("\x85R")
                                        .Stop()}}),
              HasSubstr("'os.system'"));
}

TEST(TorchZipTest, RefusesDamage) {
  const std::string state =
      StateDict({{"x", {.storage_elements = 6, .shape = {6}, .strides = {1}}}});
  const std::string good =
      Zip({{"m/data.pkl", state}, {"m/data/0", Floats(kSix)}});
  ASSERT_EQ(Error(ReadTorchZip(Bytes(good))), "no error");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(Error(ReadTorchZip(Bytes(good.substr(0, size)))), "no error")
        << size;
  }
  std::string flipped = good;
  flipped[good.find(Floats(kSix)) + 5] ^= 1;
  EXPECT_THAT(Error(ReadTorchZip(Bytes(flipped))), HasSubstr("checksum"));
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (int change = random() % 3; change >= 0; --change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    Error(ReadTorchZip(Bytes(bad)));
  }
}

TEST(TorchLegacyTest, RandomDamageNeverCrashes) {
  const std::string good =
      TorchLegacy(ViewsOfOneStorage(), {{"0", 6, Floats(kSix)}});
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (int change = random() % 3; change >= 0; --change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    Error(ReadTorchLegacy(Bytes(bad)));
  }
}

}  // namespace
}  // namespace trivium
