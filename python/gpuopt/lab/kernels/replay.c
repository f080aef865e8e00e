/* Launches kernels as they were recorded, and compares what they leave in memory with what was seen then.

       cc -o replay replay.c -lOpenCL
       ./replay [PLATFORM [DEVICE]]

   It reads the files of its folder, so it is started there. PLATFORM and DEVICE are parts of their names. It ends with
   0 where all memory is equal, with 1 where some differs, and with 2 where a call of OpenCL fails or a file is missing.
   README.txt says what was recorded, and on which device. It needs a compiler for C99 and OpenCL 1.2. */
#define CL_TARGET_OPENCL_VERSION 120
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *source, *options;
} Program;

typedef struct {
    const char* file;
    size_t bytes;
} Contents;

/* A buffer or an image. With a parent it is a part of that buffer, or an image of its pixels. */
typedef struct {
    cl_mem_object_type type;
    cl_mem_flags flags;
    int parent;          /* -1: none */
    size_t first, bytes; /* first: where a part begins in its parent */
    int host_offset;     /* bytes from the beginning of a page to its memory on the host; -1: the device's own memory */
    size_t size[3];      /* of images, in pixels; the last one counts the layers of an array */
    cl_image_format format;
    int before, after; /* contents at first use, and after the last launch; -1: not recorded */
} Object;

/* An object, or else the bytes of a value, or else (where the value is NULL) so many bytes of local memory. */
typedef struct {
    int object; /* -1: none */
    const char* value;
    size_t bytes;
} Argument;

/* A launch, or, where the program is -1, contents that are written to an object. */
typedef struct {
    int program;
    const char* kernel;
    cl_uint dimensions;
    size_t global[3], local[3];
    size_t first_argument, arguments;
    int object, contents;
} Step;

#include "recording.h"

#define PAGE 4096

static void check(cl_int code, const char* call) {
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "%s failed with code %d\n", call, (int)code);
    exit(2);
}

static void* allocated(size_t bytes) {
    void* memory = malloc(bytes + 1);
    if (memory) return memory;
    fprintf(stderr, "no memory for %lu bytes\n", (unsigned long)bytes);
    exit(2);
}

/* The bytes of a file; their number is stored where `bytes` points to. */
static char* read_file(const char* name, size_t* bytes) {
    FILE* file = fopen(name, "rb");
    long end = -1;
    char* text;
    if (file && fseek(file, 0, SEEK_END) == 0) end = ftell(file);
    if (end < 0 || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "%s cannot be read; start the program in its folder\n", name);
        exit(2);
    }
    text = allocated((size_t)end);
    *bytes = fread(text, 1, (size_t)end, file);
    fclose(file);
    return text;
}

static char* read_contents(int number) {
    size_t bytes;
    char* found = read_file(recorded_contents[number].file, &bytes);
    if (bytes == recorded_contents[number].bytes) return found;
    fprintf(stderr, "%s has another length than it was written with\n", recorded_contents[number].file);
    exit(2);
}

/* The first device whose name, and whose platform's name, hold these texts; NULL where there is none. */
static cl_device_id find_device(const char* platform_part, const char* device_part) {
    cl_platform_id platforms[64];
    cl_device_id devices[64];
    cl_uint platform_count, device_count, i, j;
    cl_int code;
    char name[1024];
    check(clGetPlatformIDs(64, platforms, &platform_count), "clGetPlatformIDs");
    for (i = 0; i < platform_count && i < 64; ++i) {
        check(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL), "clGetPlatformInfo");
        if (!strstr(name, platform_part)) continue;
        code = clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 64, devices, &device_count);
        if (code != CL_SUCCESS) {
            if (code != CL_DEVICE_NOT_FOUND)
                fprintf(stderr, "%s: its devices cannot be listed: code %d\n", name, (int)code);
            continue;
        }
        for (j = 0; j < device_count && j < 64; ++j) {
            check(clGetDeviceInfo(devices[j], CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
            if (strstr(name, device_part)) return devices[j];
        }
    }
    return NULL;
}

static void print_device(cl_device_id device) {
    char name[1024], driver[1024];
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
    check(clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver, driver, NULL), "clGetDeviceInfo");
    printf("device: %s, driver %s\n", name, driver);
}

