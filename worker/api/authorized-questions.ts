// Answers questions about the journal for one user. Every row is checked against the user's RBAC permissions; rows and
// names that the user may not read are removed or redacted.
//
//   J1. A row is authorized by the object that the row is about, as the journal stores that object. The question's
//       input is never trusted.
//   J2. A question that names an object which the user may not get is refused. Objects that are only reached from
//       another object are removed from the answer. A question by uid gives the same answer for a missing object and
//       for an unreadable object.
//   J3. Workflow IDs and causes contain names of objects. They are authorized like rows, or redacted.
//   J4. Lists of a kind and of children need the verb list.

import type { EventRecord, WriteRecord, AwaitedObject } from '../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../activities/journal/read/object-queries.ts'
import type { LocatedObject } from '../../activities/journal/read/object-locations.ts'
import type { JournalQueries } from '../../activities/journal/read/queries.ts'
import { type GroupKind, groupKindText, type Owner } from '../../workflows/kit/index.ts'
import type { ObjectPlaces, Permissions, Verb } from './permissions.ts'
import { authorizedRowQuestions } from './authorized-rows.ts'
import { parseObjectReference, withoutNames, REDACTED, REDACTED_NAMESPACE } from './redaction.ts'

/** The user lacks a permission; the server answers 403. */
export class Forbidden extends Error {}

/**
 * Maximum number of namespaces that are checked for a list in all namespaces, if the user may not list cluster-wide.
 */
export const MAX_NAMESPACES = 500

export function authorizedQuestions(
  questions: JournalQueries,
  places: ObjectPlaces,
  permissions: Permissions,
): JournalQueries {
  return { ...objectQuestions(questions, places, permissions), ...jobQuestions(questions, places, permissions) }
}

type ObjectQuestions = 'followedKinds' | 'listObjects' | 'listNames' | 'objectsNamed' | 'objectOf' | 'childrenOf'

function objectQuestions(
  questions: JournalQueries,
  places: ObjectPlaces,
  permissions: Permissions,
): Pick<JournalQueries, ObjectQuestions> {
  return {
    // Every user of the API server may read the list of kinds.
    followedKinds: questions.followedKinds,
    listObjects: listAuthorized(questions.listObjects, places, permissions),
    listNames: listAuthorized(questions.listNames, places, permissions),
    objectsNamed: async (of) => {
      if (!(await permissions.hasScope(of, of.namespace))) return []
      await requirePermission(permissions, 'get', of, of.namespace)
      return await questions.objectsNamed(of)
    },
    objectOf: async (uid) => {
      const found = await questions.objectOf(uid)
      return found !== undefined && (await permissions.may('get', found, found.namespace)) ? found : undefined
    },
    childrenOf: async (owners, since) => {
      const readableOwners = await readableObjects(places, permissions)(owners.map(({ uid }) => uid))
      // J1: the owners as the journal stores them, not as the question describes them.
      const ownersInJournal = [...readableOwners.values()].map(({ uid, group, kind, namespace, name }): Owner => {
        return { uid, group, kind, namespace, name }
      })
      const children = await questions.childrenOf(ownersInJournal, since)
      const isReadable = await Promise.all(
        children.map(async (one) => await permissions.may('list', one, one.namespace)),
      )
      return [
        ...children.filter((_one, index) => isReadable[index]),
        ...placeholdersFor(
          children.filter((_one, index) => !isReadable[index]),
          readableOwners,
        ),
      ]
    },
  }
}

type List<Row> = (kind: GroupKind, place: string | readonly string[] | undefined) => Promise<readonly Row[]>

/** Lists only the namespaces in which the user may list. */
function listAuthorized<Row>(list: List<Row>, places: ObjectPlaces, permissions: Permissions): List<Row> {
  return async (kind, place) => {
    if (typeof place === 'string') {
      if (!(await permissions.hasScope(kind, place))) return []
      await requirePermission(permissions, 'list', kind, place)
      return await list(kind, place)
    }
    if (place === undefined && (await permissions.may('list', kind, ''))) return await list(kind, place)
    const namespaces = place ?? (await places.namespacesOf(kind, MAX_NAMESPACES + 1))
    if (namespaces.length > MAX_NAMESPACES)
      throw new Forbidden(
        `you may not list ${groupKindText(kind)} in all namespaces, and the cluster has more than ${MAX_NAMESPACES} namespaces; choose a namespace with -n`,
      )
    const decisions = await Promise.all(namespaces.map(async (one) => await permissions.may('list', kind, one)))
    const listable = namespaces.filter((one, index) => one !== '' && decisions[index] === true)
    return listable.length === 0 ? [] : await list(kind, listable)
  }
}

