// Package goodput gives the life of one job to two bookkeepers. One is the kernel, which keeps status.time. The other is
// ml-goodput-measurement, Google's library for the code of a job. Its tests explain each second of both. kernel/time.md has the table that they
// write.
//
// `make test-goodput` makes a Python with the library, which comes from PyPI. Without that only the kernel's time spent is tested.
package goodput
