// Package translatortest tests a translator with files. testdata/<case>.yaml is a job as a user writes it, and
// testdata/<case>.golden.yaml what it compiles to:
//
//	func TestGolden(t *testing.T) { translatortest.Golden(t, framework.Register(Translator)) }
//
// `go test -update` rewrites the golden files. Each case must also keep the promises of framework.Translator, and must
// not panic when parts of it are missing or make no sense; see promises.go and damage.go. Of a long file among a program's data the golden
// file has the sum alone.
package translatortest
