// Built with: g++ -O1 naps.cc -lbenchmark -lpthread -o naps
#include <benchmark/benchmark.h>
#include <chrono>
#include <thread>
#include <vector>

static void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Google Benchmark's own threads: every thread makes whole iterations.
static void BM_nap(benchmark::State& state) {
  for (auto _ : state) sleep_for(0.01);
}
BENCHMARK(BM_nap)->ThreadRange(1, 4)->UseRealTime()->Iterations(3)->Repetitions(5);

// Threads of the program: an iteration shares 40 ms out among them.
static void share_out(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (int i = 0; i < state.range(0); i++) threads.emplace_back(sleep_for, 0.04 / state.range(0));
    for (auto& thread : threads) thread.join();
  }
  state.counters["workers"] = state.range(0);
}
static void BM_named(benchmark::State& state) { share_out(state); }
static void BM_plain(benchmark::State& state) { share_out(state); }
BENCHMARK(BM_named)->ArgName("threads")->RangeMultiplier(2)->Range(1, 4)->UseRealTime()->Iterations(3)->Repetitions(5);
BENCHMARK(BM_plain)->RangeMultiplier(2)->Range(1, 4)->UseRealTime()->Iterations(3)->Repetitions(5);

BENCHMARK_MAIN();
