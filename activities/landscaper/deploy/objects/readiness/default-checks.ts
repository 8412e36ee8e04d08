// Readiness of Kubernetes' own workload kinds, by the rules of `kubectl rollout status`. Pure.
// Source: spec/landscaper.md 4.5 and appendix B 28, 29; k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go.

import type { KubeObject } from '../../../../kube/client.ts'
import { staleStatus, withoutStaleConditions } from './generation.ts'
import { fieldsOf } from '../../../../../workflows/kit/index.ts'

/**
 * The missing state of an object; undefined when it is ready. Kinds without a rule are ready as soon as they exist.
 *
 * @param isChanged whether this attempt has changed the object.
 */
export function notReady(object: KubeObject, isChanged = false): string | undefined {
  const group = (object.apiVersion ?? '').split('/').slice(0, -1).join('/')
  const rule = RULES.get(`${object.kind ?? ''}.${group}`)
  if (rule === undefined) return undefined
  return staleStatus(object, isChanged) ?? rule(object, fieldsOf(object['spec']), fieldsOf(object['status']))
}

type Fields = Readonly<Record<string, unknown>>
type Rule = (object: KubeObject, spec: Fields, status: Fields) => string | undefined

const RULES: ReadonlyMap<string, Rule> = new Map([
  ['Pod.', podProblem],
  ['ReplicationController.', observed(replicaSetProblem)],
  ['ReplicaSet.apps', observed(replicaSetProblem)],
  ['Deployment.apps', observed(deploymentProblem)],
  ['StatefulSet.apps', observed(statefulSetProblem)],
  ['DaemonSet.apps', observed(daemonSetProblem)],
])

// The numbers of a status belong to the generation that its controller has observed.
function observed(rule: Rule): Rule {
  return (object, spec, status) =>
    count(status['observedGeneration']) < (object.metadata.generation ?? 0)
      ? 'its controller has not observed the latest spec'
      : rule(object, spec, status)
}

function podProblem(object: KubeObject): string | undefined {
  const ready = conditionsOf(fieldsOf(withoutStaleConditions(object)['status'])).find(({ type }) => type === 'Ready')
  if (ready === undefined) return 'it has no condition Ready'
  return ready['status'] === 'True' || ready['reason'] === 'PodCompleted'
    ? undefined
    : 'its condition Ready is not True'
}

function replicaSetProblem(_: KubeObject, spec: Fields, status: Fields): string | undefined {
  const failure = conditionsOf(status).find(({ type }) => type === 'ReplicaFailure')
  if (failure !== undefined && failure['status'] !== 'False') return 'its condition ReplicaFailure is not False'
  return missing('ready', status['readyReplicas'], replicas(spec))
}

function deploymentProblem(_: KubeObject, spec: Fields, status: Fields): string | undefined {
  const wanted = replicas(spec)
  const updated = count(status['updatedReplicas'])
  const old = count(status['replicas']) - updated
  return (
    missing('updated', updated, wanted) ??
    (old > 0 ? oldReplicasText(old) : undefined) ??
    missing('available', status['availableReplicas'], Math.max(wanted, updated))
  )
}

const oldReplicasText = (old: number) => (old === 1 ? '1 old replica still exists' : `${old} old replicas still exist`)

function statefulSetProblem(_: KubeObject, spec: Fields, status: Fields): string | undefined {
  const wanted = replicas(spec)
  const strategy = fieldsOf(spec['updateStrategy'])
  // Then users replace the pods; kubectl does not follow such updates.
  const updated = strategy['type'] === 'OnDelete' ? 0 : Math.max(0, wanted - partition(strategy))
  return missing('updated', status['updatedReplicas'], updated) ?? missing('available', available(status), wanted)
}

// `availableReplicas` exists since Kubernetes 1.22; before, only the ready replicas are known.
const available = (status: Fields) => status['availableReplicas'] ?? status['readyReplicas']

const partition = (strategy: Fields) => count(fieldsOf(strategy['rollingUpdate'])['partition'])

function daemonSetProblem(_: KubeObject, spec: Fields, status: Fields): string | undefined {
  const wanted = count(status['desiredNumberScheduled'])
  const isByHand = fieldsOf(spec['updateStrategy'])['type'] === 'OnDelete'
  return (
    missing('updated', status['updatedNumberScheduled'], isByHand ? 0 : wanted) ??
    missing('available', status['numberAvailable'], wanted)
  )
}

function missing(what: string, actual: unknown, wanted: number): string | undefined {
  const has = count(actual)
  return has >= wanted ? undefined : `${has} of ${wanted} ${wanted === 1 ? 'replica' : 'replicas'} ${what}`
}

// The API server's default.
const replicas = (spec: Fields) => (spec['replicas'] === undefined ? 1 : count(spec['replicas']))
const count = (value: unknown) => (typeof value === 'number' ? value : 0)

function conditionsOf(status: Fields): readonly Fields[] {
  return Array.isArray(status['conditions']) ? status['conditions'].map(fieldsOf) : []
}
