// Invariants of oneDNN's products:
// - One set of primitives (DnnlProducts) exists per shape and process. The
//   first primitive chooses the layout of packed weights, the others must
//   accept it.
// - A product of `rows` rows runs with the least of kRowCounts that has room,
//   so x must be readable, and y writable, beyond `rows`.
// - A row's bits must not depend on its company. TestInvariance checks this
//   once per shape by comparing products of equal rows in all counts and
//   places. If they differ, all products run as groups of kFixedRows rows; if
//   even those differ, batch_invariant() is false.
// - oneDNN runs on the calling thread only: the distribution's build uses
//   OpenMP, whose thread count is set to 1 on each thread that calls it.
#include "model/kernels/dnnl_matrix.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"
#include "model/kernels/dnnl_compat.h"

// Declared in libgomp, which the distribution's oneDNN uses.
extern "C" void omp_set_num_threads(int threads);

namespace trivium {
namespace {

constexpr std::array<int, 18> kRowCounts = {1,  2,  4,  8,  12, 16, 20, 24, 28,
                                            32, 36, 40, 44, 48, 52, 56, 60, 64};
static_assert(kRowCounts.back() == kMaxMatmulRows);
// Products are divided into groups of this many rows if row counts differ in
// bits.
constexpr int kFixedRows = 16;
// RowsAgree compares at least this many sums.
constexpr int kComparedSums = 512;

// Returns the index of the least row count that has room for `rows`.
int IndexFor(int rows) {
  int i = 0;
  while (kRowCounts[i] < rows) ++i;
  return i;
}

const dnnl::engine& CpuEngine() {
  static const dnnl::engine* engine =
      new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

// Workers are the parallelism: a product runs on its worker's thread alone.
// OpenMP keeps this setting per thread.
void UseOneThread() {
  static thread_local const bool done = (omp_set_num_threads(1), true);
  (void)done;
}

struct DataTypes {
  dnnl::memory::data_type x, w, y;
};

DataTypes TypesOf(const MatmulShape& shape) {
  using Type = dnnl::memory::data_type;
  switch (shape.weights) {
    case WeightType::kF32:
      return {Type::f32, Type::f32, Type::f32};
    case WeightType::kBf16:
      return {Type::bf16, Type::bf16, Type::f32};
    default:  // kInt8; groups have a product of their own
      break;
  }
  return {Type::u8, Type::s8, Type::s32};
}

}  // namespace

class DnnlProducts {
 public:
  struct Product {
    dnnl::matmul primitive;
    dnnl::memory::desc x, y, scratchpad;
  };

  // Returns the shape's primitives, which are created once and shared while any
  // matrix uses them.
  static absl::StatusOr<std::shared_ptr<DnnlProducts>> Get(
      const MatmulShape& shape) {
    static Mutex mutex;
    static auto* all = new std::map<MatmulShape, std::weak_ptr<DnnlProducts>>;
    MutexLock lock(&mutex);
    std::weak_ptr<DnnlProducts>& known = (*all)[shape];
    if (std::shared_ptr<DnnlProducts> products = known.lock()) return products;
    auto products = std::make_shared<DnnlProducts>();
    TRIVIUM_RETURN_IF_ERROR(
        CatchDnnl("creating a product", [&] { products->Make(shape); }));
    known = products;
    return products;
  }

  dnnl::memory::desc weights;
  std::string implementation;
  std::array<Product, kRowCounts.size()> products;  // one for each row count
  // The result of TestInvariance, constant from then on.
  Mutex test_mutex;
  bool tested ABSL_GUARDED_BY(test_mutex) = false;
  bool fixed_rows = false;  // products are divided into kFixedRows
  bool invariant = true;    // rows agree, divided or not

