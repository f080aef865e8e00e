// Preloaded: this process is another user's, to whom no file here belongs.
#include <sys/types.h>

uid_t geteuid(void) { return 54321; }
uid_t getuid(void) { return 54321; }
