// Offsets staged in local memory, OFFSET_BLOCK at a time, so that any number of diagonals fits.
#define OFFSET_BLOCK 256

#define STAGE_OFFSETS(first)                                                                                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                               \
    for (int staged = (int)get_local_id(0); staged < OFFSET_BLOCK && (first) + staged < diags; staged += (int)get_local_size(0)) \
        local_offsets[staged] = offsets[(first) + staged];                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);
