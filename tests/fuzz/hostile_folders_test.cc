// Folders whose files are as large as they may be, and made to take far more
// time or memory than their size.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/fuzz/bounded_process.h"
#include "tests/model/weights/weight_files.h"
#include "tests/model/weights/zip_files.h"

namespace trivium {
namespace {

std::string Times(size_t count, const std::string& text) {
  std::string all;
  all.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// Of a protocol buffer.
std::string Varint(size_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) {
    bytes += static_cast<char>(value % 128 + 128);
  }
  return bytes + static_cast<char>(value);
}

// BERT's golden, without a tokenizer.
class HostileFoldersTest : public testing::Test {
 protected:
  HostileFoldersTest() {
    for (const char* name : {"config.json", "model.safetensors"}) {
      folder_.Write(
          name, ReadWholeFile("tests/golden/bert.base/" + std::string(name)));
    }
  }
  void ExpectInBounds(const std::string& what) {
    EXPECT_EQ(ReadFolderInBounds(folder_.path()), "") << what;
  }
  void ExpectInBounds(const std::string& name, const std::string& contents,
                      const std::string& what) {
    folder_.Write(name, contents);
    ExpectInBounds(name + ": " + what);
    folder_.Remove(name);
  }

  const TemporaryFolder folder_;
};

TEST_F(HostileFoldersTest, JsonStaysInBounds) {
  const std::string deep = Times(100'000, "{\"normalizer\":");
  const std::string wide = "{\"x\": [" + Times(20'000'000, "[],") + "0]}";
  for (const char* name : {"generation_config.json", "tokenizer_config.json",
                           "tokenizer.json", "modules.json"}) {
    ExpectInBounds(name, deep, "deep");
    ExpectInBounds(name, wide, "wide");
  }
  std::string modules = "[" + Times(5000, R"({"type":"D.Dense","path":"d"},)");
  modules.back() = ']';
  ExpectInBounds("modules.json", modules, "modules");
}

TEST_F(HostileFoldersTest, SafetensorsStayInBounds) {
  ExpectInBounds("model.safetensors",
                 Safetensors("{" + Times(10'000'000, "\"x\":{},") + "}", ""),
                 "a long header");
  std::string header = "{";
  for (int i = 0; i < 200'000; ++i) {
    header += "\"" + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
  }
  header.back() = '}';
  ExpectInBounds("model.safetensors", Safetensors(header, ""), "many tensors");
}

TEST_F(HostileFoldersTest, PicklesStayInBounds) {
  folder_.Remove("model.safetensors");
  ExpectInBounds("pytorch_model.bin",
                 TorchLegacy(Times(1'000'000, "N") + ".", {}), "values");
  ExpectInBounds("pytorch_model.bin",
                 Times(4, "\x80\x02" + Times(500'000, "N") + "."), "pickles");
  std::string calls = PickleWriter()
                          .Global("torch._utils", "_rebuild_parameter")
                          .Raw("q\x01(")
                          .Rebuild({.storage_elements = 1})
                          .Stop();
  calls.pop_back();
  calls += Times(4'000'000, "2") + "tq\x02" + Times(4'000'000, "h\x01h\x02R0");
  ExpectInBounds("pytorch_model.bin", TorchLegacy(calls + "N.", {}), "calls");
}

TEST_F(HostileFoldersTest, VocabulariesStayInBounds) {
  ExpectInBounds("vocab.txt", std::string(120 << 20, '\n'), "empty lines");
  folder_.Write("merges.txt", Times(30'000'000, "a b\n"));
  ExpectInBounds("vocab.json", R"({"a": 1048575, "b": 1, "ab": 2})", "merges");
  ExpectInBounds("vocab.json", "{" + Times(20'000'000, "\"\":1,") + "\"a\":1}",
                 "pieces");
  folder_.Remove("merges.txt");
  const std::string end = "]}}";
  std::string unigram = R"({"model": {"type": "Unigram", "vocab": [)";
  for (int i = 0; i < 1000; ++i) {
    unigram += "[\"" + std::to_string(i) + std::string(15'000, 'a') + "\",0],";
  }
  unigram.back() = ' ';
  ExpectInBounds("tokenizer.json", unigram + end, "long pieces");
  unigram = R"({"model": {"type": "Unigram", "vocab": [)";
  for (int i = 0; i < 1'000'000; ++i) {
    unigram += "[\"" + std::to_string(i) + "\",0],";
  }
  unigram.back() = ' ';
  ExpectInBounds("tokenizer.json", unigram + end, "many pieces");
  std::string bpe = R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1)";
  for (int i = 0; i < 600'000; ++i) {
    bpe += ",\"" + std::to_string(i) + "\":" + std::to_string(i);
  }
  bpe += "}, \"merges\": [" + Times(400'000, "[\"a\",\"b\"],");
  bpe.back() = ']';
  ExpectInBounds("tokenizer.json", bpe + "}}", "merges");
}

TEST_F(HostileFoldersTest, SentencePieceStaysInBounds) {
  folder_.Remove("config.json");  // which would not name this family
  folder_.Write("tokenizer_config.json", R"({"cls_token": "</s>",
      "sep_token": "</s>", "unk_token": "<unk>",
      "tokenizer_class": "AlbertTokenizer"})");
  const std::string good = ReadWholeFile("model/embedded/source.spm");
  ExpectInBounds("spiece.model", good + Times(10'000'000, "\x0A\x02\x0A"),
                 "pieces cut short");
  std::mt19937 random(1);
  const auto pieces = [&](int count, int size) {
    std::string model;
    for (int i = 0; i < count; ++i) {
      std::string text;
      for (int j = 0; j < size; ++j) text += 'a' + random() % 26;
      std::string piece = "\x0A" + Varint(text.size()) + text +
                          std::string("\x15\0\0\x80\xBF", 5);
      model += "\x0A" + Varint(piece.size()) + piece;
    }
    return model;
  };
  ExpectInBounds("spiece.model", good + pieces(25'000, 1000), "long pieces");
  // As large a trie as may be.
  ExpectInBounds("spiece.model",
                 good + pieces(2'800, 1000) + pieces(220'000, 12),
                 "less long, and many");
}

// Strings of one hash: std::hash is MurmurHash64A with a known seed. It takes
// eight bytes at a time, h = (h ^ scrambled bytes) * m, so that a difference in
// the highest bit stays there, and the next eight bytes' like it takes it away.
std::vector<std::string> Colliding(size_t count) {
  constexpr uint64_t kM = 0xc6a4a7935bd1e995;
  const auto scrambled = [](uint64_t bytes) {
    bytes *= kM;
    return (bytes ^ bytes >> 47) * kM;
  };
  uint64_t inverse = kM;  // of kM, modulo 2^64; Newton's method
  for (int i = 0; i < 6; ++i) inverse *= 2 - kM * inverse;
  const auto unscrambled = [inverse](uint64_t hash) {
    hash *= inverse;
    return (hash ^ hash >> 47) * inverse;
  };
  std::mt19937_64 random(1);
  const auto has_newline = [](std::string_view bytes) {
    return bytes.find_first_of(std::string_view("\n\r \t\0", 5)) != bytes.npos;
  };
  std::vector<std::string> strings = {""};
  while (strings.size() < count) {
    std::string pairs[2];
    do {
      for (std::string& pair : pairs) pair.clear();
      for (int block = 0; block < 2; ++block) {
        const uint64_t bytes = random();
        pairs[0] += LittleEndian(bytes, 8);
        pairs[1] +=
            LittleEndian(unscrambled(scrambled(bytes) ^ uint64_t{1} << 63), 8);
      }
    } while (has_newline(pairs[0] + pairs[1]));
    std::vector<std::string> longer;
    for (const std::string& string : strings) {
      for (const std::string& pair : pairs) longer.push_back(string + pair);
    }
    strings = std::move(longer);
  }
  return strings;
}

TEST_F(HostileFoldersTest, CollidingHashesStayInBounds) {
  const std::vector<std::string> pieces = Colliding(1 << 16);
  ASSERT_EQ(std::hash<std::string>()(pieces.front()),
            std::hash<std::string>()(pieces.back()));
  std::string lines;
  for (const std::string& piece : pieces) lines += piece + "\n";
  ExpectInBounds("vocab.txt", lines, "pieces of one hash");
  folder_.Remove("model.safetensors");
  // Multiples of a number of buckets that std::unordered_map takes.
  std::string memo = "\x80\x02N";
  for (uint64_t i = 0; i < 62'000; ++i) {
    memo += "r" + LittleEndian(i * 62'233, 4);
  }
  ExpectInBounds("pytorch_model.bin", TorchLegacy(memo + ".", {}), "memo");
}

TEST_F(HostileFoldersTest, HugeSizesStayInBounds) {
  ExpectInBounds("vocab.json", R"({"a": 16777215})", "a large id");
  ExpectInBounds("tokenizer.json", R"({"model": {"type": "WordPiece",
      "vocab": {"[UNK]": 0, "a": 16777215}}})",
                 "a large id");
  const std::string golden = "tests/golden/marian.translate/";
  for (const char* name :
       {"config.json", "model.safetensors", "generation_config.json"}) {
    if (std::filesystem::exists(golden + name)) {
      folder_.Write(name, ReadWholeFile(golden + name));
    }
  }
  nlohmann::json config =
      nlohmann::json::parse(ReadWholeFile(golden + "config.json"));
  config["max_position_embeddings"] = 1 << 24;
  folder_.Write("config.json", config.dump());
  ExpectInBounds("many positions");
}

TEST_F(HostileFoldersTest, GgufStaysInBounds) {
  const auto text = [](const std::string& value) {
    return LittleEndian(value.size(), 8) + value;
  };
  const auto file = [](uint64_t tensors, uint64_t pairs,
                       const std::string& rest) {
    return "GGUF" + LittleEndian(3, 4) + LittleEndian(tensors, 8) +
           LittleEndian(pairs, 8) + rest;
  };
  constexpr uint64_t kText = 8, kArray = 9;
  const auto array = [&](uint64_t type, uint64_t count) {
    return text("tokenizer.ggml.tokens") + LittleEndian(kArray, 4) +
           LittleEndian(type, 4) + LittleEndian(count, 8);
  };
  const std::string bombs[] = {
      file(uint64_t{1} << 62, 0, ""), file(0, uint64_t{1} << 62, ""),
      file(0, 1, array(0, uint64_t{1} << 62)),
      file(0, 1, array(kText, 1) + LittleEndian(uint64_t{1} << 63, 8)),
      // Empty texts, of eight bytes each, and arrays in one another.
      file(0, 1, array(kText, 10'000'000) + std::string(80'000'000, '\0')),
      file(0, 1,
           array(kArray, 1) +
               Times(1'000'000, LittleEndian(kArray, 4) + LittleEndian(1, 8)))};
  for (size_t i = 0; i < std::size(bombs); ++i) {
    folder_.Write("model.gguf", bombs[i]);
    EXPECT_EQ(ReadFolderInBounds(folder_.path() + "/model.gguf"), "") << i;
  }
}

TEST_F(HostileFoldersTest, NpzStaysInBounds) {
  folder_.Remove("config.json");
  folder_.Remove("model.safetensors");
  for (const char* name : {"model.npz.decoder.yml", "vocab.spm"}) {
    folder_.Write(name, ReadWholeFile("tests/golden/marian_npz/ssru/" +
                                      std::string(name)));
  }
  const auto archive = [](const std::vector<int64_t>& shape,
                          const std::string& data) {
    return Zip({{"a.npy", Npy("<f4", shape, data), /*compressed=*/true}});
  };
  ExpectInBounds("model.npz", archive({int64_t{1} << 62, 4}, ""),
                 "more numbers than there are");
  ExpectInBounds("model.npz", archive(std::vector<int64_t>(30'000, 1), "1234"),
                 "many dimensions");
  // A thousandth of that.
  ExpectInBounds("model.npz",
                 archive({75'000'000}, std::string(300'000'000, 0)), "zeros");
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 50'000; ++i) {
    entries.push_back({std::to_string(i) + ".npy", Npy("<f4", {0}, "")});
  }
  ExpectInBounds("model.npz", Zip(entries), "many arrays");
}

TEST_F(HostileFoldersTest, YamlStaysInBounds) {
  folder_.Remove("config.json");
  folder_.Remove("model.safetensors");
  for (const char* name : {"model.npz", "vocab.spm"}) {
    folder_.Write(name, ReadWholeFile("tests/golden/marian_npz/ssru/" +
                                      std::string(name)));
  }
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = " *a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
              before + Times(9, "," + before) + "]\n";
  }
  for (const std::string& yaml :
       {"a: " + Times(1'000'000, "["), Times(10'000'000, "- "),
        Times(5'000'000, "a: b\n"), laughs}) {
    ExpectInBounds("model.npz.decoder.yml", yaml, yaml.substr(0, 40));
  }
}

TEST_F(HostileFoldersTest, ChatTemplatesStayInBounds) {
  const std::string golden = "tests/golden/llama.lm/";
  for (const char* name : {"config.json", "model.safetensors"}) {
    folder_.Write(name, ReadWholeFile(golden + name));
  }
  folder_.Write("vocab.json", R"({"a": 0, "b": 1})");
  folder_.Write("merges.txt", "");
  for (const std::string& text :
       {Times(100'000, "{% if a %}"), "{{ " + Times(500'000, "(") + " }}",
        "{{ " + Times(1'000'000, "1 + ") + "1 }}", Times(2'000'000, "{{ a }}"),
        std::string(20'000'000, 'a')}) {
    ExpectInBounds("tokenizer_config.json",
                   nlohmann::json{{"tokenizer_class", "GPT2Tokenizer"},
                                  {"chat_template", text}}
                       .dump(),
                   text.substr(0, 40));
  }
}

TEST_F(HostileFoldersTest, ZipEntriesStayInBounds) {
  folder_.Remove("model.safetensors");
  // Only a directory, as an archive of 64 bits has it.
  constexpr uint64_t kEntries = 1'500'000;
  const std::string entry = "PK\x01\x02" + std::string(42, '\0');
  const uint64_t bytes = kEntries * entry.size();
  std::string zip = Times(kEntries, entry);
  zip += "PK\x06\x06" + LittleEndian(44, 8) + LittleEndian(45 << 16 | 45, 4) +
         LittleEndian(0, 8) + LittleEndian(kEntries, 8) +
         LittleEndian(kEntries, 8) + LittleEndian(bytes, 8) +
         LittleEndian(0, 8);
  zip += "PK\x06\x07" + LittleEndian(0, 4) + LittleEndian(bytes, 8) +
         LittleEndian(1, 4);
  zip += "PK\x05\x06" + LittleEndian(0, 4) + LittleEndian(0xFFFFFFFF, 4) +
         LittleEndian(0xFFFFFFFF, 4) + LittleEndian(0xFFFFFFFF, 4) +
         LittleEndian(0, 2);
  ExpectInBounds("pytorch_model.bin", zip, "many entries");
  // An entry with a name, as archives must begin.
  ExpectInBounds("pytorch_model.bin",
                 "PK\x03\x04" + std::string(26, '\0') + zip,
                 "many entries behind one");
}

TEST_F(HostileFoldersTest, EndlessTokenizersStayInBounds) {
  const std::string model = R"("model": {"type": "Unigram", "unk_id": 0,
      "vocab": [["<unk>", 0.0], ["a", -1.5], ["aaaa", -2.0]]}})";
  for (const char* part :
       {R"("decoder": {"type": "Metaspace", "replacement": ""})",
        R"("pre_tokenizer": {"type": "Metaspace", "replacement": ""})",
        R"("decoder": {"type": "Replace", "pattern": {"String": ""},
           "content": "b"})",
        R"("normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"},
           "content": "b"})",
        R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"},
           "behavior": "Isolated"})",
        R"("decoder": {"type": "Replace", "pattern": {"Regex": "(a+)+$"},
           "content": "b"})"}) {
    ExpectInBounds("tokenizer.json", "{" + std::string(part) + "," + model,
                   part);
  }
}

TEST_F(HostileFoldersTest, AddedTokensStayInBounds) {
  std::string config = R"({"added_tokens_decoder": {)";
  std::string tokens =
      R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}},
    "normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"},
                   "content": "b"}, "added_tokens": [)";
  for (int i = 0; i < 60'000; ++i) {
    const std::string token = "{\"normalized\":true,\"content\":\"" +
                              std::to_string(i) + "aaaaaaaaaa!\"},";
    config += "\"" + std::to_string(i) + "\":" + token;
    tokens += token;
  }
  config.back() = '}';
  tokens.back() = ']';
  folder_.Write("tokenizer_config.json", config + "}");
  ExpectInBounds("tokenizer.json", tokens + "}", "many");
}

}  // namespace
}  // namespace trivium
