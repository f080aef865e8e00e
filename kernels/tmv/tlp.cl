// As naive, a column over LOCAL_Y work-items whose sums are added in local memory: LOCAL_Y times as many loads under way.
#include "tmv/include/shared_columns.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void tmv_tlp(TMV_KERNEL_ARGUMENTS) {
    TMV_BEGIN;
    TMV_SHARED_COLUMNS((int)get_global_id(0))
}
