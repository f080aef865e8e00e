// MANY=1: there is more than a launch has groups in y or z, which are 65535 on CUDA devices; work-items go on to others there. Without a loop
// compilers of CPUs take several work-items at once.
#if MANY
#define OF_ALL(type, name, axis, count) for (type name = (type)get_global_id(axis); name < (count); name += (type)get_global_size(axis))
#else
#define OF_ALL(type, name, axis, count) const type name = (type)get_global_id(axis);
#endif