/** One placeholder per owner, in place of all children of this owner that the user may not list. */
function placeholdersFor(
  children: readonly (ObjectRecord & { readonly owner: string })[],
  owners: ReadonlyMap<string, LocatedObject>,
): readonly (ObjectRecord & { readonly owner: string })[] {
  const living = children.filter(({ deleted }) => !deleted)
  const byOwner = new Map(living.map((child) => [child.owner, child]))
  return [...byOwner].map(([owner, { namespace, updatedAt }]) => ({
    group: '',
    kind: 'Objects',
    uid: `unseen ${owner}`,
    namespace: '',
    version: 0,
    deleted: false,
    projection: {},
    name: redactedNameFrom(namespace, owners.get(owner)?.namespace),
    updatedAt,
    owner,
  }))
}

function jobQuestions(
  questions: JournalQueries,
  places: ObjectPlaces,
  permissions: Permissions,
): Omit<JournalQueries, ObjectQuestions> {
  const findReadableObjects = readableObjects(places, permissions)
  const readableUids = async (uids: readonly string[]) => [...(await findReadableObjects(uids)).keys()]
  const isReadable = async (uid: string) => (await findReadableObjects([uid])).has(uid)
  const redact = redactor(places, permissions)
  return {
    newestJobs: async (uids, time) => {
      const found = await questions.newestJobs(await readableUids(uids), time)
      const jobs = await redact.jobs([...found.values()])
      return new Map(jobs.map((job) => [job.uid, job]))
    },
    jobsOf: async (uid, which) =>
      (await isReadable(uid)) ? await redact.jobs(await questions.jobsOf(uid, which)) : [],
    eventsOf: async (uid, most) => {
      const place = (await findReadableObjects([uid])).get(uid)
      return place === undefined ? [] : await redact.events(await questions.eventsOf(uid, most), place)
    },
    runOf: async (workflowID) => {
      const run = await questions.runOf(workflowID)
      return run !== undefined && (await isReadable(run.uid)) ? { ...run, cause: withoutNames(run.cause) } : undefined
    },
    writesOf: async (workflowID, object) => {
      const place = (await places.placesOfRuns([workflowID])).get(workflowID)
      const about = object === undefined ? place : parseObjectReference(object)
      if (about === undefined || !(await permissions.may('get', about, about.namespace))) return []
      return await redact.writes(await questions.writesOf(workflowID, object), about.namespace)
    },
    wakeOf: async (controller, uid) => {
      const wake = (await isReadable(uid)) ? await questions.wakeOf(controller, uid) : undefined
      return wake && { ...wake, cause: withoutNames(wake.cause) }
    },
    awaitedByAll: async (controllers, uids) => {
      const places = await findReadableObjects(uids)
      const found = await questions.awaitedByAll(controllers, [...places.keys()])
      const entries = [...found].map(async ([uid, awaited]) => {
        return [uid, await redact.awaited(awaited, places.get(uid)?.namespace)] as const
      })
      return new Map(await Promise.all(entries))
    },
    lastEventsIn: async (uids, job) => await questions.lastEventsIn(await readableUids(uids), job),
    waitingOf: async (controllers, uids) => await questions.waitingOf(controllers, await readableUids(uids)),
    ...authorizedRowQuestions(questions, {
      mayRead: readCheck(permissions),
      readableObjects: findReadableObjects,
      placesOfRuns: places.placesOfRuns,
      mayList: async (place) =>
        (await readCheck(permissions)(place)) && (await permissions.may('list', place, place.namespace)),
    }),
  }
}

