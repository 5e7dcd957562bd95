#ifndef TRIVIUM_MODEL_TOKEN_POOLING_H_
#define TRIVIUM_MODEL_TOKEN_POOLING_H_

#include "model/multi_vectors.h"

namespace trivium {

// The most rows that PoolRows takes, as its time and memory grow with their
// square.
inline constexpr int kMostPooledRows = 2048;

// Merges rows of length 1 that are near one another until `count` are left, at
// least 1 (hierarchical token pooling, Clavie et al. 2024): Ward's method over
// the distances 1 - a . b, as scipy's linkage does. A merged row is the mean of
// its rows, scaled to length 1. The first row, which stands for the whole text,
// is not merged unless it is to be the only one. Merged rows are in the order
// of the first row of each.
void PoolRows(int count, VectorRows* rows);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKEN_POOLING_H_
