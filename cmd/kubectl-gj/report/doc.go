// Package report draws the life of a job, and the jobs of a sweep, each as one HTML file. The file needs no network and no script: it can be
// kept, sent and printed. All of it is pure, but for read.go.
//
// What is shown is what the job's status, its pods and its events tell. Where they tell nothing, the drawing says so. The program's words
// for times are the operator's: kernel/time.md has them.
//
// # How it is drawn
//
//   - lane.go says what the time of the job as a whole was spent on, from status.time and status.history.
//   - replicas.go says what each replica did, from the pods that are still there, and which failures are known of it.
//   - bands.go has neighbours share a row, in a job of many replicas. So 20,000 replicas have as many rows as 100.
//   - timeline.go puts both on a time axis; account.go, curve.go and failures.go are the other parts of the page.
//   - html.go fills in the templates in pages. The page's policy allows its own style sheet, and nothing else.
//
// # Why no library draws it
//
// SVG is made by html/template, which escapes what tenants write, in the tree of the page. Of libraries that draw SVG in Go two are kept up.
// github.com/go-analyze/charts v0.6.4 makes a program larger by 2.1 MB, gonum.org/v1/plot v0.17.0 by 7.7 MB, mostly fonts. Both write a style
// attribute with fixed colours into each element. The page's policy refuses style attributes, and a dark page needs other colours.
// Neither has rows of replicas over time. What is left for them are two curves: axis.go and chart.go are less than that is worth.
package report
