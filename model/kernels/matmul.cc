#include "model/kernels/matmul.h"

#include <array>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/mutex.h"
#include "base/status.h"
#include "model/kernels/dnnl_compat.h"
#include "model/kernels/panel_product.h"
#include "model/kernels/runtime.h"

// Of libgomp, which the distribution's oneDNN is built with.
extern "C" void omp_set_num_threads(int threads);

namespace trivium {
namespace {

constexpr std::array<int, 18> kBuckets = {1,  2,  4,  8,  12, 16, 20, 24, 28,
                                          32, 36, 40, 44, 48, 52, 56, 60, 64};
// What products are cut into where buckets are not invariant.
constexpr int kFixedRows = 16;

int BucketIndex(int rows) {
  int i = 0;
  while (kBuckets[i] < rows) ++i;
  return i;
}

const dnnl::engine& CpuEngine() {
  static const dnnl::engine* engine =
      new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

// Workers are the parallelism; a product runs on its worker's thread alone.
// OpenMP keeps this setting per thread.
void UseOneThread() {
  static thread_local const bool done = (omp_set_num_threads(1), true);
  (void)done;
}

struct DataTypes {
  dnnl::memory::data_type x, w, y;
};

DataTypes TypesOf(MatmulType type) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case MatmulType::kF32:
      return {Type::f32, Type::f32, Type::f32};
    case MatmulType::kBf16:
      return {Type::bf16, Type::bf16, Type::f32};
    case MatmulType::kInt8:
      break;
  }
  return {Type::u8, Type::s8, Type::s32};
}

size_t RowBytes(MatmulType type, int k) {
  return static_cast<size_t>(k) * OperandSize(type);
}

bool HasPanels(MatmulType type, int k) {
  return (type == MatmulType::kF32 && HasFloatPanels()) ||
         (type == MatmulType::kInt8 && HasBytePanels(k));
}

}  // namespace

int OperandSize(MatmulType type) {
  return type == MatmulType::kF32 ? 4 : type == MatmulType::kBf16 ? 2 : 1;
}

class MatmulShape {
 public:
  struct Bucket {
    dnnl::matmul primitive;
    dnnl::memory::desc x, y, scratchpad;
  };

  // The shape's primitives, made once a process.
  static absl::StatusOr<std::shared_ptr<MatmulShape>> Get(MatmulType type,
                                                          int n, int k) {
    using Key = std::tuple<MatmulType, int, int>;
    static Mutex mutex;
    static auto* shapes = new std::map<Key, std::weak_ptr<MatmulShape>>;
    MutexLock lock(&mutex);
    std::weak_ptr<MatmulShape>& known = (*shapes)[Key(type, n, k)];
    if (std::shared_ptr<MatmulShape> shape = known.lock()) return shape;
    auto shape = std::make_shared<MatmulShape>();
    absl::Status made = absl::OkStatus();
    TRIVIUM_RETURN_IF_ERROR(CatchDnnl("creating a product",
                                      [&] { made = shape->Make(type, n, k); }));
    TRIVIUM_RETURN_IF_ERROR(made);
    known = shape;
    return shape;
  }

  MatmulType type;
  int n, k;
  dnnl::memory::desc weights;
  std::string implementation;
  std::array<Bucket, kBuckets.size()> buckets;
  bool tested = false;
  bool invariant = true;
  bool fixed_rows = false;

 private:
  absl::Status Make(MatmulType the_type, int the_n, int the_k) {
    using Tag = dnnl::memory::format_tag;
    type = the_type;
    n = the_n;
    k = the_k;
    UseOneThread();
    const DataTypes types = TypesOf(type);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    for (size_t i = 0; i < kBuckets.size(); ++i) {
      const int rows = kBuckets[i];
      Bucket& bucket = buckets[i];
      bucket.x = {{rows, k}, types.x, Tag::ab};
      bucket.y = {{rows, n}, types.y, Tag::ab};
      // The first bucket made chooses the layout, the others take it.
      const dnnl::memory::desc w =
          i == 0 ? dnnl::memory::desc({k, n}, types.w, Tag::any) : weights;
      const auto descriptor =
          MatmulDescriptor(CpuEngine(), bucket.x, w, bucket.y, attributes);
      weights = descriptor.weights_desc();
      bucket.scratchpad = descriptor.scratchpad_desc();
      bucket.primitive = dnnl::matmul(descriptor);
      implementation = descriptor.impl_info_str();
    }
    return absl::OkStatus();
  }
};

