// Checks once whether the deployed objects are ready: the default rules for the objects of the item, then the user's checks, one after another.
// Source: spec/landscaper.md 4.5, appendix B 27.
//
//   R1. A check has no memory: it evaluates selectors again each time, so it does not wait for an object that was replaced.
//   R2. A status counts only if it describes the object's current generation (generation.ts).
//   R3. An object that runs once is ready when it is gone. Its custom checks are those that its last observation satisfied.

import type { KubeObject } from '../../../../kube/client.ts'
import { resourcePath } from '../../../../kube/resource-path.ts'
import type { DeployStep, ItemWork } from '../../run/deployer.ts'
import { configurationProblem, shortenText } from '../../run/deploy-errors.ts'
import { inParallel } from '../../../../kube/in-parallel.ts'
import { listObjects, MAX_OBJECTS } from '../../target/answers.ts'
import { describeObject, type ObjectReference, readObject, readReferred } from '../../target/read-object.ts'
import type { TargetCluster } from '../../target/target-cluster.ts'
import { type ManagedResource, resourceKey } from '../managed-resources.ts'
import { notReady } from './default-checks.ts'
import { staleStatus, withoutStaleConditions } from './generation.ts'
import type { CustomCheck, LabelSelector, ReadinessConfig } from './readiness-config.ts'

/** An object that the item deployed. */
export interface ManagedObject extends ObjectReference {
  /** It runs once, and was applied: it is ready when it is gone. */
  readonly isFinished?: boolean
}

export interface ReadinessInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'data' | 'signal'>
  readonly objects: readonly ManagedObject[]
  readonly config: ReadinessConfig
  /** The uids of objects that this attempt has changed. */
  readonly changed?: ReadonlySet<string | undefined>
  /** The objects of the item that run once. */
  readonly finished?: readonly ManagedResource[]
  /** Called with each object that the default checks read. */
  readonly observe?: (object: KubeObject) => void
  /** Called when an object that runs once satisfies a custom check. */
  readonly satisfied?: (finished: ManagedResource, check: string) => void
}

const READS_AT_ONCE = 10

/**
 * @returns `done`, or `waiting` for the first object with missing state; `hasVanished`: some objects no longer exist. @throws KubeError, DeployError
 */
export async function checkReadiness(input: ReadinessInput): Promise<Readiness> {
  const { config } = input
  await checkFinished(input)
  const [missing, ...others] = config.disableDefault ? [] : await defaultChecks(input)
  if (missing !== undefined) {
    const hasVanished = [missing, ...others].some(({ isGone }) => isGone)
    return { ...waitingFor(missing), ...(hasVanished && { hasVanished }) }
  }
  for (const check of config.custom) {
    const lack = await customCheck(input, check)
    if (lack !== undefined) return waitingFor({ ...lack, what: `check "${check.name}": ${lack.what}` })
  }
  return { result: 'done' }
}

/** R3. An object that runs once may be gone before the others are ready. */
async function checkFinished(input: ReadinessInput): Promise<void> {
  const { work, config, finished = [], satisfied } = input
  const pairs = finished.flatMap((one) => {
    const open = config.custom.filter((check) => names(check, one) && !isSatisfied(one, check))
    return open.map((check) => ({ one, check }))
  })
  await inParallel(pairs, READS_AT_ONCE, async ({ one, check }) => {
    const object = await readObject(work.target, one.resource, work.signal)
    if (object === undefined || (await missingState(input, check, object, one.resource.kind)) !== undefined) return
    satisfied?.(one, check.name)
  })
}

function names({ resources, targetName }: CustomCheck, { resource }: ManagedResource): boolean {
  return targetName === undefined && resources.some((reference) => isSameObject(reference, resource))
}

function isSameObject({ namespace, ...reference }: ObjectReference, resource: ManagedResource['resource']): boolean {
  return resourceKey({ ...reference, ...(namespace !== undefined && { namespace }) }) === resourceKey(resource)
}

const isSatisfied = ({ applied }: ManagedResource, { name }: CustomCheck) => applied?.checks?.includes(name) === true

export type Readiness = DeployStep & { readonly hasVanished?: true }

