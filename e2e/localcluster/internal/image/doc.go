// Package image turns static binaries into container image archives without a
// registry, a daemon or a Dockerfile.
//
// The archive is a docker-archive tar, the one format that ctr, crane, skopeo
// and docker all read. The same input gives the same bytes: there is no
// timestamp in it, and files are in a fixed order.
package image
