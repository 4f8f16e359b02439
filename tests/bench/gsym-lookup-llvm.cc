// Times look-ups in a GSYM file with LLVM's GsymReader, to compare with gsym-lookup.c:
// gsym-lookup-llvm FILE COUNT prints the nanoseconds of one look-up, for COUNT look-ups of the same
// addresses in the same order. gsym.sh compiles it where LLVM's headers are installed.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <llvm/DebugInfo/GSYM/FunctionInfo.h>
#include <llvm/DebugInfo/GSYM/GsymReader.h>
#include <llvm/DebugInfo/GSYM/LookupResult.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

static uint64_t random_next(uint64_t &state)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

int main(int argc, char **argv)
{
	const size_t hot = 10000, n = argc > 2 ? strtoul(argv[2], nullptr, 10) : 0;
	auto reader = llvm::gsym::GsymReader::openFile(argv[1]);
	std::vector<uint64_t> addrs(n);
	uint64_t state = 1;
	double best = 1e18;
	size_t found = 0;

	if (!n || !reader) {
		fprintf(stderr, "gsym-lookup-llvm: FILE COUNT\n");
		return 1;
	}
	for (size_t i = 0; i < n && i < hot; i++) {
		uint64_t k = random_next(state) % reader->getNumAddresses();
		auto f = reader->getFunctionInfoAtIndex(k);

		if (!f)
			return 1;
		addrs[i] = *reader->getAddress(k);
		if (f->size())
			addrs[i] += random_next(state) % f->size();
	}
	for (size_t i = hot; i < n; i++)
		addrs[i] = addrs[random_next(state) % hot];
	for (unsigned round = 0; round < 3; round++) {
		struct timespec a, b;

		found = 0;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (uint64_t addr : addrs) {
			auto answer = reader->lookup(addr);

			if (answer)
				found++;
			else
				llvm::consumeError(answer.takeError());
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		double took = (double(b.tv_sec - a.tv_sec) * 1e9 + double(b.tv_nsec - a.tv_nsec)) / double(n);
		best = took < best ? took : best;
	}
	printf("%.1f\n", best);
	return found == n ? 0 : 2;
}
