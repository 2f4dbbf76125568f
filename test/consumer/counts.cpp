// Uses the core alone: the counts of the tp=2 dp=2 -> tp=4 layer.

#include "Shunt/Core/Layout.h"

#include <cstdio>

int main() {
  auto attn = shunt::Mesh::create("attn", {{"dp", 2}, {"tp", 2}}, 4);
  auto moe = shunt::Mesh::create("moe", {{"dp", 1}, {"tp", 4}}, 4);
  if (!attn || !moe)
    return 1;
  auto spec = shunt::BatchSpec::create(*attn, {0});
  if (!spec)
    return 1;
  auto batch = shunt::Batch::create(*spec, {5, 3});
  if (!batch)
    return 1;
  for (int64_t rows :
       shunt::rowCounts(*batch, shunt::Layout{*attn, {0, 1}, {}}))
    std::printf("%lld ", (long long)rows);
  for (int64_t rows : shunt::rowCounts(*batch, shunt::Layout{*moe, {0}, {}}))
    std::printf("%lld ", (long long)rows);
  std::printf("\n");
  return 0;
}
