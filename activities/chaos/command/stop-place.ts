// Where an emergency stop is written: at a namespace, or for all of them at that of chaos pods. With the rights of a person.
//
//   S1. Which namespace has the chaos pods is said by its label, which deploy/setup/chaos puts on; by `--chaos-namespace` where somebody knows better. Where
//       several have the label, the stop of the cluster is at each, for who asks knows no configuration. One that has Disruptions of its own is stopped
//       by that as well, and its own stop is lifted with the cluster's: commands name each of them.

import { CHAOS_NAMESPACE, isNamespaceName } from '../../../workflows/chaos/config.ts'
import { CHAOS_NAMESPACE_LABEL, EMERGENCY_STOP_ANNOTATION } from '../../../workflows/chaos/contract.ts'
import { namespaceView, type NamespaceView } from '../../../workflows/chaos/emergency-stop.ts'
import { type CommandStart, CommandUsageError } from '../../command.ts'
import type { KubeClient, KubeObject, ObjectList } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/kube-error.ts'
import { resourcePath } from '../../kube/resource-path.ts'

type Kube = Pick<KubeClient, 'request'>

export interface StopPlace {
  /** The namespaces that have the annotation; at least one. */
  readonly names: readonly string[]
  /** Whose Disruptions it is about; undefined: all. */
  readonly namespace: string | undefined
  /** For people. */
  readonly title: string
  /** Flags of the commands that mean it. */
  readonly flags: string
  /** What a person is to know of how it was found. */
  readonly note?: string
}

/** @throws CommandUsageError when `--chaos-namespace` names none; failures of the API server. */
export async function placeOf(start: Pick<CommandStart, 'kube' | 'given' | 'namespace'>): Promise<StopPlace> {
  if (start.given['all'] === true) return await clusterPlace(start)
  const { namespace } = start
  return { names: [namespace], namespace, title: `namespace ${namespace}`, flags: `-n ${namespace}` }
}

/** S1. @throws as `placeOf`. */
export async function clusterPlace({ kube, given }: Pick<CommandStart, 'kube' | 'given'>): Promise<StopPlace> {
  const named = given['chaos-namespace']
  const of = { namespace: undefined, title: 'the cluster' }
  if (named === undefined) return { ...of, ...(await labelledNamespaces(kube)), flags: '--all' }
  if (named === true || !isNamespaceName(named))
    throw new CommandUsageError(`--chaos-namespace: found '${String(named)}', expected the name of a namespace`)
  return { ...of, names: [named], flags: `--all --chaos-namespace ${named}` }
}

const ASSUMED = `you may not list namespaces, so ${CHAOS_NAMESPACE} is taken for that of chaos pods; where another one is configured: --chaos-namespace NAME`

async function labelledNamespaces(kube: Kube): Promise<Pick<StopPlace, 'names' | 'note'>> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'namespaces' }, undefined)
  try {
    const query = { labelSelector: `${CHAOS_NAMESPACE_LABEL}=true` }
    const { items } = await kube.request<ObjectList>('GET', path, { query })
    return { names: items.length === 0 ? [CHAOS_NAMESPACE] : items.map(({ metadata }) => metadata.name) }
  } catch (error) {
    // Who may change the usual one alone is not kept from it.
    if (error instanceof KubeError && error.status === 403) return { names: [CHAOS_NAMESPACE], note: ASSUMED }
    throw error
  }
}

/** What their annotations say, in the order of the place. @throws when a namespace is not there. */
export async function readStops(kube: Kube, { names, namespace }: StopPlace): Promise<readonly NamespaceView[]> {
  return await Promise.all(
    names.map(async (name) => {
      try {
        return namespaceView(await kube.request<KubeObject>('GET', pathOf(name)))
      } catch (error) {
        if (!isNotFound(error)) throw error
        const expected =
          namespace === undefined
            ? 'that of chaos pods, which deploy/setup/chaos makes (see --chaos-namespace)'
            : 'one that is there (see -n and --context)'
        throw new Error(`the cluster has no namespace ${name}, expected ${expected}`, { cause: error })
      }
    }),
  )
}

/**
 * @param stop why; null: it is lifted.
 * @throws when all have been asked: what one of them has failed with, and where it is written all the same.
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
  throw new Error(`${why}; ${stop === null ? 'lifted' : 'stopped'} all the same: ${done.join(', ')}`, { cause })
}

function pathOf(namespace: string): string {
  return resourcePath({ apiVersion: 'v1', plural: 'namespaces' }, undefined, namespace)
}
