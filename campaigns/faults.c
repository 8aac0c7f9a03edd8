/* Loaded before the C library: counts what a process and those below it ask of files below a folder, and at one of
 * these requests lets it wait, so that it can be killed just there, or refuses it as a disk or a system does.
 *
 * What is wanted stands in a file that all of them map (FAULTS_STATE), laid out as `State` here and in shim.py.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITES = 1, NAMES = 2, READS = 4 };
enum { NOTHING, WAIT, REFUSE, FILL };

typedef struct {
  _Atomic long counts[3]; /* requests of each kind */
  _Atomic long matched;   /* requests of the kinds that are looked for */
  _Atomic long bytes;     /* written */
  long kinds, action, at, error, is_torn, is_once;
  _Atomic long waiting; /* the id of the process that waits */
  _Atomic long go;
  char root[512], second[512]; /* folders; the second may be empty */
} State;

static State *state;
static int is_active;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("FAULTS_STATE");
  int file = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0) : -1;
  if (file < 0)
    return;
  void *found = mmap(NULL, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  state = found == MAP_FAILED ? NULL : found;
  is_active = getenv("FAULTS_ACTIVE") != NULL;
}

/* From here on this process, and whom it forks, is looked at. */
void faults_begin(void) { is_active = 1; }

static int is_below(const char *path, const char *root) {
  size_t length = strlen(root);
  return length && !strncmp(path, root, length) && (path[length] == '/' || path[length] == 0);
}

static int counts_path(const char *path) { return is_below(path, state->root) || is_below(path, state->second); }

static int counts_file(int file) {
  char link[64], path[1024];
  struct stat status;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0)
    return 0;
  path[length] = 0;
  return counts_path(path) && !fstat(file, &status) && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

static int counts_at(int folder, const char *path) {
  char here[1024];
  if (!path || path[0] == '/')
    return path && counts_path(path);
  if (folder != AT_FDCWD)
    return counts_file(folder);
  return getcwd(here, sizeof here) && counts_path(here);
}

/* What becomes of a request: 0 where it is done, -1 where it is refused; of a write, how many bytes are. */
static long looked_at(int kind, long size) {
  long number, before;
  atomic_fetch_add(&state->counts[kind >> 1], 1);
  before = kind == WRITES ? atomic_fetch_add(&state->bytes, size) : atomic_load(&state->bytes);
  if (!(state->kinds & kind))
    return size;
  number = atomic_fetch_add(&state->matched, 1) + 1;
  if (state->action == FILL) { /* a full disk: some bytes, then no more; names neither */
    if (before + size <= state->at || (kind != WRITES && before < state->at))
      return size;
    errno = (int)state->error;
    return state->at > before && size > 1 ? state->at - before : -1;
  }
  if (state->action == REFUSE && (state->is_once ? number == state->at : number >= state->at)) {
    errno = (int)state->error;
    return -1;
  }
  return size;
}

static int waits(int kind) {
  return state->action == WAIT && (state->kinds & kind) && atomic_load(&state->matched) == state->at;
}

static void wait_here(void) {
  long nobody = 0;
  if (!atomic_compare_exchange_strong(&state->waiting, &nobody, (long)getpid()))
    return;
  for (int turn = 0; turn < 300000 && !atomic_load(&state->go); turn++)
    usleep(100);
}

static long asked(int kind, long size) {
  int before = errno;
  long allowed = looked_at(kind, size);
  if (allowed >= 0)
    errno = before;
  if (allowed >= 0 && waits(kind) && !(kind == WRITES && state->is_torn))
    wait_here();
  return allowed;
}

#define LOOKED(place) (is_active && state && state->action != -1 && (place))

