#include "model/transformer/grouped_linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/transformer/hadamard.h"
#include "model/transformer/weight_rows.h"
#include "model/weights/grouped_row.h"
#include "model/weights/packed_rows.h"

namespace trivium {
namespace {

constexpr int kColumns = GroupedWeights::kColumns;

GroupForm FormOf(const TensorView& weight, WeightType type, bool hadamard) {
  const auto own = GroupFormOf(weight);
  if (own && !hadamard) return *own;
  return type == WeightType::kInt4 ? GroupForm::kScale4 : GroupForm::kScale8;
}

// Returns the form of each block of columns.
std::vector<GroupForm> FormsOf(const Formats& formats,
                               std::span<const LinearTensors> parts,
                               int64_t count, int64_t out) {
  std::vector<GroupForm> forms((out + kColumns - 1) / kColumns);
  int64_t at = 0;
  for (const LinearTensors& part : parts) {
    const GroupForm form =
        FormOf(*part.weight, formats.weights, formats.hadamard);
    const int64_t end = at + RowsOf(part, count);
    for (int64_t block = at / kColumns; block * kColumns < end; ++block) {
      // Another part may have begun the block.
      const bool shared = block * kColumns < at;
      forms[block] = shared && forms[block] != form ? GroupForm::kScale8 : form;
    }
    at = end;
  }
  return forms;
}

// The memory of a thread that packs rows.
struct Scratch {
  explicit Scratch(int64_t in)
      : values(in * PackedRows::kRowsAtOnce),
        of_file(PackedRows::kRowsAtOnce) {}

  std::vector<float> values;  // [kRowsAtOnce, in]
  std::vector<GroupedRow> of_file;
  GroupedRow rounded;
};

}  // namespace

GroupedWeights PackGroups(const Formats& formats,
                          std::span<const LinearTensors> parts, int64_t begin,
                          int64_t count) {
  const int64_t in = parts.front().weight->shape[1];
  const int64_t out = OutputsOf(parts, count);
  GroupedWeights weights(static_cast<int>(out), static_cast<int>(in),
                         FormsOf(formats, parts, count, out));
  int64_t first = 0;
  for (const LinearTensors& part : parts) {
    const int64_t rows = RowsOf(part, count);
    const auto own =
        formats.hadamard ? std::nullopt : GroupFormOf(*part.weight);
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
        RoundToGroups(row, form, &scratch->rounded);
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
  return weights;
}

absl::StatusOr<GroupedWeights> ReadPackedGroups(
    const Formats& formats, std::span<const LinearTensors> parts, int64_t count,
    RawBuffer packed) {
  const auto in = static_cast<int>(parts.front().weight->shape[1]);
  const int64_t out = OutputsOf(parts, count);
  std::vector<GroupForm> forms = FormsOf(formats, parts, count, out);
  if (packed.bytes() != GroupedWeights::PackedBytes(in, forms)) {
    return absl::InvalidArgumentError("packed groups have another size");
  }
  return GroupedWeights(static_cast<int>(out), in, std::move(forms),
                        std::move(packed));
}

int64_t GroupedBytes(const TensorView& weight, WeightType type) {
  const GroupForm form = FormOf(weight, type, /*hadamard=*/false);
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

}  // namespace trivium
