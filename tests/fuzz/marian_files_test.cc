// The same as model_folders_test.cc of Marian's own files, of which one is
// spoiled each time. An archive's checksums would hide what is in it, so its
// arrays are also spoiled before they are put together.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/weights/npz_file.h"
#include "tests/fuzz/bounded_process.h"
#include "tests/fuzz/folder_mutations.h"
#include "tests/fuzz/settings.h"
#include "tests/model/weights/zip_files.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

constexpr char kGolden[] = "tests/golden/marian_npz/ssru";
constexpr char kFirefox[] = "tests/golden/marian_bin/firefox";

// The golden's archive with one of its arrays, header and all, spoiled.
std::string SpoiledArchive(Random* random, std::string* what) {
  const std::string bytes = ReadWholeFile(std::string(kGolden) + "/model.npz");
  const auto file = ReadNpz(Bytes(bytes));
  const size_t spoiled = (*random)() % file->tensors.size();
  std::vector<ZipEntry> entries;
  for (const auto& [name, tensor] : file->tensors) {
    std::string array =
        Npy(tensor.dtype == DType::kF32 ? "<f4" : "|i1", tensor.shape,
            {reinterpret_cast<const char*>(tensor.data.data()),
             tensor.data.size()});
    if (entries.size() == spoiled) {
      // The header more often than its share.
      if ((*random)() % 2 == 0) {
        std::string header = array.substr(0, 100);
        *what = SpoilBytes(&header, random);
        array = header + array.substr(std::min<size_t>(100, array.size()));
      } else {
        *what = SpoilBytes(&array, random);
      }
      *what += " in " + name;
    }
    entries.push_back({name + ".npy", std::move(array)});
  }
  return Zip(entries);
}

TEST(MarianFilesTest, SpoiledFilesAreRefusedInBoundedTimeAndMemory) {
  const long rounds = FuzzSetting("TRIVIUM_FUZZ_ROUNDS", 60);
  const long seed = FuzzSetting("TRIVIUM_FUZZ_SEED", 1);
  const std::string names[] = {"model.npz", "model.npz.decoder.yml",
                               "vocab.spm"};
  for (long round = 0; round < rounds; ++round) {
    std::seed_seq seeds = {seed, long{19}, round};
    Random random(seeds);
    const TemporaryFolder folder;
    for (const std::string& name : names) {
      fs::copy_file(fmt::format("{}/{}", kGolden, name),
                    fmt::format("{}/{}", folder.path(), name));
    }
    std::string what = "nothing";
    if (round % 2 == 1) {
      folder.Write("model.npz", SpoiledArchive(&random, &what));
    } else if (round > 0) {
      const std::string& name = names[random() % std::size(names)];
      what = SpoilFile(folder.path() + "/" + name, &random) + " in " + name;
    }
    EXPECT_EQ(ReadFolderInBounds(folder.path()), "")
        << "round " << round << ": " << what;
  }
}

TEST(MarianFilesTest, SpoiledBinaryModelsAreRefusedInBounds) {
  const long rounds = FuzzSetting("TRIVIUM_FUZZ_ROUNDS", 60);
  const long seed = FuzzSetting("TRIVIUM_FUZZ_SEED", 1);
  const std::string model = "model.ende.intgemm.alphas.bin";
  const std::string names[] = {model, "vocab.ende.spm", "metadata.json"};
  for (long round = 0; round < rounds; ++round) {
    std::seed_seq seeds = {seed, long{20}, round};
    Random random(seeds);
    const TemporaryFolder folder;
    for (const std::string& name : names) {
      fs::copy_file(fmt::format("{}/{}", kFirefox, name),
                    fmt::format("{}/{}", folder.path(), name));
    }
    std::string what = "nothing";
    if (round % 2 == 1) {
      // The items' headers, names and shapes.
      const std::string bytes = ReadWholeFile(folder.path() + "/" + model);
      std::string head = bytes.substr(0, 4096);
      what = SpoilBytes(&head, &random) + " in the beginning of " + model;
      folder.Write(model, head + bytes.substr(4096));
    } else if (round > 0) {
      const std::string& name = names[random() % std::size(names)];
      what = SpoilFile(folder.path() + "/" + name, &random) + " in " + name;
    }
    EXPECT_EQ(ReadFolderInBounds(folder.path()), "")
        << "round " << round << ": " << what;
  }
}

}  // namespace
}  // namespace trivium
