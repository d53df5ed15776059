// Package pki makes the certificates of a throw-away cluster. One authority
// signs the client and server certificates of all components. The package also
// makes the key that signs ServiceAccount tokens.
//
// The keys protect a cluster on one machine for as long as it runs; nothing
// here rotates.
package pki