struct PackedMatrix::Rep {
  MatmulType type;
  int n, k;
  RawBuffer buffer;
  std::shared_ptr<MatmulShape> shape;  // null: a PanelProduct
  dnnl::memory memory;
};

PackedMatrix::PackedMatrix() = default;
PackedMatrix::~PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&&) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&&) noexcept = default;

int PackedMatrix::n() const { return rep_->n; }
int PackedMatrix::k() const { return rep_->k; }
MatmulType PackedMatrix::type() const { return rep_->type; }
int64_t PackedMatrix::bytes() const {
  const size_t bytes = rep_->shape == nullptr
                           ? PanelsBytes(rep_->n, RowBytes(rep_->type, rep_->k))
                           : rep_->shape->weights.get_size();
  return static_cast<int64_t>(bytes);
}
std::string PackedMatrix::implementation() const {
  return rep_->shape == nullptr ? "trivium:panels"
                                : rep_->shape->implementation;
}
bool PackedMatrix::batch_invariant() const {
  return rep_->shape == nullptr || rep_->shape->invariant;
}
int PackedMatrix::ComputedRows(int rows) const {
  if (rep_->shape == nullptr) return rows;
  if (rep_->shape->fixed_rows) {
    return (rows + kFixedRows - 1) / kFixedRows * kFixedRows;
  }
  return kBuckets[BucketIndex(rows)];
}

struct MatmulRunner::Rep {
  struct Handles {
    dnnl::memory x, y, scratchpad;
  };
  using ShapeHandles = std::array<Handles, kBuckets.size()>;

  // One bucket's product; rows == kBuckets[bucket].
  void Execute(const PackedMatrix::Rep& matrix, int bucket, const void* x,
               void* y) {
    const MatmulShape& shape = *matrix.shape;
    Handles& handles = shapes[&shape][bucket];
    if (!handles.x) {
      const MatmulShape::Bucket& of = shape.buckets[bucket];
      scratchpad.Reserve(of.scratchpad.get_size());
      handles.x = dnnl::memory(of.x, CpuEngine(), nullptr);
      handles.y = dnnl::memory(of.y, CpuEngine(), nullptr);
      handles.scratchpad = dnnl::memory(of.scratchpad, CpuEngine(), nullptr);
    }
    handles.x.set_data_handle(const_cast<void*>(x));
    handles.y.set_data_handle(y);
    handles.scratchpad.set_data_handle(scratchpad.data());
    // The C interface: the C++ one builds a hash map for every call.
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, handles.x.get()},
        {DNNL_ARG_WEIGHTS, matrix.memory.get()},
        {DNNL_ARG_DST, handles.y.get()},
        {DNNL_ARG_SCRATCHPAD, handles.scratchpad.get()}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(shape.buckets[bucket].primitive.get(),
                               stream.get(), 4, arguments),
        "could not run a product");
  }

  dnnl::stream stream{CpuEngine()};
  Buffer<char> scratchpad;
  std::unordered_map<const MatmulShape*, ShapeHandles> shapes;
};

MatmulRunner::MatmulRunner() : rep_(std::make_unique<Rep>()) {}
MatmulRunner::~MatmulRunner() = default;

absl::Status MatmulRunner::Run(const PackedMatrix& matrix, const void* x,
                               int rows, void* y) {
  const PackedMatrix::Rep& rep = *matrix.rep_;
  if (rep.shape == nullptr) {
    if (rep.type == MatmulType::kInt8) {
      PanelProduct(static_cast<const int8_t*>(rep.buffer.data()), rep.n, rep.k,
                   static_cast<const uint8_t*>(x), rows,
                   static_cast<int32_t*>(y));
    } else {
      PanelProduct(static_cast<const float*>(rep.buffer.data()), rep.n, rep.k,
                   static_cast<const float*>(x), rows, static_cast<float*>(y));
    }
    return absl::OkStatus();
  }
  UseOneThread();
  return CatchDnnl("running a product", [&] {
    const MatmulShape& shape = *rep.shape;
    if (!shape.fixed_rows) {
      rep_->Execute(rep, BucketIndex(rows), x, y);
      return;
    }
    const size_t x_step =
        size_t{kFixedRows} * shape.k * OperandSize(shape.type);
    const size_t y_step = size_t{kFixedRows} * shape.n * sizeof(float);
    for (int row = 0, call = 0; row < rows; row += kFixedRows, ++call) {
      rep_->Execute(rep, BucketIndex(kFixedRows),
                    static_cast<const char*>(x) + call * x_step,
                    static_cast<char*>(y) + call * y_step);
    }
  });
}

