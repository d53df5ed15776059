// Package python tests the Python package of cmd/python against a real apiserver, with the operator as a process of its own. There is
// no kubelet: the tests, which are written in Python, say how pods fare. Run it with `make test-python`, which makes a Python with all
// that they need.
//
// What needs a kubelet, which are logs, and code that really runs, is tested by TestPython of e2e/suite.
package python
