// Makes the storage of a process fail, for LD_PRELOAD: after SIGUSR1 writes to the database's log fail with EIO
// (FAULTY=eio), or SQLite gets no memory (FAULTY=nomem; Rust's code has an allocator of its own); after SIGUSR2 all is
// well again.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);

static volatile sig_atomic_t failing;
static int no_memory;

static void change(int number) { failing = number == SIGUSR1; }

__attribute__((constructor)) static void begin(void) {
    const char *kind = getenv("FAULTY");
    no_memory = kind && !strcmp(kind, "nomem");
    signal(SIGUSR1, change);
    signal(SIGUSR2, change);
}

static int is_log(int file) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && !memcmp(path + length - 4, "-wal", 4);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    if (failing && !no_memory && is_log(file)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pwrite64, file, bytes, length, at);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
    return pwrite64(file, bytes, length, at);
}

void *malloc(size_t length) {
    return failing && no_memory ? NULL : __libc_malloc(length);
}

void *realloc(void *old, size_t length) {
    return failing && no_memory ? NULL : __libc_realloc(old, length);
}
