// Writes of an action in level mode: one activity call each, after a check of the declared writes. Also collects
// piggybacked events, which travel with the pass's next call, because an own call costs as much as a write.
//
//   P1. Contents of Secrets are neither read into the history nor accepted from an action.
//   P2. An action writes only where its controller declares writes (declared-writes.ts).
//   P3. Piggybacked events are recorded in order, before the call that carries them takes effect.
//   P4. Settle, or the end of the run, records events that no call carried.

import { type LevelController, type LevelResource, resourceOf, type SentTarget } from '../level/define-level.ts'
import { fitAnnotations } from '../byte-limits.ts'
import type { ApplyOptions, CreateOptions, LevelActs, ObservedObject, WantedObject } from '../level/level-pass.ts'
import type { LevelActivities, LevelEvent } from '../level/level-activities.ts'
import { CHANGED } from '../next-pass.ts'
import type { By, Subject } from '../subject.ts'
import { type SecretGap, takeSecrets } from '../level/secret-values.ts'
import { LEVEL_SUMMARIES } from '../temporal-ui.ts'
import { checkWritePlace } from '../level/declared-writes.ts'
import { finalFailure, retryableFailure, shortActivities } from './temporal.ts'

/** The pass and object of an action. */
export interface ActorRef {
  readonly by: By
  readonly subject: Subject
  readonly target: SentTarget
}

export function actsOf(controller: LevelController, actor: ActorRef, piggybacked: PiggybackedEvents): LevelActs {
  const activities = shortActivities<LevelActivities>(LEVEL_SUMMARIES)
  const { subject } = actor
  const base = () => ({ ...actor, ...piggybacked.take() })
  const known = ({ apiVersion, kind, metadata }: ObservedObject): ObservedObject => {
    const { name, namespace, uid, resourceVersion } = metadata
    return { apiVersion, kind, metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) } }
  }
  const wanted = (object: WantedObject, { owner }: CreateOptions) => {
    const { value, gaps } = takeSecrets(object)
    refuseSecrets(value, gaps)
    const place = checkedPlace(controller, subject, object)
    return { ...base(), ...place, object: value, ...(owner && { owner }), ...(gaps.length > 0 && { gaps }) }
  }
  return {
    async apply(given: object, options: ApplyOptions = {}) {
      const object = given as WantedObject
      const { adopt, expected } = options
      const how = { ...(adopt === true && { adopt }), ...(expected && { expected: known(expected) }) }
      const answer = await activities.applyLevel({ ...wanted(object, options), ...how })
      if (answer === 'changed') throw changedSince(subject, expected ?? object)
    },
    async create(given: object, options: CreateOptions = {}) {
      return await activities.createLevel(wanted(given as WantedObject, options))
    },
    async patch(object, patch, { fenced = false } = {}) {
      const { resource } = checkedPlace(controller, subject, object)
      const { value, gaps } = takeSecrets(patch)
      refuseSecrets({ ...value, ...known(object) }, gaps)
      const how = { fenced, ...(gaps.length > 0 && { gaps }) }
      const input = { ...base(), resource, object: known(object), patch: value, ...how }
      if ((await activities.patchLevel(input)) === 'changed') throw changedSince(subject, object)
    },
    async remove(object) {
      const { resource } = observedPlace(controller, subject, object)
      const answer = await activities.removeLevel({ ...base(), resource, object: known(object) })
      if (answer !== 'removed') throw changedSince(subject, object)
    },
    async release(object, finalizer) {
      const { resource } = observedPlace(controller, subject, object)
      return await activities.releaseLevel({ ...base(), resource, object: known(object), finalizer })
    },
    async event({ about, annotations: given, ...event }) {
      const { eventSource: source, settings } = controller
      const annotations = fitAnnotations(given)
      const recorded = {
        event: { ...event, ...(about && { about: known(about) }), ...(annotations && { annotations }) },
        ...(source !== undefined && { source }),
      }
      if (settings?.events === 'along') piggybacked.add(recorded)
      else await activities.eventLevel({ ...base(), ...recorded })
    },
  }
}

