/* Jacobi sweeps of a five-point stencil over an N x N grid of doubles: stencil N SWEEPS; threads by OMP_NUM_THREADS.
   gcc -O3 -march=native -fopenmp stencil.c -o stencil */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 4096, sweeps = argc > 2 ? atol(argv[2]) : 80;
  double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
  if (!a || !b) return 1;
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) a[i * n + j] = b[i * n + j] = (i == 0 || j == 0) ? 1.0 : 0.0;
  for (long s = 0; s < sweeps; s++) {
    #pragma omp parallel for schedule(static)
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < n - 1; j++)
        b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
    double *t = a; a = b; b = t;
  }
  double sum = 0;
  #pragma omp parallel for schedule(static) reduction(+ : sum)
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) sum += a[i * n + j];
  printf("sum %.12g\n", sum);
  return 0;
}