 private:
  void Make(const MatmulShape& shape) {
    using Tag = dnnl::memory::format_tag;
    const int n = shape.n, k = shape.k;
    UseOneThread();
    const DataTypes types = TypesOf(shape);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    weights = dnnl::memory::desc({k, n}, types.w, Tag::any);
    for (size_t i = 0; i < kRowCounts.size(); ++i) {
      Product& product = products[i];
      product.x = {{kRowCounts[i], k}, types.x, Tag::ab};
      product.y = {{kRowCounts[i], n}, types.y, Tag::ab};
      const auto descriptor = MatmulDescriptor(CpuEngine(), product.x, weights,
                                               product.y, attributes);
      // The first primitive chooses the layout, the others follow it.
      weights = descriptor.weights_desc();
      product.scratchpad = descriptor.scratchpad_desc();
      product.primitive = dnnl::matmul(descriptor);
      implementation = descriptor.impl_info_str();
    }
  }
};

struct MatmulWorkspace::Rep {
  struct Handles {
    dnnl::memory x, y, scratchpad;
  };
  using ShapeHandles = std::array<Handles, kRowCounts.size()>;

  // Runs the product of kRowCounts[index] rows.
  void Execute(const DnnlProducts& products, int index,
               const dnnl::memory& weights, const void* x, void* y,
               Buffer<char>* scratchpad) {
    const DnnlProducts::Product& product = products.products[index];
    Handles& handles = shapes[&products][index];
    if (!handles.x) {
      handles.x = dnnl::memory(product.x, CpuEngine(), nullptr);
      handles.y = dnnl::memory(product.y, CpuEngine(), nullptr);
      handles.scratchpad =
          dnnl::memory(product.scratchpad, CpuEngine(), nullptr);
    }
    handles.x.set_data_handle(const_cast<void*>(x));
    handles.y.set_data_handle(y);
    handles.scratchpad.set_data_handle(
        scratchpad->Reserve(product.scratchpad.get_size()));
    // Uses the C interface, because the C++ one builds a hash map per call.
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, handles.x.get()},
        {DNNL_ARG_WEIGHTS, weights.get()},
        {DNNL_ARG_DST, handles.y.get()},
        {DNNL_ARG_SCRATCHPAD, handles.scratchpad.get()}};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(product.primitive.get(),
                                                   stream.get(), 4, arguments),
                            "could not run a product");
  }

  dnnl::stream stream{CpuEngine()};
  std::unordered_map<const DnnlProducts*, ShapeHandles> shapes;
};

MatmulWorkspace::MatmulWorkspace() : rep_(std::make_unique<Rep>()) {}
MatmulWorkspace::~MatmulWorkspace() = default;

absl::StatusOr<std::unique_ptr<DnnlMatrix>> DnnlMatrix::Create(
    const MatmulShape& shape, const void* weights) {
  std::unique_ptr<DnnlMatrix> matrix(new DnnlMatrix(shape));
  TRIVIUM_ASSIGN_OR_RETURN(matrix->products_, DnnlProducts::Get(shape));
  TRIVIUM_RETURN_IF_ERROR(matrix->Pack(weights));
  TRIVIUM_RETURN_IF_ERROR(matrix->TestInvariance());
  return matrix;
}

absl::StatusOr<std::unique_ptr<DnnlMatrix>> DnnlMatrix::Create(
    const MatmulShape& shape, RawBuffer packed) {
  std::unique_ptr<DnnlMatrix> matrix(new DnnlMatrix(shape));
  TRIVIUM_ASSIGN_OR_RETURN(matrix->products_, DnnlProducts::Get(shape));
  if (packed.bytes() != matrix->products_->weights.get_size()) {
    return absl::InvalidArgumentError("packed weights have another size");
  }
  matrix->packed_ = std::move(packed);
  TRIVIUM_RETURN_IF_ERROR(CatchDnnl("reading packed weights", [&] {
    matrix->memory_ = dnnl::memory(matrix->products_->weights, CpuEngine(),
                                   matrix->packed_.data());
  }));
  TRIVIUM_RETURN_IF_ERROR(matrix->TestInvariance());
  return matrix;
}

