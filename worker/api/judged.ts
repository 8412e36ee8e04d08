// The questions as one user may ask them: each row of an answer is judged by the rights that the user has in Kubernetes, and what he may not see is
// cut, with words in its place where something would be missing.
//
//   J1. A row is judged by the object that it is about, as the journal has it, never by what the question says of that.
//   J2. Who names an object that he may not get is refused; what is only reached from another one is cut. What is not there and what may not be seen
//       answer alike wherever an ID was guessed.
//   J3. Names of others hide in texts, too: in workflow IDs, which say namespace and name, and in causes. They are judged, or left out.
//   J4. Enumerating takes the right to list: objects of a kind, and children.

import type { EventRecord, WriteRecord, AwaitedObject } from '../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../activities/journal/read/object-queries.ts'
import type { LocatedObject } from '../../activities/journal/read/object-locations.ts'
import type { JournalQueries } from '../../activities/journal/read/queries.ts'
import { type GroupKind, groupKindText, type Owner } from '../../workflows/kit/index.ts'
import type { Ground, Rights, Verb } from './ground.ts'
import { ofRows } from './judged-rows.ts'
import { placeOfText, tellable } from './told-texts.ts'
import { UNSEEN, UNSEEN_PLACE } from './unseen.ts'

/** The user has to be told no. */
export class Refused extends Error {}

/** In so many namespaces it is looked whether the user may list there, when he asks for all and may not list in all. */
export const MOST_NAMESPACES = 500

export function judged(questions: JournalQueries, ground: Ground, rights: Rights): JournalQueries {
  return { ...ofObjects(questions, ground, rights), ...ofJobs(questions, ground, rights) }
}

type OfObjects = 'followedKinds' | 'listObjects' | 'listNames' | 'objectsNamed' | 'objectOf' | 'childrenOf'

function ofObjects(questions: JournalQueries, ground: Ground, rights: Rights): Pick<JournalQueries, OfObjects> {
  return {
    // Which kinds there are every user of the API server may know.
    followedKinds: questions.followedKinds,
    listObjects: listedBy(questions.listObjects, ground, rights),
    listNames: listedBy(questions.listNames, ground, rights),
    objectsNamed: async (of) => {
      if (!(await rights.fits(of, of.namespace))) return []
      await demand(rights, 'get', of, of.namespace)
      return await questions.objectsNamed(of)
    },
    objectOf: async (uid) => {
      const found = await questions.objectOf(uid)
      return found !== undefined && (await rights.may('get', found, found.namespace)) ? found : undefined
    },
    childrenOf: async (owners, since) => {
      const seen = await seenOf(ground, rights)(owners.map(({ uid }) => uid))
      // As the journal has them, not as they are said to be (J1).
      const known = [...seen.values()].map(({ uid, group, kind, namespace, name }): Owner => {
        return { uid, group, kind, namespace, name }
      })
      const found = await questions.childrenOf(known, since)
      const isSeen = await Promise.all(found.map(async (one) => await rights.may('list', one, one.namespace)))
      return [
        ...found.filter((_one, index) => isSeen[index]),
        ...hidden(
          found.filter((_one, index) => !isSeen[index]),
          seen,
        ),
      ]
    },
  }
}

type List<Row> = (kind: GroupKind, place: string | readonly string[] | undefined) => Promise<readonly Row[]>

/** Of the namespaces only in which the user may list. */
function listedBy<Row>(list: List<Row>, ground: Ground, rights: Rights): List<Row> {
  return async (kind, place) => {
    if (typeof place === 'string') {
      if (!(await rights.fits(kind, place))) return []
      await demand(rights, 'list', kind, place)
      return await list(kind, place)
    }
    if (place === undefined && (await rights.may('list', kind, ''))) return await list(kind, place)
    const places = place ?? (await ground.namespacesOf(kind, MOST_NAMESPACES + 1))
    if (places.length > MOST_NAMESPACES)
      throw new Refused(
        `you may not list ${groupKindText(kind)} in all namespaces, and there are more than ${MOST_NAMESPACES} to look at; expected one, by -n`,
      )
    const judgements = await Promise.all(places.map(async (one) => await rights.may('list', kind, one)))
    const seen = places.filter((one, index) => one !== '' && judgements[index] === true)
    return seen.length === 0 ? [] : await list(kind, seen)
  }
}

/** In the place of all children of an owner that may not be seen: that there are some. */
function hidden(
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
    name: unseenFrom(namespace, owners.get(owner)?.namespace),
    updatedAt,
    owner,
  }))
}

