// Integers that wrap round: signed ones as their unsigned kin, since C leaves their overflow undefined.
#include "microbench/include/chains.cl"
#include "microbench/include/horizontal.cl"
#define UNSIGNED_int uint
#define UNSIGNED_uint uint
#define UNSIGNED_long ulong
#define UNSIGNED_ulong ulong
#define WORD PASTE(UNSIGNED_, REAL)
#if WIDTH == 1
#define WORDV WORD
#define AS_WORDS(v) PASTE(as_, WORD)(v)
#define AS_STORED(v) PASTE(as_, REAL)(v)
#else
#define WORDV PASTE(WORD, WIDTH)
#define AS_WORDS(v) PASTE(as_, WORDV)(v)
#define AS_STORED(v) PASTE(as_, REALV)(v)
#endif
