// A tile is a register of 16 rows of 64 bytes. A tile of x holds 64 bytes of K
// of 16 rows; a tile of W holds 64 bytes of K of 16 columns, four bytes of each
// per lane. The product of two is added to a tile of 16 x 16 sums:
//
//   sums[r][c] += sum over the tiles' values of K of x[r][i] * w[c][i]
//
// The instruction fixes the order, so a row's sums depend on no other row.
//
// Packed weights are strips of 32 columns. A strip holds two tiles for the
// first 64 bytes of K, two for the next, and so on. Up to 16 rows are
// multiplied with two strips at once. More rows are multiplied with each strip
// as pairs of tiles, so that every loaded tile is multiplied twice. The last
// tile of many rows overlaps the one before and writes the same sums again;
// fewer than 16 rows in all use lower tiles. So nothing is read or written
// beyond the rows.
//
// Weights are read sequentially, which the CPU predicts. Prefetching the next
// strip as panel_product.cc does made 32 rows with weights in memory a fifth
// faster, but all other cases up to a third slower.
#include "model/kernels/tile_product.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/isa.h"
#include "model/kernels/runtime.h"

namespace trivium {

#if defined(__x86_64__)

namespace {

constexpr int kTileRows = 16;
constexpr int kTileRowBytes = 64;  // a cache line
constexpr int kTileColumns = 16;   // of sums and of W
constexpr int kTileBytes = kTileRows * kTileRowBytes;

// The eight tile registers.
enum Tile { kSums0, kSums1, kSums2, kSums3, kX0, kX1, kW0, kW1, kTiles };

// The instructions (Intel's manual, volume 2), as inline assembly because
// compilers' intrinsics for them must be macros. They need no compiler flag,
// and the compiler itself uses no tiles.
template <Tile kTile>
void Load(const void* from, size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
               :
               : "r"(from), "r"(stride), "i"(kTile)
               : "memory");
}
template <Tile kTile>
void Store(void* to, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
               :
               : "r"(to), "r"(stride), "i"(kTile)
               : "memory");
}
template <Tile kTile>
void Clear() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <class Value, Tile kSums, Tile kX, Tile kW>
void AddDots() {
  if constexpr (std::is_same_v<Value, uint8_t>) {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kSums), "i"(kX), "i"(kW));
  } else {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kSums), "i"(kX), "i"(kW));
  }
}

// The operand of LDTILECFG (volume 1, chapter 18).
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Sets the height of the tiles of x and of sums to `rows`.
void Configure(int rows) {
  TileShapes shapes;
  for (int tile = 0; tile < kTiles; ++tile) {
    shapes.row_bytes[tile] = kTileRowBytes;
    shapes.rows[tile] = static_cast<uint8_t>(rows);
  }
  shapes.rows[kW0] = shapes.rows[kW1] = kTileRows;
  asm volatile("ldtilecfg %0" : : "m"(shapes));
}

// Frees the tiles: switching a thread that uses them costs more.
void Release() { asm volatile("tilerelease"); }

template <class Weight, class Value, class Sum>
struct Product {
  using X = Value;
  using Y = Sum;
  static constexpr size_t kDepth = kTileRowBytes / sizeof(Value);

  const Weight* packed;
  size_t n, k;
  const Value* x;
  int rows;
  Sum* y;

  size_t row_bytes() const { return k * sizeof(Value); }
  const char* strip(int column) const {
    return reinterpret_cast<const char*>(packed) + column * row_bytes();
  }
};

// Stores a tile of sums to y's rows from `row` on. Columns of the last strip
// may be beyond N and are not stored.
template <Tile kSums, class Call>
void StoreSums(const Call& call, int row, int column) {
  using Y = typename Call::Y;
  Y* y = call.y + row * call.n + column;
  const int columns = static_cast<int>(call.n) - column;
  if (columns >= kTileColumns) {
    Store<kSums>(y, call.n * sizeof(Y));
  } else if (columns > 0) {
    alignas(kTileRowBytes) Y sums[kTileRows][kTileColumns];
    Store<kSums>(sums, kTileRowBytes);
    for (int r = 0; r < std::min(call.rows, kTileRows); ++r) {
      std::memcpy(y + r * call.n, sums[r], columns * sizeof(Y));
    }
  }
}

// Multiplies the tile of rows from `row` on with one or two strips.
template <bool kTwo, class Call>
void MultiplyTile(const Call& call, int row, int column) {
  using X = typename Call::X;
  Clear<kSums0>();
  Clear<kSums1>();
  Clear<kSums2>();
  Clear<kSums3>();
  const char* w = call.strip(column);
  const char* w_next = call.strip(column + kStripColumns);
  const X* x = call.x + row * call.k;
  for (size_t i = 0; i < call.k; i += Call::kDepth) {
    Load<kX0>(x + i, call.row_bytes());
    Load<kW0>(w, kTileRowBytes);
    AddDots<X, kSums0, kX0, kW0>();
    Load<kW1>(w + kTileBytes, kTileRowBytes);
    AddDots<X, kSums1, kX0, kW1>();
    w += 2 * kTileBytes;
    if constexpr (kTwo) {
      Load<kW0>(w_next, kTileRowBytes);
      AddDots<X, kSums2, kX0, kW0>();
      Load<kW1>(w_next + kTileBytes, kTileRowBytes);
      AddDots<X, kSums3, kX0, kW1>();
      w_next += 2 * kTileBytes;
    }
  }
  StoreSums<kSums0>(call, row, column);
  StoreSums<kSums1>(call, row, column + kTileColumns);
  if constexpr (kTwo) {
    StoreSums<kSums2>(call, row, column + 2 * kTileColumns);
    StoreSums<kSums3>(call, row, column + 3 * kTileColumns);
  }
}

