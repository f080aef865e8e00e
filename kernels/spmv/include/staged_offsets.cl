// The offsets in local memory, loaded once by all work-items of a group: at most MOST_OFFSETS, the listings' array.
#define MOST_OFFSETS 256

#define STAGE_OFFSETS                                                          \
    local INDEX l_offsets[MOST_OFFSETS];                                       \
    int offset_id = (int)get_local_id(0);                                      \
    while (offset_id < MOST_OFFSETS && offset_id < diags) {                    \
        l_offsets[offset_id] = offsets[offset_id];                             \
        offset_id = offset_id + (int)get_local_size(0);                        \
    }                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);
