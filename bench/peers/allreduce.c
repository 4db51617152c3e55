// allreduce BYTES SECONDS: MPI_Allreduce of as many bytes of float32, in place, one call after another for so many seconds.
//
// Rank 0 prints one line of JSON: the calls that were measured and the seconds that they took. The sums are checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const int kWarmUp = 3;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) {
    if (rank == 0) fprintf(stderr, "usage: allreduce BYTES SECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int count = (int)(atol(argv[1]) / (long)sizeof(float));
  const double seconds = atof(argv[2]);
  float* vector = malloc((size_t)count * sizeof(float));
  double begin = 0, now = 0;
  long calls = -kWarmUp;
  for (int goes_on = 1; goes_on; ++calls) {
    if (calls == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
    }
    // The sum over the ranks is `size` again in every call.
    for (int i = 0; i < count; ++i) vector[i] = calls == -kWarmUp ? 1.0f : vector[i] / (float)size;
    MPI_Allreduce(MPI_IN_PLACE, vector, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    now = MPI_Wtime();
    // Rank 0 decides for all: its word costs less than one call in a hundred takes.
    goes_on = calls < 0 || now - begin < seconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += vector[i] != (float)size;
  if (wrong > 0) {
    fprintf(stderr, "rank %d: %d of %d sums are wrong\n", rank, wrong, count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) printf("{\"calls\":%ld,\"seconds\":%.6f}\n", calls, now - begin);
  MPI_Finalize();
  return 0;
}
