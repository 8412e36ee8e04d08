// Objects that run once and then disappear: Jobs with a TTL, pods that end, objects that a controller removes when they are done. Pure.
//
//   O1. Within one reconcile job an object that runs once is not created again after it was applied, also when a user has deleted it: Pawl cannot
//       detect who removed it.
//   O2. The status remembers which job has applied it, with its uid. A worker that dies between the create and the write of the status may create it
//       a second time, if the object has ended and disappeared before the next worker reads it.
//   O3. A further job creates it again, unless the manifest's entry has `recreate: never` and the manifest has not changed since.

import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../../workflows/kit/index.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { groupOf } from '../target/target-cluster.ts'
import { isMap, type Json } from './config-reader.ts'
import type { Applied, ManagedResource } from './managed-resources.ts'
import type { Desired, Manifest } from './manifest.ts'

/** The status entry of an object that this job has applied; undefined when the object is created whenever it is missing. */
export function appliedBy(manifest: Manifest, jobID: string | undefined): Applied | undefined {
  const { recreate, object } = manifest
  const isOnce = recreate === undefined ? runsOnce(object) : recreate !== 'always'
  return isOnce ? applied(manifest, jobID) : undefined
}

/** Like `appliedBy`, for a completed object of any kind. */
export function completedBy(manifest: Manifest, jobID: string | undefined): Applied | undefined {
  return manifest.recreate === 'always' ? undefined : applied(manifest, jobID)
}

function applied({ object }: Manifest, jobID = ''): Applied {
  return { jobID, manifest: createHash('sha256').update(canonicalJson(object)).digest('hex').slice(0, 16) }
}

/** Whether this job does not create the object of the manifest again. */
export function isFinished(manifest: Manifest, known: ManagedResource, jobID: string | undefined): boolean {
  if (known.applied === undefined || known.resource.uid === undefined || manifest.recreate === 'always') return false
  if (known.applied.manifest !== applied(manifest).manifest) return false
  return manifest.recreate === 'never' || (jobID !== undefined && known.applied.jobID === jobID)
}

type Rule = (object: Desired, spec: Json) => boolean

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['Job.batch', () => true],
  // A pod with restartPolicy Always does not end by itself.
  ['Pod.', (_, { restartPolicy }) => restartPolicy === 'Never' || restartPolicy === 'OnFailure'],
  ['Event.', () => true],
  ['Event.events.k8s.io', () => true],
  ['CertificateSigningRequest.certificates.k8s.io', () => true],
  ['Secret.', ({ type, data }) => type === 'bootstrap.kubernetes.io/token' && isMap(data) && 'expiration' in data],
])

/** Custom kinds: Argo Workflows, Tekton, Volcano, Kubeflow, Spark. */
const TTL_FIELD = /^(?:ttlSecondsAfter[A-Z]\w*|ttlStrategy|timeToLiveSeconds)$/

/** Whether such objects end by themselves, or are deleted with their owner. */
export function runsOnce(object: Desired): boolean {
  const spec = isMap(object['spec']) ? object['spec'] : {}
  const { ownerReferences } = object.metadata
  if (Array.isArray(ownerReferences) && ownerReferences.length > 0) return true
  if (Object.entries(spec).some(([field, value]) => TTL_FIELD.test(field) && value !== null)) return true
  return RULES.get(`${object.kind}.${groupOf(object.apiVersion)}`)?.(object, spec) ?? false
}

const END_TIMES = ['completionTime', 'completionTimestamp', 'completedAt', 'finishedAt']

/** Whether the status shows that the object has completed. */
export function isCompleted({ status }: KubeObject): boolean {
  if (!isMap(status)) return false
  const conditions: readonly unknown[] = Array.isArray(status['conditions']) ? status['conditions'] : []
  const isComplete = conditions.some((one) => isMap(one) && one['type'] === 'Complete' && one['status'] === 'True')
  return isComplete || END_TIMES.some((field) => typeof status[field] === 'string')
}
