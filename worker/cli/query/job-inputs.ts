// Finds the inputs that changed between two jobs of an object, such as the imports of an Installation: from the versions
// of the objects that store them, and their values from the API server with the user's permissions.
//
//   N1. An input has changed if another job wrote its value. A job writes only values that differ.
//   N2. A value is returned only if the live object still has it for the job in question.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import {
  groupKindOf,
  groupKindText,
  type JobInputs,
  type JobModeController,
  type Projection,
} from '../../../workflows/kit/index.ts'
import { builtInRegistry } from '../../server/registry.ts'
import type { LiveRead } from '../live-objects.ts'
import { nodesOf } from './draw-job-tree.ts'
import { nameOf } from './format.ts'
import type { JobNode } from './job-tree.ts'

export interface ChangedInput {
  /** The object whose job has the input. */
  readonly of: string
  /** Such as `import`. */
  readonly noun: string
  readonly name: string
  readonly change: 'new' | 'changed' | 'removed'
  readonly source?: string
  /** Absent if it may be secret, or if no object has it any more (N2). */
  readonly before?: unknown
  readonly after?: unknown
}

/** An input that differs, before its values are read. */
export interface FoundInput extends Pick<ChangedInput, 'of' | 'noun' | 'name' | 'change'> {
  readonly read: LiveRead
  /** The jobs that wrote the values; undefined: no value. */
  readonly jobBefore: string | undefined
  readonly jobAfter: string | undefined
  readonly rules: JobInputs
}

interface TwoJobs {
  readonly before: JobRecord
  readonly after: JobRecord
  readonly tree: JobNode
}

/** In the order of the tree, and by name. */
export async function findChangedInputs(
  journal: JournalQueries,
  { before, after, tree }: TwoJobs,
): Promise<readonly FoundInput[]> {
  const rules = inputRules()
  const owners = nodesOf(tree)
    .map(({ object }) => object)
    .filter((object) => rules.has(groupKindText(object)))
  if (owners.length === 0) return []
  const startOf = new Map((await journal.jobsOf(tree.object.uid)).map((job) => [job.jobID, job.startedAt.getTime()]))
  // Jobs that are no longer listed are older than all others.
  const isUntil = (jobID: string, job: JobRecord) => (startOf.get(jobID) ?? 0) <= job.startedAt.getTime()
  const found: FoundInput[] = []
  const stored = await journal.childrenOf(owners, before.startedAt)
  for (const owner of owners)
    for (const object of stored.filter((one) => one.owner === owner.uid)) {
      const own = rules.get(groupKindText(owner))
      const input = own?.inputOf(object.projection)
      const kind = own?.kinds.find((one) => groupKindText(groupKindOf(one)) === groupKindText(object))
      if (own === undefined || input === undefined || kind === undefined) continue
      if (!object.deleted && isUntil(input.jobID, before)) continue
      const jobIn = (events: readonly EventRecord[], job: JobRecord) =>
        writerIn(events, own, (jobID) => isUntil(jobID, job), job)
      const events = await journal.eventsOf(object.uid)
      const [jobBefore, jobAfter] = [jobIn(events, before), jobIn(events, after)]
      if (jobBefore === jobAfter) continue
      const { uid, namespace, name } = object
      const read = { apiVersion: kind.apiVersion, plural: kind.plural, uid, namespace, name }
      const change = changeOf(jobBefore, jobAfter)
      const known = { of: nameOf(owner), noun: own.noun, name: input.name }
      found.push({ ...known, change, read, jobBefore, jobAfter, rules: own })
    }
  return found.toSorted((left, right) => (left.of === right.of ? left.name.localeCompare(right.name) : 0))
}

function changeOf(jobBefore: string | undefined, jobAfter: string | undefined): ChangedInput['change'] {
  if (jobBefore === undefined) return 'new'
  return jobAfter === undefined ? 'removed' : 'changed'
}

/** The job that wrote the value which a job used; undefined if the object did not exist then. */
function writerIn(
  events: readonly EventRecord[],
  { inputOf }: JobInputs,
  isUntil: (jobID: string) => boolean,
  job: JobRecord,
): string | undefined {
  const last = events.findLast(({ type, projection, at }) => {
    if (type === 'DELETED') return job.finishedAt === null || at <= job.finishedAt
    const input = inputOf(projection)
    return input !== undefined && isUntil(input.jobID)
  })
  return last === undefined || last.type === 'DELETED' ? undefined : inputOf(last.projection)?.jobID
}

/** @param live by uid: the objects that could be read. */
export function withValues(
  found: readonly FoundInput[],
  live: ReadonlyMap<string, object & Projection>,
): readonly ChangedInput[] {
  return found.map(({ of, noun, name, change, read, jobBefore, jobAfter, rules }) => {
    const object = live.get(read.uid)
    const known = { of, noun, name, change }
    if (object === undefined) return known
    const { source, value, previous } = rules.valueOf(object)
    const isCurrent = jobAfter !== undefined && rules.inputOf(object)?.jobID === jobAfter
    return {
      ...known,
      ...(source !== undefined && { source }),
      ...(isCurrent && value !== undefined && { after: value }),
      ...(isCurrent && previous !== undefined && previous.jobID === jobBefore && { before: previous.value }),
    }
  })
}

/** By kind. */
function inputRules(): ReadonlyMap<string, JobInputs> {
  return new Map(
    [...builtInRegistry.controllers.values()].flatMap((controller) => {
      if (controller.mode !== 'job') return []
      const { inputs, target }: JobModeController = controller
      return inputs === undefined ? [] : [[groupKindText(groupKindOf(target)), inputs] as const]
    }),
  )
}
