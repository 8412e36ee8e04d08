// The kinds that end something: nodeFailure, containerFailure, podReplacement. Wire format: spec/chaos.md 1.6.

import { flag, int64, record, type ValueOf } from '../../../kit/index.ts'

export const nodeFailureField = record('Ends the node, at level pod the one of the pod.', {
  shutdown: flag('Whether it is powered off; otherwise its kernel crashes.'),
})

export const containerFailureField = record('Ends the containers of the target.', {
  forced: flag('Whether they are killed (SIGKILL); otherwise they are told to end (SIGTERM).'),
})

export const podReplacementField = record('Deletes the pod, so that another one comes on another node.', {
  deleteStorage: flag('Whether its PersistentVolumeClaims are deleted as well; by default they are.'),
  forceDelete: flag('Whether it is deleted without a grace period.'),
  gracePeriodSeconds: int64("Its grace period; default: the pod's own.", { minimum: 0 }),
})

export type NodeFailure = ValueOf<typeof nodeFailureField>
export type ContainerFailure = ValueOf<typeof containerFailureField>
export type PodReplacement = ValueOf<typeof podReplacementField>
