package suite_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// container is one of an MPIJob's, as root on the plain image, with more fields.
func container(fields string) string {
	return `{name: main, image: "localhost/genericjob-mpi-plain:dev", securityContext: {runAsUser: 0}, ` + fields + `}`
}

// asRoot is what Open MPI wants to hear from root, and more variables.
func asRoot(variables string) string {
	return `env: [{name: OMPI_ALLOW_RUN_AS_ROOT, value: "1"}, {name: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, value: "1"}, ` + variables + `]`
}

// mpiJob is a manifest of Kubeflow's: fields of its spec and of its pods, the launcher's container and the workers'.
func mpiJob(name, spec, pod, launcher, worker string) string {
	replicas := `{replicas: %d, template: {spec: {` + pod + `containers: [%s]}}}`
	return "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: " + name + "}\nspec: {" + spec + "mpiReplicaSpecs: {Launcher: " +
		fmt.Sprintf(replicas, 1, launcher) + ", Worker: " + fmt.Sprintf(replicas, 2, worker) + "}}"
}

// computesPi has four processes, two on each of two hosts.
const computesPi = `command: [mpirun, --bind-to, none, -n, "4", python3, /examples/pi.py], `

// hydra says of four processes, two on each of two hosts, where they are. Intel MPI's launcher is Hydra too, and is told the same by other
// names.
const hydra = "mpiexec.hydra -n 4 sh -c 'echo process $PMI_RANK on `hostname`'"

// mpiThatSucceeds are MPIJobs of sorts that people have, with what the launcher's log says.
var mpiThatSucceeds = []struct {
	name, spec, pod, launcher, worker string
	words                             []string
}{
	{"plain", "slotsPerWorker: 2, ", "", computesPi + asRoot(""), "", []string{"process 0 of 4 on plain-worker-0", "process 3 of 4 on plain-worker-1", "pi=3.141593"}},
	{
		"port", "slotsPerWorker: 2, ", "", computesPi + asRoot("{name: OMPI_MCA_plm_rsh_args, value: -p 2222}"),
		`command: [/usr/sbin/sshd], args: [-De, -p, "2222"]`, []string{"process 3 of 4 on port-worker-1", "pi=3.141593"},
	},
	{
		"argument", "slotsPerWorker: 2, ", "",
		`command: [mpirun, --mca, plm_rsh_args, -p 2222, --bind-to, none, -n, "4", python3, /examples/pi.py], ` + asRoot(""),
		`command: [/usr/sbin/sshd], args: [-De, -p, "2222"]`, []string{"process 3 of 4 on argument-worker-1", "pi=3.141593"},
	},
	{ // nothing that the image says of ssh helps
		"options", "slotsPerWorker: 2, ", "",
		`command: [mpirun, --mca, plm_rsh_args, "-F none -o StrictHostKeyChecking=no -p 2022", --bind-to, none, -n, "4", python3, /examples/pi.py], ` + asRoot(""),
		`args: [/usr/sbin/sshd, -De, -p, "2022", -o, UsePAM=no]`, []string{"process 3 of 4 on options-worker-1", "pi=3.141593"},
	},
	{
		"host", "slotsPerWorker: 2, ", "hostNetwork: true, ",
		`command: [mpirun, --bind-to, none, -n, "2", python3, /examples/pi.py], ` + asRoot("{name: OMPI_MCA_plm_rsh_args, value: -p 22422}"),
		`command: [/usr/sbin/sshd], args: [-De, -p, "22422"]`, []string{"process 1 of 2", "pi=3.141593"},
	},
	{
		"both", "runLauncherAsWorker: true, ", "", `command: [mpirun, --bind-to, none, -n, "3", python3, /examples/pi.py], ` + asRoot(""), "",
		[]string{"process 0 of 3 on both-launcher", "process 1 of 3 on both-worker-0", "process 2 of 3 on both-worker-1", "pi=3.141593"},
	},
	{
		"mpich", "mpiImplementation: MPICH, slotsPerWorker: 2, launcherCreationPolicy: WaitForWorkersReady, ", "",
		fmt.Sprintf("command: [sh, -c, %q]", hydra), "", []string{"process 0 on mpich-worker-0", "process 3 on mpich-worker-1"},
	},
	{
		"intel", "mpiImplementation: Intel, slotsPerWorker: 2, launcherCreationPolicy: WaitForWorkersReady, ", "",
		fmt.Sprintf("command: [sh, -c, %q]", `HYDRA_HOST_FILE=$I_MPI_HYDRA_HOST_FILE HYDRA_LAUNCH_EXTRA_ARGS=$I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS `+
			strings.Replace(hydra, "-n", "-ppn $I_MPI_PERHOST -n", 1)), "", []string{"process 0 on intel-worker-0", "process 3 on intel-worker-1"},
	},
}

// mpiOnAPlainImage runs MPIJobs on an image that nobody has prepared for an operator.
func mpiOnAPlainImage(s *space) {
	for _, each := range mpiThatSucceeds {
		manifest := mpiJob(each.name, each.spec, each.pod, container(each.launcher), container(each.worker))
		if strings.Contains(each.pod, "hostNetwork") { // one node has one such port
			manifest = strings.Replace(manifest, "Worker: {replicas: 2", "Worker: {replicas: 1", 1)
		}
		s.kubeflowSucceeds("mpijob/"+each.name, manifest)
		log := s.launcherLog(each.name)
		for _, words := range each.words {
			require.Contains(s.t, log, words)
		}
	}
	s.launcherFails()
	s.workerFails()
	s.mpiJobIsSuspended()
}

