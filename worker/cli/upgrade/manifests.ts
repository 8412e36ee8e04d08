// Compares CustomResourceDefinitions and roles in the cluster with those of the new version. Only reads.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import type { Finding } from '../doctor/findings.ts'
import { type Document, readDocuments } from '../plan/documents.ts'
import { roleChanges } from './role-changes.ts'
import { fieldsThatDisappear } from './schema-changes.ts'

const AT_ONCE = 5
const MOST_NAMES = 10

type Fields = Readonly<Record<string, unknown>>

/** The path of an object of each compared kind, and its change in words; empty without a change. */
const COMPARED: Readonly<
  Record<
    string,
    { readonly part: string; readonly pathOf: PathOf; readonly compare: (live: Fields, next: Fields) => string }
  >
> = {
  CustomResourceDefinition: {
    part: 'crds',
    pathOf: ({ name }) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`,
    compare: (live, next) => {
      const gone = fieldsThatDisappear(live, next)
      return gone.length === 0 ? '' : `the new version lacks ${joinNames(gone, MOST_NAMES)}; objects lose these values`
    },
  },
  ClusterRole: {
    part: 'roles',
    pathOf: ({ name }) => `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`,
    compare: roleText,
  },
  Role: {
    part: 'roles',
    pathOf: ({ namespace = 'default', name }) =>
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/${name}`,
    compare: roleText,
  },
}

type PathOf = (metadata: { readonly namespace?: string; readonly name: string }) => string

/**
 * @param build folder of the new version. @param files further manifests of the new version, such as the output of `pawl gen rbac`.
 * @throws UsageError for files that cannot be read; KubeError.
 */
export async function manifestFindings(
  kube: KubeClient,
  build: string,
  files: readonly string[],
): Promise<readonly Finding[]> {
  const documents = await readDocuments([...files, ...filesIn(join(build, 'deploy'), ['crds', 'rbac'])])
  const byName = new Map<string, Document['object']>()
  for (const { object } of documents) {
    const name = `${object.kind} ${titleOf(object)}`
    // The given manifests come first: they replace manifests of the build.
    if (!byName.has(name)) byName.set(name, object)
  }
  const found: Finding[] = []
  const compared = new Map<string, number>()
  await inParallel([...byName.values()], AT_ONCE, async (object) => {
    const how = COMPARED[object.kind]
    if (how === undefined) return
    const live = await readLive(kube, how.pathOf(object.metadata))
    if (live === undefined) return
    compared.set(how.part, (compared.get(how.part) ?? 0) + 1)
    const change = how.compare(live, object)
    if (change !== '')
      found.push({ part: how.part, verdict: 'warn', text: `${object.kind} "${titleOf(object)}": ${change}` })
  })
  const parts = [...new Set(Object.values(COMPARED).map(({ part }) => part))]
  return [
    ...found.toSorted((left, right) => (left.text < right.text ? -1 : 1)),
    ...parts
      .filter((part) => found.every((one) => one.part !== part))
      .map((part) => unchanged(part, compared.get(part))),
  ]
}

function unchanged(part: string, count = 0): Finding {
  if (count > 0) {
    const same = part === 'roles' ? 'have the same permissions' : 'keep their fields'
    return { part, verdict: 'ok', text: `${count} compared; all ${same}` }
  }
  const text =
    part === 'roles'
      ? 'the cluster has no role with these names; pass your roles as --manifests: the output of pawl gen rbac or of helm template'
      : 'the cluster has no kind of deploy/crds'
  return { part, verdict: 'skipped', text }
}

function roleText(live: Fields, next: Fields): string {
  const { added, removed } = roleChanges(live, next)
  const parts = [
    added.length === 0 ? '' : `the new version also needs ${joinNames(added, MOST_NAMES)}`,
    removed.length === 0 ? '' : `it no longer needs ${joinNames(removed, MOST_NAMES)}`,
  ].filter((text) => text !== '')
  return parts.length === 0 ? '' : `${parts.join('; ')}; apply the new role before you replace processes`
}

async function readLive(kube: KubeClient, path: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

function filesIn(deploy: string, folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(deploy, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => join(deploy, folder, name))
      .sort(),
  )
}

function titleOf({ metadata: { namespace, name } }: Document['object']): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}
