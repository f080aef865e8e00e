// Exact projections of ellipsoids and blobs. In coordinates in which a body is the unit sphere, or a blob has the width 1, a ray is
// q + x e: its chord or its integral follows from the foot of the perpendicular from the body's centre. The difference of large squares
// that a discriminant is would err by up to 5 % of a chord in float; the foot is moved twice, and the second time takes away what the
// first one rounds.
#include "common/real.cl"
#ifndef OUT
#define OUT float
#endif
#ifndef ALONG
#define ALONG 1 // rays of a pixel along its row, of which the mean is taken
#endif
#ifndef ACROSS
#define ACROSS 1 // and along its column
#endif
#ifndef PARALLEL
#define PARALLEL 0
#endif
#define REAL3 PASTE(REAL, 3)
#define AT(place) vload3(place, table)
#define TABLE 16 // of a body in a view: q, e, what columns, rows and the detector's curve add to one of them, and a factor

// Pixels are at `steps` (s, t): s along a row, t beyond the tangent plane; `next_steps` of them on are those of the next view, or 0.
// `ways` are the ray of (0, 0) and what s, rows and t add to it.
kernel void tomography_bodies(global OUT *projections, global const REAL *ways, global const REAL *bodies, global const REAL *steps,
                              const int columns, const int rows, const int ellipsoids, const int blobs, const int next_steps) {
    const int pixel = get_global_id(0), view = get_global_id(1);
    if (pixel >= rows * columns) return;
    const int u = pixel % columns, v = pixel / columns;
    global const REAL *const first = bodies + (long)TABLE * (ellipsoids + blobs) * view;
    REAL sum = 0;
    for (int j = 0; j < ACROSS; ++j) {
        const REAL w = (REAL)(v * ACROSS + j) - (REAL)(rows * ACROSS - 1) / 2;
        for (int i = 0; i < ALONG; ++i) {
            global const REAL *const step = steps + 2 * ((long)next_steps * view + u * ALONG + i);
            const REAL s = step[0], t = step[1];
            global const REAL *table = ways + (long)12 * view;
            const REAL longer = PARALLEL ? 1 : length(AT(0) + s * AT(1) + w * AT(2) + t * AT(3));
            for (int body = 0; body < ellipsoids + blobs; ++body) {
                table = first + TABLE * body;
                const REAL3 moved = s * AT(2) + w * AT(3) + t * AT(4);
                const REAL3 e = PARALLEL ? AT(1) : AT(1) + moved;
                const REAL inverse = 1 / dot(e, e);
                REAL3 q = PARALLEL ? AT(0) + moved : AT(0);
                q -= dot(q, e) * inverse * e;
                q -= dot(q, e) * inverse * e;
                const REAL squared = dot(q, q);
                if (body >= ellipsoids) sum += table[15] * exp(-squared);
                else if (!(squared >= 1)) sum += table[15] * longer * sqrt((1 - squared) * inverse); // also where it is no number
            }
        }
    }
    projections[(long)view * rows * columns + pixel] = sum / (ALONG * ACROSS);
}
