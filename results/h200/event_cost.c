#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
#define C(x)                              \
    do {                                  \
        cl_int e_ = (x);                  \
        if (e_) {                         \
            printf("%s -> %d\n", #x, e_); \
            exit(1);                      \
        }                                 \
    } while (0)
static int cmp(const void* a, const void* b) {
    double x = *(double*)a, y = *(double*)b;
    return x < y ? -1 : x > y;
}
static double mid(double* v, int n, double q) {
    qsort(v, n, 8, cmp);
    return v[(int)(q * (n - 1))];
}
const char* src =
    "__kernel void r(__global const float4*a,__global float*o,int n){float4 s=0;for(int "
    "i=get_global_id(0);i<n;i+=get_global_size(0))s+=a[i];if(s.x==1234.5f)o[0]=s.x+s.y+s.z+s.w;}\n"
    "__kernel void spin(__global uint*o,uint n){uint x=*o;for(uint i=0;i<n;++i)x=x*1664525u+1013904223u;*o=x;}";
int main() {
    cl_platform_id ps[8];
    cl_uint np;
    C(clGetPlatformIDs(8, ps, &np));
    cl_device_id d = 0;
    for (cl_uint i = 0; i < np; i++) {
        if (!clGetDeviceIDs(ps[i], CL_DEVICE_TYPE_GPU, 1, &d, 0)) break;
    }
    cl_int e;
    cl_context c = clCreateContext(0, 1, &d, 0, 0, &e);
    C(e);
    cl_command_queue P = clCreateCommandQueue(c, d, CL_QUEUE_PROFILING_ENABLE, &e);
    C(e);
    cl_command_queue N = clCreateCommandQueue(c, d, 0, &e);
    C(e);
    cl_program p = clCreateProgramWithSource(c, 1, &src, 0, &e);
    C(e);
    C(clBuildProgram(p, 1, &d, "", 0, 0));
    cl_kernel k = clCreateKernel(p, "r", &e);
    C(e);
    cl_kernel spin = clCreateKernel(p, "spin", &e);
    C(e);
    cl_mem state = clCreateBuffer(c, CL_MEM_READ_WRITE, 4, 0, &e);
    C(e);
    cl_uint steps = 16000000;  // some 40 ms
    size_t one = 1;
    C(clSetKernelArg(spin, 0, sizeof state, &state));
    C(clSetKernelArg(spin, 1, 4, &steps));
    size_t sizes[3] = {16384, 1 << 20, 16 << 20};
    for (int s = 0; s < 3; s++) {
        size_t bytes = sizes[s];
        cl_mem a = clCreateBuffer(c, CL_MEM_READ_WRITE, bytes, 0, &e);
        cl_mem o = clCreateBuffer(c, CL_MEM_READ_WRITE, 64, 0, &e);
        float z = 0;
        C(clEnqueueFillBuffer(P, a, &z, 4, 0, bytes, 0, 0, 0));
        clFinish(P);
        int n = bytes / 16;
        size_t g = n < 132 * 2048 ? n : 132 * 2048, l = 256;
        C(clSetKernelArg(k, 0, sizeof a, &a));
        C(clSetKernelArg(k, 1, sizeof o, &o));
        C(clSetKernelArg(k, 2, 4, &n));
        for (int w = 0; w < 100; w++) {
            C(clEnqueueNDRangeKernel(P, k, 1, 0, &g, &l, 0, 0, 0));
            C(clEnqueueNDRangeKernel(N, k, 1, 0, &g, &l, 0, 0, 0));
        }
        clFinish(P);
        clFinish(N);
        for (int mode = 0; mode < 10; mode++) {
            double per[60], wal[60], busy[60];
            int R = 20, B = 400;
            const char* nm[] = {
                "profiled queue, gate, all events",       "profiled queue, gate, first and last event",
                "plain queue, gate, events, markers",     "plain queue, gate, first and last event, markers",
                "plain queue, no gate, no events",        "profiled queue, no gate, no events",
                "plain queue, gate by marker, no events", "profiled queue, no gate, all events",
                "profiled queue, spin, all events",       "profiled queue, spin, first and last event"};
            for (int r = 0; r < R; r++) {
                cl_event gate = clCreateUserEvent(c, &e);
                C(e);
                cl_event ev[512];
                memset(ev, 0, sizeof ev);
                int gated = mode < 4 || mode == 6;
                cl_command_queue q = (mode < 2 || mode == 5 || mode >= 7) ? P : N;
                int all = mode == 0 || mode == 2 || mode == 7 || mode == 8, spins = mode > 7;
                if (spins) C(clEnqueueNDRangeKernel(q, spin, 1, 0, &one, &one, 0, 0, 0));
                if (mode == 6) C(clEnqueueBarrierWithWaitList(q, 1, &gate, 0));
                double e0 = now();
                for (int i = 0; i <= B; i++) {
                    int want = all || ((mode == 1 || mode == 3 || mode == 9) && (i == 0 || i == B));
                    C(clEnqueueNDRangeKernel(q, k, 1, 0, &g, &l, (gated && mode != 6 && i == 0) ? 1 : 0,
                                             (gated && mode != 6 && i == 0) ? &gate : 0, want ? &ev[i] : 0));
                }
                cl_event m1 = 0, m2 = 0;
                if (mode == 2 || mode == 3) {
                    C(clEnqueueMarkerWithWaitList(P, 1, &ev[0], &m1));
                    C(clEnqueueMarkerWithWaitList(P, 1, &ev[B], &m2));
                    clFlush(P);
                }
                clFlush(q);
                double t0 = now();
                if (gated) C(clSetUserEventStatus(gate, CL_COMPLETE));
                else t0 = e0;
                if (spins) {  // the host's time begins when the spin has ended, not before all was enqueued
                    cl_int status = CL_QUEUED;
                    while (status != CL_COMPLETE)
                        C(clGetEventInfo(ev[0], CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &status, 0));
                    t0 = now();
                }
                clFinish(q);
                clFinish(P);
                double t1 = now();
                wal[r] = (t1 - t0) / (B + 1);
                per[r] = 0;
                busy[r] = 0;
                cl_ulong x, y;
                if (mode < 2 || mode >= 7) {
                    int last = B;
                    if (ev[0] && ev[last]) {
                        C(clGetEventProfilingInfo(ev[0], CL_PROFILING_COMMAND_END, 8, &x, 0));
                        C(clGetEventProfilingInfo(ev[last], CL_PROFILING_COMMAND_END, 8, &y, 0));
                        per[r] = (double)(y - x) * 1e-3 / B;
                        C(clGetEventProfilingInfo(ev[last], CL_PROFILING_COMMAND_START, 8, &x, 0));
                        busy[r] = (y - x) * 1e-3;
                    }
                }
                if (m1) {
                    C(clGetEventProfilingInfo(m1, CL_PROFILING_COMMAND_END, 8, &x, 0));
                    C(clGetEventProfilingInfo(m2, CL_PROFILING_COMMAND_END, 8, &y, 0));
                    per[r] = (double)(y - x) * 1e-3 / B;
                    clReleaseEvent(m1);
                    clReleaseEvent(m2);
                }
                for (int i = 0; i <= B; i++)
                    if (ev[i]) clReleaseEvent(ev[i]);
                clReleaseEvent(gate);
            }
            printf("%8zu B  %-50s period %6.2f [%6.2f,%6.2f] us  wall %6.2f [%6.2f,%6.2f] us  last run %6.2f us\n",
                   bytes, nm[mode], mid(per, R, .5), mid(per, R, .05), mid(per, R, .95), mid(wal, R, .5),
                   mid(wal, R, .05), mid(wal, R, .95), mid(busy, R, .5));
        }
    }
    return 0;
}
