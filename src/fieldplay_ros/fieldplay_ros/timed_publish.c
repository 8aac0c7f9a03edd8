/* Publishes serialized messages, each at its time, without Python's lock.
 *
 * rcl's function and the publishers come as addresses from rclpy, so that nothing of ROS is needed to build this.
 * Waiting ends at once when the file descriptor `wake` becomes readable; `state` is shared with Python meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <poll.h>
#include <stdint.h>
#include <time.h>

#define TOGETHER_NS 50000 /* what is due within this time leaves at once */
#define SECOND_NS 1000000000LL

enum reason { DONE, INTERRUPTED, HISTORY_FULL, FAILED };
enum state { IS_INTERRUPTED, PROGRESS };

typedef struct { /* rcl_serialized_message_t, with rcutils_allocator_t: nothing is allocated */
  uint8_t *buffer;
  size_t length, capacity;
  void *allocator[5];
} serialized_message;

typedef int (*publish_function)(void *publisher, const serialized_message *message, void *allocation);
typedef int (*acknowledged_function)(void *publisher, int64_t timeout_ns);

typedef struct {
  publish_function publish;
  acknowledged_function acknowledged;
  const uint64_t *publishers;     /* by feed */
  int64_t *counters;              /* of the histories, a row of them for each of what follows */
  Py_ssize_t feeds_count;
  const int32_t *feeds;          /* by message */
  const int64_t *due_ns;         /* by message, on the monotonic clock */
  Py_buffer *data;               /* by message */
  volatile int64_t *state;
  int wake;
  Py_ssize_t count;
  int64_t lag_ns, largest_lag_ns; /* of the last message, and of all */
} schedule;

static int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* Returns the time, or -1 where it was woken. */
static int64_t wait_until(int64_t due_ns, const schedule *plan) {
  for (;;) {
    if (plan->state[IS_INTERRUPTED]) return -1;
    int64_t now_ns = monotonic_ns(), left_ns = due_ns - now_ns;
    if (left_ns <= TOGETHER_NS) return now_ns;
    struct timespec left = {left_ns / SECOND_NS, left_ns % SECOND_NS};
    struct pollfd wake = {plan->wake, POLLIN, 0};
    if (ppoll(&wake, 1, &left, NULL) > 0) return -1;
  }
}

/* The rows of `counters`: messages since all were acknowledged; from how many of them on that is asked; how many the
 * history keeps; and at how many Python has to wait. */
enum counter { UNACKNOWLEDGED, ASK_FROM, DEPTH, WAIT_AT };

/* Whether a message of a feed overwrites nothing that a subscriber still needs. */
static int has_room(const schedule *plan, int32_t feed) {
  int64_t *row = plan->counters + feed;
  Py_ssize_t count = plan->feeds_count;
  if (row[UNACKNOWLEDGED * count] < row[ASK_FROM * count]) return 1;
  if (plan->acknowledged((void *)(uintptr_t)plan->publishers[feed], 0) == 0) {
    row[UNACKNOWLEDGED * count] = 0;
    row[WAIT_AT * count] = row[DEPTH * count];
  }
  return row[UNACKNOWLEDGED * count] < row[WAIT_AT * count];
}

static enum reason run(schedule *plan, Py_ssize_t *index) {
  serialized_message message = {0};
  for (; *index < plan->count; ++*index) {
    int32_t feed = plan->feeds[*index];
    int64_t now_ns = wait_until(plan->due_ns[*index], plan);
    if (now_ns < 0) return INTERRUPTED;
    if (!has_room(plan, feed)) return HISTORY_FULL;
    message.buffer = plan->data[*index].buf;
    message.length = message.capacity = (size_t)plan->data[*index].len;
    if (plan->publish((void *)(uintptr_t)plan->publishers[feed], &message, NULL)) return FAILED;
    plan->counters[UNACKNOWLEDGED * plan->feeds_count + feed]++;
    plan->lag_ns = now_ns > plan->due_ns[*index] ? now_ns - plan->due_ns[*index] : 0;
    if (plan->lag_ns > plan->largest_lag_ns) plan->largest_lag_ns = plan->lag_ns;
    plan->state[PROGRESS] = *index + 1;
  }
  return DONE;
}

static PyObject *publish(PyObject *module, PyObject *args) {
  unsigned long long function, acknowledged;
  Py_buffer publishers, counters, feeds, due_ns, state;
  PyObject *messages, *result = NULL;
  Py_ssize_t start;
  schedule plan = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "KKy*w*y*Oy*w*in", &function, &acknowledged, &publishers, &counters, &feeds,
                        &messages, &due_ns, &state, &plan.wake, &start))
    return NULL;
  messages = PySequence_Fast(messages, "messages: expected a sequence");
  Py_ssize_t held = 0;
  if (messages == NULL) goto release;
  plan.count = PySequence_Fast_GET_SIZE(messages);
  Py_ssize_t per_feed = publishers.len / (Py_ssize_t)sizeof(uint64_t);
  plan.feeds = feeds.buf;
  int fits = start >= 0 && start <= plan.count && state.len >= 2 * (Py_ssize_t)sizeof(int64_t) &&
             feeds.len == plan.count * (Py_ssize_t)sizeof(int32_t) &&
             due_ns.len == plan.count * (Py_ssize_t)sizeof(int64_t) &&
             counters.len == (WAIT_AT + 1) * publishers.len;
  for (Py_ssize_t index = 0; fits && index < plan.count; ++index)
    fits = plan.feeds[index] >= 0 && plan.feeds[index] < per_feed;
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "expected arrays of one length by feed, and of one by message");
    goto release;
  }
  plan.data = PyMem_Calloc((size_t)plan.count + 1, sizeof(Py_buffer));
  if (plan.data == NULL) {
    PyErr_NoMemory();
    goto release;
  }
  for (; held < plan.count; ++held)
    if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(messages, held), &plan.data[held], PyBUF_SIMPLE)) goto release;
  plan.publish = (publish_function)(uintptr_t)function;
  plan.acknowledged = (acknowledged_function)(uintptr_t)acknowledged;
  plan.feeds_count = per_feed;
  plan.publishers = publishers.buf;
  plan.counters = counters.buf;
  plan.due_ns = due_ns.buf;
  plan.state = state.buf;
  enum reason reason;
  Py_BEGIN_ALLOW_THREADS
  reason = run(&plan, &start);
  Py_END_ALLOW_THREADS
  result = Py_BuildValue("niLL", start, (int)reason, (long long)plan.lag_ns, (long long)plan.largest_lag_ns);
release:
  while (held > 0) PyBuffer_Release(&plan.data[--held]);
  PyMem_Free(plan.data);
  Py_XDECREF(messages);
  PyBuffer_Release(&publishers);
  PyBuffer_Release(&counters);
  PyBuffer_Release(&feeds);
  PyBuffer_Release(&due_ns);
  PyBuffer_Release(&state);
  return result;
}

static PyMethodDef functions[] = {
    {"publish", publish, METH_VARARGS,
     "publish(function, acknowledged, publishers, counters, feeds, messages, due_ns, state, wake, start)\n\n"
     "Publish messages from start on, each at its time; return the index of the first that was not published,\n"
     "the reason (0 all are, 1 interrupted, 2 history full, 3 failed), and how late the last one and the latest\n"
     "one left, in ns."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_timed_publish", NULL, 0, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__timed_publish(void) { return PyModule_Create(&definition); }
