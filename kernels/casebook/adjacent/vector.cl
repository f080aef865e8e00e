// As scalars, but the WIDTH numbers of a work-item are one vector: one load, and no gaps between neighbours.
#define JOINED(type, width) type##width
#define OF_WIDTH(type, width) JOINED(type, width)
#define VECTOR OF_WIDTH(float, WIDTH)

kernel void adjacent_vector(global const VECTOR* X, global VECTOR* Y, const int items) {
    const int i = get_global_id(0);
    if (i < items) Y[i] = X[i];
}
