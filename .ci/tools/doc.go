// Package tools has no code: its tests try how releases are made, and its go.mod pins the tools of CI.
package tools
