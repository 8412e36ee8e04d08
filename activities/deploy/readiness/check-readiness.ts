// One look whether what was deployed is ready: the default rules for the objects of the item, then the user's checks, one after another.
// Source: spec/landscaper.md 4.5, appendix B 27.
//
//   R1. A look remembers nothing: what a selector finds is asked anew each time, so an object that was replaced is not waited for.

import { type KubeObject, type ObjectList, resourcePath } from '../../kube/client.ts'
import { KubeError } from '../../kube/errors.ts'
import type { DeployStep, ItemWork } from '../deployer.ts'
import { configurationProblem } from '../deploy-errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { describeObject, type ObjectReference, readObject } from '../target/read-object.ts'
import type { TargetCluster } from '../target/target-cluster.ts'
import { unsatisfied } from './custom-checks.ts'
import { notReady } from './default-checks.ts'
import type { CustomCheck, LabelSelector, ReadinessConfig } from './readiness-config.ts'

/** An object that the item deployed. */
export type ManagedObject = ObjectReference

export interface ReadinessInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'signal'>
  readonly objects: readonly ManagedObject[]
  readonly config: ReadinessConfig
}

const READS_AT_ONCE = 10
// Labels may match a whole cluster; what is asked for at once stays far below the limit of an answer's size.
const PAGE_SIZE = '200'
const MOST_PAGES = 500

/** @returns `done`, or `waiting` for the first object that lacks something. @throws KubeError, DeployError */
export async function checkReadiness({ work, objects, config }: ReadinessInput): Promise<DeployStep> {
  const missing = config.disableDefault ? undefined : await defaultChecks(work, objects)
  if (missing !== undefined) return waitingFor(missing)
  for (const check of config.custom) {
    const lack = await customCheck(work, check)
    if (lack !== undefined) return waitingFor({ ...lack, what: `check ${check.name}: ${lack.what}` })
  }
  return { result: 'done' }
}

interface Lack {
  readonly reference: Omit<ObjectReference, 'apiVersion'>
  readonly what: string
}

// Source: spec/landscaper.md 4.5 "Timeout checkpoints".
function waitingFor({ reference: { namespace = '', name, kind }, what }: Lack): DeployStep {
  const checkpoint = `deployer: during readiness check - resource ${namespace}/${name} of type ${kind}`
  return { result: 'waiting', checkpoint, waitingFor: what }
}

async function defaultChecks(work: ReadinessInput['work'], objects: readonly ManagedObject[]): Promise<Lack | undefined> {
  const lacks = await inParallel(objects, READS_AT_ONCE, async (reference) => {
    const object = await readObject(work.target, reference, work.signal)
    const problem = object === undefined ? 'it is not there' : notReady(object)
    return problem === undefined ? undefined : { reference, what: `${describeObject(reference)}: ${problem}` }
  })
  return lacks.find((lack) => lack !== undefined)
}

async function customCheck(work: ReadinessInput['work'], check: CustomCheck): Promise<Lack | undefined> {
  const target = check.targetName === undefined ? work.target : await work.openTarget(check.targetName)
  const named = await inParallel(check.resources, READS_AT_ONCE, async (reference) => {
    const object = await readObject(target, reference, work.signal)
    if (object === undefined) return { reference, what: `${describeObject(reference)} is not there` }
    return lackOf(check, object, reference.kind)
  })
  const lack = named.find((one) => one !== undefined)
  if (lack !== undefined || check.labels === undefined) return lack
  return await labelCheck(target, check, { labels: check.labels, signal: work.signal })
}

async function labelCheck(
  target: TargetCluster,
  check: CustomCheck,
  { labels, signal }: { labels: LabelSelector; signal: AbortSignal },
): Promise<Lack | undefined> {
  let hasFound = false
  for await (const object of selected(target, labels, signal)) {
    hasFound = true
    const lack = lackOf(check, object, labels.kind)
    if (lack !== undefined) return lack
  }
  if (hasFound) return undefined
  return { reference: { kind: labels.kind, name: '*' }, what: `no ${labels.kind} has the labels of the selector` }
}

function lackOf(check: CustomCheck, object: KubeObject, kind: string): Lack | undefined {
  const { name, namespace } = object.metadata
  const problem = unsatisfied(object, check.requirements)
  return problem === undefined ? undefined : { reference: { kind, name, namespace }, what: `${describeObject({ apiVersion: '', kind, name, namespace })}: ${problem}` }
}

/** All objects with the labels, over all namespaces. */
async function* selected(target: TargetCluster, labels: LabelSelector, signal: AbortSignal): AsyncIterable<KubeObject> {
  const served = await target.servedKind(labels.apiVersion, labels.kind)
  if (served === undefined) return
  const labelSelector = Object.entries(labels.matchLabels).map(([name, value]) => `${name}=${value}`).join(',')
  const path = resourcePath(served, undefined)
  let next: string | undefined
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { labelSelector, limit: PAGE_SIZE, ...(next !== undefined && { continue: next }) }
    const list = await target.kube.request<Partial<ObjectList>>('GET', path, { query, signal })
    if (!Array.isArray(list.items)) throw KubeError.unreachable('GET', path, 'the answer is no list')
    yield* list.items as readonly KubeObject[]
    next = list.metadata?.continue
    if (next === undefined || next === '') return
  }
  const found = `more than ${MOST_PAGES * Number(PAGE_SIZE)} objects`
  throw configurationProblem('ReadinessCheck', 'InvalidConfiguration', `labelSelector of kind ${labels.kind} finds ${found}`)
}
