#!/usr/bin/env bash
# Removes the operator, its kinds and ALL JOBS of the cluster that the current kubeconfig names.
#
# The order is what matters. Pods carry a finalizer that the operator releases; so the jobs go first, while the operator
# still runs, and their pods with them. Only then go the kinds and the operator. What is left after that (the operator
# was down, a node is dead) is released here, so that no pod hangs in Terminating for ever.
#
# It goes by what an admin has written: this folder, TrainingFrameworks, and UNDEPLOY_KINDS. Nothing that a tenant has written says what
# is deleted: an owner reference may name anything.
#
# It needs kubectl (environment KUBECTL, default kubectl) and may be run again after an interruption.
set -euo pipefail
export LC_ALL=C # sort and comm compare bytes

deploy=$(dirname "${BASH_SOURCE[0]}")
kubectl=${KUBECTL:-kubectl}
wait=${UNDEPLOY_WAIT:-120} # seconds that jobs, and then pods, get to go by themselves
more=${UNDEPLOY_KINDS:-}   # kinds of a translator of your own, as in "jaxjobs.frameworks.example.com"
finalizer=batch.tensorstack.dev/tracking
selector=batch.tensorstack.dev/job-uid

jobPods() {
  "$kubectl" get pods --all-namespaces --selector "$selector" \
    --output go-template='{{range .items}}{{.metadata.namespace}} {{.metadata.name}}{{"\n"}}{{end}}'
}

# Jobs and their pods, in every namespace, after the jobs were asked to go. Owned jobs and pods follow by Kubernetes'
# garbage collection.
awaitGone() {
  local deadline=$((SECONDS + wait)) left
  while left=$("$kubectl" get "$1" --all-namespaces --output name --ignore-not-found && jobPods) && [[ -n $left ]]; do
    if ((SECONDS >= deadline)); then
      echo "$(wc -l <<<"$left") jobs or pods are still there after $wait s; going on, their pods are released below" >&2
      return
    fi
    sleep 1
  done
}

# The kinds, beside those of deploy/crd, whose jobs the operator makes GenericJobs of: those of TrainingFrameworks that it serves,
# Kubeflow's, and those that the admin has named. One that looks like no kind is left out.
servedKinds() {
  local name kinds
  kinds=$("$kubectl" get trainingframeworks.batch.tensorstack.dev --ignore-not-found --output \
    go-template='{{range .items}}{{$k := .spec.kind}}{{range .status.conditions}}{{if and (eq .type "Serving") (eq .status "True")}}{{urlquery $k.kind}}.{{urlquery $k.version}}.{{urlquery $k.group}}{{"\n"}}{{end}}{{end}}{{end}}') ||
    echo "the TrainingFrameworks could not be read: name their kinds in UNDEPLOY_KINDS" >&2
  for name in $more; do
    kinds+=$'\n'$name
  done
  { echo "$kinds" && "$kubectl" get --kustomize "$deploy/kubeflow/crd" --ignore-not-found --output name | sed 's|^.*/||'; } |
    grep --extended-regexp '^[A-Za-z][A-Za-z0-9]*(\.[a-z0-9-]+)+$' | sort --unique || true
}

# Training jobs of such kinds that have a GenericJob: as long as one of them is there, the operator makes that anew. A job is listed
# by namespace, name and UID, which the apiserver has checked. Of what a tenant has written one word is compared with that list: which job
# a GenericJob says that it belongs to; urlquery makes one word of anything.
deleteTrainingJobs() {
  local owned kind jobs namespace name
  # An earlier run may have got so far that the kind itself is gone.
  [[ $kinds == *genericjobs.batch.tensorstack.dev* ]] || return 0
  owned=$("$kubectl" get genericjobs.batch.tensorstack.dev --all-namespaces --ignore-not-found --output \
    go-template='{{range .items}}{{$m := .metadata}}{{range .metadata.ownerReferences}}{{if .controller}}{{$m.namespace}}/{{$m.name}}/{{urlquery .uid}}{{"\n"}}{{end}}{{end}}{{end}}')
  [[ -n $owned ]] || return 0
  for kind in $(servedKinds); do
    jobs=$("$kubectl" get "$kind" --all-namespaces --ignore-not-found --output \
      go-template='{{range .items}}{{.metadata.namespace}}/{{.metadata.name}}/{{.metadata.uid}}{{"\n"}}{{end}}') ||
      { echo "$kind could not be listed; its jobs stay" >&2 && continue; }
    while IFS=/ read -r namespace name _; do
      "$kubectl" delete --namespace="$namespace" --ignore-not-found --wait=false -- "$kind" "$name" ||
        echo "$kind $namespace/$name was not deleted" >&2
    done < <(comm -12 <(sort --unique <<<"$owned") <(sort --unique <<<"$jobs") | grep .)
  done
}

# Nothing will delete or release these pods any more: their jobs are gone, and so is the operator. Names and namespaces of pods are
# words: the apiserver takes no others.
releasePods() {
  local pods namespace name
  pods=$(jobPods)
  [[ -n $pods ]] || return 0
  while read -r namespace name; do
    "$kubectl" delete --namespace="$namespace" --wait=false --ignore-not-found -- pod "$name" ||
      echo "pod $namespace/$name was not deleted" >&2
    "$kubectl" patch --namespace="$namespace" --type strategic \
      --patch "{\"metadata\":{\"\$deleteFromPrimitiveList/finalizers\":[\"$finalizer\"]}}" -- pod "$name" ||
      echo "pod $namespace/$name was not released; if it still exists, remove $finalizer from its metadata.finalizers" >&2
  done <<<"$pods"
}

server=$("$kubectl" config view --minify --output 'jsonpath={.clusters[0].cluster.server}')
echo "This deletes ALL jobs of the cluster at $server, then their kinds and the operator."

kinds=$("$kubectl" get --kustomize "$deploy/crd" --ignore-not-found --output name)
if [[ -n $kinds ]]; then
  # A CRD's name is also the full name of its resource: genericjobs.batch.tensorstack.dev.
  resources=$(sed 's|^.*/||' <<<"$kinds" | paste --serial --delimiters ,)
  deleteTrainingJobs
  "$kubectl" delete "$resources" --all --all-namespaces --wait=false
  awaitGone "$resources"
  # Also deletes jobs that somebody created meanwhile.
  "$kubectl" delete --kustomize "$deploy/crd" --ignore-not-found --timeout="${wait}s" ||
    echo "a kind is still there: some job has a finalizer that is not ours; going on" >&2
fi
# Asked to go, and awaited only after the pods are released: a namespace does not go before its last pod.
"$kubectl" delete --kustomize "$deploy/default" --ignore-not-found --wait=false
releasePods
"$kubectl" delete --kustomize "$deploy/default" --ignore-not-found --timeout="${wait}s"