// launcherLog is found as a batch Job's is.
func (s *space) launcherLog(job string) string {
	s.t.Helper()
	text, err := s.kubectl("logs", "--selector", "job-name="+job+"-launcher", "--tail=-1")
	require.NoError(s.t, err, text)
	return text
}

// fails waits until an MPIJob has failed for a reason, and returns its message.
func (s *space) fails(name, reason string) (message string) {
	s.t.Helper()
	s.until(name+" fails", func() bool {
		text, err := s.kubectl("get", "mpijob/"+name, "-o", `jsonpath={range .status.conditions[?(@.status=="True")]}{.type} {.reason} {.message}{"\n"}{end}`)
		require.NoError(s.t, err, text)
		require.NotContains(s.t, text, "Succeeded")
		_, message, _ = strings.Cut("\n"+text, "\nFailed "+reason+" ")
		return message != ""
	})
	return message
}

// launcherFails has a launcher that fails each time. It is run again as often as the limit allows, though its restart policy is Never. It
// stays, with what it said, when clean-up takes the workers away.
func (s *space) launcherFails() {
	s.t.Helper()
	text, err := s.apply(mpiJob("broken", "runPolicy: {backoffLimit: 1, cleanPodPolicy: Running}, ", "", container(`command: [sh, -c, "echo cannot; exit 3"]`), container("")))
	require.NoError(s.t, err, text)
	require.NotEmpty(s.t, s.fails("broken", "BackoffLimitExceeded"))
	s.requireRuns(s.job("broken"), "launcher", 2)
	s.awaitNoPods("broken", "worker")
	require.Contains(s.t, s.launcherLog("broken"), "cannot")
}

// workerFails has one of two workers fail. The launcher does without, so the job succeeds, and the worker is not run again.
func (s *space) workerFails() {
	s.t.Helper()
	text, err := s.apply(mpiJob("smaller", "slotsPerWorker: 2, ", "",
		container(`command: [sh, -c, "sleep 20; mpirun --host smaller-worker-0:2 --bind-to none -n 2 python3 /examples/pi.py"], `+asRoot("")),
		container("command: [sh, -c, \"[ `hostname` = smaller-worker-0 ] || exit 7; exec /usr/sbin/sshd -De\"]")))
	require.NoError(s.t, err, text)
	s.succeeds("mpijob/smaller")
	require.Contains(s.t, s.launcherLog("smaller"), "process 1 of 2 on smaller-worker-0")
	s.until("the worker has failed", func() bool {
		return s.pods(s.job("smaller"))["worker-1"].Status.Phase == corev1.PodFailed
	})
	s.requireRuns(s.job("smaller"), "worker", 1, 1)
}

// mpiJobIsSuspended has an MPIJob that begins suspended, is resumed, is suspended while it runs, edited, and resumed.
func (s *space) mpiJobIsSuspended() {
	s.t.Helper()
	text, err := s.apply(mpiJob("later", "slotsPerWorker: 2, runPolicy: {suspend: true}, ", "", container(`command: [sleep, "3600"], `+asRoot("")), container("")))
	require.NoError(s.t, err, text)
	s.awaitMPI("later", "Suspended")
	s.awaitNoPods("later", "launcher")
	s.awaitNoPods("later", "worker")
	s.patchMPI("later", `{"op": "replace", "path": "/spec/runPolicy/suspend", "value": false}`)
	s.awaitMPI("later", "Running")
	s.patchMPI("later", `{"op": "replace", "path": "/spec/runPolicy/suspend", "value": true}`)
	s.awaitMPI("later", "Suspended")
	s.awaitNoPods("later", "launcher")
	s.awaitNoPods("later", "worker")
	const command = "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command"
	s.patchMPI("later", `{"op": "replace", "path": "`+command+`", "value": ["mpirun", "--bind-to", "none", "-n", "4", "python3", "/examples/pi.py"]}`,
		`{"op": "replace", "path": "/spec/runPolicy/suspend", "value": false}`)
	s.succeeds("mpijob/later")
	require.Contains(s.t, s.launcherLog("later"), "pi=3.141593")
}

func (s *space) patchMPI(name string, operations ...string) {
	s.t.Helper()
	text, err := s.kubectl("patch", "mpijob/"+name, "--type", "json", "--patch", "["+strings.Join(operations, ", ")+"]")
	require.NoError(s.t, err, text)
}

// awaitMPI waits until a condition of an MPIJob is true.
func (s *space) awaitMPI(name, condition string) {
	s.t.Helper()
	s.until(name+" is "+condition, func() bool {
		text, err := s.kubectl("get", "mpijob/"+name, "-o", `jsonpath={.status.conditions[?(@.status=="True")].type}`)
		require.NoError(s.t, err, text)
		return strings.Contains(" "+text+" ", " "+condition+" ")
	})
}

// awaitNoPods waits until no pod of a role of an MPIJob is there.
func (s *space) awaitNoPods(name, role string) {
	s.t.Helper()
	s.until("no "+role+" of "+name+" is left", func() bool {
		list := &corev1.PodList{}
		require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns), client.MatchingLabels{
			"training.kubeflow.org/job-name": name, "training.kubeflow.org/job-role": role}))
		return len(list.Items) == 0
	})
}
