// aggregate tall|wide THREADS WORKERS SECONDS LENGTHS: how a parameter server sums the gradients of its workers and steps the weights, again and again.
//
// LENGTHS are those of the parameters' arrays (keys) in floats, with commas between. Both ways have the same kernels, data and bits, and differ in who does what:
//
//   tall  Keys are cut into chunks of 32 KiB, each with a thread that owns it. The owner adds the pieces of all workers, and steps while the chunk is in its cache.
//   wide  All threads work on one key at a time, a slice each: they add the piece of one worker after another, then step. Each ends with a barrier, because
//         the next piece is added by all of them. This is how MXNet's parameter server does it.
//
// Prints one line of JSON: how many times all weights were stepped in a second, and the sum of the weights after a number of rounds that both ways make.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kChunk = 32 * 1024 / sizeof(float), kMostKeys = 4096, kMostThreads = 64, kChecked = 2, kSpins = 2000 };

static long lengths[kMostKeys], begins[kMostKeys], length;
static int keys, threads, workers, is_tall;
static float **gradients, *sums, *weights, *velocities;
static atomic_int waiting, turn, stopped;
static double window;
static long rounds;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void barrier(void) {
  const int own = atomic_load(&turn);
  if (atomic_fetch_add(&waiting, 1) == threads - 1) {
    atomic_store(&waiting, 0);
    atomic_fetch_add(&turn, 1);
    return;
  }
  for (int spins = 0; atomic_load(&turn) == own; ++spins)
    if (spins > kSpins) sched_yield();
}

static void add(float* restrict sum, const float* restrict gradient, long count, int is_first) {
  if (is_first) {
    memcpy(sum, gradient, (size_t)count * sizeof(float));
    return;
  }
  for (long i = 0; i < count; ++i) sum[i] += gradient[i];
}

static void step(float* restrict weight, float* restrict velocity, const float* restrict sum, long count) {
  const float scale = 1.0f / (float)workers;
  for (long i = 0; i < count; ++i) {
    velocity[i] = 0.9f * velocity[i] + scale * sum[i];
    weight[i] -= 0.01f * velocity[i];
  }
}

static void tall_round(int thread) {
  float sum[kChunk];
  long chunk = 0;
  for (int key = 0; key < keys; ++key) {
    for (long at = begins[key]; at < begins[key] + lengths[key]; at += kChunk, ++chunk) {
      if (chunk % threads != thread) continue;
      const long left = begins[key] + lengths[key] - at, count = left < kChunk ? left : kChunk;
      for (int worker = 0; worker < workers; ++worker) add(sum, gradients[worker] + at, count, worker == 0);
      step(weights + at, velocities + at, sum, count);
    }
  }
}

static void wide_round(int thread) {
  for (int key = 0; key < keys; ++key) {
    const long from = begins[key] + lengths[key] * thread / threads, until = begins[key] + lengths[key] * (thread + 1) / threads;
    for (int worker = 0; worker < workers; ++worker) {
      add(sums + from, gradients[worker] + from, until - from, worker == 0);
      barrier();
    }
    step(weights + from, velocities + from, sums + from, until - from);
    barrier();
  }
}

static double checksum;

static void* work(void* argument) {
  const int thread = (int)(long)argument;
  double began = 0;
  for (long round = 0; !atomic_load(&stopped); ++round) {
    is_tall ? tall_round(thread) : wide_round(thread);
    barrier();
    if (thread == 0) {
      if (round == kChecked - 1) {
        for (long i = 0; i < length; ++i) checksum += weights[i];
        began = now();
      }
      if (round >= kChecked) {
        rounds = round - kChecked + 1;
        if (now() - began >= window) {
          window = now() - began;
          atomic_store(&stopped, 1);
        }
      }
    }
    barrier();
  }
  return NULL;
}

static float* vector(void) {
  float* const found = aligned_alloc(64, ((size_t)length * sizeof(float) + 63) / 64 * 64);
  if (found == NULL) exit(3);
  memset(found, 0, (size_t)length * sizeof(float));
  return found;
}

int main(int argc, char** argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: aggregate tall|wide THREADS WORKERS SECONDS LENGTHS\n");
    return 2;
  }
  is_tall = strcmp(argv[1], "tall") == 0;
  threads = atoi(argv[2]);
  workers = atoi(argv[3]);
  window = atof(argv[4]);
  for (char* word = strtok(argv[5], ","); word != NULL && keys < kMostKeys; word = strtok(NULL, ",")) {
    begins[keys] = length;
    lengths[keys] = atol(word);
    length += lengths[keys++];
  }
  if (threads < 1 || threads > kMostThreads || workers < 1 || length < 1) return 2;
  sums = vector();
  weights = vector();
  velocities = vector();
  gradients = malloc((size_t)workers * sizeof *gradients);
  for (int worker = 0; worker < workers; ++worker) {
    gradients[worker] = vector();
    for (long i = 0; i < length; ++i) gradients[worker][i] = (float)((i * 31 + worker * 17) % 101 - 50) / 64.0f;
  }
  pthread_t others[kMostThreads];
  for (long thread = 1; thread < threads; ++thread) pthread_create(&others[thread], NULL, work, (void*)thread);
  work((void*)0);
  for (int thread = 1; thread < threads; ++thread) pthread_join(others[thread], NULL);
  printf("{\"rate\":%.6g,\"checksum\":%.9g}\n", (double)rounds / window, checksum);
  return 0;
}
