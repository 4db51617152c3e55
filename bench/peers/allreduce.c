// allreduce BYTES TURNS: MPI_Allreduce of so many bytes of float32, one call after another.
//
// Rank 0 prints one line of JSON: the seconds of each call but the first ones, which make the connections. The sums are checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWarm = 3 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) {
    if (rank == 0) fprintf(stderr, "usage: allreduce BYTES TURNS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int count = (int)(atol(argv[1]) / (long)sizeof(float)), turns = atoi(argv[2]);
  float* const values = malloc((size_t)count * sizeof(float));
  float* const sums = malloc((size_t)count * sizeof(float));
  double* const seconds = malloc((size_t)turns * sizeof(double));
  for (int i = 0; i < count; ++i) values[i] = 1.0f;
  for (int turn = -kWarm; turn < turns; ++turn) {
    const double begin = MPI_Wtime();
    MPI_Allreduce(values, sums, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (turn >= 0) seconds[turn] = MPI_Wtime() - begin;
  }
  for (int i = 0; i < count; ++i) {
    if (sums[i] == (float)size) continue;
    fprintf(stderr, "rank %d: sum %d is %g; it should be %d\n", rank, i, sums[i], size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) {
    printf("{\"seconds\":[");
    for (int turn = 0; turn < turns; ++turn) printf("%s%.6f", turn == 0 ? "" : ",", seconds[turn]);
    printf("]}\n");
  }
  MPI_Finalize();
  return 0;
}
