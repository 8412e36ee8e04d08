// Finds the namespaces on which an emergency stop is written: a given namespace, or the chaos namespaces for the whole
// cluster. Uses the user's own rights.
//
// S1. The label that deploy/setup/chaos sets identifies the chaos namespace; `--chaos-namespace` overrides it. If
//   several namespaces have the label, the cluster's stop is written on each, because the command does not know the
//   configuration. A chaos namespace that also contains Disruptions is stopped by the cluster's stop as well, and
//   resuming the cluster lifts its own stop; the commands name each namespace.

import { CHAOS_NAMESPACE, isNamespaceName } from '../../../workflows/chaos/config.ts'
import { CHAOS_NAMESPACE_LABEL, EMERGENCY_STOP_ANNOTATION } from '../../../workflows/chaos/contract.ts'
import { namespaceView, type NamespaceView } from '../../../workflows/chaos/emergency-stop.ts'
import { type CommandStart, CommandUsageError } from '../../command.ts'
import type { KubeClient, KubeObject, ObjectList } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/kube-error.ts'
import { resourcePath } from '../../kube/resource-path.ts'

type Kube = Pick<KubeClient, 'request'>

export interface StopPlace {
  /** The namespaces with the annotation; at least one. */
  readonly names: readonly string[]
  /** The namespace of the Disruptions; undefined: all. */
  readonly namespace: string | undefined
  /** For messages. */
  readonly title: string
  /** The command flags that select this place. */
  readonly flags: string
  /** A remark about how the place was found. */
  readonly note?: string
}

/** @throws CommandUsageError if `--chaos-namespace` is invalid; errors of the API server. */
export async function placeOf(start: Pick<CommandStart, 'kube' | 'given' | 'namespace'>): Promise<StopPlace> {
  if (start.given['all'] === true) return await clusterPlace(start)
  const { namespace } = start
  return { names: [namespace], namespace, title: `namespace ${namespace}`, flags: `-n ${namespace}` }
}

/** S1. @throws like `placeOf`. */
export async function clusterPlace({ kube, given }: Pick<CommandStart, 'kube' | 'given'>): Promise<StopPlace> {
  const named = given['chaos-namespace']
  const of = { namespace: undefined, title: 'the cluster' }
  if (named === undefined) return { ...of, ...(await labelledNamespaces(kube)), flags: '--all' }
  if (named === true || !isNamespaceName(named))
    throw new CommandUsageError(`--chaos-namespace: found '${String(named)}'; expected the name of a namespace`)
  return { ...of, names: [named], flags: `--all --chaos-namespace ${named}` }
}

const ASSUMED = `you may not list namespaces, so this command uses ${CHAOS_NAMESPACE} as the namespace of chaos pods; if Pawl is configured with another namespace, pass --chaos-namespace NAME`

async function labelledNamespaces(kube: Kube): Promise<Pick<StopPlace, 'names' | 'note'>> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'namespaces' }, undefined)
  try {
    const query = { labelSelector: `${CHAOS_NAMESPACE_LABEL}=true` }
    const { items } = await kube.request<ObjectList>('GET', path, { query })
    return { names: items.length === 0 ? [CHAOS_NAMESPACE] : items.map(({ metadata }) => metadata.name) }
  } catch (error) {
    // A user who may only change the default namespace can still do so.
    if (error instanceof KubeError && error.status === 403) return { names: [CHAOS_NAMESPACE], note: ASSUMED }
    throw error
  }
}

/** The annotations, in the order of the place. @throws if a namespace does not exist. */
export async function readStops(kube: Kube, { names, namespace }: StopPlace): Promise<readonly NamespaceView[]> {
  return await Promise.all(
    names.map(async (name) => {
      try {
        return namespaceView(await kube.request<KubeObject>('GET', pathOf(name)))
      } catch (error) {
        if (!isNotFound(error)) throw error
        const advice =
          namespace === undefined
            ? 'create it with deploy/setup/chaos, or pass the namespace of chaos pods with --chaos-namespace'
            : 'check -n and --context'
        throw new Error(`the cluster has no namespace "${name}"; ${advice}`, { cause: error })
      }
    }),
  )
}

/**
 * @param stop the reason; null lifts the stop.
 * @throws after all requests: the first failure, and the namespaces that were written.
 */
export async function writeStop(kube: Kube, names: readonly string[], stop: string | null): Promise<void> {
  const written = await Promise.allSettled(
    names.map(async (name) =>
      kube.request('PATCH', pathOf(name), {
        body: { metadata: { annotations: { [EMERGENCY_STOP_ANNOTATION]: stop } } },
        contentType: 'application/merge-patch+json',
        query: { fieldManager: 'pawl-cli' },
      }),
    ),
  )
  const failed = written.find((one) => one.status === 'rejected')
  if (failed === undefined) return
  const done = names.filter((_, index) => written[index]?.status === 'fulfilled')
  if (done.length === 0) throw failed.reason
  const cause: unknown = failed.reason
  const why = cause instanceof Error ? cause.message : String(cause)
  throw new Error(`${why}; the stop was ${stop === null ? 'lifted' : 'set'} in: ${done.join(', ')}`, { cause })
}

function pathOf(namespace: string): string {
  return resourcePath({ apiVersion: 'v1', plural: 'namespaces' }, undefined, namespace)
}
