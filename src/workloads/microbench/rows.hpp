// The microbenchmarks' table, one source file for each kind of question, and what its rows share.
#pragma once

#include "workloads/microbench/microbench.hpp"

namespace gpuopt {

using MicrobenchRows = std::vector<MicrobenchVariant>;
MicrobenchRows bandwidth_rows();   // streams: read, write, copy, triad, by data type
MicrobenchRows pattern_rows();     // ways of addressing, and their mends
MicrobenchRows block_rows();       // shapes of work-groups
MicrobenchRows cache_rows();       // small blocks read again and again; pointer chases
MicrobenchRows arithmetic_rows();  // operations, and launches
MicrobenchRows execution_rows();   // branches, and live values

// The dtypes that a row is for.
Rule only_for(std::vector<DType> dtypes);
// The most elements of the data, and what counts them in the kernel.
Rule at_most_elements(std::int64_t most, std::string counted);
extern const std::vector<DType> real_dtypes, integer_dtypes;

const Parameter& local_size();
const Parameter& groups_a_unit();       // GROUPS, work-groups a compute unit
std::int64_t width_of(const Case& at);  // scalars in an element: WIDTH, or 1
Work moves(const char* memory, double bytes);
std::int64_t items_of_full_device(const Case& at);  // GROUPS work-groups a compute unit
Launch full_device(const Case& at);                 // the launch of these
Launch one_item(const Case& at);
std::int64_t one(const Case& at);

}  // namespace gpuopt