static cl_program build(cl_context context, cl_device_id device, const Program* recorded) {
    size_t bytes, log_bytes = 0;
    char* text = read_file(recorded->source, &bytes);
    const char* source = text;
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &source, &bytes, &code);
    check(code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &device, recorded->options, NULL, NULL);
    if (code != CL_SUCCESS) {
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &log_bytes);
        char* log = allocated(log_bytes);
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log_bytes, log, NULL);
        log[log_bytes] = 0;
        fprintf(stderr, "%s with \"%s\":\n%s\n", recorded->source, recorded->options, log);
    }
    check(code, "clBuildProgram");
    free(text);
    return program;
}

/* Memory that begins so many bytes after the beginning of a page. It is in use until the program ends. */
static char* host_memory(size_t bytes, int offset) {
    char* memory = allocated(bytes + 2 * PAGE);
    return memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE + offset;
}

static void write_object(cl_command_queue queue, cl_mem memory, const Object* recorded, int contents) {
    const size_t origin[3] = {0, 0, 0};
    char* bytes = read_contents(contents);
    if (recorded->type == CL_MEM_OBJECT_BUFFER)
        check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, recorded->bytes, bytes, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
    else
        check(clEnqueueWriteImage(queue, memory, CL_TRUE, origin, recorded->size, 0, 0, bytes, 0, NULL, NULL),
              "clEnqueueWriteImage");
    free(bytes);
}

static cl_mem make_image(cl_context context, const Object* recorded, const cl_mem* made) {
    cl_image_desc shape;
    cl_int code;
    cl_mem memory;
    memset(&shape, 0, sizeof shape);
    shape.image_type = recorded->type;
    shape.image_width = recorded->size[0];
    shape.image_height = recorded->type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? 0 : recorded->size[1];
    if (recorded->type == CL_MEM_OBJECT_IMAGE3D) shape.image_depth = recorded->size[2];
    if (recorded->type == CL_MEM_OBJECT_IMAGE2D_ARRAY) shape.image_array_size = recorded->size[2];
    if (recorded->parent >= 0) shape.buffer = made[recorded->parent];
    memory = clCreateImage(context, recorded->flags, &recorded->format, &shape, NULL, &code);
    check(code, "clCreateImage");
    return memory;
}

static cl_mem make_buffer(cl_context context, const Object* recorded, const cl_mem* made) {
    cl_buffer_region region;
    cl_int code;
    cl_mem memory;
    if (recorded->parent >= 0) {
        region.origin = recorded->first;
        region.size = recorded->bytes;
        memory =
            clCreateSubBuffer(made[recorded->parent], recorded->flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        check(code, "clCreateSubBuffer");
        return memory;
    }
    if (recorded->host_offset >= 0) {
        memory = clCreateBuffer(context, recorded->flags | CL_MEM_USE_HOST_PTR, recorded->bytes,
                                host_memory(recorded->bytes, recorded->host_offset), &code);
    } else {
        memory = clCreateBuffer(context, recorded->flags, recorded->bytes, NULL, &code);
    }
    check(code, "clCreateBuffer");
    return memory;
}

static void set_arguments(cl_kernel kernel, const Step* step, const cl_mem* objects) {
    size_t i;
    for (i = 0; i < step->arguments; ++i) {
        const Argument* given = &recorded_arguments[step->first_argument + i];
        const size_t bytes = given->object >= 0 ? sizeof(cl_mem) : given->bytes;
        void* value = allocated(bytes); /* aligned for any type */
        if (given->object >= 0) memcpy(value, &objects[given->object], bytes);
        else if (given->value) memcpy(value, given->value, bytes);
        check(clSetKernelArg(kernel, (cl_uint)i, bytes, given->object < 0 && !given->value ? NULL : value),
              "clSetKernelArg");
        free(value);
    }
}

static void launch(cl_command_queue queue, cl_program program, const Step* step, const cl_mem* objects, size_t number) {
    cl_ulong begin, end;
    cl_event event;
    cl_int code;
    cl_uint i;
    cl_kernel kernel = clCreateKernel(program, step->kernel, &code);
    check(code, "clCreateKernel");
    set_arguments(kernel, step, objects);
    check(clEnqueueNDRangeKernel(queue, kernel, step->dimensions, NULL, step->global, step->local, 0, NULL, &event),
          "clEnqueueNDRangeKernel");
    check(clWaitForEvents(1, &event), "clWaitForEvents");
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL),
          "clGetEventProfilingInfo");
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "clGetEventProfilingInfo");
    printf("launch %lu: %s,", (unsigned long)number, step->kernel);
    for (i = 0; i < step->dimensions; ++i) printf("%s %lu", i ? " x" : "", (unsigned long)step->global[i]);
    printf(" items in groups of");
    for (i = 0; i < step->dimensions; ++i) printf("%s %lu", i ? " x" : "", (unsigned long)step->local[i]);
    printf(": %.6f ms\n", (double)(end - begin) * 1e-6);
    clReleaseEvent(event);
    clReleaseKernel(kernel);
}

