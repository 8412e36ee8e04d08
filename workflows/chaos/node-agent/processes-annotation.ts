/** On a target pod, where no container runtime is: which processes stand for its containers, such as `{"app": 1234}`. */
export const PROCESSES_ANNOTATION = 'pawl.dev/processes'
