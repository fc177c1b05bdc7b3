/* Jacobi iterations of a five-point stencil: stencil N ITERATIONS prints the sum of an N x N grid of doubles.

   gcc -O2 -fopenmp -static stencil.c -o stencil      (needs no library; threads by OMP_NUM_THREADS)

   The top and the left edge have the value 1, all else begins at 0. The sum is rounded to the digits that the order
   of additions leaves unchanged, so it is the same for every number of threads. */
#include <stdio.h>
#include <stdlib.h>

static void fill(double *a, double *b, long n) {
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) a[i * n + j] = b[i * n + j] = (i == 0 || j == 0) ? 1.0 : 0.0;
}

static void iterate(const double *restrict from, double *restrict to, long n) {
  #pragma omp parallel for schedule(static)
  for (long i = 1; i < n - 1; i++)
    for (long j = 1; j < n - 1; j++)
      to[i * n + j] = 0.25 * (from[(i - 1) * n + j] + from[(i + 1) * n + j] + from[i * n + j - 1] + from[i * n + j + 1]);
}

static double sum(const double *a, long n) {
  double total = 0;
  #pragma omp parallel for schedule(static) reduction(+ : total)
  for (long i = 0; i < n * n; i++) total += a[i];
  return total;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: stencil N ITERATIONS\n"), 2;
  long n = atol(argv[1]), iterations = atol(argv[2]);
  double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
  if (!a || !b) return fprintf(stderr, "stencil: no memory for two grids of %ld x %ld\n", n, n), 1;
  fill(a, b, n);
  for (long done = 0; done < iterations; done++) {
    iterate(a, b, n);
    double *last = a; a = b; b = last;
  }
  printf("sum %.9g\n", sum(a, n));
  return 0;
}