/* The largest difference of numbers that differ, and of how many nothing can be said. */
static void print_differences(const char* expected, const char* found, size_t bytes) {
    double largest = -1, was = 0, is = 0;
    size_t at, where = 0, strange = 0;
    for (at = 0; at + sizeof(float) <= bytes; at += sizeof(float)) {
        float first, second;
        double difference;
        if (memcmp(expected + at, found + at, sizeof first) == 0) continue;
        memcpy(&first, expected + at, sizeof first);
        memcpy(&second, found + at, sizeof second);
        difference = (double)first > (double)second ? (double)first - second : (double)second - first;
        if (difference != difference || difference - difference != 0) {
            ++strange;
        } else if (difference > largest) {
            largest = difference;
            where = at / sizeof first;
            was = first;
            is = second;
        }
    }
    if (largest >= 0)
        printf("    as float, the largest difference is %.9g: number %lu was %.9g and is %.9g\n", largest,
               (unsigned long)where, was, is);
    if (strange) printf("    as float, %lu of them are NaN or infinite\n", (unsigned long)strange);
}

/* 1 where an object differs from what was seen, else 0. */
static int differs(cl_command_queue queue, cl_mem memory, const Object* recorded, size_t number) {
    const size_t origin[3] = {0, 0, 0};
    char *expected = read_contents(recorded->after), *found = allocated(recorded->bytes);
    size_t i, count = 0, first = 0;
    if (recorded->type == CL_MEM_OBJECT_BUFFER)
        check(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, recorded->bytes, found, 0, NULL, NULL),
              "clEnqueueReadBuffer");
    else
        check(clEnqueueReadImage(queue, memory, CL_TRUE, origin, recorded->size, 0, 0, found, 0, NULL, NULL),
              "clEnqueueReadImage");
    for (i = 0; i < recorded->bytes; ++i)
        if (expected[i] != found[i] && count++ == 0) first = i;
    printf("object %lu, %lu bytes: ", (unsigned long)number, (unsigned long)recorded->bytes);
    if (count == 0) {
        printf("%s\n", recorded->after == recorded->before ? "equal, as before the launches" : "equal");
    } else {
        printf("%lu bytes differ, the first of them at %lu\n", (unsigned long)count, (unsigned long)first);
        print_differences(expected, found, recorded->bytes);
    }
    free(expected);
    free(found);
    return count > 0;
}

int main(int argc, char** argv) {
    cl_mem objects[OBJECTS + 1]; /* C has no empty arrays */
    cl_program programs[PROGRAMS + 1];
    size_t i, launches = 0;
    int different = 0;
    cl_int code;
    cl_context context;
    cl_command_queue queue;
    cl_device_id device;
    if (argc > 1) device = find_device(argv[1], argc > 2 ? argv[2] : "");
    else if (!(device = find_device(recorded_platform, recorded_device))) device = find_device("", "");
    if (!device) check(CL_DEVICE_NOT_FOUND, "the search for a device");
    print_device(device);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "clCreateContext");
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "clCreateCommandQueue");
    for (i = 0; i < PROGRAMS; ++i) programs[i] = build(context, device, &recorded_programs[i]);
    for (i = 0; i < OBJECTS; ++i) {
        const Object* recorded = &recorded_objects[i];
        objects[i] = (recorded->type == CL_MEM_OBJECT_BUFFER ? make_buffer : make_image)(context, recorded, objects);
        if (recorded->before >= 0) write_object(queue, objects[i], recorded, recorded->before);
    }
    for (i = 0; i < STEPS; ++i) {
        const Step* step = &recorded_steps[i];
        if (step->program < 0)
            write_object(queue, objects[step->object], &recorded_objects[step->object], step->contents);
        else launch(queue, programs[step->program], step, objects, launches++);
    }
    for (i = 0; i < OBJECTS; ++i)
        if (recorded_objects[i].after >= 0) different |= differs(queue, objects[i], &recorded_objects[i], i);
    printf(different ? "different\n" : "equal\n");
    for (i = OBJECTS; i-- > 0;) clReleaseMemObject(objects[i]);
    for (i = 0; i < PROGRAMS; ++i) clReleaseProgram(programs[i]);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return different;
}
