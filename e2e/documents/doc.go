// Package documents holds the tests of the documents. Every command in every document runs here, or names the test that runs it. Every
// manifest is applied, and every sample becomes pods.
//
// The test binary is kubectl, the plugin `kubectl gj` and the operator as well, by the name under which it is called. So the
// commands are run as a reader would type them, by bash, against a real apiserver with the real operator behind it. Played are
// the kubelets alone.
package documents
