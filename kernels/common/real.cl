// REAL is the arrays' own type, given by -DREAL; WIDTH-wide vectors of it are REALV, loaded by VLOAD and stored by VSTORE.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float
#endif
#ifndef WIDTH
#define WIDTH 1
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REAL2 PASTE(REAL, 2)
#define REAL4 PASTE(REAL, 4)
#if WIDTH == 1
#define REALV REAL
#define VLOAD(p) (*(p))
#define VSTORE(v, p) (*(p) = (v))
#else
#define REALV PASTE(REAL, WIDTH)
#define VLOAD(p) PASTE(vload, WIDTH)(0, p)
#define VSTORE(v, p) PASTE(vstore, WIDTH)(v, 0, p)
#endif
