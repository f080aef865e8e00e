// As tlp, two columns a work-item by float2: what the split brings in work-items pays for those that wide loads cost.
#define WIDTH 2
#include "tmv/include/shared_columns.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void tmv_tlp_f2(TMV_KERNEL_ARGUMENTS) {
    TMV_BEGIN;
    TMV_SHARED_COLUMNS(2 * (int)get_global_id(0))
}