namespace {

// Whether a row's product has the same bits at every place of every product
// that `runner` would run; `rows_from`: the smallest row count to try.
absl::StatusOr<bool> RowsAgree(const PackedMatrix& matrix) {
  const int k = matrix.k(), n = matrix.n();
  const int operand = OperandSize(matrix.type());
  const size_t row_bytes = static_cast<size_t>(k) * operand;
  std::vector<char> row(row_bytes);
  uint32_t state = 12345;
  for (int i = 0; i < k; ++i) {
    state = state * 1664525 + 1013904223;
    // Uniform in [-1, 1), which as bf16 is the upper half of the f32.
    const float value = static_cast<int32_t>(state) / 2147483648.0f;
    if (operand == 1) {
      row[i] = static_cast<char>(state >> 24);
    } else if (operand == 2) {
      std::memcpy(&row[2 * i], reinterpret_cast<const char*>(&value) + 2, 2);
    } else {
      std::memcpy(&row[4 * i], &value, 4);
    }
  }
  std::vector<char> x(row_bytes * kMaxMatmulRows);
  for (int i = 0; i < kMaxMatmulRows; ++i) {
    std::memcpy(&x[i * row_bytes], row.data(), row_bytes);
  }
  std::vector<float> y(static_cast<size_t>(n) * kMaxMatmulRows), first;
  MatmulRunner runner;
  for (const int rows : kBuckets) {
    TRIVIUM_RETURN_IF_ERROR(runner.Run(matrix, x.data(), rows, y.data()));
    if (first.empty()) first.assign(y.begin(), y.begin() + n);
    for (int i = 0; i < rows; ++i) {
      if (std::memcmp(&y[static_cast<size_t>(i) * n], first.data(),
                      n * sizeof(float)) != 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<PackedMatrix> PackedMatrix::Create(MatmulType type, int n, int k,
                                                  const void* weights) {
  PackedMatrix matrix;
  matrix.rep_ = std::make_unique<Rep>();
  Rep& rep = *matrix.rep_;
  rep.type = type;
  rep.n = n;
  rep.k = k;
  if (HasPanels(type, k)) {
    rep.buffer = RawBuffer(PanelsBytes(n, RowBytes(type, k)));
    PackPanels(weights, n, RowBytes(type, k), rep.buffer.data());
    return matrix;
  }
  TRIVIUM_ASSIGN_OR_RETURN(rep.shape, MatmulShape::Get(type, n, k));
  MatmulShape& shape = *rep.shape;
  TRIVIUM_RETURN_IF_ERROR(CatchDnnl("packing weights", [&] {
    UseOneThread();
    // Row-major [N, K] is [K, N] with K contiguous.
    const dnnl::memory::desc plain({k, n}, TypesOf(type).w,
                                   dnnl::memory::format_tag::ba);
    dnnl::memory from(plain, CpuEngine(), const_cast<void*>(weights));
    rep.buffer = RawBuffer(shape.weights.get_size());
    rep.memory = dnnl::memory(shape.weights, CpuEngine(), rep.buffer.data());
    dnnl::stream stream(CpuEngine());
    dnnl::reorder(from, rep.memory).execute(stream, from, rep.memory);
    stream.wait();
  }));
  if (!shape.tested && type != MatmulType::kInt8) {
    TRIVIUM_ASSIGN_OR_RETURN(shape.invariant, RowsAgree(matrix));
    if (!shape.invariant) {
      shape.fixed_rows = true;
      TRIVIUM_ASSIGN_OR_RETURN(shape.invariant, RowsAgree(matrix));
    }
  }
  shape.tested = true;
  return matrix;
}

}  // namespace trivium
