// Package page draws the life of a job, and the jobs of a sweep, each as one HTML file. The file needs no network and no script: it can be
// kept, sent and printed. All of it is pure, but for read.go.
//
// What is shown is what the job's status, its pods and its events tell. Where they tell nothing, the drawing says so. The program's words
// for times are the operator's: kernel/time.md has them.
//
// # How it is drawn
//
//   - job_row.go says what the time of the job as a whole was spent on, from status.time and status.history.
//   - replicas.go says what each replica did, from the pods that are still there, and which failures are known of it.
//   - bands.go has neighbours share a row, in a job of many replicas. So 20,000 replicas have as many rows as 100.
//   - timeline.go puts both on a time axis; time_spent.go, chart.go, steps.go and failures.go are the other parts of the page.
//   - draw.go and pages.go write the pages. html.go escapes what they write, and has the policy that allows the style sheet and nothing else.
//
// # Why no library draws it
//
// Of libraries that draw SVG in Go two are kept up. A program of nothing but one curve grows by 2.1 MB with github.com/go-analyze/charts v0.6.4,
// and by 7.7 MB with gonum.org/v1/plot v0.17.0, mostly by fonts. Both write a style attribute with fixed colours into each element. The page's
// policy refuses style attributes, and a dark page needs other colours. Neither has rows of replicas over time. What is left for them are two
// curves: axis.go and chart.go are less than that is worth.
//
// html/template makes this program larger by 12.8 MB, a third. It finds methods by their names, so the linker must keep those of all types. What it
// knows more than html.EscapeString are scripts, style and addresses. The page has none of these to fill in: values are text, or stand in quoted
// attributes. Tests hold that: they read the page as a browser does, and allow only elements and attributes that they list.
package page