// Multiplies the tiles of rows from `row` on and from `other` on with a strip.
template <class Call>
void MultiplyPair(const Call& call, int row, int other, int column) {
  using X = typename Call::X;
  Clear<kSums0>();
  Clear<kSums1>();
  Clear<kSums2>();
  Clear<kSums3>();
  const char* w = call.strip(column);
  const X* x = call.x + row * call.k;
  const X* x_other = call.x + other * call.k;
  for (size_t i = 0; i < call.k; i += Call::kDepth) {
    Load<kW0>(w, kTileRowBytes);
    Load<kX0>(x + i, call.row_bytes());
    AddDots<X, kSums0, kX0, kW0>();
    Load<kX1>(x_other + i, call.row_bytes());
    AddDots<X, kSums2, kX1, kW0>();
    Load<kW1>(w + kTileBytes, kTileRowBytes);
    AddDots<X, kSums1, kX0, kW1>();
    AddDots<X, kSums3, kX1, kW1>();
    w += 2 * kTileBytes;
  }
  StoreSums<kSums0>(call, row, column);
  StoreSums<kSums1>(call, row, column + kTileColumns);
  StoreSums<kSums2>(call, other, column);
  StoreSums<kSums3>(call, other, column + kTileColumns);
}

template <class Call>
void Multiply(const Call& call, int begin, int end) {
  const int tiles = (call.rows + kTileRows - 1) / kTileRows;
  const auto row_of = [&call](int tile) {
    return std::max(0, std::min(tile * kTileRows, call.rows - kTileRows));
  };
  Configure(std::min(call.rows, kTileRows));
  int column = begin;
  if (tiles == 1) {
    for (; column + kStripColumns < end; column += 2 * kStripColumns) {
      MultiplyTile<true>(call, 0, column);
    }
  }
  for (; column < end; column += kStripColumns) {
    int tile = 0;
    for (; tile + 1 < tiles; tile += 2) {
      MultiplyPair(call, row_of(tile), row_of(tile + 1), column);
    }
    if (tile < tiles) MultiplyTile<false>(call, row_of(tile), column);
  }
  Release();
}

bool HasTiles(size_t row_bytes) {
  return ActiveIsa() >= Isa::kAmx && row_bytes % kTileRowBytes == 0;
}

}  // namespace

bool HasByteTiles(int k) { return HasTiles(k); }
bool HasBf16Tiles(int k) { return HasTiles(2 * k); }

size_t StripsBytes(int n, size_t row_bytes) {
  return static_cast<size_t>(n + kStripColumns - 1) / kStripColumns *
         kStripColumns * row_bytes;
}

void PackStrips(const void* w, int n, size_t row_bytes, void* packed) {
  constexpr size_t kLane = 4;  // bytes
  const char* from = static_cast<const char*>(w);
  for (int column = 0; column < n; ++column) {
    const int place = column % kStripColumns;
    char* to = static_cast<char*>(packed) +
               static_cast<size_t>(column - place) * row_bytes +
               place / kTileColumns * kTileBytes + place % kTileColumns * kLane;
    for (size_t i = 0; i < row_bytes; i += kTileRowBytes) {
      for (int row = 0; row < kTileRows; ++row, from += kLane) {
        std::memcpy(to + row * kTileRowBytes, from, kLane);
      }
      to += 2 * kTileBytes;
    }
  }
}

void TileProduct(const int8_t* packed, int n, int k, const uint8_t* x, int rows,
                 int begin, int end, int32_t* y) {
  Multiply(
      Product<int8_t, uint8_t, int32_t>{packed, static_cast<size_t>(n),
                                        static_cast<size_t>(k), x, rows, y},
      begin, end);
}
void TileProduct(const uint16_t* packed, int n, int k, const uint16_t* x,
                 int rows, int begin, int end, float* y) {
  Multiply(
      Product<uint16_t, uint16_t, float>{packed, static_cast<size_t>(n),
                                         static_cast<size_t>(k), x, rows, y},
      begin, end);
}

#else

bool HasByteTiles(int) { return false; }
bool HasBf16Tiles(int) { return false; }
size_t StripsBytes(int, size_t) { return 0; }
void PackStrips(const void*, int, size_t, void*) {}
void TileProduct(const int8_t*, int, int, const uint8_t*, int, int, int,
                 int32_t*) {}
void TileProduct(const uint16_t*, int, int, const uint16_t*, int, int, int,
                 float*) {}

#endif

}  // namespace trivium
