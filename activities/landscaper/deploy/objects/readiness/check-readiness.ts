// One look whether what was deployed is ready: the default rules for the objects of the item, then the user's checks, one after another.
// Source: spec/landscaper.md 4.5, appendix B 27.
//
//   R1. A look remembers nothing: what a selector finds is asked anew each time, so an object that was replaced is not waited for.

import type { KubeObject } from '../../../../kube/client.ts'
import { resourcePath } from '../../../../kube/resource-path.ts'
import type { DeployStep, ItemWork } from '../../run/deployer.ts'
import { configurationProblem, shortened } from '../../run/deploy-errors.ts'
import { inParallel } from '../../../../kube/in-parallel.ts'
import { listed, MOST_OBJECTS } from '../../target/answers.ts'
import { describeObject, type ObjectReference, readObject, readReferred } from '../../target/read-object.ts'
import type { TargetCluster } from '../../target/target-cluster.ts'
import { notReady } from './default-checks.ts'
import type { CustomCheck, LabelSelector, ReadinessConfig } from './readiness-config.ts'

/** An object that the item deployed. */
export type ManagedObject = ObjectReference

export interface ReadinessInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'data' | 'signal'>
  readonly objects: readonly ManagedObject[]
  readonly config: ReadinessConfig
}

const READS_AT_ONCE = 10

/** @returns `done`, or `waiting` for the first object that lacks something; `hasVanished`: some are not there any more. @throws KubeError, DeployError */
export async function checkReadiness({ work, objects, config }: ReadinessInput): Promise<Readiness> {
  const [missing, ...others] = config.disableDefault ? [] : await defaultChecks(work, objects)
  if (missing !== undefined) {
    const hasVanished = [missing, ...others].some(({ isGone }) => isGone)
    return { ...waitingFor(missing), ...(hasVanished && { hasVanished }) }
  }
  for (const check of config.custom) {
    const lack = await customCheck(work, check)
    if (lack !== undefined) return waitingFor({ ...lack, what: `check ${check.name}: ${lack.what}` })
  }
  return { result: 'done' }
}

export type Readiness = DeployStep & { readonly hasVanished?: true }

interface Lack {
  readonly reference: Omit<ObjectReference, 'apiVersion'>
  readonly what: string
  readonly isGone?: boolean
}

// Source: spec/landscaper.md 4.5 "Timeout checkpoints".
function waitingFor({ reference: { namespace = '', name, kind }, what }: Lack): DeployStep {
  const checkpoint = `deployer: during readiness check - resource ${shortened(`${namespace}/${name}`)} of type ${kind}`
  return { result: 'waiting', checkpoint, waitingFor: shortened(what) }
}

async function defaultChecks(
  work: ReadinessInput['work'],
  objects: readonly ManagedObject[],
): Promise<readonly Lack[]> {
  const lacks = await inParallel(objects, READS_AT_ONCE, async (reference): Promise<Lack | undefined> => {
    const object = await readObject(work.target, reference, work.signal)
    const isGone = object === undefined
    const problem = isGone ? 'it is not there' : notReady(object)
    return problem === undefined ? undefined : { reference, what: `${describeObject(reference)}: ${problem}`, isGone }
  })
  return lacks.filter((lack) => lack !== undefined)
}

async function customCheck(work: ReadinessInput['work'], check: CustomCheck): Promise<Lack | undefined> {
  const target = check.targetName === undefined ? work.target : await work.openTarget(check.targetName)
  const named = await inParallel(check.resources, READS_AT_ONCE, async (reference) => {
    const object = await readReferred(target, reference, work.signal)
    if (object === undefined) return { reference, what: `${describeObject(reference)} is not there` }
    return await lackOf(work, check, object, reference.kind)
  })
  const lack = named.find((one) => one !== undefined)
  if (lack !== undefined || check.labels === undefined) return lack
  return await labelCheck(target, check, { labels: check.labels, work })
}

async function labelCheck(
  target: TargetCluster,
  check: CustomCheck,
  { labels, work }: { labels: LabelSelector; work: ReadinessInput['work'] },
): Promise<Lack | undefined> {
  let hasFound = false
  for await (const object of selected(target, labels, work.signal)) {
    hasFound = true
    const lack = await lackOf(work, check, object, labels.kind)
    if (lack !== undefined) return lack
  }
  if (hasFound) return undefined
  return { reference: { kind: labels.kind, name: '*' }, what: `no ${labels.kind} has the labels of the selector` }
}

async function lackOf(
  { data }: ReadinessInput['work'],
  check: CustomCheck,
  object: KubeObject,
  kind: string,
): Promise<Lack | undefined> {
  const { name, namespace } = object.metadata
  const problem = await data.unsatisfied(object, check.requirements)
  return problem === undefined
    ? undefined
    : {
        reference: { kind, name, namespace },
        what: `${describeObject({ apiVersion: '', kind, name, namespace })}: ${problem}`,
      }
}

/** All objects with the labels, over all namespaces. */
async function* selected(target: TargetCluster, labels: LabelSelector, signal: AbortSignal): AsyncIterable<KubeObject> {
  const served = await target.servedKind(labels.apiVersion, labels.kind, signal)
  if (served === undefined) return
  const labelSelector = Object.entries(labels.matchLabels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
  const tooMany = () => {
    const message = `labelSelector of kind ${labels.kind} finds more than ${MOST_OBJECTS} objects`
    return configurationProblem('ReadinessCheck', 'InvalidConfiguration', message)
  }
  yield* listed(target.kube, resourcePath(served, undefined), { labelSelector, signal, tooMany })
}