interface MissingState {
  readonly reference: Omit<ObjectReference, 'apiVersion'>
  readonly what: string
  readonly isGone?: boolean
}

// Source: spec/landscaper.md 4.5 "Timeout checkpoints".
function waitingFor({ reference: { namespace = '', name, kind }, what }: MissingState): DeployStep {
  const checkpoint = `deployer: during readiness check - resource ${shortenText(`${namespace}/${name}`)} of type ${kind}`
  return { result: 'waiting', checkpoint, waitingFor: shortenText(what) }
}

async function defaultChecks({ work, objects, changed, observe }: ReadinessInput): Promise<readonly MissingState[]> {
  const lacks = await inParallel(objects, READS_AT_ONCE, async (reference): Promise<MissingState | undefined> => {
    const object = await readObject(work.target, reference, work.signal)
    const isGone = object === undefined
    if (!isGone) observe?.(object)
    else if (reference.isFinished === true) return undefined
    const problem = isGone ? 'it does not exist' : notReady(object, changed?.has(object.metadata.uid))
    return problem === undefined ? undefined : { reference, what: `${describeObject(reference)}: ${problem}`, isGone }
  })
  return lacks.filter((lack) => lack !== undefined)
}

async function customCheck(input: ReadinessInput, check: CustomCheck): Promise<MissingState | undefined> {
  const { work, finished = [] } = input
  const target = check.targetName === undefined ? work.target : await work.openTarget(check.targetName)
  const named = await inParallel(check.resources, READS_AT_ONCE, async (reference) => {
    const object = await readReferred(target, reference, work.signal)
    if (object !== undefined) return await missingState(input, check, object, reference.kind)
    const known = finished.find((one) => names(check, one) && isSameObject(reference, one.resource))
    if (known === undefined) return { reference, what: `${describeObject(reference)} does not exist` }
    return isSatisfied(known, check) ? undefined : { reference, what: `${describeObject(reference)} ${UNCHECKED}` }
  })
  const lack = named.find((one) => one !== undefined)
  if (lack !== undefined || check.labels === undefined) return lack
  return await labelCheck(target, check, { labels: check.labels, input })
}

const UNCHECKED = 'was deleted before it satisfied the check, and this job does not create it again'

async function labelCheck(
  target: TargetCluster,
  check: CustomCheck,
  { labels, input }: { labels: LabelSelector; input: ReadinessInput },
): Promise<MissingState | undefined> {
  let hasFound = false
  for await (const object of selected(target, labels, input.work.signal)) {
    hasFound = true
    const lack = await missingState(input, check, object, labels.kind)
    if (lack !== undefined) return lack
  }
  if (hasFound) return undefined
  return { reference: { kind: labels.kind, name: '*' }, what: `no ${labels.kind} has the labels of labelSelector` }
}

async function missingState(
  { work: { data }, changed }: ReadinessInput,
  { requirements }: CustomCheck,
  object: KubeObject,
  kind: string,
): Promise<MissingState | undefined> {
  const { name, namespace, uid } = object.metadata
  const current = withoutStaleConditions(object)
  // R2. The operator `!` evaluates all conditions, the other operators the current ones.
  const problem =
    staleStatus(object, changed?.has(uid) === true) ??
    (await data.unsatisfied(object, requirements)) ??
    (current === object ? undefined : await data.unsatisfied(current, requirements))
  return problem === undefined
    ? undefined
    : {
        reference: { kind, name, namespace },
        what: `${describeObject({ apiVersion: '', kind, name, namespace })}: ${problem}`,
      }
}

/** All objects with the labels, in all namespaces. */
async function* selected(target: TargetCluster, labels: LabelSelector, signal: AbortSignal): AsyncIterable<KubeObject> {
  const served = await target.servedKind(labels.apiVersion, labels.kind, signal)
  if (served === undefined) return
  const labelSelector = Object.entries(labels.matchLabels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
  const tooMany = () => {
    const message = `labelSelector: found more than ${MAX_OBJECTS} objects of kind ${labels.kind}; use more labels`
    return configurationProblem('ReadinessCheck', 'InvalidConfiguration', message)
  }
  yield* listObjects(target.kube, resourcePath(served, undefined), { labelSelector, signal, tooMany })
}