type Named = Pick<WantedObject, 'apiVersion' | 'kind'> & {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

interface Place {
  readonly resource: LevelResource
  readonly elsewhere?: true
}

/** P2. @throws `UnknownKind`, `UndeclaredWrite`, `OtherNamespace` (final). */
function checkedPlace(controller: LevelController, subject: Subject, object: Named): Place {
  const { target, writes } = controller
  const resource = resourceFor(controller, object)
  const kind = `${object.apiVersion}/${object.kind}`
  const home = subject.namespace
  const namespace = resource.withoutNamespace === true ? '' : (object.metadata.namespace ?? home)
  const isTarget = kind === `${target.apiVersion}/${target.kind}` && object.metadata.name === subject.name
  if (isTarget && namespace === home) return { resource }
  const check = checkWritePlace(writes, { kind, namespace, targetNamespace: home })
  const what = `${object.kind} ${placeText({ namespace, name: object.metadata.name })}`
  if (check === 'undeclared')
    throw finalFailure(
      'UndeclaredWrite',
      `${what}: controller ${controller.name} does not declare writes of this kind; add ${kind} to \`writes\``,
    )
  if (check === 'elsewhere')
    throw finalFailure(
      'OtherNamespace',
      `${what}: found another namespace than that of ${subject.kind} ${placeText(subject)}; use the same namespace, or add this one to \`writes\` of controller ${controller.name}`,
    )
  return { resource, ...(home !== '' && namespace !== home && { elsewhere: true }) }
}

/** An observed object may be deleted in its place, unless the controller declares its writes. */
function observedPlace(controller: LevelController, subject: Subject, object: ObservedObject): Place {
  return controller.writes.length === 0
    ? { resource: resourceFor(controller, object) }
    : checkedPlace(controller, subject, object)
}

function resourceFor(controller: LevelController, { apiVersion, kind }: Pick<Named, 'apiVersion' | 'kind'>) {
  try {
    return resourceOf(controller, `${apiVersion}/${kind}`)
  } catch (error) {
    throw finalFailure('UnknownKind', error instanceof Error ? error.message : '')
  }
}

function changedSince(subject: Subject, { kind, metadata }: Named) {
  const { name, namespace = '' } = metadata
  const message = `${kind} ${placeText({ name, namespace })} has changed since the pass of ${subject.kind} ${subject.name} observed it`
  return retryableFailure(CHANGED, message)
}

function placeText({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

/** P1. References to Secret values are allowed: the sending activity fills them in. */
function refuseSecrets({ apiVersion, kind, metadata, ...rest }: WantedObject, gaps: readonly SecretGap[]): void {
  if (apiVersion !== 'v1' || kind !== 'Secret') return
  const filled = new Set(gaps.map(({ at }) => at.join('.')))
  const isWord = (field: string, [key, value]: [string, unknown]) => value !== null && !filled.has(`${field}.${key}`)
  const found = ['data', 'stringData'].filter((field) => {
    const entries = Object.entries(rest[field] ?? {})
    return field === 'data' ? entries.some(([, value]) => value !== null) : entries.some((one) => isWord(field, one))
  })
  if (found.length === 0) return
  const message = `Secret ${metadata.name}: found values in ${found.join(' and ')}; use only secretRef values in stringData, because Temporal stores all other values in the history of the run`
  throw finalFailure('SecretContent', message)
}

/** Events that wait for the run's next call. */
export interface PiggybackedEvents {
  readonly add: (event: LevelEvent) => void
  /** The events as a part of the call's input. */
  readonly take: () => { readonly told?: readonly LevelEvent[] }
}

export function createPiggybackedEvents(): PiggybackedEvents {
  let pending: readonly LevelEvent[] = []
  return {
    add: (event) => {
      pending = [...pending, event]
    },
    take: () => {
      const events = pending
      pending = []
      return events.length === 0 ? {} : { told: events }
    },
  }
}