function ofJobs(questions: JournalQueries, ground: Ground, rights: Rights): Omit<JournalQueries, OfObjects> {
  const seen = seenOf(ground, rights)
  const seenOnly = async (uids: readonly string[]) => [...(await seen(uids)).keys()]
  const isSeen = async (uid: string) => (await seen([uid])).has(uid)
  const cut = cutting(ground, rights)
  return {
    newestJobs: async (uids, time) => {
      const found = await questions.newestJobs(await seenOnly(uids), time)
      const jobs = await cut.jobs([...found.values()])
      return new Map(jobs.map((job) => [job.uid, job]))
    },
    jobsOf: async (uid, which) => ((await isSeen(uid)) ? await cut.jobs(await questions.jobsOf(uid, which)) : []),
    eventsOf: async (uid, most) => {
      const place = (await seen([uid])).get(uid)
      return place === undefined ? [] : await cut.events(await questions.eventsOf(uid, most), place)
    },
    runOf: async (workflowID) => {
      const run = await questions.runOf(workflowID)
      return run !== undefined && (await isSeen(run.uid)) ? { ...run, cause: tellable(run.cause) } : undefined
    },
    writesOf: async (workflowID, object) => {
      const place = (await ground.placesOfRuns([workflowID])).get(workflowID)
      const about = object === undefined ? place : placeOfText(object)
      if (about === undefined || !(await rights.may('get', about, about.namespace))) return []
      return await cut.writes(await questions.writesOf(workflowID, object), about.namespace)
    },
    wakeOf: async (controller, uid) => {
      const wake = (await isSeen(uid)) ? await questions.wakeOf(controller, uid) : undefined
      return wake && { ...wake, cause: tellable(wake.cause) }
    },
    awaitedByAll: async (controllers, uids) => {
      const places = await seen(uids)
      const found = await questions.awaitedByAll(controllers, [...places.keys()])
      const entries = [...found].map(async ([uid, awaited]) => {
        return [uid, await cut.awaited(awaited, places.get(uid)?.namespace)] as const
      })
      return new Map(await Promise.all(entries))
    },
    lastEventsIn: async (uids, job) => await questions.lastEventsIn(await seenOnly(uids), job),
    waitingOf: async (controllers, uids) => await questions.waitingOf(controllers, await seenOnly(uids)),
    ...ofRows(questions, {
      maySee: seeing(rights),
      seen,
      placesOfRuns: ground.placesOfRuns,
      mayList: async (place) => (await seeing(rights)(place)) && (await rights.may('list', place, place.namespace)),
    }),
  }
}

/** Those of the objects that the user may get, by uid. */
function seenOf({ placesOf }: Ground, rights: Rights) {
  return async (uids: readonly string[]): Promise<ReadonlyMap<string, LocatedObject>> => {
    const places = [...(await placesOf(uids)).values()]
    const judgements = await Promise.all(places.map(async (one) => await rights.may('get', one, one.namespace)))
    return new Map(places.flatMap((one, index) => (judgements[index] === true ? [[one.uid, one] as const] : [])))
  }
}

function seeing(rights: Rights): (place: GroupKind & { readonly namespace: string }) => Promise<boolean> {
  return async (place) =>
    (await rights.fits(place, place.namespace)) && (await rights.may('get', place, place.namespace))
}

/** What of visible rows tells of others (J3). */
function cutting({ placesOfRuns }: Ground, rights: Rights) {
  const maySee = seeing(rights)
  /** Each workflow ID as it may be told to who looks from a namespace. */
  const runsFrom = async (workflowIDs: readonly string[], uid: string, namespace: string | undefined) => {
    const places = await placesOfRuns(workflowIDs)
    const told = await Promise.all(
      [...new Set(workflowIDs)].map(async (workflowID) => {
        const place = places.get(workflowID)
        const isTold = place === undefined ? isRunOf(workflowID, uid) : await maySee(place)
        return [workflowID, isTold ? workflowID : unseenFrom(place?.namespace, namespace)] as const
      }),
    )
    return new Map(told)
  }
  return {
    jobs: async (jobs: readonly JobRecord[]): Promise<readonly JobRecord[]> => {
      const places = await placesOfRuns(jobs.map(({ workflowID }) => workflowID))
      return await Promise.all(
        jobs.map(async (job) => {
          const place = places.get(job.workflowID)
          const isTold = place === undefined ? isRunOf(job.workflowID, job.uid) : await maySee(place)
          return { ...job, cause: tellable(job.cause), workflowID: isTold ? job.workflowID : UNSEEN }
        }),
      )
    },
    events: async (
      events: readonly EventRecord[],
      { uid, namespace }: LocatedObject,
    ): Promise<readonly EventRecord[]> => {
      const runs = await runsFrom(
        events.flatMap(({ writer }) => writer ?? []),
        uid,
        namespace,
      )
      return events.map((event) => ({
        ...event,
        writer: event.writer === null ? null : (runs.get(event.writer) ?? UNSEEN),
        reason: event.reason === null ? null : tellable(event.reason),
      }))
    },
    writes: async (writes: readonly WriteRecord[], namespace: string): Promise<readonly WriteRecord[]> =>
      await Promise.all(
        writes.map(async (write) => {
          const place = placeOfText(write.object)
          if (place !== undefined && (await maySee(place))) return write
          const object = `an object ${unseenFrom(place?.namespace, namespace)}`
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
          if (await maySee(one)) return one
          return { ...one, namespace: '', name: unseenFrom(one.namespace, namespace) }
        }),
      ),
  }
}

/** Its own run: `controller/namespace/name/uid/job` (ADR 22). */
function isRunOf(workflowID: string, uid: string): boolean {
  return workflowID.split('/').includes(uid)
}

function unseenFrom(namespace: string | undefined, from: string | undefined): string {
  return namespace === undefined || namespace === from ? UNSEEN : UNSEEN_PLACE
}

async function demand(rights: Rights, verb: Verb, kind: GroupKind, namespace: string): Promise<void> {
  if (await rights.may(verb, kind, namespace)) return
  const where = namespace === '' ? 'in all namespaces' : `in namespace ${namespace}`
  throw new Refused(`you may not ${verb} ${groupKindText(kind)} ${where}; expected a role with that right`)
}
