// The way out of what is stuck: a person has undone by hand what a chaos pod has left, and takes the finalizer off that holds it.

/** As people type it. */
export function removeFinalizerCommand(namespace: string, pod: string): string {
  return `kubectl -n ${namespace} patch pod ${pod} --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`
}
