# Draws growth.svg from growth.tsv: `gnuplot growth.gnuplot` in this folder, with Debian's gnuplot-nox.
set terminal svg size 900,640 font "sans,11" background "white"
set output "growth.svg"
set datafile commentschars "#"
set logscale xy
set grid
set key top left
set format y "%g"
set xlabel "pods"
set multiplot layout 2,2

set title "seconds until all pods are created"
plot "growth.tsv" index 0 using 1:2 with linespoints title "jobs of 1 replica", \
     "" index 1 using 1:2 with linespoints title "replicas of 1 job", \
     "" index 1 using 1:7 with lines dashtype 2 title "raw limit"
set title "seconds from the last pod's success to the last job's"
plot "growth.tsv" index 0 using 1:3 with linespoints title "jobs of 1 replica", \
     "" index 1 using 1:3 with linespoints title "replicas of 1 job"
set title "CPU seconds of the operator; peak MiB of its memory"
plot "growth.tsv" index 0 using 1:4 with linespoints title "CPU, jobs of 1 replica", \
     "" index 1 using 1:4 with linespoints title "CPU, replicas of 1 job", \
     "" index 0 using 1:5 with linespoints title "MiB, jobs of 1 replica", \
     "" index 1 using 1:5 with linespoints title "MiB, replicas of 1 job"
set title "writes of the operator"
plot "growth.tsv" index 0 using 1:6 with linespoints title "jobs of 1 replica", \
     "" index 1 using 1:6 with linespoints title "replicas of 1 job"
unset multiplot
