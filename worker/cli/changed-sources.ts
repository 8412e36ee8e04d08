// Finds what users changed since the last job of an object: its spec, and the sources of its inputs, such as the
// ConfigMap of an import. The sources are read from the API server with the user's permissions.
//
//   S1. Only an object that no job works on, and that gets jobs of its own, is outdated: a user can request a job of it.
//   S2. Only writes of other clients than Pawl count, and only those of data: Pawl itself labels and protects sources.

import { inParallel } from '../../activities/kube/in-parallel.ts'
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
    ...specText(node),
    ...changes.map(
      ({ source, at, manager }) =>
        `${source.kind} "${source.object}" (${inputsOf(object)?.noun ?? 'input'} "${source.name}") was changed at ${time(at)} by ${clientText({ manager })}`,
    ),
  ]
  const state = `${nameOf(object)} is ${phaseOf(node)}`
  return texts.map((text) => `${state}; after its last job, ${text}.`)
}

function specText({ object: { projection } }: JobNode): readonly string[] {
  const [generation, observed] = [path('metadata.generation'), path('status.observedGeneration')].map((at) =>
    Number(valueAt(projection, at)),
  )
  if (generation === undefined || observed === undefined || !(observed > 0 && generation > observed)) return []
  return [`the spec was edited (generation ${generation}, the job had generation ${observed})`]
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
