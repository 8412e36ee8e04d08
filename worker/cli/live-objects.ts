// Reads objects, their Events and their field managers from the API server with the user's permissions: data that the
// journal does not store.

import type { EventRecord } from '../../activities/journal/read/event-queries.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import type { KubeObject, Resource, KubeClient, ObjectList, ObjectMeta } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { Config } from '../server/config.ts'
import { CLI_USER_AGENT, openUserClient, type UserFlags } from './user.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { FIELD_MANAGER_PREFIX } from '../../activities/kube/managed-fields.ts'

export interface LiveRead extends Resource {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** Limits of one command. */
const MOST_READ = 200
const AT_ONCE = 10
const MOST_MS = 10_000

interface LiveObjects {
  /** By uid. */
  readonly objects: ReadonlyMap<string, KubeObject>
  /** Distinct reasons why objects are missing. */
  readonly problems: readonly string[]
}

/** The objects that still exist with the same uid. Failures are returned as problems, not thrown. */
export async function readLive(reads: readonly LiveRead[], flags: UserFlags, config: Config): Promise<LiveObjects> {
  if (reads.length === 0) return { objects: new Map<string, KubeObject>(), problems: [] }
  const problems = new Set<string>()
  if (reads.length > MOST_READ)
    problems.add(`only the first ${MOST_READ} of ${reads.length} objects are read from the API server`)
  const objects = new Map<string, KubeObject>()
  try {
    const kube = await openUserClient(flags, config)
    const signal = AbortSignal.timeout(MOST_MS)
    try {
      await inParallel(reads.slice(0, MOST_READ), AT_ONCE, async (one) => {
        const path = resourcePath(one, one.namespace, one.name)
        const found = await kube.request<KubeObject>('GET', path, { signal }).catch((error: unknown) => {
          problems.add(error instanceof Error ? error.message : String(error))
        })
        if (found?.metadata.uid === one.uid) objects.set(one.uid, found)
      })
    } finally {
      await kube.close()
    }
  } catch (error) {
    problems.add(error instanceof Error ? error.message : String(error))
  }
  return { objects, problems: [...problems].slice(0, 3) }
}

interface EventObject extends KubeObject {
  readonly reason?: string
  readonly message?: string
  readonly lastTimestamp?: string
}

const PAGE = '500'

/**
 * Reads the newest Events of an object as texts `<reason>: <message>`, the newest first. Equal texts occur once.
 *
 * @param since a timestamp of Kubernetes; older Events are left out. Default: all.
 * @returns no texts if the user may not list Events.
 * @throws KubeError for other failures.
 */
export async function newestEvents(
  kube: Pick<KubeClient, 'request'>,
  { namespace, uid }: { readonly namespace: string; readonly uid: string },
  limit: number,
  since?: string,
): Promise<readonly string[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, namespace)
  const query = { fieldSelector: `involvedObject.uid=${uid}`, limit: PAGE }
  const answer = await kube.request<ObjectList>('GET', path, { query }).catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 403) return undefined
    throw error
  })
  const events = ((answer?.items ?? []) as readonly EventObject[])
    .filter((event) => since === undefined || Date.parse(timeOf(event)) >= Date.parse(since))
    .toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1))
  return [...new Set(events.map(({ reason = '', message = '' }) => `${reason}: ${message}`))].slice(0, limit)
}

function timeOf({ lastTimestamp, metadata }: EventObject): string {
  return lastTimestamp ?? metadata.creationTimestamp ?? ''
}

// A write by a client other than Pawl, read from metadata.managedFields. The client chooses its name, and only its last
// write is stored, so this is a hint, not a proof. Source: Kubernetes, "Field Management".

export interface ForeignWrite {
  readonly manager: string
  /** Fields of spec and metadata that the client owns, two levels deep: `spec.imports`. */
  readonly fields: readonly string[]
}

/** The writer of a version that no run of Pawl has journaled. @param by undefined if nothing is known. */
export function clientText(by: Pick<ForeignWrite, 'manager'> | undefined): string {
  if (by === undefined) return 'a client other than Pawl'
  const { manager } = by
  if (manager === CLI_USER_AGENT) return 'a user with pawl'
  // For example the report of a bug, which a worker writes outside of the run.
  if (manager.startsWith(FIELD_MANAGER_PREFIX)) return `Pawl (${manager.slice(FIELD_MANAGER_PREFIX.length)})`
  return `field manager ${manager}`
}

/**
 * If the journal has the field manager of a version, it takes precedence over the live object's field managers.
 *
 * @param live the result of `foreignWriteAt`; its fields come from the last write of its manager.
 */
export function writeOfEvent(
  { manager }: Pick<EventRecord, 'manager'>,
  live: ForeignWrite | undefined,
): ForeignWrite | undefined {
  // An API server of the previous build returns no manager.
  if ((manager ?? null) === null || manager === live?.manager) return live
  return { manager: manager ?? '', fields: [] }
}

/** Timestamps of managedFields are whole seconds. */
const BEFORE_MS = 1000
/** Maximum delay until the journal stored the event. */
const AFTER_MS = 10_000
const MOST_FIELDS = 8

/**
 * @param at time of the journal's event.
 * @param isCreation true for the event of the object's creation: the only client other than Pawl created the object, also
 * if it has written again since.
 * @returns undefined if a later write replaced the entry, or if clocks differ.
 */
export function foreignWriteAt(
  { managedFields = [] }: Pick<ObjectMeta, 'managedFields'>,
  at: Date,
  isCreation = false,
): ForeignWrite | undefined {
  const foreign = managedFields
    .flatMap(({ manager = '', time = '', fieldsV1 }) => ({ manager, ms: Date.parse(time), fieldsV1 }))
    .filter(({ manager }) => manager !== '' && !manager.startsWith(FIELD_MANAGER_PREFIX))
  const [manager, ...others] = new Set(foreign.map((one) => one.manager))
  const found = foreign
    .filter(({ ms }) => ms <= at.getTime() + BEFORE_MS && ms >= at.getTime() - AFTER_MS)
    .toSorted((one, other) => other.ms - one.ms)
  const [last] = found
  // Without fields: managedFields may show a later write of this manager.
  if (last === undefined && isCreation && manager !== undefined && others.length === 0) return { manager, fields: [] }
  return last && { manager: last.manager, fields: fieldsIn(last.fieldsV1).slice(0, MOST_FIELDS) }
}

function fieldsIn(fieldsV1: NonNullable<ObjectMeta['managedFields']>[number]['fieldsV1']): readonly string[] {
  return ['metadata', 'spec'].flatMap((part) =>
    Object.keys(fieldsV1?.[`f:${part}`] ?? {})
      .filter((key) => key.startsWith('f:'))
      .map((key) => `${part}.${key.slice(2)}`),
  )
}
