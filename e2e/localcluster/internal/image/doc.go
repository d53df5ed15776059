// Package image makes container image archives without a registry, a daemon or
// a Dockerfile. It takes a static binary alone, or files on top of a whole file
// system that WriteTree has written.
//
// The archive is a docker-archive tar, the one format that ctr, crane, skopeo
// and docker all read. The same input gives the same bytes, for files are in a
// fixed order. There is no timestamp but those inside a Base, whose programs may
// depend on them.
package image