absl::Status DnnlMatrix::Pack(const void* weights) {
  return CatchDnnl("packing weights", [&] {
    UseOneThread();
    // Row-major [N, K] equals [K, N] with K contiguous.
    const dnnl::memory::desc plain({shape().k, shape().n}, TypesOf(shape()).w,
                                   dnnl::memory::format_tag::ba);
    dnnl::memory from(plain, CpuEngine(), const_cast<void*>(weights));
    packed_ = RawBuffer(products_->weights.get_size());
    memory_ = dnnl::memory(products_->weights, CpuEngine(), packed_.data());
    dnnl::stream stream(CpuEngine());
    dnnl::reorder(from, memory_).execute(stream, from, memory_);
    stream.wait();
  });
}

absl::Status DnnlMatrix::TestInvariance() {
  DnnlProducts& products = *products_;
  MutexLock lock(&products.test_mutex);
  // Sums of integers are exact.
  if (!products.tested && shape().operands != OperandType::kInt8) {
    TRIVIUM_ASSIGN_OR_RETURN(products.invariant, RowsAgree());
    if (!products.invariant) {
      products.fixed_rows = true;
      TRIVIUM_ASSIGN_OR_RETURN(products.invariant, RowsAgree());
    }
  }
  products.tested = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> DnnlMatrix::RowsAgree() const {
  const int n = shape().n, k = shape().k;
  const size_t row_bytes = shape().operand_row_bytes();
  std::vector<char> x(row_bytes * kMaxMatmulRows);
  std::vector<float> y(static_cast<size_t>(n) * kMaxMatmulRows), first(n);
  MatmulWorkspace workspace;
  std::mt19937 generator(1);
  // Sums in another order are often equal by chance, so few prove little.
  for (int compared = 0; compared < kComparedSums; compared += n) {
    for (int i = 0; i < k; ++i) {
      // Uniform in [-1, 1); bf16 is the upper half of the f32.
      const float value = static_cast<int32_t>(generator()) / 2147483648.0f;
      if (shape().operands == OperandType::kBf16) {
        std::memcpy(&x[2 * i], reinterpret_cast<const char*>(&value) + 2, 2);
      } else {
        std::memcpy(&x[4 * i], &value, 4);
      }
    }
    for (int i = 1; i < kMaxMatmulRows; ++i) {
      std::memcpy(&x[i * row_bytes], x.data(), row_bytes);
    }
    for (const int rows : kRowCounts) {
      TRIVIUM_RETURN_IF_ERROR(Multiply(x.data(), rows, y.data(), &workspace));
      if (rows == kRowCounts.front()) std::copy_n(y.begin(), n, first.begin());
      for (int i = 0; i < rows; ++i) {
        if (std::memcmp(&y[static_cast<size_t>(i) * n], first.data(),
                        n * sizeof(float)) != 0) {
          return false;
        }
      }
    }
  }
  return true;
}

std::span<const std::byte> DnnlMatrix::packed() const {
  return {static_cast<const std::byte*>(packed_.data()),
          products_->weights.get_size()};
}
std::string DnnlMatrix::implementation() const {
  return products_->implementation;
}
bool DnnlMatrix::batch_invariant() const { return products_->invariant; }
int DnnlMatrix::ComputedRows(int rows) const {
  if (products_->fixed_rows) {
    return (rows + kFixedRows - 1) / kFixedRows * kFixedRows;
  }
  return kRowCounts[IndexFor(rows)];
}

absl::Status DnnlMatrix::MultiplyColumns(const void* x, int rows, int, int,
                                         void* y,
                                         MatmulWorkspace* workspace) const {
  UseOneThread();
  return CatchDnnl("running a product", [&] {
    MatmulWorkspace::Rep& rep = *workspace->rep_;
    if (!products_->fixed_rows) {
      rep.Execute(*products_, IndexFor(rows), memory_, x, y,
                  workspace->scratchpad());
      return;
    }
    const size_t x_step = kFixedRows * shape().operand_row_bytes();
    const size_t y_step = size_t{kFixedRows} * shape().n * sizeof(float);
    for (int row = 0, call = 0; row < rows; row += kFixedRows, ++call) {
      rep.Execute(*products_, IndexFor(kFixedRows), memory_,
                  static_cast<const char*>(x) + call * x_step,
                  static_cast<char*>(y) + call * y_step,
                  workspace->scratchpad());
    }
  });
}

}  // namespace trivium
