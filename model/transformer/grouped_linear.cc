#include "model/transformer/grouped_linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/kernels/grouped_product.h"
#include "model/transformer/hadamard.h"
#include "model/transformer/weight_rows.h"
#include "model/weights/grouped_row.h"
#include "model/weights/packed_rows.h"

namespace trivium {
namespace {

constexpr int kColumns = GroupedWeights::kColumns;

using Order = std::span<const int32_t>;

// Returns the form of the file's own numbers if products can read them.
std::optional<GroupForm> OwnFormOf(const TensorView& weight,
                                   const Formats& formats) {
  const bool readable = formats.operands == OperandType::kOrderedGroups ||
                        NumberOrderOf(weight).empty();
  return formats.hadamard || !readable ? std::nullopt : GroupFormOf(weight);
}

GroupForm RoundedForm(WeightType type) {
  return type == WeightType::kInt4 ? GroupForm::kScale4 : GroupForm::kScale8;
}

// Returns a row in an order; `ordered` holds it unless it is in order anyway.
std::span<const float> InOrder(Order order, std::span<const float> row,
                               std::vector<float>* ordered) {
  if (order.empty()) return row;
  ordered->resize(row.size());
  for (size_t i = 0; i < order.size(); ++i) (*ordered)[i] = row[order[i]];
  return *ordered;
}

// The packing of a matrix's blocks of columns.
struct Blocks {
  std::vector<GroupForm> forms;
  std::vector<Order> orders;
};

Blocks BlocksOf(const Formats& formats, std::span<const LinearTensors> parts,
                int64_t count, int64_t out) {
  const auto size = static_cast<size_t>((out + kColumns - 1) / kColumns);
  Blocks blocks{std::vector<GroupForm>(size), std::vector<Order>(size)};
  int64_t at = 0;
  for (const LinearTensors& part : parts) {
    const auto own = OwnFormOf(*part.weight, formats);
    const GroupForm form = own.value_or(RoundedForm(formats.weights));
    const Order order = own ? NumberOrderOf(*part.weight) : Order();
    const int64_t end = at + RowsOf(part, count);
    for (int64_t block = at / kColumns; block * kColumns < end; ++block) {
      // Another part may have begun the block.
      const bool shared = block * kColumns < at;
      if (shared && (blocks.forms[block] != form ||
                     !std::ranges::equal(blocks.orders[block], order))) {
        blocks.forms[block] = GroupForm::kScale8;
      } else {
        blocks.forms[block] = form;
        blocks.orders[block] = order;
      }
    }
    at = end;
  }
  return blocks;
}

std::unique_ptr<PackedMatrix> MakeMatrix(GroupedWeights weights,
                                         const Formats& formats,
                                         const Blocks& blocks) {
  std::vector<OrderedColumns> ordered;
  const int n = weights.n();
  for (size_t i = 0; i < blocks.orders.size(); ++i) {
    const Order order = blocks.orders[i];
    const int begin = static_cast<int>(i) * kColumns;
    if (ordered.empty() || !std::ranges::equal(ordered.back().order, order)) {
      ordered.push_back({begin, begin, {order.begin(), order.end()}});
    }
    ordered.back().end = std::min(begin + kColumns, n);
  }
  return PackedMatrix::Create(std::move(weights), formats.operands,
                              std::move(ordered));
}

// The memory of a thread that packs rows.
struct Scratch {
  explicit Scratch(int64_t in)
      : values(in * PackedRows::kRowsAtOnce),
        of_file(PackedRows::kRowsAtOnce) {}

  std::vector<float> values;  // [kRowsAtOnce, in]
  std::vector<GroupedRow> of_file;
  std::vector<float> ordered;
  GroupedRow rounded;
};

}  // namespace

std::unique_ptr<PackedMatrix> PackGroups(const Formats& formats,
                                         std::span<const LinearTensors> parts,
                                         int64_t begin, int64_t count) {
  const int64_t in = parts.front().weight->shape[1];
  const int64_t out = OutputsOf(parts, count);
  const Blocks blocks = BlocksOf(formats, parts, count, out);
  GroupedWeights weights(static_cast<int>(out), static_cast<int>(in),
                         blocks.forms);
  int64_t first = 0;
  for (const LinearTensors& part : parts) {
    const int64_t rows = RowsOf(part, count);
    const auto own = OwnFormOf(*part.weight, formats);
    // Reads rows [i, end) of the part's.
    const auto pack = [&](int64_t i, int64_t end, Scratch* scratch) {
      const auto read = static_cast<size_t>(end - i);
      bool unpacked = false, grouped = false;
      for (size_t j = 0; j < read; ++j) {
        const int column = static_cast<int>(first + i) + static_cast<int>(j);
        const GroupForm form = weights.form(column);
        if (own == form) {
          if (!std::exchange(grouped, true)) {
            ReadGroups(*part.weight, begin + i,
                       std::span(scratch->of_file).first(read));
          }
          weights.Set(column, scratch->of_file[j]);
          continue;
        }
        const auto values = std::span(scratch->values);
        if (!std::exchange(unpacked, true)) {
          CopyToF32(*part.weight, (begin + i) * in, values.first(read * in));
        }
        const auto row = values.subspan(j * in, in);
        if (formats.hadamard) HadamardWeights(row);
        RoundToGroups(
            InOrder(blocks.orders[column / kColumns], row, &scratch->ordered),
            form, &scratch->rounded);
        weights.Set(column, scratch->rounded);
      }
    };
    ForRowsAtOnce(rows, in, [&](int64_t unit_begin, int64_t unit_end) {
      Scratch scratch(in);
      for (int64_t i = unit_begin; i < unit_end; i += PackedRows::kRowsAtOnce) {
        pack(i, std::min(i + PackedRows::kRowsAtOnce, unit_end), &scratch);
      }
    });
    DropRows(*part.weight, begin, rows);
    first += rows;
  }
  return MakeMatrix(std::move(weights), formats, blocks);
}

absl::StatusOr<std::unique_ptr<PackedMatrix>> ReadPackedGroups(
    const Formats& formats, std::span<const LinearTensors> parts, int64_t count,
    RawBuffer packed) {
  const auto in = static_cast<int>(parts.front().weight->shape[1]);
  const int64_t out = OutputsOf(parts, count);
  const Blocks blocks = BlocksOf(formats, parts, count, out);
  if (packed.bytes() != GroupedWeights::PackedBytes(in, blocks.forms)) {
    return absl::InvalidArgumentError("packed groups have another size");
  }
  return MakeMatrix(GroupedWeights(static_cast<int>(out), in, blocks.forms,
                                   std::move(packed)),
                    formats, blocks);
}

int64_t GroupedBytes(const TensorView& weight, WeightType type) {
  const GroupForm form = GroupFormOf(weight).value_or(RoundedForm(type));
  return static_cast<int64_t>(
      GroupedWeights::PackedBytes(static_cast<int>(weight.shape[0]),
                                  static_cast<int>(weight.shape[1]), form));
}

bool HasFourBitWeights(const TransformerDescription& description) {
  bool found = false;
  ForEachTensor(description, [&](const TensorView& tensor) {
    const auto form = GroupFormOf(tensor);
    found = found || (form && HasFourBits(*form));
  });
  return found;
}

bool HasOrderedWeights(const TransformerDescription& description) {
  bool found = false;
  ForEachTensor(description, [&](const TensorView& tensor) {
    found = found || !NumberOrderOf(tensor).empty();
  });
  return found;
}

}  // namespace trivium
