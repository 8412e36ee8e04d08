// Finds what users changed since the last job of an object: its spec, and the sources of its inputs, such as the
// ConfigMap of an import. The sources are read from the API server with the user's permissions.
//
//   S1. An object is outdated only if it has no running job and a user can request a job for it.
//   S2. Only writes of data by other clients than Pawl count, because Pawl itself writes labels and finalizers of sources.

import { inParallel } from '../../activities/kube/in-parallel.ts'
import type { EventRecord } from '../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../activities/journal/read/queries.ts'
import type { KubeClient, KubeObject, ObjectMeta } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { FIELD_MANAGER_PREFIX } from '../../activities/kube/managed-fields.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { type InputSource, ownerReferenceOf, path, valueAt } from '../../workflows/kit/index.ts'
import { clientText } from './live-objects.ts'
import { withUserClient, type UserFlags } from './user.ts'
import { inputsOf, resourceOfKind } from './query/explain-status.ts'
import { formatTime, nameOf } from './query/format.ts'
import { isOpen, type JobNode, phaseOf } from './query/job-tree.ts'

interface SourceChange {
  readonly source: InputSource
  readonly at: Date
  readonly manager: string
}

interface ReadOptions {
  readonly flags: UserFlags
  readonly now: Date
  readonly wide: boolean
  /** True if the user named the job. */
  readonly isOldJob: boolean
}

/** S1 */
function isIdleRoot(node: JobNode): boolean {
  const { object, job } = node
  const isIdle = job !== undefined && job.jobID !== '' && !object.deleted && !isOpen(node)
  return isIdle && ownerReferenceOf(object.projection) === undefined && inputsOf(object) !== undefined
}

/** One sentence for each change since the job; the first one can be the answer of `pawl why`. Failures are reported on stderr. */
export async function readChangesSinceJob(
  journal: Pick<JournalQueries, 'eventsOf'>,
  node: JobNode | undefined,
  { flags, now, wide, isOldJob }: ReadOptions,
): Promise<readonly string[]> {
  if (node === undefined || isOldJob || !isIdleRoot(node)) return []
  const { object, job } = node
  const since = job?.startedAt ?? now
  const changes = await withUserClient(flags, async (kube) => await readSources(kube, node, since)).catch(
    (error: unknown) => {
      process.stderr.write(
        `pawl: ${error instanceof Error ? error.message : String(error)}; changed inputs are not shown\n`,
      )
      return []
    },
  )
  const time = (at: Date) => (wide ? at.toISOString() : formatTime(at, now))
  const texts = [
    ...(isSpecOutdated(object) ? [specText(node, await journal.eventsOf(object.uid))] : []),
    ...changes.map(
      ({ source, at, manager }) =>
        `${periodOf(at, job)}, ${source.kind} "${source.object}" (${inputsOf(object)?.noun ?? 'input'} "${source.name}") was changed at ${time(at)} by ${clientText({ manager })}`,
    ),
  ]
  const state = `${nameOf(object)} is ${phaseOf(node)}`
  return texts.map((text) => `${state}; ${text}.`)
}

/** @param at undefined if the journal no longer has the change. */
function periodOf(at: Date | undefined, job: JobRecord | undefined): string {
  if (at === undefined || job?.finishedAt == null) return 'after the start of its last job'
  return at < job.finishedAt ? 'during its last job' : 'after its last job'
}

function generationsOf({ projection }: Pick<ObjectRecord, 'projection'>): { generation: number; observed: number } {
  const numberAt = (at: string) => Number(valueAt(projection, path(at)) ?? 0)
  return { generation: numberAt('metadata.generation'), observed: numberAt('status.observedGeneration') }
}

/** True if users edited the spec that the last job used. */
function isSpecOutdated(object: ObjectRecord): boolean {
  const { generation, observed } = generationsOf(object)
  return observed > 0 && generation > observed
}

/** For an outdated spec. @param events of the object. */
export function specText({ object, job }: Pick<JobNode, 'object' | 'job'>, events: readonly EventRecord[]): string {
  const { generation, observed } = generationsOf(object)
  // If the first event of the journal has the edit already, its time is unknown.
  const edit = events.find((event, index) => index > 0 && generationsOf(event).generation > observed)
  return `the spec was edited ${periodOf(edit?.at, job)} (generation ${generation}, the job had generation ${observed})`
}

type Reader = Pick<KubeClient, 'request'>

const AT_ONCE = 10
const MOST_MS = 10_000

async function readSources(kube: Reader, { object }: JobNode, since: Date): Promise<readonly SourceChange[]> {
  const signal = AbortSignal.timeout(MOST_MS)
  const api = resourceOfKind(object)
  if (api === undefined) return []
  const live = await readIfPresent(kube, resourcePath(api, object.namespace, object.name), signal)
  if (live?.metadata.uid !== object.uid) return []
  const found: SourceChange[] = []
  await inParallel([...(inputsOf(object)?.sourcesOf(live) ?? [])], AT_ONCE, async (source) => {
    const one = await readIfPresent(kube, resourcePath(source, object.namespace, source.object), signal)
    const change = one && lastChange(one.metadata, since)
    if (change !== undefined) found.push({ source, ...change })
  })
  return found.toSorted((left, right) => left.source.name.localeCompare(right.source.name))
}

async function readIfPresent(kube: Reader, at: string, signal: AbortSignal): Promise<KubeObject | undefined> {
  return await kube.request<KubeObject>('GET', at, { signal }).catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 404) return undefined
    throw error
  })
}

/** The newest write after this time (S2). */
export function lastChange(
  { managedFields = [] }: Pick<ObjectMeta, 'managedFields'>,
  since: Date,
): { readonly at: Date; readonly manager: string } | undefined {
  const [last] = managedFields
    .flatMap(({ manager = '', time = '', fieldsV1 = {} }) => {
      const isData = Object.keys(fieldsV1).some((field) => field !== 'f:metadata' && field !== 'f:status')
      const isForeign = manager !== '' && !manager.startsWith(FIELD_MANAGER_PREFIX)
      return isData && isForeign && Date.parse(time) > since.getTime() ? [{ at: new Date(time), manager }] : []
    })
    .toSorted((one, other) => other.at.getTime() - one.at.getTime())
  return last
}