/** Returns the objects that the user may get, by uid. */
function readableObjects({ placesOf }: ObjectPlaces, permissions: Permissions) {
  return async (uids: readonly string[]): Promise<ReadonlyMap<string, LocatedObject>> => {
    const places = [...(await placesOf(uids)).values()]
    const decisions = await Promise.all(places.map(async (one) => await permissions.may('get', one, one.namespace)))
    return new Map(places.flatMap((one, index) => (decisions[index] === true ? [[one.uid, one] as const] : [])))
  }
}

function readCheck(permissions: Permissions): (place: GroupKind & { readonly namespace: string }) => Promise<boolean> {
  return async (place) =>
    (await permissions.hasScope(place, place.namespace)) && (await permissions.may('get', place, place.namespace))
}

/** Redacts the names of other objects in readable rows (J3). */
function redactor({ placesOfRuns }: ObjectPlaces, permissions: Permissions) {
  const mayRead = readCheck(permissions)
  /** The text for each workflow ID, as a user who reads from this namespace may see it. */
  const redactedRuns = async (workflowIDs: readonly string[], uid: string, namespace: string | undefined) => {
    const places = await placesOfRuns(workflowIDs)
    const runs = await Promise.all(
      [...new Set(workflowIDs)].map(async (workflowID) => {
        const place = places.get(workflowID)
        const isReadable = place === undefined ? isRunOfObject(workflowID, uid) : await mayRead(place)
        return [workflowID, isReadable ? workflowID : redactedNameFrom(place?.namespace, namespace)] as const
      }),
    )
    return new Map(runs)
  }
  return {
    jobs: async (jobs: readonly JobRecord[]): Promise<readonly JobRecord[]> => {
      const places = await placesOfRuns(jobs.map(({ workflowID }) => workflowID))
      return await Promise.all(
        jobs.map(async (job) => {
          const place = places.get(job.workflowID)
          const isReadable = place === undefined ? isRunOfObject(job.workflowID, job.uid) : await mayRead(place)
          return { ...job, cause: withoutNames(job.cause), workflowID: isReadable ? job.workflowID : REDACTED }
        }),
      )
    },
    events: async (
      events: readonly EventRecord[],
      { uid, namespace }: LocatedObject,
    ): Promise<readonly EventRecord[]> => {
      const runs = await redactedRuns(
        events.flatMap(({ writer }) => writer ?? []),
        uid,
        namespace,
      )
      return events.map((event) => ({
        ...event,
        writer: event.writer === null ? null : (runs.get(event.writer) ?? REDACTED),
        reason: event.reason === null ? null : withoutNames(event.reason),
      }))
    },
    writes: async (writes: readonly WriteRecord[], namespace: string): Promise<readonly WriteRecord[]> =>
      await Promise.all(
        writes.map(async (write) => {
          const place = parseObjectReference(write.object)
          if (place !== undefined && (await mayRead(place))) return write
          const object = `an object ${redactedNameFrom(place?.namespace, namespace)}`
          return {
            ...write,
            object,
            version: null,
            error: write.error === null ? null : { message: `about ${object}` },
          }
        }),
      ),
    awaited: async (
      awaited: readonly AwaitedObject[],
      namespace: string | undefined,
    ): Promise<readonly AwaitedObject[]> =>
      await Promise.all(
        awaited.map(async (one) => {
          if (await mayRead(one)) return one
          return { ...one, namespace: '', name: redactedNameFrom(one.namespace, namespace) }
        }),
      ),
  }
}

/** True for the object's own run, whose ID is `controller/namespace/name/uid/job` (ADR 22). */
function isRunOfObject(workflowID: string, uid: string): boolean {
  return workflowID.split('/').includes(uid)
}

function redactedNameFrom(namespace: string | undefined, from: string | undefined): string {
  return namespace === undefined || namespace === from ? REDACTED : REDACTED_NAMESPACE
}

async function requirePermission(
  permissions: Permissions,
  verb: Verb,
  kind: GroupKind,
  namespace: string,
): Promise<void> {
  if (await permissions.may(verb, kind, namespace)) return
  const where = namespace === '' ? 'in all namespaces' : `in namespace ${namespace}`
  throw new Forbidden(`you may not ${verb} ${groupKindText(kind)} ${where}; ask for a role with that right`)
}
