// Explains why an object is not found: a misspelt name, another namespace, or a namespace that does not exist.

import type { ObjectName } from '../../activities/journal/read/object-queries.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import type { KubeClient, ObjectList, Resource } from '../../activities/kube/client.ts'
import { isNotFound, KubeError } from '../../activities/kube/kube-error.ts'
import { ApiForbidden } from './api-place.ts'
import { similarName, suggestedCommand } from './suggestion.ts'
import { quotedName, singleLine } from './query/format.ts'

interface MissingObject {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** The objects and namespaces that the journal or the API server knows. */
interface KnownObjects {
  /** `in the journal` or `in the cluster`. */
  readonly place: string
  /** The objects of the kind that the user may list. */
  readonly objects: readonly ObjectName[]
  /** All namespaces; undefined if they are unknown. */
  readonly namespaces: readonly string[] | undefined
  /** The hint if no object is similar. */
  readonly otherwise: string
}

export function missingObjectText(missing: MissingObject, known: KnownObjects): string {
  const { namespace, name } = missing
  const other = known.objects.find((one) => one.name === name && one.namespace !== namespace)
  const elsewhere =
    other &&
    `${quotedName({ ...missing, namespace: '' })} exists in namespace "${other.namespace}": add -n ${other.namespace}`
  if (lacksNamespace(namespace, known.namespaces)) return missingNamespaceText(namespace, known.namespaces, elsewhere)
  const names = known.objects.filter((one) => one.namespace === namespace).map((one) => one.name)
  const similar = similarName(name, names)
  const hint = similar === undefined ? (elsewhere ?? known.otherwise) : `did you mean "${similar}"?`
  return `${quotedName(missing)} is not ${known.place}; ${hint}`
}

function lacksNamespace(namespace: string, all: readonly string[] | undefined): all is readonly string[] {
  return namespace !== '' && all !== undefined && !all.includes(namespace)
}

function missingNamespaceText(namespace: string, all: readonly string[], otherwise = 'see -n and --context'): string {
  const similar = similarName(namespace, all)
  const hint = similar === undefined ? otherwise : `did you mean "${similar}"?`
  return `namespace "${singleLine(namespace, 253)}" does not exist; ${hint}`
}

/** The parts of the journal that this module reads. */
interface ListedJournal {
  readonly namespace: string
  readonly cluster: string
  readonly kinds: readonly (GroupKind & { readonly isFollowed: boolean })[]
  readonly listNames: (of: GroupKind, place: string | undefined) => Promise<readonly ObjectName[]>
}

const NAMESPACE = { group: '', kind: 'Namespace' } as const

/** @returns the text of the error. Lists that `pawl api` refuses count as unknown. */
export async function missingInJournal(journal: ListedJournal, of: GroupKind, name: string): Promise<string> {
  const { namespace, cluster } = journal
  const list = async (kind: GroupKind, place: string | undefined) =>
    await unlessForbidden(journal.listNames({ group: kind.group, kind: kind.kind }, place))
  const objects = (await list(of, undefined)) ?? (await list(of, namespace)) ?? []
  const all = `see ${suggestedCommand(`get ${of.kind.toLowerCase()} -A`)}`
  return missingObjectText(
    { kind: of.kind, namespace, name },
    {
      place: `in the journal of cluster "${cluster}"`,
      objects,
      namespaces: await namespacesIn(journal),
      otherwise: objects.length === 0 ? `the journal has no ${of.kind} that you may list` : all,
    },
  )
}

async function unlessForbidden<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return await answer.catch((error: unknown) => {
    if (error instanceof ApiForbidden || (error instanceof KubeError && error.status === 403)) return undefined
    throw error
  })
}

/** @throws an Error if the namespace is known not to exist. @param namespace undefined: all namespaces. */
export async function requireNamespace(
  journal: Pick<ListedJournal, 'kinds' | 'listNames'>,
  namespace: string | undefined,
): Promise<void> {
  const all = await namespacesIn(journal)
  if (namespace !== undefined && lacksNamespace(namespace, all)) throw new Error(missingNamespaceText(namespace, all))
}

/** Undefined if no bridge follows namespaces, or if the user may not list them. */
async function namespacesIn({
  kinds,
  listNames,
}: Pick<ListedJournal, 'kinds' | 'listNames'>): Promise<readonly string[] | undefined> {
  if (!kinds.some(({ group, kind, isFollowed }) => group === '' && kind === 'Namespace' && isFollowed)) return undefined
  const names = (await unlessForbidden(listNames(NAMESPACE, undefined))) ?? []
  return names.length === 0 ? undefined : names.map(({ name }) => name)
}

const MAX_LISTED = '1000'

/** @returns the text of the error. Objects and namespaces that the user may not read count as unknown. */
export async function missingInCluster(
  kube: Pick<KubeClient, 'request'>,
  { kind, api }: { readonly kind: string; readonly api: Resource },
  { namespace, name }: ObjectName,
): Promise<string> {
  const list = async (of: Resource, place: string | undefined) =>
    await unlessForbidden(kube.request<ObjectList>('GET', resourcePath(of, place), { query: { limit: MAX_LISTED } }))
  const objects = await list(api, undefined).catch((error: unknown) => {
    if (isNotFound(error)) return 'no such kind' as const
    throw error
  })
  if (objects === 'no such kind') return `kind "${kind}" does not exist in the cluster; apply the CRDs of deploy/crds`
  const { items } = objects ?? (await list(api, namespace)) ?? { items: [] }
  const namespaces = await list({ apiVersion: 'v1', plural: 'namespaces' }, undefined)
  return missingObjectText(
    { kind, namespace, name },
    {
      place: 'in the cluster',
      objects: items.map(({ metadata }) => ({ namespace: metadata.namespace ?? '', name: metadata.name })),
      namespaces: namespaces?.items.map(({ metadata }) => metadata.name),
      otherwise: 'see -n and --context',
    },
  )
}
