#ifndef TRIVIUM_TESTS_FROZEN_RANDOM_GGUF_H_
#define TRIVIUM_TESTS_FROZEN_RANDOM_GGUF_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/weights/gguf_files.h"

namespace trivium {

// How a GGUF type stores a block of numbers.
struct GgufBlock {
  std::string_view name;
  uint32_t type;
  int numbers, bytes;
  // An f16 or the exponent of a power of two that stands at a byte of a block.
  // Its low bits are random; all other bytes of a block are.
  struct Scale {
    int at;
    uint16_t least, random_bits;
    int bytes = 2;
  };
  std::vector<Scale> scales;
};

// Each with scales that make numbers of about 0.06.
inline const std::vector<GgufBlock>& FourBitBlocks() {
  static const auto& blocks = *new std::vector<GgufBlock>{
      {"Q4_0", 2, 32, 18, {{0, 0x2000, 0x3ff}}},
      {"Q4_1", 3, 32, 20, {{0, 0x2000, 0x3ff}, {2, 0xac00, 0x3ff}}},
      {"Q4_K", 12, 256, 144, {{0, 0x0c00, 0x3ff}, {2, 0x1800, 0x3ff}}},
      {"IQ4_NL", 20, 32, 18, {{0, 0x1400, 0x3ff}}},
      {"IQ4_XS", 23, 256, 136, {{0, 0x0400, 0x3ff}}},
      {"MXFP4", 39, 32, 17, {{0, 120, 1, 1}}},
  };
  return blocks;
}

// Returns a file of a decoder of LLaMA's design whose layers are random blocks.
// The output is Q6_K. It has no vocabulary.
inline std::string RandomGguf(const GgufBlock& layers) {
  constexpr uint32_t kWidth = 256, kInner = 512, kKeys = 128, kTokens = 90;
  static const GgufBlock kOutput = {"Q6_K", 14, 256, 210, {{208, 0x80, 0x3f}}};
  std::mt19937 random(layers.type);
  GgufWriter writer;
  writer.Value("general.architecture", "llama")
      .Value("llama.context_length", 64)
      .Value("llama.block_count", 2)
      .Value("llama.embedding_length", kWidth)
      .Value("llama.feed_forward_length", kInner)
      .Value("llama.attention.head_count", 4)
      .Value("llama.attention.head_count_kv", 2)
      .Real("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Value("tokenizer.ggml.eos_token_id", 2);
  const auto add = [&](std::string_view name, uint32_t rows, uint32_t columns,
                       const GgufBlock& of) {
    writer.data.resize((writer.data.size() + 31) / 32 * 32);
    writer.Info(name, {rows, columns}, of.type, writer.data.size());
    for (uint32_t i = 0; i < rows * columns / of.numbers; ++i) {
      std::string block(of.bytes, '\0');
      for (char& byte : block) byte = static_cast<char>(random());
      for (const GgufBlock::Scale& scale : of.scales) {
        const uint32_t bits = scale.least | (random() & scale.random_bits);
        block.replace(scale.at, scale.bytes, LittleEndian(bits, scale.bytes));
      }
      writer.data += block;
    }
  };
  const auto add_floats = [&](std::string_view name, uint32_t rows) {
    std::vector<float> numbers(rows * kWidth);
    for (float& number : numbers) {
      number = 0.5f + static_cast<float>(random() % 1000) * 1e-3f;
      if (rows > 1 && random() % 2 == 0) number = -number;
    }
    if (rows > 1) {
      writer.Tensor(name, {rows, kWidth}, numbers);
    } else {
      writer.Tensor(name, {kWidth}, numbers);
    }
  };
  add_floats("token_embd.weight", kTokens);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    add_floats(layer + "attn_norm.weight", 1);
    add(layer + "attn_q.weight", kWidth, kWidth, layers);
    add(layer + "attn_k.weight", kKeys, kWidth, layers);
    add(layer + "attn_v.weight", kKeys, kWidth, layers);
    add(layer + "attn_output.weight", kWidth, kWidth, layers);
    add_floats(layer + "ffn_norm.weight", 1);
    add(layer + "ffn_gate.weight", kInner, kWidth, layers);
    add(layer + "ffn_up.weight", kInner, kWidth, layers);
    add(layer + "ffn_down.weight", kWidth, kInner, layers);
  }
  add_floats("output_norm.weight", 1);
  add("output.weight", kTokens, kWidth, kOutput);
  return writer.Bytes();
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_FROZEN_RANDOM_GGUF_H_
