/*
 * A stand-in for NVIDIA's libnvidia-ml, for tests on machines without one. Compiled with -DSTATE_FILE="path"; the file is
 * read anew at each call, one directive a line:
 *   devices <count>
 *   memory <device> <total bytes> <used bytes>
 *   temperature <device> <celsius>
 *   processes <count>                 processes of each device
 *   silent-size                       INSUFFICIENT_SIZE without saying how many there are
 *   growing                           each call finds one process more than there was room for
 *   fail <function>[:<device>] <code>
 *   hang <function>                   never returns; STATE_FILE.hung says that it has begun
 *   crash <function>                  aborts the process
 *   xid <serial> <device> <code>      an event, given once for each new serial
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUCCESS 0
#define INVALID_ARGUMENT 2
#define INSUFFICIENT_SIZE 7
#define TIMEOUT 10
#define HANDLE_BASE 0x7f0000001000ULL

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; } process_t;
typedef struct {
  uint64_t device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
} event_t;

static char line[512];

static FILE *open_state(void) { return fopen(STATE_FILE, "r"); }

static int enter(const char *function, int device) {
  char word[128], name[128], one[160];
  int code = SUCCESS, value;
  snprintf(one, sizeof one, "%s:%d", function, device);
  FILE *state = open_state();
  if (!state) return 999;
  while (fgets(line, sizeof line, state)) {
    value = 0;
    if (sscanf(line, "%127s %127s %d", word, name, &value) < 2) continue;
    if (strcmp(name, function) != 0 && strcmp(name, one) != 0) continue;
    if (strcmp(word, "fail") == 0) code = value;
    if (strcmp(word, "crash") == 0) abort();
    if (strcmp(word, "hang") == 0) {
      FILE *mark = fopen(STATE_FILE ".hung", "w");
      if (mark) fclose(mark);
      for (;;) sleep(1000);
    }
  }
  fclose(state);
  return code;
}

static long number_of(const char *directive, long otherwise) {
  char word[128];
  long value, found = otherwise;
  FILE *state = open_state();
  if (!state) return otherwise;
  while (fgets(line, sizeof line, state)) {
    value = 1;
    if (sscanf(line, "%127s %ld", word, &value) >= 1 && strcmp(word, directive) == 0) found = value;
  }
  fclose(state);
  return found;
}

static void numbers_of(const char *directive, int device, unsigned long long *first, unsigned long long *second) {
  char word[128];
  int of;
  unsigned long long one, two;
  FILE *state = open_state();
  if (!state) return;
  while (fgets(line, sizeof line, state)) {
    two = 0;
    if (sscanf(line, "%127s %d %llu %llu", word, &of, &one, &two) < 3) continue;
    if (strcmp(word, directive) != 0 || of != device) continue;
    *first = one;
    if (second) *second = two;
  }
  fclose(state);
}

static int index_of(uint64_t device) { return (int)((device - HANDLE_BASE) / 16); }

#define ENTER(device)                                     \
  do {                                                    \
    int code = enter(__func__, (device));                 \
    if (code != SUCCESS) return code;                     \
  } while (0)

int nvmlInit_v2(void) { ENTER(-1); return SUCCESS; }
int nvmlShutdown(void) { ENTER(-1); return SUCCESS; }
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }

int nvmlSystemGetDriverVersion(char *text, unsigned int length) {
  ENTER(-1);
  snprintf(text, length, "570.00.01");
  return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
  ENTER(-1);
  *count = (unsigned int)number_of("devices", 1);
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, uint64_t *device) {
  ENTER((int)index);
  *device = HANDLE_BASE + 16ULL * index;
  return SUCCESS;
}

int nvmlDeviceGetUUID(uint64_t device, char *text, unsigned int length) {
  ENTER(index_of(device));
  snprintf(text, length, "GPU-fake-%d", index_of(device));
  return SUCCESS;
}

int nvmlDeviceGetName(uint64_t device, char *text, unsigned int length) {
  ENTER(index_of(device));
  snprintf(text, length, "Fake H%d", 100 + index_of(device));
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(uint64_t device, memory_t *memory) {
  ENTER(index_of(device));
  memory->total = 80ULL << 30;
  memory->used = 1ULL << 30;
  numbers_of("memory", index_of(device), &memory->total, &memory->used);
  memory->free = memory->total - memory->used;
  return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(uint64_t device, utilization_t *rates) {
  ENTER(index_of(device));
  rates->gpu = 37;
  rates->memory = 12;
  return SUCCESS;
}

int nvmlDeviceGetTemperature(uint64_t device, int sensor, unsigned int *celsius) {
  ENTER(index_of(device));
  unsigned long long value = 55;
  numbers_of("temperature", index_of(device), &value, NULL);
  *celsius = (unsigned int)value;
  return sensor == 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetTemperatureThreshold(uint64_t device, int kind, unsigned int *celsius) {
  ENTER(index_of(device));
  *celsius = kind == 1 ? 92 : 95;
  return SUCCESS;
}

int nvmlDeviceGetPowerUsage(uint64_t device, unsigned int *milliwatts) {
  ENTER(index_of(device));
  *milliwatts = 312500;
  return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(uint64_t device, unsigned int *milliwatts) {
  ENTER(index_of(device));
  *milliwatts = 700000;
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(uint64_t device, unsigned long long *millijoules) {
  ENTER(index_of(device));
  *millijoules = 5000000000ULL;
  return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(uint64_t device, int kind, int counter, unsigned long long *count) {
  ENTER(index_of(device));
  *count = 2;
  return kind == 1 && counter == 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetComputeRunningProcesses_v3(uint64_t device, unsigned int *count, process_t *infos) {
  ENTER(index_of(device));
  unsigned int there = (unsigned int)number_of("processes", 0);
  if (number_of("growing", 0)) there = *count + 1;
  if (there > *count) {
    *count = number_of("silent-size", 0) ? 0 : there;
    return INSUFFICIENT_SIZE;
  }
  for (unsigned int each = 0; each < there; each += 1) {
    infos[each].pid = 1000 + each;
    infos[each].used = each == 0 ? ~0ULL : (unsigned long long)each << 20;
  }
  *count = there;
  return SUCCESS;
}

int nvmlEventSetCreate(uint64_t *events) { ENTER(-1); *events = 0x7f0000ff0000ULL; return SUCCESS; }

int nvmlDeviceRegisterEvents(uint64_t device, unsigned long long types, uint64_t events) {
  ENTER(index_of(device));
  return types == 8 && events == 0x7f0000ff0000ULL ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlEventSetWait_v2(uint64_t events, event_t *event, unsigned int timeout_ms) {
  ENTER(-1);
  static int given = 0;
  char word[128];
  int serial, device, code;
  (void)events;
  (void)timeout_ms;
  FILE *state = open_state();
  if (!state) return TIMEOUT;
  while (fgets(line, sizeof line, state)) {
    if (sscanf(line, "%127s %d %d %d", word, &serial, &device, &code) < 4) continue;
    if (strcmp(word, "xid") != 0 || serial <= given) continue;
    given = serial;
    event->device = HANDLE_BASE + 16ULL * (unsigned int)device;
    event->type = 8;
    event->data = (unsigned long long)code;
    fclose(state);
    return SUCCESS;
  }
  fclose(state);
  return TIMEOUT;
}
