// The writes of a test's pass (`pass.act`): changes of objects in memory by the rules of the activities
// (activities/run/level/), or faults that the test requests.

import { type LevelController, resourceOf } from '../run/level/define-level.ts'
import { fitAnnotations } from '../run/byte-limits.ts'
import type {
  ApplyOptions,
  CreateOptions,
  JsonObject,
  LevelActs,
  ObjectPatch,
  ObservedObject,
  WantedObject,
} from '../run/level/level-pass.ts'
import { CHANGED } from '../run/next-pass.ts'
import { renderSecretRefs } from '../run/level/secret-values.ts'
import { checkWritePlace } from '../run/level/declared-writes.ts'
import type { Fault } from '../plan/outcome.ts'
import type { FakeCluster, Named } from './fake-cluster.ts'
import { FakedFailure, faultsOf } from './fake-activities.ts'
import type { FakedFaults, GivenPass, TestEvent, TestWrite } from './pass-course.ts'
import { namespaceOf } from './stored-objects.ts'

export interface Acting {
  readonly cluster: FakeCluster
  readonly target: JsonObject
  readonly fails: FakedFaults
  readonly released: GivenPass<unknown, unknown>['released']
  /** The acts add to this. */
  readonly writes: TestWrite[]
  readonly events: TestEvent[]
}

export function testActs(controller: LevelController, acting: Acting): LevelActs {
  const { cluster, fails, writes, events } = acting
  const made = (given: object, { owner }: CreateOptions) => {
    const object = renderSecretRefs(given as WantedObject)
    const place = placeOf(controller, acting.target, object)
    return { object, owner: owner ?? (place === 'elsewhere' ? ('label' as const) : ('target' as const)) }
  }
  return {
    apply: (given: object, options: ApplyOptions = {}) =>
      promised(() => {
        const { object, owner } = made(given, options)
        throwIf(faultsOf(fails.apply, object))
        refuseStrangers(acting, object, options.adopt === true)
        if (options.expected !== undefined) refuseChanged(cluster, options.expected, true)
        if (cluster.apply(object, owner)) writes.push({ verb: 'apply', object })
      }),
    create: (given: object, options: CreateOptions = {}) =>
      promised(() => {
        const { object, owner } = made(given, options)
        throwIf(faultsOf(fails.create, object))
        if (cluster.find(object) !== undefined) return 'exists' as const
        cluster.apply(object, owner)
        writes.push({ verb: 'create', object })
        return 'created' as const
      }),
    patch: (object, patch, { fenced = false } = {}) =>
      promised(() => {
        placeOf(controller, acting.target, object)
        throwIf(faultsOf(fails.patch, object))
        refuseChanged(cluster, object, fenced)
        const rendered = renderSecretRefs(patch)
        if (cluster.apply(patched(object, rendered), 'none')) writes.push({ verb: 'patch', object, patch: rendered })
      }),
    remove: (object) =>
      promised(() => {
        resourceFor(controller, object)
        throwIf(faultsOf(fails.remove, object))
        cluster.remove(object)
        writes.push({ verb: 'remove', object })
      }),
    release: (object, finalizer) =>
      promised(() => {
        throwIf(faultsOf(fails.release, object))
        writes.push({ verb: 'release', object, finalizer })
        const becomes = acting.released?.(object) ?? 'released'
        if (becomes === 'gone') cluster.remove(object)
        return becomes
      }),
    event: ({ about, annotations: given, ...event }) =>
      promised(() => {
        const annotations = fitAnnotations(given)
        const whom = about && { about: `${about.kind} ${about.metadata.name}` }
        events.push({ ...event, ...whom, ...(annotations && { annotations }) })
      }),
  }
}

/** Whether the object is in the target's namespace. @throws the fault of an undeclared write. */
function placeOf(controller: LevelController, target: JsonObject, object: Named): 'here' | 'elsewhere' {
  const { apiVersion, kind, metadata } = object
  const home = namespaceOf(target)
  const resource = resourceFor(controller, object)
  const namespace = resource.withoutNamespace === true ? '' : (metadata.namespace ?? home)
  if (isTarget(object, target) && namespace === home) return 'here'
  const verdict = checkWritePlace(controller.writes, {
    kind: `${apiVersion}/${kind}`,
    namespace,
    targetNamespace: home,
  })
  const [what, where] = [`${kind} ${metadata.name}`, `\`writes\` of controller ${controller.name}`]
  if (verdict === 'undeclared')
    throw final('UndeclaredWrite', `${what}: the controller does not declare writes of this kind; add it to ${where}`)
  if (verdict === 'elsewhere')
    throw final(
      'OtherNamespace',
      `${what}: found another namespace than that of the target; use the same namespace, or add this one to ${where}`,
    )
  return namespace === home || home === '' ? 'here' : 'elsewhere'
}

function refuseStrangers({ cluster, target }: Acting, object: WantedObject, isAdopting: boolean): void {
  if (cluster.find(object) === undefined || isTarget(object, target)) return
  const whose = cluster.whose(object)
  const what = `${object.kind} ${object.metadata.name}`
  if (typeof whose === 'object')
    throw final('OwnedByAnother', `${what}: found owner ${whose.owner}; expected no owner, or the target`)
  if (whose === 'nobody' && !isAdopting)
    throw final('NotOwned', `${what}: the object exists without an owner; delete it, or write it with \`adopt: true\``)
}

/** @param isWhole compares the version too. */
function refuseChanged(cluster: FakeCluster, expected: ObservedObject, isWhole: boolean): void {
  const { uid, resourceVersion } = cluster.find(expected)?.metadata ?? {}
  if (uid === expected.metadata.uid && (!isWhole || resourceVersion === expected.metadata.resourceVersion)) return
  const message = `${expected.kind} ${expected.metadata.name} changed`
  throw new FakedFailure({ code: CHANGED, message, retryable: true })
}

function patched({ apiVersion, kind, metadata }: ObservedObject, patch: ObjectPatch): WantedObject {
  const { name, namespace } = metadata
  return { ...patch, apiVersion, kind, metadata: { ...patch.metadata, name, namespace } }
}

function resourceFor(controller: LevelController, { apiVersion, kind }: Pick<Named, 'apiVersion' | 'kind'>) {
  try {
    return resourceOf(controller, `${apiVersion}/${kind}`)
  } catch (error) {
    throw final('UnknownKind', error instanceof Error ? error.message : '')
  }
}

/** The fault that the test requests for this call. */
export function throwIf(wanted: Fault | undefined): void {
  if (wanted !== undefined) throw new FakedFailure(wanted)
}

function isTarget({ apiVersion, kind, metadata }: Named, target: JsonObject): boolean {
  return apiVersion === target.apiVersion && kind === target.kind && metadata.name === target.metadata.name
}

const final = (code: string, message: string) => new FakedFailure({ code, message, retryable: false })

/** Promises that reject, as in a run: a step may start two and await them together. */
async function promised<T>(act: () => T): Promise<T> {
  await Promise.resolve()
  return act()
}
