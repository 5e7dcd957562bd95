// Arrays that end at a page without access: a kernel that reads or writes
// beyond them dies. Masked instructions do not touch what lies there; on CPUs
// without them the kernels must not either (LoadFirst, StoreFirst).
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"
#include "model/kernels/kv_tile.h"
#include "model/kernels/panel_product.h"
#include "model/kernels/row_ops.h"

namespace trivium {
namespace {

// More than four vectors of any CPU, and all partial ones.
constexpr int kMost = 83;

// [n] values directly before a page without access.
template <class T>
class AtTheEnd {
 public:
  explicit AtTheEnd(int n, T value = 1)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        bytes_((n * sizeof(T) + page_ - 1) / page_ * page_) {
    memory_ =
        static_cast<char*>(mmap(nullptr, bytes_ + page_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + bytes_, page_, PROT_NONE);
    data_ = reinterpret_cast<T*>(memory_ + bytes_) - n;
    for (int i = 0; i < n; ++i) data_[i] = value;
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() { munmap(memory_, bytes_ + page_); }

  T* get() { return data_; }

 private:
  const size_t page_, bytes_;
  char* memory_;
  T* data_;
};

using Floats = AtTheEnd<float>;

TEST(BoundsDeathTest, AccessBeyondTheEndDies) {
  Floats floats(3);
  EXPECT_DEATH(floats.get()[3] = 0, "");
}

TEST(BoundsTest, RowKernelsStayWithinTheirArrays) {
  for (int n = 1; n <= kMost; ++n) {
    SCOPED_TRACE(n);
    Floats x(n), other(n), factors(n), beta(n), y(n), z(n);
    AtTheEnd<int32_t> sums(n);
    AtTheEnd<uint8_t> bytes(n);
    AtTheEnd<uint16_t> halves(n);
    const ProductRow row = {.f32 = x.get(), .bias = other.get(), .n = n};
    const ProductRow int8_row = {.s32 = sums.get(),
                                 .x = {1, 3},
                                 .scale = factors.get(),
                                 .offset = other.get(),
                                 .n = n};
    const Range range = RangeOf(x.get(), n);
    EXPECT_EQ(range.high, 1);
    QuantizeRow(x.get(), n, range, bytes.get());
    EXPECT_EQ(bytes.get()[n - 1], 255);
    Bf16Row(x.get(), n, halves.get());
    EXPECT_EQ(halves.get()[n - 1], 0x3f80);
    FinishRow(row, y.get());
    EXPECT_EQ(y.get()[n - 1], 2);
    FinishRow(int8_row, y.get());
    EXPECT_EQ(y.get()[n - 1], 1 - 3);
    AddRow(row, y.get());
    EXPECT_EQ(y.get()[n - 1], 0);
    AddScaledRow(x.get(), 3, n, y.get());
    EXPECT_EQ(y.get()[n - 1], 3);
    ScaleRow(y.get(), factors.get(), n, y.get());
    EXPECT_EQ(y.get()[n - 1], 3);
    HadamardRow(x.get(), n, z.get());
    EXPECT_EQ(z.get()[0], HadamardSize(n));
    ActivateRow(row, Activation::kRelu, y.get());
    EXPECT_EQ(y.get()[n - 1], 2);
    GateRow(row, int8_row, Activation::kRelu, y.get());
    EXPECT_EQ(y.get()[n - 1], -4);
    ClippedGateRow(row, int8_row, {.alpha = 0, .limit = 1}, y.get());
    EXPECT_NEAR(y.get()[n - 1], 0, 1e-6);
    RecurRow(row, int8_row, x.get(), z.get(), y.get());
    EXPECT_GE(y.get()[n - 1], 0);
    AddNormRow(row, factors.get(), factors.get(), beta.get(), 1, y.get());
    EXPECT_NEAR(y.get()[n - 1], 1, 1e-5);
    AddRmsNormRow(row, factors.get(), factors.get(), 0, y.get());
    EXPECT_NEAR(y.get()[n - 1], 1, 1e-5);
  }
}

TEST(BoundsTest, ProductsStayWithinTheirArrays) {
  constexpr int kRows = 3, kK = 5;
  for (int n = 1; n <= kMost; ++n) {
    SCOPED_TRACE(n);
    Buffer<char> scratch;
    const std::vector<float> w(n * kK, 2);
    Buffer<char> packed(PanelsBytes(n, sizeof(float) * kK));
    PackPanels(w.data(), n, kK, packed.data());
    Floats x(kRows * kK), y(kRows * n);
    PanelProduct(packed.data(), n, kK, x.get(), kRows, 0, n, y.get());
    EXPECT_EQ(y.get()[kRows * n - 1], 2 * kK);

    const std::vector<int8_t> bytes(n * kK, -2);
    Buffer<char> packed_bytes(PanelsBytes(n, kK));
    PackPanels(bytes.data(), n, kK, packed_bytes.data());
    AtTheEnd<uint8_t> u8(kRows * kK);
    AtTheEnd<int32_t> sums(kRows * n);
    PanelProduct(packed_bytes.data(), n, kK, u8.get(), kRows, 0, n, sums.get(),
                 &scratch);
    EXPECT_EQ(sums.get()[kRows * n - 1], -2 * kK);
  }
}

TEST(BoundsTest, AttentionStaysWithinItsArrays) {
  constexpr int kKeys = 5, kQueries = 3;
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8}) {
    for (int size = 1; size <= kMost; ++size) {
      SCOPED_TRACE(size);
      const KvShape shape = {type, /*heads=*/1, size};
      Buffer<char> tile(KvTileBytes(shape));
      Floats key(size), value(size);
      for (int i = 0; i < kKeys; ++i) {
        StoreKeyValue(shape, key.get(), value.get(), i, tile.data());
      }
      const char* tiles[] = {tile.data()};
      Floats query(kQueries * size), out(kQueries * size, 7);
      AttentionCall call = {.shape = shape,
                            .query_heads = 1,
                            .tiles = tiles,
                            .keys = kKeys,
                            .queries = kQueries,
                            .query = query.get(),
                            .query_stride = static_cast<size_t>(size),
                            .scale = 1,
                            .out = out.get(),
                            .out_stride = static_cast<size_t>(size)};
      Floats scratch(static_cast<int>(AttentionScratchSize(call)));
      call.scratch = scratch.get();
      Attend(call);
      EXPECT_NEAR(out.get()[kQueries * size - 1], 1, 0.01);
    }
  }
}

}  // namespace
}  // namespace trivium
