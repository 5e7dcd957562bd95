#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "model/weights/torch_legacy.h"
#include "model/weights/torch_zip.h"
#include "tests/model/weights/zip_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using Tensor = PickleWriter::Tensor;

absl::Status Error(const absl::StatusOr<TensorFile>& read) {
  return read.status();
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
            absl::OkStatus());
  EXPECT_THAT(error({.storage_elements = 6, .shape = {7}, .strides = {1}}),
              IsError(StatusCode::kInvalidArgument, "[7]"));
  EXPECT_THAT(
      error({.storage_elements = 6, .offset = 1, .shape = {6}, .strides = {1}}),
      IsError(StatusCode::kInvalidArgument, "beyond"));
  EXPECT_THAT(
      error(
          {.storage_elements = 6, .offset = -1, .shape = {6}, .strides = {1}}),
      IsError(StatusCode::kInvalidArgument, "offset"));
  EXPECT_THAT(error({.storage_elements = 6, .shape = {2, 3}, .strides = {3}}),
              IsError(StatusCode::kInvalidArgument, "offset"));
  EXPECT_THAT(error({.storage_elements = 6, .shape = {2}, .strides = {-1}}),
              IsError(StatusCode::kInvalidArgument, "offset"));
  EXPECT_THAT(error({.storage_elements = 6,
                     .shape = {int64_t{1} << 40, 6},
                     .strides = {0, 1}}),
              IsError(StatusCode::kInvalidArgument, "repeats"));
  EXPECT_THAT(error({.storage_elements = 6,
                     .shape = {int64_t{1} << 40, int64_t{1} << 40},
                     .strides = {int64_t{1} << 40, int64_t{1} << 40}}),
              IsError(StatusCode::kInvalidArgument, "beyond"));
  EXPECT_THAT(error({.storage_elements = 7, .shape = {6}, .strides = {1}}),
              IsError(StatusCode::kInvalidArgument, "28"));
  EXPECT_THAT(error({.storage_elements = -1}),
              IsError(StatusCode::kInvalidArgument, "'0'"));
  EXPECT_THAT(error({.type = "DoubleStorage", .storage_elements = 3}),
              IsError(StatusCode::kInvalidArgument, "torch.DoubleStorage"));
  EXPECT_THAT(error({.key = "missing", .storage_elements = 6}),
              IsError(StatusCode::kInvalidArgument, "'0'"));
}

TEST(TorchLegacyTest, RefusesBrokenFiles) {
  const std::string state =
      StateDict({{"x", {.storage_elements = 6, .shape = {6}, .strides = {1}}}});
  const std::string good = TorchLegacy(state, {{"0", 6, Floats(kSix)}});
  ASSERT_EQ(Error(ReadTorchLegacy(Bytes(good))), absl::OkStatus());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(Error(ReadTorchLegacy(Bytes(good.substr(0, size)))),
              absl::OkStatus())
        << size;
  }
  for (const int64_t elements : {int64_t{7}, int64_t{-1}, INT64_MAX}) {
    EXPECT_THAT(Error(ReadTorchLegacy(Bytes(
                    TorchLegacy(state, {{"0", elements, Floats(kSix)}})))),
                IsError(StatusCode::kInvalidArgument, "truncated"))
        << elements;
  }
  EXPECT_THAT(Error(ReadTorchLegacy(Bytes(TorchLegacy(state, {})))),
              IsError(StatusCode::kInvalidArgument, "missing"));
  EXPECT_THAT(Error(ReadTorchLegacy(Bytes(TorchLegacy(
                  state, {{"0", 6, Floats(kSix)}, {"0", 6, Floats(kSix)}})))),
              IsError(StatusCode::kInvalidArgument, "twice"));
  EXPECT_THAT(Error(ReadTorchLegacy(
                  Bytes(TorchLegacy(state, {{"0", 6, Floats(kSix)}}, false)))),
              IsError(StatusCode::kInvalidArgument, "big-endian"));
  EXPECT_THAT(Error(ReadTorchLegacy(
                  Bytes(TorchLegacy(PickleWriter().Raw("]").Stop(), {})))),
              IsError(StatusCode::kInvalidArgument, "dictionary"));
  EXPECT_THAT(Error(ReadTorchLegacy(
                  Bytes(TorchLegacy(PickleWriter().Raw("}").Stop(), {})))),
              IsError(StatusCode::kInvalidArgument, "state_dict"));
  EXPECT_THAT(
      Error(ReadTorchLegacy(Bytes(PickleWriter().Int(1).Stop() + good))),
      IsError(StatusCode::kInvalidArgument, "begin"));
}

TEST(TorchZipTest, RefusesBrokenFiles) {
  const std::string state =
      StateDict({{"x", {.storage_elements = 6, .shape = {6}, .strides = {1}}}});
  const auto error = [](const std::vector<ZipEntry>& entries) {
    return Error(ReadTorchZip(Bytes(Zip(entries))));
  };
  EXPECT_THAT(error({{"m/other", "x"}}),
              IsError(StatusCode::kInvalidArgument, "NAME/data.pkl"));
  EXPECT_THAT(error({{"m/data.pkl", state}}),
              IsError(StatusCode::kInvalidArgument, "m/data/0"));
  EXPECT_THAT(error({{"m/data.pkl", state}, {"m/data/0", "short"}}),
              IsError(StatusCode::kInvalidArgument, "24"));
  EXPECT_THAT(error({{"m/data.pkl", state},
                     {"m/data/0", std::string(1 << 20, '\0'), true}}),
              IsError(StatusCode::kInvalidArgument, "compressed"));
  EXPECT_THAT(error({{"m/data.pkl", state},
                     {"m/byteorder", "big"},
                     {"m/data/0", Floats(kSix)}}),
              IsError(StatusCode::kInvalidArgument, "big-endian"));
  EXPECT_THAT(error({{"m/data.pkl", PickleWriter()
                                        .Global("os", "system")
                                        .Text("x")
                                        .Raw("\x85R")
                                        .Stop()}}),
              IsError(StatusCode::kInvalidArgument, "os.system"));
}

TEST(TorchZipTest, RefusesDamage) {
  const std::string state =
      StateDict({{"x", {.storage_elements = 6, .shape = {6}, .strides = {1}}}});
  const std::string good =
      Zip({{"m/data.pkl", state}, {"m/data/0", Floats(kSix)}});
  ASSERT_EQ(Error(ReadTorchZip(Bytes(good))), absl::OkStatus());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(Error(ReadTorchZip(Bytes(good.substr(0, size)))),
              absl::OkStatus())
        << size;
  }
  std::string flipped = good;
  flipped[good.find(Floats(kSix)) + 5] ^= 1;
  EXPECT_THAT(Error(ReadTorchZip(Bytes(flipped))),
              IsError(StatusCode::kInvalidArgument, "checksum"));
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (int change = random() % 3; change >= 0; --change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    Error(ReadTorchZip(Bytes(bad))).IgnoreError();
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
    Error(ReadTorchLegacy(Bytes(bad))).IgnoreError();
  }
}

}  // namespace
}  // namespace trivium
