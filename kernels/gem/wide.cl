// Few work-items, each ROWS x WIDTH vertices in explicit vectors: one atom's load and broadcast serves them all. For CPUs, whose caches
// hold the atoms; on a GPU it leaves most lanes idle.
#include "gem/include/minimal.cl"

#define WITH_T (KIND == 1 || KIND == 2 || SALT)
#define BLOCK 512  // atoms whose terms are summed before they meet the rest

kernel void gem_wide(GEM_ARGUMENTS(global const REAL4 *)) {
    const int own = (int)get_global_id(0) * (ROWS * WIDTH);
    REALV px[ROWS], py[ROWS], pz[ROWS], height[ROWS], sx[ROWS], sy[ROWS], sz[ROWS], bend[ROWS], sum[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        REAL lanes[7][WIDTH];
        for (int lane = 0; lane < WIDTH; ++lane) {
            const int at = first + min(own + row * WIDTH + lane, count - 1);
            const REAL4 p = points[at], s = WITH_T ? shifts[at] : (REAL4)(0);
            lanes[0][lane] = p.x, lanes[1][lane] = p.y, lanes[2][lane] = p.z;
            lanes[3][lane] = HEIGHT(p.w);
            lanes[4][lane] = s.x, lanes[5][lane] = s.y, lanes[6][lane] = s.z;
        }
        px[row] = VLOAD(lanes[0]), py[row] = VLOAD(lanes[1]), pz[row] = VLOAD(lanes[2]), height[row] = VLOAD(lanes[3]);
        sx[row] = VLOAD(lanes[4]), sy[row] = VLOAD(lanes[5]), sz[row] = VLOAD(lanes[6]);
        bend[row] = (REALV)(0.5f) * fma(sx[row], sx[row], fma(sy[row], sy[row], sz[row] * sz[row]));
        sum[row] = 0;
    }
    for (int block = 0; block < natoms; block += BLOCK) {
        REALV part[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) part[row] = 0;
        for (int i = block; i < min(block + BLOCK, natoms); ++i) {
            const REAL4 atom = atoms[i];
            const REALV here = KIND == 3 ? (REALV)(depth[i]) : (REALV)(0);
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const REALV dx = px[row] - atom.x, dy = py[row] - atom.y, dz = pz[row] - atom.z;
                const REALV d2 = NOT_NEARER(fma(dx, dx, fma(dy, dy, dz * dz)));
                const REALV ex = dx + sx[row], ey = dy + sy[row], ez = dz + sz[row];
                const REALV t = NOT_NEARER(fma(ex, ex, fma(ey, ey, ez * ez)));
                const REALV longer = 2 * fma(sx[row], dx, fma(sy[row], dy, fma(sz[row], dz, bend[row])));
                part[row] = fma((REALV)(atom.w), minimal_term(d2, t, longer, here, height[row], model), part[row]);
            }
        }
#pragma unroll
        for (int row = 0; row < ROWS; ++row) sum[row] += part[row];
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        REAL lanes[WIDTH];
        VSTORE(sum[row], lanes);
        for (int lane = 0; lane < WIDTH; ++lane) {
            const int at = own + row * WIDTH + lane;
            if (at < count) phi[first + at] = minimal_potential(lanes[lane], points[first + at].w, model);
        }
    }
}