#define WRITE_LIKE(name, number, ...)                                                                                 \
  long half = 0;                                                                                                       \
  if (!LOOKED(counts_file(file)))                                                                                      \
    return syscall(number, file, data, size, ##__VA_ARGS__);                                                           \
  long allowed = asked(WRITES, (long)size);                                                                            \
  if (allowed < 0)                                                                                                     \
    return -1;                                                                                                         \
  if (state->is_torn && waits(WRITES)) {                                                                               \
    half = syscall(number, file, data, size / 2, ##__VA_ARGS__);                                                       \
    half = half < 0 ? 0 : half;                                                                                        \
    wait_here();                                                                                                       \
  }                                                                                                                    \
  long rest = syscall(number, file, (const char *)data + half, (size_t)(allowed - half), ##__VA_ARGS__);               \
  return rest < 0 ? rest : half + rest;

ssize_t write(int file, const void *data, size_t size) { WRITE_LIKE(write, SYS_write) }
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { WRITE_LIKE(pwrite, SYS_pwrite64, place + half) }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) {
  WRITE_LIKE(pwrite, SYS_pwrite64, place + half)
}

#define GUARD(kind, place)                                                                                             \
  if (LOOKED(place) && asked(kind, 1) < 0)                                                                             \
    return -1;

ssize_t writev(int file, const struct iovec *parts, int count) {
  GUARD(WRITES, counts_file(file))
  return syscall(SYS_writev, file, parts, count);
}
int ftruncate(int file, off_t size) {
  GUARD(WRITES, counts_file(file))
  return (int)syscall(SYS_ftruncate, file, size);
}
int ftruncate64(int file, off64_t size) {
  GUARD(WRITES, counts_file(file))
  return (int)syscall(SYS_ftruncate, file, size);
}
int fsync(int file) {
  GUARD(WRITES, counts_file(file))
  return (int)syscall(SYS_fsync, file);
}
int fdatasync(int file) {
  GUARD(WRITES, counts_file(file))
  return (int)syscall(SYS_fdatasync, file);
}
ssize_t sendfile64(int out, int in, off64_t *place, size_t size) {
  GUARD(WRITES, counts_file(out))
  GUARD(READS, counts_file(in))
  return syscall(SYS_sendfile, out, in, place, size);
}
ssize_t sendfile(int out, int in, off_t *place, size_t size) { return sendfile64(out, in, (off64_t *)place, size); }
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
  GUARD(WRITES, counts_file(out))
  GUARD(READS, counts_file(in))
  return syscall(SYS_copy_file_range, in, from, out, to, size, flags);
}

ssize_t read(int file, void *data, size_t size) {
  GUARD(READS, counts_file(file))
  return syscall(SYS_read, file, data, size);
}
ssize_t pread(int file, void *data, size_t size, off_t place) {
  GUARD(READS, counts_file(file))
  return syscall(SYS_pread64, file, data, size, place);
}
ssize_t pread64(int file, void *data, size_t size, off64_t place) {
  GUARD(READS, counts_file(file))
  return syscall(SYS_pread64, file, data, size, place);
}

static struct dirent64 *next_name(DIR *folder) {
  static struct dirent64 *(*real)(DIR *);
  if (!real)
    real = (struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
  if (LOOKED(counts_file(dirfd(folder))) && asked(READS, 1) < 0)
    return NULL;
  return real(folder);
}
struct dirent64 *readdir64(DIR *folder) { return next_name(folder); }
struct dirent *readdir(DIR *folder) { return (struct dirent *)next_name(folder); }

static int opened(int folder, const char *path, int flags, mode_t mode) {
  int kind = flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC) ? NAMES : READS;
  GUARD(kind, counts_at(folder, path))
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}
static mode_t mode_of(int flags, va_list words) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(words, int) : 0;
}
#define OPEN_LIKE(folder)                                                                                              \
  va_list words;                                                                                                       \
  va_start(words, flags);                                                                                              \
  mode_t mode = mode_of(flags, words);                                                                                 \
  va_end(words);                                                                                                       \
  return opened(folder, path, flags, mode);
int open(const char *path, int flags, ...) { OPEN_LIKE(AT_FDCWD) }
int open64(const char *path, int flags, ...) { OPEN_LIKE(AT_FDCWD) }
int openat(int folder, const char *path, int flags, ...) { OPEN_LIKE(folder) }
int openat64(int folder, const char *path, int flags, ...) { OPEN_LIKE(folder) }

int mkdirat(int folder, const char *path, mode_t mode) {
  GUARD(NAMES, counts_at(folder, path))
  return (int)syscall(SYS_mkdirat, folder, path, mode);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int renameat(int folder, const char *path, int other, const char *to) {
  GUARD(NAMES, counts_at(folder, path))
  return (int)syscall(SYS_renameat2, folder, path, other, to, 0);
}
int rename(const char *path, const char *to) { return renameat(AT_FDCWD, path, AT_FDCWD, to); }

/* Of what is removed nothing is refused but for once: a full disk lets go of files. */
int unlinkat(int folder, const char *path, int flags) {
  if (LOOKED(state->action != FILL && state->action != REFUSE && counts_at(folder, path)))
    asked(NAMES, 1);
  return (int)syscall(SYS_unlinkat, folder, path, flags);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
