// Package translatortest tests a translator with files. testdata/<case>.yaml is a job as a user writes it, and
// testdata/<case>.golden.yaml what it compiles to:
//
//	func TestGolden(t *testing.T) { translatortest.Golden(t, framework.Register(Translator)) }
//
// `go test -update` rewrites the golden files. A golden file has only the checksum of a long file in a program's data. For each case the translator
// must also keep the promises of framework.Translator: see promises.go. And it must not panic if parts of the case are missing or senseless: see
// damage.go.
package translatortest
